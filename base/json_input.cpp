#include "base/json_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/input_text.hpp"
#include "base/json_text.hpp"
#include "base/plain_json.hpp"
#include "base/seeded_random.hpp"

namespace forescale {
namespace {

using nlohmann::json;

std::string short_dump(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t kLimit = 60;
  if (text.size() > kLimit) text = text.substr(0, kLimit) + "...";
  return text;
}

// "cut off at line 3, column 7" from a byte offset.
std::string position(const std::string& text, size_t byte) {
  const size_t end = std::min(byte, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(end), '\n');
  const size_t newline = text.rfind('\n', end == 0 ? 0 : end - 1);
  const size_t column = newline == std::string::npos ? end : end - newline - 1;
  return fmt::format("line {}, column {}", line, column);
}

// Refuses a key that an object has twice, of which the parser would keep the last.
class KeysOnce {
 public:
  explicit KeysOnce(std::string file) : file_(std::move(file)) {}

  bool operator()(int /*depth*/, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!open_.back().insert(key).second)
        throw InputError({.source = file_,
                          .path = "",
                          .value = key,
                          .constraint = "is a key that an object has twice"});
    }
    return true;
  }

 private:
  std::string file_;
  std::vector<std::set<std::string>> open_;  // keys of the objects around, outermost first
};

}  // namespace

struct JsonInput::Document {
  json root;
  std::string file;
};

JsonInput::JsonInput(std::shared_ptr<const Document> document, const json* value, std::string path,
                     Provenance* provenance)
    : document_(std::move(document)),
      value_(value),
      path_(std::move(path)),
      provenance_(provenance) {}

const std::string& JsonInput::file() const { return document_->file; }

Scenario Scenario::drawn(int draw) {
  FORESCALE_CHECK(draw >= 0, "draws count from 0");
  Scenario scenario;
  scenario.draw_ = draw;
  return scenario;
}

std::string Scenario::name() const {
  if (is_draw()) return fmt::format("draw {}", draw_);
  if (end_ == kFast) return "fast";
  return end_ == kSlow ? "slow" : "nominal";
}

double Scenario::position(const std::string& file, const std::string& path) const {
  if (!is_draw()) return end_ == kFast ? -1 : end_ == kSlow ? 1 : 0;
  // Not the whole path of the file: it differs between installations.
  const std::filesystem::path whole(file);
  const std::string name =
      (whole.parent_path().filename() / whole.filename()).string() + ":" + path;
  std::uint64_t state = 0xcbf29ce484222325 ^ static_cast<std::uint64_t>(draw_);
  for (const char letter : name)
    state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3;  // FNV-1a
  const auto uniform = [](std::uint64_t key) {
    return static_cast<double>(mixed(key) >> 11) * 0x1.0p-53;
  };
  constexpr std::uint64_t kNext = 0x9e3779b97f4a7c15;  // splitmix64's step
  return uniform(state) + uniform(state + kNext) - 1;
}

double value_at(double position, double fast, double value, double slow) {
  const double end = position < 0 ? fast : slow;
  const double share = std::abs(position);
  if (share == 0 || end == value) return value;
  if (share == 1) return end;
  if (value > 0 && end > 0) return value * std::pow(end / value, share);
  return value + share * (end - value);
}

Scenario Scenario::scaled(const std::string& file, const std::string& path, double factor) const {
  Scenario other = *this;
  auto factors = std::make_shared<Factors>(factors_ ? *factors_ : Factors());
  (*factors)[{file, path}] = factor;
  other.factors_ = std::move(factors);
  return other;
}

double Scenario::factor(const std::string& file, const std::string& path) const {
  if (!factors_) return 1;
  const auto found = factors_->find({file, path});
  return found == factors_->end() ? 1 : found->second;
}

JsonInput JsonInput::from_file(const std::string& file, Provenance* provenance) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw InputError(
        {.source = file, .path = "", .value = "", .constraint = "cannot be opened for reading"});
  return from_text(rest_of(stream), file, provenance);
}

JsonInput JsonInput::from_text(const std::string& text, const std::string& file,
                               Provenance* provenance) {
  try {
    std::optional<json> plain = parse_plain_json(text);
    auto document = std::make_shared<const Document>(Document{
        .root = plain ? *std::move(plain) : parse_json(text, KeysOnce(file)), .file = file});
    const json* value = &document->root;
    return JsonInput(std::move(document), value, "", provenance);
  } catch (const json::parse_error& error) {
    const bool cut = error.byte > text.size();
    throw InputError({.source = file,
                      .path = "",
                      .value = "",
                      .constraint = fmt::format("must be complete JSON: {} at {}",
                                                cut ? "the text ends too early" : "syntax error",
                                                position(text, error.byte))});
  } catch (const json::out_of_range& error) {
    throw InputError(
        {.source = file,
         .path = "",
         .value = "",
         .constraint = std::string("must hold numbers that a double can hold: ") + error.what()});
  }
}

JsonInput JsonInput::child(const std::string& key, const json& value) const {
  return JsonInput(document_, &value, path_of(key), provenance_);
}

// As a JSON pointer has it: "~" is "~0", "/" is "~1".
std::string JsonInput::path_of(const std::string& key) const {
  std::string path;
  path.reserve(path_.size() + 1 + key.size());
  path += path_;
  path += '/';
  for (const char c : key) {
    if (c == '~')
      path += "~0";
    else if (c == '/')
      path += "~1";
    else
      path += c;
  }
  return path;
}

void JsonInput::fail(const std::string& constraint) const {
  throw InputError({.source = file(),
                    .path = path_.empty() ? "/" : path_,
                    .value = value_->is_structured() ? "" : short_dump(*value_),
                    .constraint = constraint});
}

JsonInput JsonInput::at(const std::string& key) const {
  if (!value_->is_object()) fail("must be an object");
  if (auto found = find(key)) return *std::move(found);
  throw InputError({.source = file(),
                    .path = path_of(key),
                    .value = "",
                    .constraint = "is required and missing"});
}

std::optional<JsonInput> JsonInput::find(const std::string& key) const {
  if (!value_->is_object()) return std::nullopt;
  const auto member = value_->find(key);
  if (member == value_->end()) return std::nullopt;
  return child(key, *member);
}

bool JsonInput::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key);
}

void JsonInput::allow_only(std::initializer_list<const char*> keys) const {
  allow_only(std::vector<std::string>(keys.begin(), keys.end()));
}

void JsonInput::allow_only(const std::vector<std::string>& known) const {
  if (!value_->is_object()) fail("must be an object");
  for (const auto& [key, member] : value_->items()) {
    if (key == "note" || key == "source") continue;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw InputError({.source = file(),
                      .path = path_of(key),
                      .value = short_dump(member),
                      .constraint = "key is " + unknown_name(key, known)});
  }
}

std::vector<std::string> JsonInput::keys() const {
  if (!value_->is_object()) fail("must be an object");
  std::vector<std::string> names;
  for (const auto& [key, member] : value_->items()) names.push_back(key);
  return names;
}

std::vector<JsonInput> JsonInput::elements() const {
  if (!value_->is_array()) fail("must be an array");
  std::vector<JsonInput> list;
  list.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i)
    list.push_back(child(std::to_string(i), (*value_)[i]));
  return list;
}

std::string JsonInput::string() const {
  if (!value_->is_string()) fail("must be a string");
  return value_->get<std::string>();
}

std::string JsonInput::one_of(std::initializer_list<const char*> values) const {
  std::string text = string();
  const std::vector<std::string> known(values.begin(), values.end());
  if (std::find(known.begin(), known.end(), text) == known.end())
    fail("is " + unknown_name(text, known));
  return text;
}

bool JsonInput::boolean() const {
  if (!value_->is_boolean()) fail("must be true or false");
  return value_->get<bool>();
}

std::int64_t JsonInput::integer(std::int64_t min, std::int64_t max) const {
  if (!value_->is_number_integer()) fail("must be a whole number");
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(max))
    fail(fmt::format("must be <= {}", max));
  const auto number = value_->get<std::int64_t>();
  if (number < min) fail(fmt::format("must be >= {}", min));
  if (number > max) fail(fmt::format("must be <= {}", max));
  return number;
}

double JsonInput::number(double min, double max) const {
  if (!value_->is_number()) fail("must be a number");
  const double number = value_->get<double>();
  if (!std::isfinite(number)) fail("must be finite");
  if (number < min) fail(fmt::format("must be >= {}", min));
  if (number > max) fail(fmt::format("must be <= {}", max));
  return number;
}

// `parse_text` reads a string with a unit; `above_min` makes the lower limit exclusive.
template <class Parse>
double JsonInput::physical(double min, bool above_min, Parse parse_text) const {
  const auto read = [&](const JsonInput& in) {
    double number = 0;
    if (in.value_->is_string()) {
      try {
        number = parse_text(in.value_->template get<std::string>());
      } catch (const InputError& error) {
        in.fail(error.parts().constraint);
      }
    } else if (in.value_->is_number()) {
      number = in.value_->template get<double>();
    } else {
      in.fail("must be a number, a text with a unit, or {\"value\": ..., \"source\": ...}");
    }
    if (!std::isfinite(number)) in.fail("must be finite");
    if (number < min || (above_min && number == min))
      in.fail(fmt::format("must be {} {}", above_min ? ">" : ">=", min));
    return number;
  };
  NumberSource note{.file = file(), .path = path_, .value = 0, .source = "", .assumed = false};
  if (value_->is_object()) {
    allow_only({"value", "source", "assumed", "fast", "slow"});
    note.value = read(at("value"));
    const auto source = find("source");
    const auto assumed = find("assumed");
    if (source.has_value() == assumed.has_value())
      fail("must have either \"source\" or \"assumed\"");
    note.assumed = assumed.has_value();
    note.source = note.assumed ? assumed->string() : source->string();
    note.fast = note.slow = note.value;
    if (note.assumed || has("fast") || has("slow")) {
      note.fast = read(at("fast"));
      note.slow = read(at("slow"));
      if ((note.value - note.fast) * (note.slow - note.value) < 0)
        fail("must have its value between \"fast\" and \"slow\"");
    }
  } else {
    note.value = note.fast = note.slow = read(*this);
    note.source = "given in " + file();
  }
  if (provenance_ == nullptr) return note.value;
  if (const double factor = provenance_->scenario.factor(file(), path_); factor != 1)
    for (double* number : {&note.value, &note.fast, &note.slow}) *number *= factor;
  provenance_->numbers.push_back(note);
  return value_at(provenance_->scenario.position(file(), path_), note.fast, note.value, note.slow);
}

Seconds JsonInput::seconds() const {
  return {physical(0, false, [&](const std::string& t) { return parse_seconds(t, file()).value; })};
}

Bytes JsonInput::bytes(std::int64_t min) const {
  double value = physical(static_cast<double>(min), false, [&](const std::string& t) {
    return static_cast<double>(parse_bytes(t, file()).value);
  });
  if (provenance_ != nullptr && provenance_->scenario.is_draw()) value = std::round(value);
  if (value != std::floor(value) || value > 9e18) fail("must be a whole number of bytes");
  return {static_cast<std::int64_t>(value)};
}

BytesPerSecond JsonInput::bandwidth() const {
  return {
      physical(0, true, [&](const std::string& t) { return parse_bandwidth(t, file()).value; })};
}

FlopsPerSecond JsonInput::flops_rate() const {
  return {physical(0, true, [&](const std::string&) -> double { fail("must be a number"); })};
}

double JsonInput::factor(double min, double max) const {
  const double value =
      physical(min, false, [&](const std::string&) -> double { fail("must be a number"); });
  if (value > max) fail(fmt::format("must be <= {}", max));
  return value;
}

bool JsonInput::is_object() const { return value_->is_object(); }
bool JsonInput::is_array() const { return value_->is_array(); }
bool JsonInput::is_string() const { return value_->is_string(); }

}  // namespace forescale
