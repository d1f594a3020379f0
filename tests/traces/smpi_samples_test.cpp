// Public SMPI traces: what is imported, against a count of their lines.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/traces/smpi_files.hpp"

namespace forescale::testing {
namespace {

const std::string kSamples = FORESCALE_SOURCE_DIR "/tests/traces/data/smpi/";

class Sample : public ::testing::TestWithParam<std::string> {
 public:
  static std::vector<std::vector<std::string>> lines(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::vector<std::string>> list;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      list.emplace_back();
      for (std::string word; words >> word;) list.back().push_back(word);
      if (list.back().empty()) list.pop_back();
    }
    return list;
  }
};

// Bytes of a call by another way: which word is the count, which one the datatype.
double call_bytes(const std::vector<std::string>& words, size_t rank_count, double default_bytes) {
  const std::map<std::string, double> type_bytes{{"0", 8}, {"1", 4}, {"3", 2},
                                                 {"4", 8}, {"6", 1}, {"26", 16}};
  const auto type = [&](size_t at) {
    return at < words.size() ? type_bytes.at(words[at]) : default_bytes;
  };
  const auto number = [&](size_t at) { return std::stod(words.at(at)); };
  const auto sum = [&](size_t begin) {
    double total = 0;
    for (size_t i = 0; i < rank_count; ++i) total += number(begin + i);
    return total;
  };
  const std::string& name = words[1];
  const auto count = static_cast<double>(rank_count);
  if (name == "bcast" || name == "allreduce") return number(2) * type(4);
  if (name == "reduce") return number(2) * type(5);
  if (name == "alltoall") return number(2) * count * type(4);
  if (name == "gather") return number(2) * count * type(5);
  if (name == "allgatherv") return sum(3) * type(3 + rank_count);
  if (name == "reducescatter") return sum(2) * type(3 + rank_count);
  if (name == "alltoallv") return sum(3) * default_bytes;
  return name == "isend" || name == "send" ? number(4) * type(5) : 0;
}

TEST_P(Sample, HasWhatACountOfItsLinesHas) {
  const std::string file = kSamples + GetParam();
  const std::map<std::string, std::string> names{{"bcast", "broadcast"},
                                                 {"reduce", "reduce"},
                                                 {"allreduce", "all-reduce"},
                                                 {"alltoall", "all-to-all"},
                                                 {"alltoallv", "all-to-all"},
                                                 {"gather", "gather"},
                                                 {"allgatherv", "allgather"},
                                                 {"barrier", "barrier"},
                                                 {"reducescatter", "reduce-scatter"},
                                                 {"send", "send"},
                                                 {"isend", "send"}};
  std::vector<std::vector<std::string>> calls = lines(file);
  if (calls.front().size() == 1) {
    std::vector<std::vector<std::string>> of_members;
    for (const auto& member : calls)
      for (const auto& call :
           lines((std::filesystem::path(file).parent_path() / member[0]).string()))
        of_members.push_back(call);
    calls = of_members;
  }
  size_t rank_count = 0;
  for (const auto& call : calls)
    if (call[1] == "init") ++rank_count;
  const double default_bytes = calls.front().size() > 2 ? 8 : 1;
  std::map<std::string, Volume> counted;
  for (const auto& call : calls)
    if (const auto name = names.find(call[1]); name != names.end()) {
      ++counted[name->second].count;
      counted[name->second].bytes += call_bytes(call, rank_count, default_bytes);
    }

  const ImportedTrace trace = smpi().import({file}, kGigaflop);
  EXPECT_EQ(trace.program.ranks.size(), rank_count);
  EXPECT_EQ(trace.found.messages.count, counted["send"].count);
  EXPECT_DOUBLE_EQ(trace.found.messages.bytes, counted["send"].bytes);
  counted.erase("send");
  EXPECT_EQ(trace.found.collectives.size(), counted.size());
  for (const auto& [name, volume] : counted) {
    EXPECT_EQ(trace.found.collectives.at(name).count, volume.count) << name;
    EXPECT_DOUBLE_EQ(trace.found.collectives.at(name).bytes, volume.bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    FormatSmpi, Sample,
    ::testing::Values("replay/actions_allgatherv.txt", "replay/actions_allreduce.txt",
                      "replay/actions_alltoall.txt", "replay/actions_alltoallv.txt",
                      "replay/actions_barrier.txt", "replay/actions_bcast.txt",
                      "replay/actions_bcast_reduce_datatypes.txt", "replay/actions_gather.txt",
                      "replay/actions_reducescatter.txt", "replay/actions_waitall.txt",
                      "replay/actions_with_isend.txt", "replay_multiple/smpi_replay.txt",
                      "replay_multiple_manual_deploy/coll.txt",
                      "replay_multiple_manual_deploy/empty.txt",
                      "replay_multiple_manual_deploy/mixed.txt"),
    [](const auto& one) {
      std::string name = std::filesystem::path(one.param).stem().string();
      return one.param.find("manual") == std::string::npos ? name : "manual_" + name;
    });

}  // namespace
}  // namespace forescale::testing
