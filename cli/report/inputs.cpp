#include "cli/report/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "algorithms/phase.hpp"
#include "base/error.hpp"
#include "base/json_input.hpp"
#include "base/json_text.hpp"
#include "cli/report/sha256.hpp"
#include "cli/report/shape.hpp"
#include "cli/report/timeline.hpp"

namespace forescale {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kDepthMax = 64;  // of JSON; results need 6

json phases() {
  json list = json::array();
  for (const PhaseEntry& phase : kPhases)
    list.push_back({{"name", phase.name}, {"verb", phase.verb}, {"kind", name_of(phase.kind)}});
  return list;
}

std::string read_text(const std::string& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) refuse(file, "", "is a folder, not a result");
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream) refuse(file, "", "cannot be opened for reading");
  return text.str();
}

// Parses `text`; the elements of traceEvents go into `trace` as they are met and are not kept.
json parse(const std::string& text, const std::string& file, TraceColumns& trace) {
  int event_depth = -1;  // of the elements of traceEvents; -1 outside of them
  const auto on_event = [&](int depth, json::parse_event_t event, json& parsed) {
    using Kind = json::parse_event_t;
    if (depth > kDepthMax) refuse(file, "", fmt::format("must nest at most {} deep", kDepthMax));
    if (event == Kind::array_start && depth == 0) event_depth = 1;
    if (event == Kind::key && depth == 1) event_depth = parsed == "traceEvents" ? 2 : -1;
    if (event != Kind::object_end || depth != event_depth) return true;
    trace.add(parsed, file);
    return false;
  };
  try {
    return parse_json(text, on_event);
  } catch (const json::parse_error&) {
    JsonInput::from_text(text, file);  // says where
    throw;
  } catch (const json::out_of_range&) {
    refuse(file, "", "must be JSON with numbers that fit into 64 bits");
  }
}

std::string made_by(const std::vector<ReportView>& views) {
  std::string text;
  for (const ReportView& view : views) text += (text.empty() ? "" : ", ") + view.made_by;
  return text;
}

// The keys of what is no answer, so that one sees what it is.
std::string found(const json& content) {
  if (!content.is_object()) return "holds no object";
  std::string keys;
  size_t shown = 0;
  for (const auto& [key, value] : content.items())
    if (shown++ < 6) keys += fmt::format("{}\"{}\"", keys.empty() ? "" : ", ", key);
  return content.empty() ? "is empty" : "has " + keys + (shown > 6 ? ", ..." : "");
}

class Document {
 public:
  Document(const std::vector<ReportView>& views, const TimelineLimits& limits)
      : views_(views), limits_(limits) {}

  // Once each: a timeline may be named by a result and on the command line.
  void add(const std::string& file) {
    std::error_code error;
    if (!seen_.insert(fs::weakly_canonical(file, error).string()).second) return;
    const std::string text = read_text(file);
    TraceColumns trace;
    json content = parse(text, file, trace);
    const bool is_trace = content.is_array() || content.contains("traceEvents");
    const ReportView* view = is_trace ? nullptr : &checked_view(text, content, file);
    const size_t index = files_.size();
    files_.push_back({{"name", file},
                      {"bytes", text.size()},
                      {"sha256", sha256_hex(text)},
                      {"kind", is_trace ? "timeline" : view->kind}});
    if (is_trace) {
      if (content.is_object() && !content["traceEvents"].is_array())
        JsonInput::from_text(text, file).at("traceEvents").fail("must be an array");
      json timeline = packed_timeline(trace.finish(file, limits_));
      timeline["file"] = index;
      timelines_.push_back(std::move(timeline));
    } else {
      answers_.push_back({{"file", index}, {"format", view->format}, {"result", content}});
      add_named_timeline(content, file);
    }
  }

  json finish() const {
    return {{"phases", phases()},
            {"files", files_},
            {"answers", answers_},
            {"timelines", timelines_},
            {"notes", notes_}};
  }

 private:
  const ReportView& checked_view(const std::string& text, const json& content,
                                 const std::string& file) const {
    const JsonInput result = JsonInput::from_text(text, file);
    if (!content.is_object() || !content.contains("format"))
      refuse(file, "",
             fmt::format("must have a \"format\", as what `forescale ... --json` prints, or "
                         "\"traceEvents\" (a Chrome trace): it {}. Taken are the answers of {}",
                         found(content), made_by(views_)));
    const JsonInput format = result.at("format");
    const std::string name = format.string();
    std::vector<std::string> known;
    Shapes shapes;
    for (const ReportView& view : views_) {
      known.push_back(view.format);
      shapes[view.format] = view.shape;
    }
    const auto place = std::find(known.begin(), known.end(), name);
    if (place == known.end())
      format.fail(fmt::format("is {}; taken are the answers of {}", unknown_name(name, known),
                              made_by(views_)));
    const ReportView& view = views_[static_cast<size_t>(place - known.begin())];
    check_shape(result, view.shape, shapes);
    return view;
  }

  // A timeline that a result names but that is gone is no reason to show nothing.
  void add_named_timeline(const json& result, const std::string& file) {
    const auto named = result.find("trace");
    if (named == result.end() || !named->is_string()) return;
    const auto name = named->get<std::string>();
    if (name.empty()) return;
    const fs::path path = fs::path(file).parent_path() / name;
    if (fs::is_regular_file(path))
      add(path.string());
    else
      notes_.push_back(
          fmt::format("{} names the timeline {}, which is not there", file, path.string()));
  }

  const std::vector<ReportView>& views_;
  const TimelineLimits& limits_;
  std::set<std::string> seen_;
  json files_ = json::array();
  json answers_ = json::array();
  json timelines_ = json::array();
  json notes_ = json::array();
};

}  // namespace

json read_report_inputs(const std::vector<std::string>& files, const std::vector<ReportView>& views,
                        const TimelineLimits& limits) {
  Document document(views, limits);
  for (const std::string& file : files) document.add(file);
  return document.finish();
}

}  // namespace forescale
