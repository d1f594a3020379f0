// Process groups: number, members and bytes of every collective are those of a plain count of the
// files, and one rank's groups stand for all ranks'.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json_text.hpp"
#include "base/registry.hpp"
#include "tests/base/refusal.hpp"
#include "tests/traces/grid_traces.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/measured/group_grid.hpp"
#include "traces/measured/groups.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Operation and members: calls, bytes.
using Count = std::map<std::tuple<std::string, std::vector<int>>, std::pair<std::uint64_t, double>>;

ImportedTrace import_kineto_files(const std::vector<std::string>& files) {
  return Registry<TraceFormat>::find("kineto", "test").import(files, {});
}

Count plain_count(const std::vector<std::string>& texts) {
  const std::map<std::string, std::string> ops{{"allreduce", "all-reduce"},
                                               {"all_to_all", "all-to-all"},
                                               {"_reduce_scatter_base", "reduce-scatter"},
                                               {"_allgather_base", "allgather"}};
  Count count;
  for (const std::string& text : texts) {
    const json file = parse_json(text);
    for (const json& event : file["traceEvents"]) {
      const json& args = event["args"];
      if (!args.contains("Collective name")) continue;
      std::vector<int> members;
      for (const json& group : file["distributedInfo"]["pg_config"])
        if (group["pg_name"] == args["Process Group Name"])
          members = group["ranks"].get<std::vector<int>>();
      for (int i = 0; members.size() < args["Group size"].get<size_t>(); ++i)
        members.push_back(args["Global rank start"].get<int>() +
                          i * args["Global rank stride"].get<int>());
      auto& [calls, bytes] = count[{ops.at(args["Collective name"]), members}];
      ++calls;
      bytes +=
          2 * std::max(args["In msg nelems"].get<double>(), args["Out msg nelems"].get<double>());
    }
  }
  return count;
}

Count imported_count(const ImportedTrace& imported) {
  Count count;
  for (const GroupVolume& of_group : imported.found.groups) {
    auto& [calls, bytes] = count[{of_group.op, of_group.ranks}];
    calls += of_group.volume.count;
    bytes += of_group.volume.bytes;
  }
  return count;
}

// What a rank calls, in order: operation, bytes, members.
using Calls = std::vector<std::tuple<std::string, std::int64_t, std::vector<int>>>;

Calls calls_of_rank(const Program& program, int rank) {
  Calls calls;
  std::vector<int> all;
  for (int one = 0; one < program.workers; ++one) all.push_back(one);
  for (const ProgramThread& thread : program.ranks[static_cast<size_t>(rank)].threads)
    for (const Action& action : thread.actions) {
      if (action.kind != Action::Kind::kCollective) continue;
      const auto& step = std::get<CollectiveStep>(action.what);
      RankGroup group = step.group;
      if (const auto known = program.groups.find(step.communicator);
          group == nullptr && known != program.groups.end())
        group = known->second[static_cast<size_t>(rank)];
      calls.emplace_back(name_of(step.op), step.bytes, group == nullptr ? all : *group);
    }
  return calls;
}

struct GridCase {
  GridShape shape;
  GroupsAs as;
};

class GridOfGroups : public ::testing::TestWithParam<GridCase> {};

TEST_P(GridOfGroups, IsWhatAPlainCountOfTheFilesHas) {
  const TraceFolder folder;
  std::vector<std::string> texts;
  std::vector<std::string> files;
  for (int rank = 0; rank < GetParam().shape.world(); ++rank) {
    texts.push_back(GridTraces(GetParam().shape, GetParam().as).timeline(rank));
    files.push_back(folder.write(fmt::format("r{}.json", rank), texts.back()));
  }
  const ImportedTrace all = import_kineto_files(files);
  EXPECT_EQ(imported_count(all), plain_count(texts));
  for (const int rank : {0, GetParam().shape.world() / 2 + 1, GetParam().shape.world() - 1}) {
    const auto at = static_cast<size_t>(rank);
    const ImportedTrace one = import_kineto_files({files[at]});
    EXPECT_EQ(imported_count(one), plain_count({texts[at]})) << rank;
    ASSERT_EQ(one.program.ranks.size(), files.size());
    for (int other = 0; other < GetParam().shape.world(); ++other)
      EXPECT_EQ(calls_of_rank(one.program, other), calls_of_rank(all.program, other))
          << rank << " for " << other;
    std::stringstream text;
    write_program(one.program, text);
    const Program again = read_program(text, "written");
    for (int other = 0; other < GetParam().shape.world(); ++other)
      EXPECT_EQ(calls_of_rank(again, other), calls_of_rank(all.program, other));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GridOfGroups,
    ::testing::Values(GridCase{{.tensor = 2, .data = 2}, GroupsAs::kLists},
                      GridCase{{.tensor = 2, .data = 4}, GroupsAs::kCutLists},
                      GridCase{{.tensor = 4, .data = 2}, GroupsAs::kNames},
                      GridCase{{.tensor = 8, .data = 2}, GroupsAs::kStrides},
                      GridCase{{.tensor = 4, .data = 6}, GroupsAs::kLists},
                      GridCase{{.expert = 4, .data = 2}, GroupsAs::kNames},
                      GridCase{{.expert = 2, .data = 8}, GroupsAs::kStrides},
                      GridCase{{.expert = 8, .data = 3}, GroupsAs::kCutLists},
                      GridCase{{.tensor = 2, .expert = 4, .data = 2}, GroupsAs::kLists},
                      GridCase{{.tensor = 3, .expert = 2, .data = 2}, GroupsAs::kNames},
                      GridCase{{.tensor = 4}, GroupsAs::kLists},
                      GridCase{{.expert = 6}, GroupsAs::kStrides}),
    [](const auto& grid) {
      const GridShape& shape = grid.param.shape;
      return fmt::format("tp{}_ep{}_dp{}_{}", shape.tensor, shape.expert, shape.data,
                         static_cast<int>(grid.param.as));
    });

TEST(GroupGrid, GivesEveryRankTheGroupOfItsOwnPlace) {
  const GroupGrid grid({{4, 5}, {1, 5, 9}}, 5, 12, "t");
  EXPECT_EQ(grid.text(), "2 x 2 x 3");
  EXPECT_THAT(grid.group_of({4, 5}, 10), ElementsAre(10, 11));
  EXPECT_THAT(grid.group_of({1, 5, 9}, 10), ElementsAre(2, 6, 10));
  EXPECT_THAT(grid.group_of({9, 1, 5}, 0), ElementsAre(8, 0, 4));  // in the order of the one given
  const GroupGrid blocks({{0, 1, 4, 5}}, 0, 8, "t");
  EXPECT_THAT(blocks.group_of({0, 1, 4, 5}, 7), ElementsAre(2, 3, 6, 7));
}

TEST(GroupGrid, RefusesWhatIsNoGrid) {
  const auto refused = [](const std::vector<std::vector<int>>& groups, int rank) {
    return refusal([&] { GroupGrid(groups, rank, 8, "t.json"); });
  };
  EXPECT_THAT(refused({{0, 1, 3}}, 0), HasSubstr("every rank's trace is needed"));
  EXPECT_THAT(refused({{0, 3}}, 0), HasSubstr("every rank's trace is needed"));
  EXPECT_THAT(refused({{1, 2}}, 1), HasSubstr("every rank's trace is needed"));
  EXPECT_THAT(refused({{0, 1}, {0, 1, 2, 3, 4, 5}}, 0), HasSubstr("every rank's trace is needed"));
  EXPECT_THAT(refused({{0, 1}}, 2), HasSubstr("which is not in it"));
  EXPECT_EQ(refused({{0, 1}, {0, 2, 4, 6}}, 0), "accepted");
}

TEST(GroupGrid, GrowsAlongAGroup) {
  GroupGrid grid({{4, 5}, {1, 5, 9}}, 5, 12, "t");
  EXPECT_TRUE(grid.resize({1, 5, 9}, 5));
  EXPECT_EQ(grid.world(), 20);
  EXPECT_THAT(grid.group_of({1, 5, 9}, 10), ElementsAre(2, 6, 10, 14, 18));
  EXPECT_THAT(grid.group_of({4, 5}, 19), ElementsAre(18, 19));
  EXPECT_TRUE(grid.resize({4, 5}, 1));
  EXPECT_EQ(grid.world(), 10);
  EXPECT_THAT(grid.group_of({4, 5}, 7), ElementsAre(7));
  // Along the outermost of its dimensions.
  GroupGrid both({{0, 1}, {0, 1, 2, 3, 4, 5, 6, 7}}, 0, 16, "t");
  EXPECT_FALSE(both.resize({0, 1, 2, 3, 4, 5, 6, 7}, 3));
  EXPECT_TRUE(both.resize({0, 1, 2, 3, 4, 5, 6, 7}, 4));
  EXPECT_EQ(both.text(), "2 x 2 x 2");
}

// One rank's trace for another degree of data or tensor parallelism: the members are those of a run
// of that shape.
TEST(Groups, OfOtherSizesAreThoseOfSuchARun) {
  const TraceFolder folder;
  const auto one = [&](const GridShape& shape, const ImportOptions& options) {
    const std::string file = folder.write("r.json", GridTraces(shape).timeline(3));
    return Registry<TraceFormat>::find("kineto", "test").import({file}, options);
  };
  const GridShape traced{.tensor = 2, .data = 4};
  const auto members = [](const Program& program, int rank) {
    std::vector<std::vector<int>> of_calls;
    for (const auto& call : calls_of_rank(program, rank)) of_calls.push_back(std::get<2>(call));
    return of_calls;
  };
  const ImportedTrace wider = one(traced, {.groups = {{"data", 8}}});
  const ImportedTrace wide = one({.tensor = 2, .data = 8}, {});
  const ImportedTrace split = one(traced, {.splits = {{"tensor", 4}}});
  const ImportedTrace four = one({.tensor = 4, .data = 4}, {});
  ASSERT_EQ(wider.program.ranks.size(), 16U);
  ASSERT_EQ(split.program.ranks.size(), 16U);
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(members(wider.program, rank), members(wide.program, rank)) << rank;
    EXPECT_EQ(members(split.program, rank), members(four.program, rank)) << rank;
  }
  EXPECT_EQ(wider.kernel_split, 1);
  EXPECT_EQ(split.kernel_split, 0.5);
  const ImportedTrace plain = one(traced, {});
  const Calls before = calls_of_rank(plain.program, 0);
  const Calls after = calls_of_rank(split.program, 0);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const bool is_tensor = std::get<2>(before[i]).size() == 2;
    EXPECT_EQ(std::get<1>(after[i]), std::get<1>(before[i]) / (is_tensor ? 1 : 2)) << i;
  }
  EXPECT_THAT(refusal([&] {
                one(traced, {.groups = {{"dta", 8}}});
              }),
              HasSubstr("is no group of the trace: "));
  EXPECT_THAT(refusal([&] {
                one({.data = 4}, {.groups = {{"data", 8}}});
              }),
              HasSubstr("--ranks changes"));
}

MeasuredRank rank_with(const MeasuredCollective& collective) {
  MeasuredRank rank{.file = "t.json", .rank = 5};
  rank.collectives = {collective};
  return rank;
}

TEST(Groups, ComeFromSizesWhereTheTraceDoesNotListThem) {
  MeasuredRank rank = rank_with({.op = CollectiveOp::kAllGather, .group = "3", .group_size = 4});
  EXPECT_EQ(least_world(rank), 4);
  resolve_groups(rank, 8);
  EXPECT_THAT(rank.collectives[0].ranks, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(rank.notes, Contains(HasSubstr("next to each other")));
  // All 8 are listed, but the sizes are those of 2.
  rank = rank_with({.op = CollectiveOp::kAllGather,
                    .group = "3",
                    .ranks = {0, 1, 2, 3, 4, 5, 6, 7},
                    .group_size = 2});
  resolve_groups(rank, 8);
  EXPECT_THAT(rank.collectives[0].ranks, ElementsAre(4, 5));
  EXPECT_THAT(rank.notes, Contains(HasSubstr("where the trace names 8")));
  rank = rank_with(
      {.op = CollectiveOp::kAllGather, .group = "3", .ranks = {1, 3, 5, 7}, .group_size = 2});
  resolve_groups(rank, 8);
  EXPECT_THAT(rank.collectives[0].ranks, ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(rank.notes, Contains(HasSubstr("contradicts itself")));
  rank = rank_with({.op = CollectiveOp::kAllGather, .group = "3", .group_size = 3});
  EXPECT_THAT(refusal([&] { resolve_groups(rank, 8); }), HasSubstr("is of 3 ranks of 8"));
}

// The public trace with most in its pg_config: 15 groups, one collective of NCCL and 73 others.
TEST(Groups, ArePublicTracesOwn) {
  const std::string file =
      std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/kineto/b200_eager.json.gz";
  const ImportedTrace imported = import_kineto_files({file});
  ASSERT_EQ(imported.found.groups.size(), 2U);
  for (const GroupVolume& of_group : imported.found.groups) {
    EXPECT_THAT(of_group.ranks, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(of_group.volume.count, of_group.op == "allgather" ? 1U : 73U);
    EXPECT_EQ(of_group.group, of_group.op == "allgather" ? "3" : "");
  }
}

}  // namespace
}  // namespace forescale::testing
