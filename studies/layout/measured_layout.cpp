#include "studies/layout/measured_layout.hpp"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/solve.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

constexpr double kScaleLeast = 0.2;
constexpr double kScaleMost = 5;
constexpr double kFoundWithin = 1e-6;  // relative

// The asked layout without the fields that `instead` gives, and those.
std::string with_fields(const std::string& asked, const std::string& instead) {
  const std::set<std::string> given = fields_named(instead, kMeasuredOption);
  std::string text;
  std::istringstream pieces(asked);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    const std::set<std::string> names = fields_named(piece, kLayoutOption);
    if (names.empty() || given.contains(*names.begin())) continue;
    text += piece + ",";
  }
  return text + instead;
}

}  // namespace

MeasuredLayout parse_measured_layout(const std::string& text, const std::string& asked_layout) {
  const size_t at = text.find('@');
  if (at == std::string::npos)
    refuse(kMeasuredOption, text, "must be TIME@GPUS, as in 6.7s@8 or 6.7s@8:tp=1,global=64");
  const size_t colon = text.find(':', at);
  MeasuredLayout measured{
      .iteration_s = parse_seconds(text.substr(0, at), kMeasuredOption).value,
      .gpus = parse_integer(text.substr(at + 1, colon - at - 1), kMeasuredOption),
      .layout = asked_layout};
  if (!(measured.iteration_s > 0)) refuse(kMeasuredOption, text, "must have a time above 0");
  if (measured.gpus < 1) refuse(kMeasuredOption, text, "must have a GPU or more");
  if (colon != std::string::npos)
    measured.layout = with_fields(asked_layout, text.substr(colon + 1));
  return measured;
}

double kernel_scale(const MeasuredLayout& measured, const Question& question, Asker& asker) {
  LayoutCase about{.question = question, .gpus = measured.gpus};
  about.question.layout = measured.layout;
  const auto predicted_s = [&](double scale) {
    about.question.compute_scale = scale;
    const LayoutPrediction prediction = predict_layouts({about}, asker).front();
    if (!prediction.may_fit())
      refuse(kMeasuredOption, fmt::format("{} GPUs", measured.gpus),
             "is predicted not to fit in memory there, so it was another training");
    return prediction.iteration_s;
  };
  const double as_it_is_s = predicted_s(1);
  if (predicted_s(kScaleLeast) > measured.iteration_s ||
      predicted_s(kScaleMost) < measured.iteration_s)
    refuse(kMeasuredOption, to_text(Seconds{measured.iteration_s}),
           fmt::format("is not what this training takes on {} GPUs whatever its kernels take: {} "
                       "are predicted",
                       measured.gpus, to_text(Seconds{as_it_is_s})));
  return solve_rising(measured.iteration_s, predicted_s, {kScaleLeast, kScaleMost},
                      measured.iteration_s / as_it_is_s, kFoundWithin);
}

bool differ_in_copies_alone(Layout one, const Layout& other) {
  one.data = other.data;
  one.global_batch = other.global_batch;
  return one == other;
}

}  // namespace forescale
