// Options of schedules and of collectives: declared by them in their own files, given as text
// ("--plan reduce/cb:chain_size=8", "--schedule horovod:fusion_threshold=64MiB") or as JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_input.hpp"

namespace forescale {

enum class OptionUnit { kCount, kBytes, kSeconds, kRatio, kFlag, kChoice, kText };

struct Option {
  std::string name;
  std::string summary;
  OptionUnit unit = OptionUnit::kCount;
  double fallback = 0;  // kFlag: 0 or 1; kChoice: index; kText: none, the empty text
  double min = 0;       // of what is given: a fallback of 0 may be below it and mean "off"
  double max = 1e18;
  std::vector<std::string> choices = {};  // kChoice
  std::string source = {};                // of the default; empty: assumed
  // Values that tuning tries beside the default; empty: no setting, or none to choose for speed
  // alone.
  std::vector<double> tried = {};
  // What checks of plans take one after the other, as text; an empty one is the default.
  std::vector<std::string> checked = {};
  // kText: InputError naming `source` when it is wrong.
  void (*check_text)(const std::string& text, const std::string& source) = nullptr;
  std::string replaced_by = {};  // an option that, where it is given, makes this one mean nothing
};

// The number that the text says, in SI units. InputError naming `source`: no such unit, or out of
// range. kText has none.
double parse_option(const Option& option, const std::string& text, const std::string& source);
// A value as people write it: "64 MiB", "5 ms", "true".
std::string to_text(const Option& option, double value);

// kBytes and kCount are integers, kText is text.
using OptionValue = std::variant<std::int64_t, std::string>;

OptionValue parse_value(const Option& option, const std::string& text, const std::string& source);
OptionValue read_value(const Option& option, const JsonInput& in);
// The checks of both, of a value that was made elsewhere; one equal to the fallback may be.
void check_value(const Option& option, const OptionValue& value, const std::string& source);
// As parse_value() reads it back: "64KiB", "8", "chain:4+binomial" ('+' where a list of options
// has its comma).
std::string value_text(const Option& option, const OptionValue& value);

// What was given of the options of a collective, by name and in that order; copies share it.
class OptionValues {
 public:
  using Given = std::map<std::string, OptionValue>;

  OptionValues() = default;
  OptionValues(std::initializer_list<Given::value_type> given)
      : given_(std::make_shared<const Given>(given)) {}

  void set(const std::string& name, OptionValue value);
  const Given& given() const;
  bool gives(const std::string& name) const { return given().count(name) != 0; }

  // The fallback where nothing is given.
  std::int64_t number(const Option& option) const;
  std::string text(const Option& option) const;

  bool operator==(const OptionValues& other) const { return given() == other.given(); }

 private:
  std::shared_ptr<const Given> given_;  // null: nothing
};

}  // namespace forescale
