// Settings files: what is written, what their library would read, and what is refused. No MPI here.
#include "studies/settings/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "studies/settings/settings_mpich.hpp"
#include "studies/settings/settings_openmpi.hpp"
#include "studies/settings/settings_proof.hpp"
#include "studies/settings/settings_text.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::refusal;

const SettingsFormat& format(const std::string& name) {
  return Registry<SettingsFormat>::find(name, "--emit");
}

LibraryAlgorithm offered(const std::string& format_name, CollectiveOp op, const std::string& id,
                         std::int64_t segment_bytes = 0) {
  for (const LibraryAlgorithm& one : format(format_name).algorithms(op))
    if (one.id == id && one.segment_bytes == segment_bytes) return one;
  ADD_FAILURE() << format_name << " does not offer " << id;
  return {};
}

std::string emit_refusal(const std::string& format_name, const TunedSettings& settings,
                         const std::string& version = "") {
  return refusal([&] { emit_settings(format(format_name), settings, version); });
}

TunedSettings ring_from_64_kib(int ranks) {
  return {.regions = {{.op = CollectiveOp::kAllReduce,
                       .ranks = ranks,
                       .from_bytes = 65536,
                       .chosen = offered("openmpi-rules", CollectiveOp::kAllReduce, "4")}},
          .provenance = {{"platform", "kesch"}, {"seed", "1"}}};
}

TEST(OpenMpiRules, AreWrittenWithTheLibrarysChoiceAround) {
  TunedSettings settings = ring_from_64_kib(8);
  settings.regions.front().to_bytes = 1'048'575;
  EXPECT_EQ(
      emit_settings(format("openmpi-rules"), settings),
      "# Dynamic rules for coll/tuned of Open MPI 4.1.\n"
      "# platform: kesch\n"
      "# seed: 1\n"
      "# Lines of rules: bytes (from here on), algorithm, fan-out, segment bytes.\n"
      "# Ring and Rabenseifner add in another order: not for operations that do not commute.\n"
      "1  # operations\n"
      "2  # all-reduce\n"
      "3  # rank counts\n"
      "0  # ranks, and more\n"
      "1  # sizes\n"
      "0 0 0 0  # the library's own choice\n"
      "8  # ranks, and more\n"
      "3  # sizes\n"
      "0 0 0 0  # the library's own choice\n"
      "65536 4 0 0  # ring\n"
      "1048576 0 0 0  # the library's own choice\n"
      "9  # ranks, and more\n"
      "1  # sizes\n"
      "0 0 0 0  # the library's own choice\n");
}

TEST(OpenMpiRules, HoldFromTheirSizeAndRankCountOn) {
  TunedSettings settings = ring_from_64_kib(4);
  settings.regions.push_back(
      {.op = CollectiveOp::kAllReduce,
       .ranks = 4,
       .to_bytes = 65535,
       .chosen = offered("openmpi-rules", CollectiveOp::kAllReduce, "6")});  // powers of two only
  settings.regions.push_back(
      {.op = CollectiveOp::kReduce,
       .ranks = 16,
       .chosen = offered("openmpi-rules", CollectiveOp::kReduce, "3", 131072)});
  settings.regions.push_back({.op = CollectiveOp::kAllReduce, .ranks = 8, .chosen = {}});
  const OpenMpiRules rules =
      read_openmpi_rules(emit_settings(format("openmpi-rules"), settings), "rules");
  const auto algorithm = [&](int ranks, std::int64_t bytes) {
    return rules.rule_for(CollectiveOp::kAllReduce, ranks, bytes).algorithm;
  };
  EXPECT_EQ(algorithm(4, 4 * 4 - 1), 0);  // less than an element a rank
  EXPECT_EQ(algorithm(4, 4 * 4), 6);
  EXPECT_EQ(algorithm(4, 65535), 6);
  EXPECT_EQ(algorithm(4, 65536), 4);
  EXPECT_EQ(algorithm(4, kLargest), 4);
  EXPECT_EQ(algorithm(3, 65536), 0);  // below what was tuned
  EXPECT_EQ(algorithm(5, 1024), 0);   // no power of two
  EXPECT_EQ(algorithm(7, 65536), 4);  // up to the next tuned count
  EXPECT_EQ(algorithm(8, 65536), 0);
  EXPECT_EQ(algorithm(9, 65536), 0);  // above
  const OpenMpiRule chain = rules.rule_for(CollectiveOp::kReduce, 16, 1 << 20);
  EXPECT_EQ(chain.algorithm, 3);
  EXPECT_EQ(chain.segment_bytes, 131072);
  EXPECT_EQ(openmpi_algorithm(CollectiveOp::kReduce, chain)->plan.options.number(kChunkBytes),
            131072);
  EXPECT_EQ(rules.rule_for(CollectiveOp::kBroadcast, 16, 1 << 20).algorithm, 0);
}

TEST(OpenMpiRules, OfTheSecondVersionHaveTheHeaderFirst) {
  const std::string text = emit_settings(format("openmpi-rules"), ring_from_64_kib(8), "5.0.7");
  EXPECT_EQ(text.rfind("rule-file-version-2\n", 0), 0U);
  EXPECT_THAT(text, HasSubstr("\n65536 4 0 0 0  # ring\n"));
  const OpenMpiRules rules = read_openmpi_rules(text, "rules");
  EXPECT_EQ(rules.version, 2);
  EXPECT_EQ(rules.rule_for(CollectiveOp::kAllReduce, 8, 65536).algorithm, 4);
  EXPECT_THAT(emit_settings(format("openmpi-rules"), ring_from_64_kib(8), "5.0"),
              Not(HasSubstr("version-2")));
}

std::string misread(const std::string& text) {
  return refusal([&] { read_openmpi_rules(text, "r.conf"); });
}

TEST(OpenMpiRules, ThatOpenMpiWouldIgnoreAreRefused) {
  EXPECT_EQ(misread("1 2 1 0 1 0 4 0 0"), "accepted");
  EXPECT_THAT(misread("1\n2\n1\n0\n1\n1024 4 0 0\n"), HasSubstr("line 6"));
  EXPECT_THAT(misread("1\n2\n1\n0\n1\n1024 4 0 0\n"), HasSubstr("must be 0"));
  EXPECT_THAT(misread("1\n2\n1\n0\n2\n0 4 0 0\n"), HasSubstr("ends before a message size"));
  EXPECT_THAT(misread("1 2 1 0 1 0 99 0 0"), HasSubstr("99"));
  EXPECT_THAT(misread("1 2 1 0 1 0 4 0 0100"), HasSubstr("octal"));
  EXPECT_THAT(misread("1 2 2 8 1 0 4 0 0 4 1 0 4 0 0"), HasSubstr("larger than the rank count"));
  EXPECT_THAT(misread("1 22 1 0 1 0 4 0 0"), HasSubstr("22"));
  EXPECT_THAT(misread("1 2 1 0 1 0 ring 0 0"), HasSubstr("ring"));
  EXPECT_THAT(misread("1 2 1 0 1 0 4 0 0 7"), HasSubstr("behind the last rule"));
  EXPECT_THAT(misread("rule-file-version-3\n0"), HasSubstr("version 2"));
}

TEST(OpenMpiRules, BelowTheLeastRankCountAreThoseOfIt) {
  const OpenMpiRules rules = read_openmpi_rules("1 2 1 8 1 0 4 0 0", "rules");
  EXPECT_EQ(rules.rule_for(CollectiveOp::kAllReduce, 2, 1024).algorithm, 4);
}

TunedSettings mpich_settings() {
  return {.regions = {{.op = CollectiveOp::kAllReduce,
                       .ranks = 4,
                       .from_bytes = 0,
                       .to_bytes = 1'048'575,
                       .chosen = offered("mpich-json", CollectiveOp::kAllReduce,
                                         "MPIR_Allreduce_intra_recursive_doubling")},
                      {.op = CollectiveOp::kBroadcast,
                       .ranks = 4,
                       .from_bytes = 4096,
                       .chosen = offered("mpich-json", CollectiveOp::kBroadcast,
                                         "MPIR_Bcast_intra_scatter_ring_allgather")}}};
}

TEST(MpichTree, KeepsTheRestOfTheLibrarysOwn) {
  const std::string text = emit_settings(format("mpich-json"), mpich_settings());
  const SelectionTree tree = read_mpich_tree(text, "tree");
  const SelectionTree& own = mpich_default_tree();
  std::vector<std::string> changed;
  for (const auto& [key, subtree] : own.items())
    if (tree.at(key) != subtree) changed.push_back(key);
  EXPECT_THAT(changed, ElementsAre("collective=bcast", "collective=allreduce"));
  EXPECT_EQ(tree.size(), own.size());
  EXPECT_EQ(tree.at("collective=allreduce").at("comm_type=inter"),
            own.at("collective=allreduce").at("comm_type=inter"));
  EXPECT_TRUE(is_default_in_mpich(tree, CollectiveOp::kReduce));
  EXPECT_FALSE(is_default_in_mpich(tree, CollectiveOp::kBroadcast));
}

TEST(MpichTree, SelectsWhatWasTunedAndElseTheLibrarysChoice) {
  const SelectionTree tree =
      read_mpich_tree(emit_settings(format("mpich-json"), mpich_settings()), "tree");
  const auto selected = [&](CollectiveOp op, int ranks, std::int64_t bytes) {
    return mpich_selected(tree, "tree", op, ranks, bytes);
  };
  const std::string doubling = "MPIR_Allreduce_intra_recursive_doubling";
  const std::string halving = "MPIR_Allreduce_intra_reduce_scatter_allgather";
  EXPECT_EQ(selected(CollectiveOp::kAllReduce, 4, 1024), doubling);
  EXPECT_EQ(selected(CollectiveOp::kAllReduce, 4, 1'048'575), doubling);
  EXPECT_EQ(selected(CollectiveOp::kAllReduce, 4, 1'048'576), halving);
  EXPECT_EQ(selected(CollectiveOp::kAllReduce, 8, 1024), halving);
  EXPECT_EQ(selected(CollectiveOp::kAllReduce, 3, 1024), halving);
  EXPECT_EQ(selected(CollectiveOp::kBroadcast, 4, 4092), "MPIR_Bcast_intra_binomial");
  EXPECT_EQ(selected(CollectiveOp::kBroadcast, 4, 4096), "MPIR_Bcast_intra_scatter_ring_allgather");
  EXPECT_EQ(selected(CollectiveOp::kBroadcast, 5, 4096), "MPIR_Bcast_intra_binomial");
}

TEST(MpichTree, AsksForBuiltInOperationsWhereOthersWouldEndTheProgram) {
  TunedSettings settings;
  settings.regions.push_back({.op = CollectiveOp::kReduce,
                              .ranks = 6,
                              .chosen = offered("mpich-json", CollectiveOp::kReduce,
                                                "MPIR_Reduce_intra_reduce_scatter_gather")});
  const SelectionTree tree = read_mpich_tree(emit_settings(format("mpich-json"), settings), "tree");
  const SelectionTree& leaf =
      tree.at("collective=reduce").at("comm_type=intra").at("comm_size<=6").at("avg_msg_size=any");
  EXPECT_TRUE(leaf.at("is_op_built_in=no").contains("algorithm=MPIR_Reduce_intra_binomial"));
  EXPECT_TRUE(leaf.at("is_op_built_in=yes")
                  .at("count<pow2")
                  .contains("algorithm=MPIR_Reduce_intra_binomial"));
}

std::string refused_tree(const std::string& text) {
  return refusal([&] { read_mpich_tree(text, "t.json"); });
}

TEST(MpichTree, ThatWouldEndAProgramIsRefused) {
  EXPECT_EQ(refused_tree(mpich_default_tree().dump()), "accepted");
  EXPECT_THAT(refused_tree("{\"collective=allreduce\": {\"algorithm=x\": {}}}"),
              HasSubstr("collective=bcast"));
  EXPECT_THAT(refused_tree("{\"collective=allreduce\": {\"size<8\": {}}}"), HasSubstr("size<8"));
  EXPECT_THAT(refused_tree("{"), HasSubstr("is no JSON"));
  EXPECT_THAT(refused_tree("{\"collective=allreduce\": 1e65536}"), HasSubstr("is no JSON"));
  EXPECT_THAT(refused_tree("{}"), HasSubstr("must be an object with conditions"));
  SelectionTree tree = mpich_default_tree();
  tree["collective=newreduce"] = {{"algorithm=x", SelectionTree::object()}};
  EXPECT_THAT(refused_tree(tree.dump()), HasSubstr("is no operation of MPICH"));
  tree = mpich_default_tree();
  const SelectionTree leaf = {{"algorithm=x", SelectionTree::object()}};
  tree["collective=bcast"] = {{"avg_msg_size<=8", leaf}};
  EXPECT_THAT(refused_tree(tree.dump()), HasSubstr("must be followed by another"));
  tree["collective=bcast"] = {{"avg_msg_size=any", leaf}, {"avg_msg_size<=8", leaf}};
  EXPECT_THAT(refused_tree(tree.dump()), HasSubstr("must be the last one"));
  tree["collective=bcast"] = {{"algorithm=MPIR_Bcast_intra_binominal", SelectionTree::object()}};
  EXPECT_THAT(refused_tree(tree.dump()), HasSubstr("did you mean"));
  tree = mpich_default_tree();
  tree["collective=allreduce"] = {{"comm_size<=8", {{"algorithm=x", SelectionTree::object()}}}};
  EXPECT_THROW(mpich_selected(tree, "t.json", CollectiveOp::kAllReduce, 9, 1024), InputError);
}

LibraryAlgorithm told(CollectiveOp op, const std::string& choice) {
  return told_algorithm(op, AlternativeChoice::parse(choice, "test"));
}

// All-reduces of 64 ranks on 8 nodes: a tree to 1 MiB, from 4 MiB on another in chunks that are
// said.
TunedSettings two_trees() {
  TunedSettings settings;
  settings.regions.push_back({.op = CollectiveOp::kAllReduce,
                              .ranks = 64,
                              .nodes = 8,
                              .from_bytes = 65536,
                              .to_bytes = 1 << 20,
                              .chosen = told(CollectiveOp::kAllReduce, "tree/ll")});
  settings.regions.push_back({.op = CollectiveOp::kAllReduce,
                              .ranks = 64,
                              .nodes = 8,
                              .from_bytes = (1 << 20) + 1,
                              .to_bytes = (1 << 22) - 1});  // the library's own choice
  settings.regions.push_back(
      {.op = CollectiveOp::kAllReduce,
       .ranks = 64,
       .nodes = 8,
       .from_bytes = 1 << 22,
       .chosen = told(CollectiveOp::kAllReduce, "nvls_tree/simple:chunk_bytes=65536")});
  return settings;
}

TEST(NcclTables, LeaveToNcclWhatIsNotFaster) {
  EXPECT_THAT(emit_settings(format("nccl-plugin"), two_trees()),
              EndsWith("chunk bytes\n"
                       "allreduce,65536,1048576,tree,ll,-1,8,64,0\n"
                       "allreduce,4194304,9223372036854775807,nvls_tree,simple,-1,8,64,65536\n"));
  // 65536 / 64 to 1048576 / 64 bytes a rank.
  EXPECT_THAT(emit_settings(format("ncclx"), two_trees()),
              EndsWith("chunkSize\n"
                       "allreduce,[1024,16384],tree,ll,-1,8,8,0\n"
                       "allreduce,[65536,),nvls_tree,simple,-1,8,8,0\n"));
  const TunedSettings nothing{
      .regions = {{.op = CollectiveOp::kAllReduce, .ranks = 64, .nodes = 8}}};
  for (const char* name : {"nccl-plugin", "ncclx"})
    EXPECT_THAT(emit_settings(format(name), nothing), EndsWith("nothing is told.\n")) << name;
}

// Less than a byte a rank can be told to nobody.
TEST(NcclTables, SizesOfNcclxAreBytesOfARank) {
  TunedSettings settings = two_trees();
  settings.regions.resize(1);
  settings.regions[0].from_bytes = 1;
  settings.regions[0].to_bytes = 130;
  EXPECT_THAT(emit_settings(format("ncclx"), settings), HasSubstr("allreduce,[1,2],tree"));
  settings.regions[0].to_bytes = 60;
  EXPECT_THAT(emit_settings(format("ncclx"), settings), Not(HasSubstr("allreduce,[")));
  settings.regions[0].nodes = 7;
  EXPECT_THAT(emit_refusal("ncclx", settings), HasSubstr("64 ranks on 7 nodes"));
}

TEST(NcclTables, OfTheExampleServeOtherShapesAsTheLargest) {
  TunedSettings settings = two_trees();
  settings.regions[1].chosen = told(CollectiveOp::kAllReduce, "ring/simple");
  settings.regions.push_back({.op = CollectiveOp::kBroadcast,
                              .ranks = 64,
                              .nodes = 8,
                              .chosen = told(CollectiveOp::kBroadcast, "ring/simple")});
  settings.regions.push_back({.op = CollectiveOp::kBroadcast,
                              .ranks = 8,
                              .nodes = 1,
                              .chosen = told(CollectiveOp::kBroadcast, "tree/ll")});
  const std::string text = emit_settings(format("nccl-tuner"), settings);
  EXPECT_THAT(text, HasSubstr("plugins/tuner/example"));
  EXPECT_THAT(text, HasSubstr("\nbroadcast,0,9223372036854775807,tree,ll,0,1,8\n"));
  EXPECT_THAT(text, HasSubstr("\nallreduce,1048577,4194303,ring,simple,0,8,64\n"));
  const std::string others = text.substr(text.find("# other communicators"));
  EXPECT_THAT(others, HasSubstr("\nallreduce,65536,1048576,tree,ll,0,-1,-1\n"));
  EXPECT_THAT(others, HasSubstr("\nbroadcast,0,9223372036854775807,ring,simple,0,-1,-1\n"));
  EXPECT_THAT(others, Not(HasSubstr("broadcast,0,9223372036854775807,tree")));
  // At the end, rings for whatever was passed over.
  EXPECT_THAT(text, EndsWith("\nallgather,0,1048575,ring,ll,0,-1,-1\n"
                             "allgather,1048576,9223372036854775807,ring,simple,0,-1,-1\n"));
  EXPECT_THAT(text, HasSubstr("\nallreduce,0,1048575,ring,ll,0,-1,-1\n"));
  EXPECT_THAT(emit_settings(format("nccl-tuner"), settings, "2.28"),
              HasSubstr("ext-tuner/example"));
}

TEST(NcclEnvironment, SaysOneChoiceForAllSizesOrNothing) {
  EXPECT_THAT(emit_refusal("nccl-environment", two_trees()),
              AllOf(HasSubstr("all-reduce"), HasSubstr("NCCL's own choice, nvls_tree/simple")));
  TunedSettings settings = two_trees();
  settings.regions = {settings.regions[0]};
  EXPECT_THAT(emit_settings(format("nccl-environment"), settings),
              EndsWith("export NCCL_ALGO='allreduce:tree'\n"
                       "export NCCL_PROTO='allreduce:ll'\n"));
  // NCCL would not look whether the machine can.
  for (const char* forced : {"nvls_tree/simple", "tree/ll128"}) {
    settings.regions[0].chosen = told(CollectiveOp::kAllReduce, forced);
    EXPECT_THAT(emit_refusal("nccl-environment", settings), HasSubstr(forced));
  }
  settings.regions[0].chosen.reset();
  EXPECT_THAT(emit_settings(format("nccl-environment"), settings), EndsWith("nothing is told.\n"));
}

TEST(EnvironmentFiles, SayWhatTheirLibrariesRead) {
  TunedSettings settings;
  settings.regions.push_back({.op = CollectiveOp::kAllReduce,
                              .ranks = 8,
                              .from_bytes = 0,
                              .to_bytes = 4095,
                              .chosen = offered("mvapich2", CollectiveOp::kAllReduce, "1")});
  settings.regions.push_back({.op = CollectiveOp::kAllReduce,
                              .ranks = 8,
                              .from_bytes = 4096,
                              .chosen = offered("mvapich2", CollectiveOp::kAllReduce, "2")});
  EXPECT_EQ(emit_settings(format("mvapich2"), settings),
            "# For MVAPICH2 2.x.\nexport MV2_INTER_ALLREDUCE_TUNING_TWO_LEVEL=0\n"
            "export MV2_INTER_ALLREDUCE_TUNING='1:0-4095,2:4096-+'\n");
  settings.regions[0].chosen = offered("intel-mpi", CollectiveOp::kAllReduce, "1");
  settings.regions[1].chosen = offered("intel-mpi", CollectiveOp::kAllReduce, "8");
  EXPECT_EQ(emit_settings(format("intel-mpi"), settings),
            "# For the Intel MPI Library.\n"
            "export I_MPI_ADJUST_ALLREDUCE='1:0-4095@8-8;8:4096-2147483647@8-8'\n");
  settings.regions[0].chosen = offered("ucc", CollectiveOp::kAllReduce, "0");
  settings.regions[1].chosen = offered("ucc", CollectiveOp::kAllReduce, "1");
  EXPECT_THAT(emit_settings(format("ucc"), settings),
              HasSubstr("export UCC_TL_UCP_TUNE="
                        "'allreduce:32-4096:[8-8]:@0#allreduce:4096-inf:[8-8]:@1'\n"));
  const TunedSettings training{.training = {.fusion_threshold_bytes = 67108864,
                                            .cycle_time = Seconds{3.5e-3},
                                            .bucket_bytes = 26214400}};
  EXPECT_EQ(emit_settings(format("horovod"), training),
            "# For Horovod.\nexport HOROVOD_FUSION_THRESHOLD=67108864\n"
            "export HOROVOD_CYCLE_TIME=3.5\n");
  EXPECT_THAT(emit_settings(format("ddp"), training), HasSubstr("\nbucket_cap_mb=25\n"));
}

TEST(CsvTable, HasAnyPlan) {
  const PlanChoice plan = parse_plan("reduce/cb:chain_size=8,chunk_bytes=4MiB", "--plans");
  const TunedSettings settings{.regions = {{.op = CollectiveOp::kReduce,
                                            .ranks = 160,
                                            .from_bytes = 0,
                                            .to_bytes = 9,
                                            .chosen = own_algorithm(plan)}}};
  EXPECT_EQ(emit_settings(format("csv"), settings),
            "operation,ranks,from_bytes,to_bytes,algorithm,segment_bytes,plan\n"
            "reduce,160,0,9,\"reduce/cb:chain_size=8,chunk_bytes=4MiB\",0,"
            "\"reduce/cb:chain_size=8,chunk_bytes=4MiB\"\n");
}

TEST(EmitSettings, RefusesWhatALibraryCannotBeTold) {
  EXPECT_THAT(emit_refusal("openmpi-rules", ring_from_64_kib(8), "3.1"),
              HasSubstr("--library-version = 3.1"));
  EXPECT_THAT(emit_refusal("openmpi-rules", ring_from_64_kib(8), "3.1"),
              HasSubstr("4.1, 5.0, 5.0.7"));
  EXPECT_THAT(emit_refusal("mpich-json", mpich_settings(), "4.3"), HasSubstr("--library-version"));
  EXPECT_THAT(emit_refusal("csv", {}, "1"), HasSubstr("has no versions"));
  EXPECT_THAT(emit_refusal("openmpi-rules", {}), HasSubstr("nothing was tuned"));
  EXPECT_THAT(emit_refusal("mpich-json", ring_from_64_kib(8)), HasSubstr("MPICH has no 4"));
  TunedSettings settings = ring_from_64_kib(8);
  settings.regions.push_back(settings.regions.front());
  settings.regions.back().from_bytes = 1 << 20;
  EXPECT_THAT(emit_refusal("openmpi-rules", settings), HasSubstr("overlaps with"));
  settings = ring_from_64_kib(6);
  settings.regions.front().chosen = offered("openmpi-rules", CollectiveOp::kAllReduce, "6");
  EXPECT_THAT(emit_refusal("openmpi-rules", settings), HasSubstr("power of two"));
  settings.regions.front().to_bytes = 10;
  EXPECT_THAT(emit_refusal("openmpi-rules", settings), HasSubstr("behind its end"));
}

TEST(Formats, OfferOnlyPlansThatServe) {
  for (const auto& [name, one] : Registry<SettingsFormat>::all()) {
    EXPECT_FALSE(one.summary.empty()) << name;
    EXPECT_THAT(one.how_to_load("FILE"), HasSubstr("FILE")) << name;
    if (one.algorithms == nullptr) continue;
    for (const CollectiveOp op : all_collective_ops())
      for (const LibraryAlgorithm& algorithm : one.algorithms(op)) {
        EXPECT_EQ(algorithm.op, op) << name;
        EXPECT_EQ(algorithm.plan.collective->op, op) << name;
        EXPECT_FALSE(algorithm.source.empty()) << name << " " << algorithm.id;
        for (int ranks = 2; ranks <= 33; ++ranks) {
          if (!algorithm.refuse(ranks, 1 << 20).empty()) continue;
          const CollectiveQuestion question{
              .plan = algorithm.plan, .ranks = ranks, .bytes = 1 << 20};
          EXPECT_NO_THROW(check_call(*algorithm.plan.collective, question.call()))
              << name << " " << algorithm.id << " on " << ranks;
        }
      }
  }
}

TEST(PlannedCounts, AreThoseOfTheAlgorithm) {
  const PairCounts ring =
      planned_counts(offered("openmpi-rules", CollectiveOp::kAllReduce, "4"), 4, 65536);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) {
      const auto at = static_cast<std::size_t>(4 * from + to);
      const bool is_next = to == (from + 1) % 4;
      EXPECT_EQ(ring.messages[at], is_next ? 2 * (4 - 1) : 0);
      EXPECT_EQ(ring.bytes[at], is_next ? 2 * (4 - 1) * 65536 / 4 : 0);
    }
  // Three ranks: the library adds rank 0's vector on rank 1, which talks to rank 2 for both.
  const PairCounts doubling =
      planned_counts(offered("openmpi-rules", CollectiveOp::kAllReduce, "3"), 3, 1024);
  EXPECT_THAT(doubling.messages, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0));
  EXPECT_FALSE(is_same_traffic(ring, doubling));
  PairCounts other = ring;
  other.bytes[1] += 4 * 4 * other.messages[1];  // an element a rank and message
  EXPECT_TRUE(is_same_traffic(ring, other));
  ++other.bytes[1];
  EXPECT_FALSE(is_same_traffic(ring, other));
}

std::string refused_answer(const std::string& cases) {
  return refusal([&] {
    read_counted_messages(R"({"format": "forescale-message-counts-1", "library": "MPICH 4.0.2",
                              "counted_by": "libucp", "cases": [)" +
                              cases + "]}",
                          "answer", 1);
  });
}

TEST(CountedMessages, AreReadFromTheAnswer) {
  EXPECT_EQ(refused_answer(R"({"messages": [[0, 2], [1, 0]], "sent_bytes": [[0, 8], [4, 0]]})"),
            "accepted");
  EXPECT_THAT(refused_answer(R"({"messages": [[0, 2]], "sent_bytes": [[0, 8], [4, 0]]})"),
              HasSubstr("/cases/0/messages"));
  EXPECT_THAT(refused_answer(R"({"messages": [[0, 2], [1, 0]], "sent_bytes": [[0]]})"),
              HasSubstr("as many"));
  EXPECT_THAT(refused_answer(""), HasSubstr("must have the 1 cases"));
}

}  // namespace
}  // namespace forescale
