#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

std::string ideal() { return text_of(source_file("models/stacks/ideal.json")); }

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(StackCommand, ShowsPathsReductionProgressAndSelection) {
  expect_answer("stack show ideal",
                {"latency:    holds both ports", "progress:   always", "GPU buffers: costs nothing",
                 "where  buffers", "all-reduce", "ring"});
  expect_answer("stack show ideal:reduce_bandwidth=20GB/s,reduce_overhead=10us,overlap=true",
                {"10 us + bytes / 20 GB/s, overlaps the next transfer"});
}

TEST(StackCommand, ShowsJsonWithNullForNoLimit) {
  const nlohmann::json shown =
      expect_answer("stack show ideal:reduce_bandwidth=20GB/s --json").json();
  EXPECT_EQ(shown["name"], "ideal");
  EXPECT_DOUBLE_EQ(shown["reduction"]["rate_bytes_per_s"], 20e9);
  EXPECT_EQ(shown["paths"].size(), 2U);
  EXPECT_TRUE(shown["paths"][0]["connection_cap_bytes_per_s"].is_null());
  for (const nlohmann::json& rule : shown["selection"]) {
    EXPECT_TRUE(rule["up_to_bytes"].is_null()) << rule;
    EXPECT_TRUE(rule["chain_size"].is_null()) << rule;  // ring and binomial read none
  }
}

TEST(StackCommand, NcclsEnvironmentIsTakenAtItsWord) {
  const std::string ask = "collective --platform dgx-h100 --ranks 32 --bytes 16MiB --json --stack ";
  EXPECT_EQ(expect_answer(ask + "nccl").json()["algorithm"], "star-tree");
  const nlohmann::json trees =
      expect_answer(ask + "nccl:NCCL_ALGO=Ring,Tree,NCCL_PROTO=^LL").json();
  EXPECT_EQ(trees["algorithm"], "chain-tree");
  EXPECT_THAT(trees["command"].get<std::string>(),
              ::testing::HasSubstr("nccl:NCCL_ALGO=Ring,Tree,NCCL_PROTO=^LL"));
  expect_refused(
      "collective --platform dgx-h100 --ranks 8 --bytes 1MiB --stack nccl:NCCL_ALGO=Tree",
      {"all-reduce: cannot be done on 8 ranks by what NCCL_ALGO and NCCL_PROTO leave"});
  expect_answer(
      "tune collective --platform dgx-h100:nodes=4 --ranks 32 --bytes 4MiB --stack "
      "nccl:NCCL_ALGO=Ring",
      {"own choice: ring/"});
  expect_refused(ask + "nccl:NCCL_ALGO=Rign", {"NCCL_ALGO = Rign: must be a list of"});
}

TEST(StackCommand, ListsSources) {
  const Workshop workshop;
  const std::string file = workshop.file(
      "mine.json",
      with(
          ideal(), R"("eager_limit_bytes": 0)",
          R"("eager_limit_bytes": {"value": 8192, "assumed": "typical", "fast": 16384, "slow": 4096})"));
  expect_answer("stack show " + file + " --sources",
                {"1 of them assumed", "mine.json:/eager_limit_bytes", "8192", "16384 .. 4096",
                 "assumed: typical"});
  expect_answer("stack show " + file, {"eager:      up to 8 KiB"});
}

TEST(StackCommand, CheckNamesFilePathAndNearest) {
  const Workshop workshop;
  const std::string key = workshop.file("key.json", with(ideal(), "channels", "chanels"));
  expect_refused("stack check " + key,
                 {key + ":/chanels = 1: key is unknown", "did you mean \"channels\"?"});
  const std::string algorithm =
      workshop.file("algorithm.json", with(ideal(), R"("reduce": [{"algorithm": "binomial"}])",
                                           R"("reduce": [{"algorithm": "binomal"}])"));
  expect_refused("stack check " + algorithm,
                 {algorithm + ":/selection/reduce/0 = binomal", "did you mean \"binomial\"?"});
  const std::string op =
      workshop.file("op.json", with(ideal(), R"("all-to-all": [)", R"("all-to-al": [)"));
  expect_refused("stack check " + op,
                 {op + ":/selection/all-to-al", "did you mean \"all-to-all\"?"});
  const std::string levels = workshop.file(
      "levels.json", with(ideal(), R"("reduce": [{"algorithm": "binomial"}])",
                          R"("reduce": [{"algorithm": "hierarchical", "levels": "chan:8,flat"}])"));
  expect_refused("stack check " + levels, {levels + ":/selection/reduce/0", "chan"});
  expect_answer("stack check ideal", {"ideal: ok, 2 paths, 8 operations"});
}

}  // namespace
}  // namespace forescale::testing
