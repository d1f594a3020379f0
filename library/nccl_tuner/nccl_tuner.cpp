// A tuner plug-in for NCCL, by versions 3 to 6 of that interface (6: NCCL 2.30), that takes what
// `forescale tune collective --emit nccl-plugin` wrote. Not by version 2: there it would say what
// NCCL finds impossible on a machine, as LL128 can be. NCCL loads it by NCCL_TUNER_PLUGIN; the
// table is the file that NCCL_TUNER_CONFIG_FILE names:
//   operation,bytes min,bytes max,algorithm,protocol,channels,nodes,ranks,chunk bytes
// Whatever no line is for is left to NCCL, channels below 1 and chunks of 0 bytes too. A file that
// cannot be read, or a line that is wrong, ends the communicator's start: settings that are half
// in force would be measured as if they were.
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "library/nccl_tuner/tuner_api.hpp"

namespace forescale::nccl {
namespace {

constexpr const char* kFileVariable = "NCCL_TUNER_CONFIG_FILE";

struct Line {
  Function function = kAllReduce;
  std::size_t from_bytes = 0;
  std::size_t to_bytes = 0;  // inclusive
  Algorithm algorithm = kRing;
  Protocol protocol = kSimple;
  int channels = -1;
  std::size_t chunk_bytes = 0;
};

// Of one communicator: the lines that are for as many nodes and ranks.
struct Context {
  std::vector<Line> lines;
  // By operation, the line that it took last. NCCL asks for chunks by the bytes of one channel
  // (scheduleCollTasksToPlan in src/enqueue.cc), not of the call, soon after it has asked for the
  // call.
  std::map<Function, const Line*> taken;

  const Line* line_for(Function function, std::size_t bytes) const {
    for (const Line& line : lines)
      if (line.function == function && line.from_bytes <= bytes && bytes <= line.to_bytes)
        return &line;
    return nullptr;
  }
};

const std::map<std::string_view, Function>& functions() {
  static const std::map<std::string_view, Function> names = {{"broadcast", kBroadcast},
                                                             {"reduce", kReduce},
                                                             {"allgather", kAllGather},
                                                             {"reducescatter", kReduceScatter},
                                                             {"allreduce", kAllReduce}};
  return names;
}

const std::map<std::string_view, Algorithm>& algorithms() {
  static const std::map<std::string_view, Algorithm> names = {{"tree", kTree},
                                                              {"ring", kRing},
                                                              {"collnet_direct", kCollNetDirect},
                                                              {"collnet_chain", kCollNetChain},
                                                              {"nvls", kNvls},
                                                              {"nvls_tree", kNvlsTree},
                                                              {"pat", kPat}};
  return names;
}

const std::map<std::string_view, Protocol>& protocols() {
  static const std::map<std::string_view, Protocol> names = {
      {"ll", kLl}, {"ll128", kLl128}, {"simple", kSimple}};
  return names;
}

// Reads a line's cells in order; the first that is wrong is kept as `problem`.
class Cells {
 public:
  explicit Cells(std::string_view line) {
    while (true) {
      const std::size_t comma = line.find(',');
      cells_.push_back(line.substr(0, comma));
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
  }

  std::size_t count() const { return cells_.size(); }
  const std::string& problem() const { return problem_; }

  template <class Value>
  Value one_of(const std::map<std::string_view, Value>& names, Value fallback) {
    const std::string_view cell = next();
    const auto found = names.find(cell);
    if (found != names.end()) return found->second;
    std::string known;
    for (const auto& [name, value] : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
    complain(cell, "is none of " + known);
    return fallback;
  }

  template <class Number>
  Number number(Number least) {
    const std::string_view cell = next();
    Number value = least;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || value < least)
      complain(cell, "is no whole number from " + std::to_string(least) + " on");
    return value;
  }

 private:
  std::string_view next() { return at_ < cells_.size() ? cells_[at_++] : std::string_view(); }
  void complain(std::string_view cell, const std::string& what) {
    if (problem_.empty()) problem_ = "\"" + std::string(cell) + "\" " + what;
  }

  std::vector<std::string_view> cells_;
  std::size_t at_ = 0;
  std::string problem_;
};

struct CommunicatorShape {
  std::size_t ranks = 0;
  std::size_t nodes = 0;
};

constexpr std::size_t kCells = 9;

// Nothing where the line is for another shape, or empty. A problem is written to `problem`.
std::optional<Line> read_line(std::string_view text, const CommunicatorShape& shape,
                              std::string& problem) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty() || text.front() == '#') return std::nullopt;
  Cells cells(text);
  if (cells.count() != kCells) {
    problem = "has " + std::to_string(cells.count()) + " cells, not " + std::to_string(kCells);
    return std::nullopt;
  }
  Line line;
  line.function = cells.one_of(functions(), kAllReduce);
  line.from_bytes = cells.number<std::size_t>(0);
  line.to_bytes = cells.number<std::size_t>(line.from_bytes);
  line.algorithm = cells.one_of(algorithms(), kRing);
  line.protocol = cells.one_of(protocols(), kSimple);
  line.channels = cells.number<int>(-1);
  const int nodes = cells.number<int>(-1);
  const int ranks = cells.number<int>(-1);
  line.chunk_bytes = cells.number<std::size_t>(0);
  problem = cells.problem();
  const auto fits = [](int wanted, std::size_t is) {
    return wanted == -1 || static_cast<std::size_t>(wanted) == is;
  };
  if (!problem.empty() || !fits(nodes, shape.nodes) || !fits(ranks, shape.ranks))
    return std::nullopt;
  return line;
}

template <class... Values>
void say(Logger log, LogLevel level, const char* format, Values... values) {
  if (log != nullptr) log(level, kTuning, __FILE__, __LINE__, format, values...);
}

Result start(const CommunicatorShape& shape, Logger log, void** context) {
  const char* const name = std::getenv(kFileVariable);
  if (name == nullptr) {
    say(log, kWarn, "TUNER/forescale: %s names no table", kFileVariable);
    return kInvalidUsage;
  }
  std::ifstream file(name);
  if (!file) {
    say(log, kWarn, "TUNER/forescale: %s=%s cannot be read", kFileVariable, name);
    return kInvalidUsage;
  }
  auto read = std::make_unique<Context>();
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    std::string problem;
    if (const auto line = read_line(text, shape, problem)) read->lines.push_back(*line);
    if (problem.empty()) continue;
    say(log, kWarn, "TUNER/forescale: %s line %d: %s", name, number, problem.c_str());
    return kInvalidUsage;
  }
  say(log, kInfo, "TUNER/forescale: %zu lines of %s are for %zu ranks on %zu nodes",
      read->lines.size(), name, shape.ranks, shape.nodes);
  *context = read.release();
  return kSuccess;
}

Result start_of_3(std::size_t ranks, std::size_t nodes, Logger log, void** context) {
  return start({.ranks = ranks, .nodes = nodes}, log, context);
}

Result start_of_5(void** context, std::uint64_t /*communicator*/, std::size_t ranks,
                  std::size_t nodes, Logger log, void* /*domains*/, void* /*constants*/) {
  return start({.ranks = ranks, .nodes = nodes}, log, context);
}

Result end(void* context) {
  delete static_cast<Context*>(context);  // NOLINT(cppcoreguidelines-owning-memory)
  return kSuccess;
}

// What NCCL finds impossible stays so, and NCCL chooses.
Result choose(void* context, Function function, std::size_t bytes, Costs costs, int algorithms,
              int protocols, int* channels) {
  if (context == nullptr) return kInternalError;
  auto& of = *static_cast<Context*>(context);
  of.taken.erase(function);
  const Line* line = of.line_for(function, bytes);
  if (line == nullptr || line->algorithm >= algorithms || line->protocol >= protocols)
    return kSuccess;
  float& cost = reinterpret_cast<float*>(costs)[line->algorithm * protocols + line->protocol];
  if (cost < 0) return kSuccess;
  cost = 0;
  of.taken[function] = line;
  if (line->channels > 0) *channels = line->channels;
  return kSuccess;
}

Result choose_of_3(void* context, Function function, std::size_t bytes, int /*pipe_ops*/,
                   Costs costs, int algorithms, int protocols, int* channels) {
  return choose(context, function, bytes, costs, algorithms, protocols, channels);
}

Result choose_of_4(void* context, Function function, std::size_t bytes, int /*pipe_ops*/,
                   Costs costs, int algorithms, int protocols, int /*is_registered*/,
                   int* channels) {
  return choose(context, function, bytes, costs, algorithms, protocols, channels);
}

// Of what NCCL took: another algorithm than the line's keeps its own chunks.
Result choose_chunk(void* context, Function function, std::size_t /*bytes*/, int algorithm,
                    int protocol, int /*channels*/, std::size_t* chunk_bytes) {
  if (context == nullptr) return kInternalError;
  const auto& taken = static_cast<const Context*>(context)->taken;
  const auto found = taken.find(function);
  const Line* line = found == taken.end() ? nullptr : found->second;
  if (line != nullptr && line->chunk_bytes > 0 && line->algorithm == algorithm &&
      line->protocol == protocol)
    *chunk_bytes = line->chunk_bytes;
  return kSuccess;
}

}  // namespace
}  // namespace forescale::nccl

#define FORESCALE_EXPORTED extern "C" __attribute__((visibility("default")))

// The names by which NCCL looks for them, the newest that it knows first.
namespace nccl = forescale::nccl;
FORESCALE_EXPORTED const nccl::Tuner3 ncclTunerPlugin_v3 = {"forescale", nccl::start_of_3,
                                                            nccl::choose_of_3, nccl::end};
FORESCALE_EXPORTED const nccl::Tuner4 ncclTunerPlugin_v4 = {"forescale", nccl::start_of_3,
                                                            nccl::choose_of_4, nccl::end};
FORESCALE_EXPORTED const nccl::Tuner5 ncclTunerPlugin_v5 = {"forescale", nccl::start_of_5,
                                                            nccl::choose_of_4, nccl::end};
FORESCALE_EXPORTED const nccl::Tuner6 ncclTunerPlugin_v6 = {
    "forescale", nccl::start_of_5, nccl::choose_of_4, nccl::end, nccl::choose_chunk};
