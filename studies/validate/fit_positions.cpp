#include "studies/validate/fit_positions.hpp"

#include <cmath>
#include <functional>

#include "base/huber.hpp"

namespace forescale {
namespace {

// Its deviation where nothing is wrong with a constant, and from where on what is further off pulls
// no harder.
constexpr double kHuber = 0.3;
// Of a triangular distribution between -1 and 1.
constexpr double kPriorVariance = 1.0 / 6;
constexpr int kRounds = 20000;
constexpr double kStill = 1e-7;  // of all positions' ways in a round

double moved_by(const std::array<double, 2>& at_ends, double position) {
  return position < 0 ? -position * at_ends[0] : position * at_ends[1];
}

double off_by(const FitRow& row, const std::vector<double>& positions) {
  double off = row.nominal;
  for (std::size_t i = 0; i < positions.size(); ++i) off += moved_by(row.at_ends[i], positions[i]);
  return off;
}

double prior_of(double position) { return position * position / 2 / kPriorVariance; }

double loss_of(const std::vector<FitRow>& rows, const std::vector<double>& positions) {
  double sum = 0;
  for (const FitRow& row : rows) sum += huber(off_by(row, positions), kHuber) / (kHuber * kHuber);
  for (const double position : positions) sum += prior_of(position);
  return sum;
}

// The least of a convex function between two ends, by golden section.
double least_between(double low, double high, const std::function<double(double)>& of) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  while (high - low > kStill / 10) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    if (of(left) < of(right))
      high = right;
    else
      low = left;
  }
  return (low + high) / 2;
}

// One position after the other to where it is best, until none moves. On either side of a
// position's nominal value the loss is smooth and convex, and its limits are apart from the
// others'.
std::vector<double> descend(const std::vector<FitRow>& rows, std::vector<double> positions) {
  for (int round = 0; round < kRounds; ++round) {
    double way = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::vector<double> others;
      for (const FitRow& row : rows)
        others.push_back(off_by(row, positions) - moved_by(row.at_ends[i], positions[i]));
      const auto loss = [&](double position) {
        double sum = prior_of(position);
        for (std::size_t row = 0; row < rows.size(); ++row)
          sum += huber(others[row] + moved_by(rows[row].at_ends[i], position), kHuber) /
                 (kHuber * kHuber);
        return sum;
      };
      const double before = positions[i];
      positions[i] = 0;
      for (const double found : {least_between(-1, 0, loss), least_between(0, 1, loss)})
        if (loss(found) < loss(positions[i])) positions[i] = found;
      way += std::abs(positions[i] - before);
    }
    if (way < kStill) break;
  }
  return positions;
}

}  // namespace

std::vector<double> fit_positions(const std::vector<FitRow>& rows, std::size_t constants) {
  std::vector<double> best(constants, 0);
  double least = loss_of(rows, best);
  for (const double start : {0.0, -1.0, 1.0}) {
    const std::vector<double> found = descend(rows, std::vector<double>(constants, start));
    const double loss = loss_of(rows, found);
    if (loss < least) {
      least = loss;
      best = found;
    }
  }
  return best;
}

}  // namespace forescale
