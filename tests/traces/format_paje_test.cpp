// Paje traces, as a viewer's own reader takes them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/scratch_folder.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<RankPlace> kPajePlaces{{0, "node0", "rank 0 (gpu0)"},
                                         {1, "node1", "rank 1 (gpu1)"}};

std::string paje(const Timeline& timeline, const LinkUse::Curves& links = {}) {
  std::ostringstream text;
  write_paje(timeline, kPajePlaces, text, links);
  return text.str();
}

Timeline sample_timeline() {
  Timeline timeline;
  const int label = timeline.label("a \"quoted\"\nname");
  timeline.add({.rank = 0, .track = Track::kCompute, .label = label, .begin_s = 0, .end_s = 2});
  timeline.add({.rank = 0, .track = Track::kCompute, .label = label, .begin_s = 1, .end_s = 3});
  timeline.add({.rank = 0,
                .track = Track::kSend,
                .label = label,
                .begin_s = 3,
                .end_s = 4,
                .peer = 1,
                .bytes = 8});
  timeline.add({.rank = 1,
                .track = Track::kReceive,
                .label = label,
                .begin_s = 3,
                .end_s = 5,
                .peer = 0,
                .bytes = 8});
  // Not in their order: one ends as the other begins.
  timeline.add({.rank = 1, .track = Track::kCompute, .label = label, .begin_s = 2, .end_s = 4});
  timeline.add({.rank = 1, .track = Track::kCompute, .label = label, .begin_s = 0, .end_s = 2});
  return timeline;
}

const LinkUse::Curves kLinks{1, 3, {{"node0 -> switch", 0.5, {0.25, 0.75}}}};

TEST(Paje, EventsAreInOrderOfTime) {
  std::istringstream lines(paje(sample_timeline(), kLinks));
  double last_s = 0;
  for (std::string line; std::getline(lines, line);) {
    int code = 0;
    double time_s = 0;
    if (line[0] == '%' || std::sscanf(line.c_str(), "%d %lf", &code, &time_s) != 2 || code < 4)
      continue;
    EXPECT_GE(time_s, last_s) << line;
    last_s = time_s;
  }
  EXPECT_EQ(last_s, 5);
}

// What pj_dump prints: a line a state, variable value or link, with begin, end and length.
TEST(Paje, AReaderOfViewersTakesIt) {
  if (std::system("command -v pj_dump > /dev/null") != 0) GTEST_SKIP() << "no pj_dump (pajeng)";
  const ScratchFolder folder("paje");
  const std::string file = folder.file("t.paje");
  std::ofstream(file) << paje(sample_timeline(), kLinks);
  std::string dump;
  FILE* pipe = popen(fmt::format("pj_dump {} 2>&1; echo rc $?", file).c_str(), "r");
  for (std::array<char, 512> part{}; std::fgets(part.data(), part.size(), pipe) != nullptr;)
    dump += part.data();
  pclose(pipe);
  EXPECT_THAT(dump, HasSubstr("rc 0"));
  EXPECT_THAT(dump, Not(HasSubstr("rror")));
  EXPECT_THAT(dump, HasSubstr("State, rank 0 (gpu0) compute, state, 0.000000, 2.000000, "
                              "2.000000, 0.000000, a 'quoted' name"));
  EXPECT_THAT(dump, HasSubstr("State, rank 0 (gpu0) compute 2, state, 1.000000, 3.000000"));
  for (const char* times : {"0.000000, 2.000000, 2.000000", "2.000000, 4.000000, 2.000000"})
    EXPECT_THAT(dump, HasSubstr(fmt::format(
                          "State, rank 1 (gpu1) compute, state, {}, 0.000000, a 'quoted'", times)));
  EXPECT_THAT(dump, HasSubstr("Link, platform, message, 3.000000, 5.000000, 2.000000"));
  EXPECT_THAT(dump, HasSubstr("Variable, node0 -> switch, share of bandwidth, 2.000000, "
                              "3.000000, 1.000000, 0.750000"));
}

}  // namespace
}  // namespace forescale
