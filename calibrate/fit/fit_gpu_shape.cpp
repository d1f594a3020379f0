#include "calibrate/fit/fit_gpu_shape.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/median.hpp"

namespace forescale {
namespace {

constexpr size_t kShapesMin = 6;
// Amplitude, noise and lengths are found on so many of the shapes: the cost grows with the cube.
constexpr size_t kHyperShapes = 200;
constexpr double kOffsetVariance = 4;
// Priors of the logarithms: lengths of e within a factor of e, noise of 5 % within 1.6.
constexpr double kLogLength = 1;
constexpr double kLogNoise = -3;
constexpr double kNoiseSpread = 0.5;

double squared(double x) { return x * x; }

// Logarithms: one length a feature, then amplitude and noise.
using Hyper = std::vector<double>;

class Kriging {
 public:
  explicit Kriging(std::span<const ShapeResidual> residuals)
      : count_(static_cast<Eigen::Index>(residuals.size())),
        features_(residuals.front().features.size()),
        values_(count_) {
    for (size_t j = 0; j < features_; ++j) {
      Eigen::MatrixXd squares(count_, count_);
      for (Eigen::Index a = 0; a < count_; ++a)
        for (Eigen::Index b = 0; b < count_; ++b)
          squares(a, b) = squared(residuals[static_cast<size_t>(a)].features[j] -
                                  residuals[static_cast<size_t>(b)].features[j]);
      squares_.push_back(std::move(squares));
    }
    for (Eigen::Index a = 0; a < count_; ++a)
      values_(a) = residuals[static_cast<size_t>(a)].log_ratio;
  }

  size_t hyper_count() const { return features_ + 2; }

  Eigen::LLT<Eigen::MatrixXd> decompose(const Hyper& hyper) const {
    Eigen::ArrayXXd distance = Eigen::ArrayXXd::Zero(count_, count_);
    for (size_t j = 0; j < features_; ++j)
      distance += squares_[j].array() * (3 * std::exp(-2 * hyper[j]));
    distance = distance.sqrt();
    Eigen::MatrixXd covariance =
        (std::exp(2 * hyper[features_]) * (1 + distance) * (-distance).exp() + kOffsetVariance)
            .matrix();
    covariance.diagonal().array() += std::exp(2 * hyper[features_ + 1]);
    return covariance.llt();
  }

  // Minus the logarithm of likelihood and priors.
  double loss(const Hyper& hyper) const {
    const auto factors = decompose(hyper);
    if (factors.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    double sum = values_.dot(factors.solve(values_)) / 2;
    for (Eigen::Index a = 0; a < count_; ++a) sum += std::log(factors.matrixLLT()(a, a));
    for (size_t j = 0; j < features_; ++j) sum += squared(hyper[j] - kLogLength) / 2;
    return sum + squared((hyper[features_ + 1] - kLogNoise) / kNoiseSpread) / 2;
  }

  const Eigen::VectorXd& values() const { return values_; }

 private:
  Eigen::Index count_;
  size_t features_;
  std::vector<Eigen::MatrixXd> squares_;
  Eigen::VectorXd values_;
};

Hyper best_hyper(const Kriging& kriging) {
  Hyper hyper(kriging.hyper_count(), kLogLength);
  hyper[hyper.size() - 2] = std::log(0.4);
  hyper.back() = kLogNoise;
  double best = kriging.loss(hyper);
  for (double step = 0.8; step > 0.09; step /= 2) {
    bool improved = true;
    for (int round = 0; improved && round < 6; ++round) {
      improved = false;
      for (double& number : hyper)
        for (const double change : {step, -step}) {
          number += change;
          const double value = kriging.loss(hyper);
          if (value < best) {
            best = value;
            improved = true;
            break;
          }
          number -= change;
        }
    }
  }
  return hyper;
}

// At most `count` of them, evenly spread over their order.
std::vector<ShapeResidual> thinned(std::span<const ShapeResidual> residuals, size_t count) {
  std::vector<ShapeResidual> some;
  const size_t taken = std::min(count, residuals.size());
  for (size_t i = 0; i < taken; ++i) some.push_back(residuals[i * residuals.size() / taken]);
  return some;
}

}  // namespace

ShapeFit fit_shape(std::span<const ShapeResidual> residuals) {
  ShapeFit fit;
  if (residuals.size() < kShapesMin) {
    std::vector<double> ratios;
    for (const ShapeResidual& each : residuals) ratios.push_back(each.log_ratio);
    fit.factor.offset = median(ratios);
    fit.factor.lengths.assign(residuals.front().features.size(), std::exp(kLogLength));
    for (const ShapeResidual& each : residuals) {
      fit.factor.points.push_back({.features = each.features, .weight = 0});
      fit.left_out.push_back(each.log_ratio - fit.factor.offset);
    }
    return fit;
  }
  const Kriging kriging(residuals);
  const Hyper hyper = best_hyper(Kriging(thinned(residuals, kHyperShapes)));
  const auto factors = kriging.decompose(hyper);
  const Eigen::VectorXd weights = factors.solve(kriging.values());
  const auto count = static_cast<Eigen::Index>(residuals.size());
  const Eigen::VectorXd own = factors.solve(Eigen::MatrixXd::Identity(count, count)).diagonal();
  for (size_t j = 0; j + 2 < hyper.size(); ++j) fit.factor.lengths.push_back(std::exp(hyper[j]));
  fit.factor.amplitude = std::exp(hyper[hyper.size() - 2]);
  fit.factor.offset = kOffsetVariance * weights.sum();
  for (size_t i = 0; i < residuals.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    fit.factor.points.push_back({.features = residuals[i].features, .weight = weights(row)});
    fit.left_out.push_back(weights(row) / own(row));
  }
  return fit;
}

}  // namespace forescale
