#include "base/json_text.hpp"
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

TEST(StackCommand, LogSaysWhatNcclDoesAndHowToPredictIt) {
  const std::string log = source_file("tests/models/data/nccl_jean_zay.log");
  expect_answer("stack log " + log,
                {"NCCL 2.10.3: 16 ranks, 4 on each of 4 nodes, network IB",
                 "1 in use at a time, 0 connections with GPUDirect and 9 without",
                 "ring         0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 (channels 0, 1)",
                 "note: of 4 adapters one is in use"});
  expect_answer("stack log " + log + " --platform dgx-a100",
                {"to predict so: --network-scale 0.125 (1 of 8 adapters of a node of dgx-a100, "
                 "taken to be as fast)"});
  const nlohmann::json document = parse_json(expect_answer("stack log " + log + " --json").out);
  EXPECT_EQ(document["hosts"]["jean-zay-iam37"]["sending"], nlohmann::json({1}));
  EXPECT_EQ(document["adapters_in_use"], 1);
  EXPECT_TRUE(document["options"].empty());
  const Workshop workshop;
  const std::string told =
      workshop.file("told.txt",
                    "a:1:2 [0] NCCL INFO NCCL_PROTO set by environment to LL128.\n"
                    "a:1:2 [0] NCCL INFO NCCL_IB_TC set by environment to 106.\n"
                    "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n");
  expect_answer("stack log " + told,
                {"NCCL of unknown version: 2 ranks, of which the log has 1, on 1 node",
                 "variable     NCCL_IB_TC=106",
                 "to predict so: --stack nccl:NCCL_PROTO=LL128 (what its environment says)"});
  const std::string of_2_18 =
      workshop.file("2.18.txt",
                    "a:1:2 [0] NCCL INFO NCCL version 2.18.3+cuda12.2\n"
                    "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n");
  expect_answer("stack log " + of_2_18 + " --platform dgx-h100",
                {"NCCL 2.18.3", "to predict so: --stack nccl-2.18 (its release)"});
  expect_answer(
      "collective --platform dgx-h100:nodes=2 --stack nccl-2.18 --plan all-reduce "
      "--bytes 1MiB",
      {"with nccl-2.18-h100"});
  expect_answer("stack show nccl-2.18-h100",
                {"NCCL 2.18 on nodes of eight H100",
                 "what it takes between nodes by its own estimates, the first that fits"});
  expect_refused("collective --platform dgx-h100 --stack nccl-2.19 --plan all-reduce --bytes 1MiB",
                 {"nccl-2.19", "must be of a release that is known: 2.18, 2.20"});
}

TEST(StackCommand, LogRefusesWhatIsNone) {
  const Workshop workshop;
  const std::string other = workshop.file("other.txt", "hello\n");
  expect_refused("stack log " + other, {other + ": has no line of NCCL", "NCCL_DEBUG=INFO"});
  expect_refused("stack log " + workshop.file("none.txt", " \n"), {"none.txt: is empty"});
  expect_refused("stack log missing.txt", {"missing.txt: cannot be read"});
  expect_refused("stack log .", {".: is a folder"});
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
