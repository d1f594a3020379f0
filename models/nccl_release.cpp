#include "models/nccl_release.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <vector>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/stack.hpp"

namespace forescale {
namespace {

constexpr const char* kOfRelease = "nccl-";

bool read_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

NcclRelease release_in(const JsonInput& in) {
  NcclRelease release;
  if (!NcclRelease::read(in.string(), release)) in.fail("must be a release, as \"2.27\"");
  return release;
}

// "nccl-2.23-h100" -> "-h100"; empty: no release in it.
std::string suffix_of(const std::string& stack) {
  const std::string prefix = kOfRelease;
  if (!stack.starts_with(prefix)) return "";
  const std::size_t dash = stack.find('-', prefix.size());
  NcclRelease release;
  if (dash == std::string::npos ||
      !NcclRelease::read(stack.substr(prefix.size(), dash - prefix.size()), release))
    return "";
  return stack.substr(dash);
}

std::optional<NcclReleases> releases_of(const std::string& stack) {
  const auto releases =
      JsonInput::from_file(find_data_file(kStacks, stack, "--stack")).find("releases");
  if (!releases) return std::nullopt;
  return NcclReleases::read(*releases);
}

}  // namespace

std::string NcclRelease::text() const { return fmt::format("{}.{}", major, minor); }

bool NcclRelease::read(const std::string& text, NcclRelease& release) {
  const std::size_t dot = text.find('.');
  return dot != std::string::npos && read_number(text.substr(0, dot), release.major) &&
         read_number(text.substr(dot + 1), release.minor);
}

std::string NcclReleases::text() const {
  return first == last ? first.text() : fmt::format("{} to {}", first.text(), last.text());
}

NcclReleases NcclReleases::read(const JsonInput& in) {
  in.allow_only({"from", "to", "source"});
  if (in.at("source").string().empty()) in.at("source").fail("must not be empty");
  const NcclReleases releases{release_in(in.at("from")), release_in(in.at("to"))};
  if (releases.last < releases.first) in.at("to").fail("must be >= \"from\"");
  return releases;
}

std::string nccl_stack_of_release(const std::string& own, const std::string& asked,
                                  const std::string& where) {
  NcclRelease release;
  const std::string prefix = kOfRelease;
  if (!asked.starts_with(prefix) || !NcclRelease::read(asked.substr(prefix.size()), release))
    return "";
  const std::string suffix = suffix_of(own);
  std::vector<std::string> known;
  for (const std::string& name : suffix.empty() ? std::vector<std::string>{} : catalogue(kStacks)) {
    if (suffix_of(name) != suffix) continue;
    const auto releases = releases_of(name);
    if (!releases) continue;
    if (releases->first <= release && release <= releases->last) return name;
    known.push_back(releases->text());
  }
  throw InputError({.source = where,
                    .path = "",
                    .value = asked,
                    .constraint = known.empty()
                                      ? fmt::format("must be {} alone: no other release of {} is "
                                                    "known",
                                                    prefix.substr(0, prefix.size() - 1), own)
                                      : fmt::format("must be of a release that is known: {}",
                                                    fmt::join(known, ", "))});
}

}  // namespace forescale
