// A settings file as its library would load it: which library, with which options, and what it
// says.
#include "studies/settings/settings_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/scratch_folder.hpp"

namespace forescale {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class SettingsFiles : public ::testing::Test {
 protected:
  SettingsFile of(const std::string& text) const {
    std::ofstream(folder_.file("settings"), std::ios::binary) << text;
    return SettingsFile(folder_.file("settings"));
  }
  ScratchFolder folder_{"settings"};
};

// MPICH's own tree with another choice for broadcasts.
std::string changed_tree() {
  SelectionTree tree = mpich_default_tree();
  tree["collective=bcast"]["comm_type=intra"] = {
      {"avg_msg_size<=1000", {{"algorithm=MPIR_Bcast_intra_binomial", SelectionTree::object()}}},
      {"avg_msg_size=any",
       {{"algorithm=MPIR_Bcast_intra_scatter_ring_allgather", SelectionTree::object()}}}};
  return tree.dump();
}

TEST_F(SettingsFiles, AreToldApartByTheirContent) {
  EXPECT_EQ(of("1 2 1 0 1 0 4 0 0").library(), "openmpi");
  EXPECT_THAT(of("1 2 1 0 1 0 4 0 0").tuned_ops(), ElementsAre(CollectiveOp::kAllReduce));
  EXPECT_EQ(of(changed_tree()).library(), "mpich");
  EXPECT_THAT(of(changed_tree()).tuned_ops(), ElementsAre(CollectiveOp::kBroadcast));
  EXPECT_THROW(of(""), InputError);
  EXPECT_THROW(of("allreduce,0,65536,ring,simple,2,1,8\n"), InputError);
  EXPECT_THROW(SettingsFile(folder_.file("nothing")), InputError);
}

TEST_F(SettingsFiles, SayWhatShouldActOnACall) {
  const SettingsFile::Rule ring =
      of("1 2 1 0 2 0 0 0 0 4096 4 0 0").rule_for(CollectiveOp::kAllReduce, 4, 4096);
  EXPECT_EQ(ring.text, "4 (ring)");
  EXPECT_FALSE(ring.is_own_choice);
  EXPECT_EQ(plan_text(ring.algorithm->plan), "all-reduce/ring");
  const SettingsFile::Rule own =
      of("1 2 1 0 2 0 0 0 0 4096 4 0 0").rule_for(CollectiveOp::kAllReduce, 4, 4095);
  EXPECT_TRUE(own.is_own_choice);
  EXPECT_FALSE(own.algorithm.has_value());
  const SettingsFile::Rule unplanned =
      of("1 2 1 0 1 0 5 0 65536").rule_for(CollectiveOp::kAllReduce, 4, 1 << 20);
  EXPECT_EQ(unplanned.text, "5, segments of 64 KiB");
  EXPECT_FALSE(unplanned.is_own_choice);
  EXPECT_FALSE(unplanned.algorithm.has_value());

  const SettingsFile tree = of(changed_tree());
  EXPECT_EQ(tree.rule_for(CollectiveOp::kBroadcast, 4, 1024).text, "scatter_ring_allgather");
  EXPECT_FALSE(tree.rule_for(CollectiveOp::kBroadcast, 4, 1024).is_own_choice);
  // On fewer than 8 ranks the library takes binomial trees by itself.
  EXPECT_TRUE(tree.rule_for(CollectiveOp::kBroadcast, 4, 1000).is_own_choice);
  EXPECT_TRUE(tree.rule_for(CollectiveOp::kReduce, 4, 1024).is_own_choice);
}

TEST_F(SettingsFiles, AreRefusedForLibrariesThatWouldNotReadThem) {
  const SettingsFile first = of("1 2 1 0 1 0 4 0 0");
  EXPECT_NO_THROW(first.check_library("Open MPI 4.1.4"));
  EXPECT_NO_THROW(first.check_library("Open MPI 5.0.7"));
  EXPECT_THROW(first.check_library("Open MPI 3.1.6"), InputError);
  EXPECT_THROW(first.check_library("Open MPI 4.10.0"), InputError);
  EXPECT_THROW(first.check_library("MPICH 4.0.2"), InputError);
  const SettingsFile second = of("rule-file-version-2\n1 2 1 0 1 0 4 0 0 0");
  EXPECT_THROW(second.check_library("Open MPI 4.1.4"), InputError);
  EXPECT_THROW(second.check_library("Open MPI 5.0.6"), InputError);
  EXPECT_NO_THROW(second.check_library("Open MPI 5.0.7"));
  EXPECT_NO_THROW(second.check_library("Open MPI 5.0.10"));
  EXPECT_NO_THROW(of(changed_tree()).check_library("MPICH 4.0.2"));
  EXPECT_THROW(of(changed_tree()).check_library("MPICH 4.2.1"), InputError);
}

TEST_F(SettingsFiles, AreLoadedByOptionsOfTheLauncher) {
  const std::vector<std::string> command = {"mpirun", "-np", "2", "program"};
  const SettingsFile rules = of("1 2 1 0 1 0 4 0 0");
  const auto loaded = rules.loaded(command);
  EXPECT_THAT(loaded, Contains(folder_.file("settings")));
  EXPECT_THAT(loaded, Contains("coll_tuned_use_dynamic_rules"));
  EXPECT_EQ(loaded.back(), "program");
  EXPECT_THAT(rules.counting(command, false), Contains("pml_monitoring_enable"));
  EXPECT_THAT(rules.counting(command, false),
              ::testing::Not(Contains("coll_tuned_use_dynamic_rules")));
  const SettingsFile tree = of(changed_tree());
  EXPECT_THAT(tree.loaded(command), Contains("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"));
  EXPECT_THAT(tree.counting(command, false), Contains("MPIR_CVAR_BCAST_DEVICE_COLLECTIVE"));
}

}  // namespace
}  // namespace forescale
