// `platform import` and `platform new` from end to end: what they write is asked like any platform.
#include <map>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

std::string sample(const std::string& name) { return source_file("tests/topologies/data/" + name); }

// Times of an all-reduce by ranks and bytes.
std::map<std::string, double> all_reduce_times(const std::string& platform) {
  std::map<std::string, double> times;
  const nlohmann::json answer =
      expect_answer("collective --platform " + platform +
                    " --op all-reduce --ranks 8,16,64 --bytes 64KiB,16MiB,256MiB --json")
          .json();
  for (const nlohmann::json& row : answer.at("points"))
    times[row["ranks"].dump() + "/" + row["bytes"].dump()] = row["simulated_s"].get<double>();
  return times;
}

double iteration_of(const std::string& platform) {
  const nlohmann::json answer =
      expect_answer("predict --platform " + platform +
                    " --model llama-3-8b --seq 4096 --gpus 64 --layout tp=4,micro=1,global=64 "
                    "--no-range --json")
          .json();
  return answer.at("predictions").at(0).at("iteration_s").get<double>();
}

// The preset is by the data sheet; a dump of such a machine and the files that clouds ship for
// theirs say the same.
TEST(PlatformImportCommand, ADumpOfAnH100NodePredictsWhatThePresetDoes) {
  const Workshop workshop;
  const std::map<std::string, std::string> inputs = {
      // its adapters have 200 Gbit/s where a DGX has 400
      {"dump.json", sample("ibm-hgx-h100.xml") + " --link ndr"},
      {"azure.json", sample("azure-ndv5.xml") + " --gpu h100"},
      {"matrix.json", sample("topo-m-hgx-h100.txt") + " --gpu h100"}};
  const auto preset = all_reduce_times("dgx-h100");
  ASSERT_EQ(preset.size(), 9U);
  const double preset_s = iteration_of("dgx-h100");
  for (const auto& [name, arguments] : inputs) {
    const std::string file = workshop.path(name);
    expect_answer("platform import " + arguments + " --nodes 32 -o " + file,
                  {"32 nodes x 8 h100, 8 adapters a node", "assumed"});
    expect_answer("platform show " + file,
                  {"gpu7", "nic7", "nvswitch", "assumed about the structure"});
    const auto imported = all_reduce_times(file);
    for (const auto& [question, time_s] : preset)
      EXPECT_NEAR(imported.at(question), time_s, 0.05 * time_s) << name << " " << question;
    EXPECT_NEAR(iteration_of(file), preset_s, 0.05 * preset_s) << name;
  }
}

// At its own 200 Gbit/s the dump is half as fast between nodes: what a file says counts.
TEST(PlatformImportCommand, WhatTheDumpSaysOfAdaptersCounts) {
  const Workshop workshop;
  const std::string file = workshop.path("own.json");
  expect_answer("platform import " + sample("ibm-hgx-h100.xml") + " --nodes 32 -o " + file,
                {"link of an adapter: ibm-hgx-h100.xml:"});
  const std::string large = "64/268435456";
  EXPECT_GT(all_reduce_times(file).at(large), 1.5 * all_reduce_times("dgx-h100").at(large));
}

TEST(PlatformImportCommand, EveryPublicSampleLoadsOrSaysWhyNot) {
  const Workshop workshop;
  const std::string out = workshop.path("out.json");
  const std::vector<std::pair<std::string, std::string>> samples = {
      {"ibm-hgx-h100.xml", ""},
      {"azure-ndv5.xml", "--gpu h100"},
      {"azure-ndv4.xml", "--gpu a100-40gb --nodes 8"},
      {"azure-ndv2.xml", "--gpu v100-sxm2 --nvlink none --nodes 8"},
      {"topo-m-hgx-h100.txt", "--gpu h100"},
      {"topo-m-h100-ethernet.txt", "--gpu h100 --link roce-200g"},
      {"lstopo-p5en.xml", "--link efa-400g --nodes 4"},
      {"ibsim-2-leaves.txt", ""},
      {"slurm-tree.conf", "--link ndr"},
      {"slurm-3-levels.conf", "--link hdr --oversubscription 2"},
      {"slurm-blocks.txt", "--link xdr"}};
  for (const auto& [name, options] : samples) {
    expect_answer("platform import " + sample(name) + " " + options + " -o " + out, {"numbers"});
    expect_answer("platform check " + out, {"ok"});
    EXPECT_NE(text_of(out).find(name), std::string::npos) << "no source names " << name;
  }
  expect_refused("platform import " + sample("topo-m-2-gpus.txt"),
                 {"--gpu", "does not say which GPU of the catalogue"});
}

TEST(PlatformImportCommand, WithoutAFileItPrintsThePlatform) {
  const nlohmann::json platform =
      expect_answer("platform import " + sample("azure-ndv5.xml") + " " +
                    sample("slurm-tree.conf") + " --gpu h100 --name ours --oversubscription 2")
          .json();
  EXPECT_EQ(platform["name"], "ours");
  EXPECT_EQ(platform["fabric"]["layout"], "fat-tree");
}

TEST(PlatformImportCommand, BadInputIsNamedAndNothingIsWritten) {
  const Workshop workshop;
  const std::string out = workshop.file("mine.json", "what was there");
  const std::string cut =
      workshop.file("cut.xml", text_of(sample("ibm-hgx-h100.xml")).substr(0, 3000));
  expect_refused("platform import " + cut + " -o " + out, {"cut.xml:", "is no XML"});
  EXPECT_EQ(text_of(out), "what was there");
  expect_refused("platform import " + workshop.path("none.xml"), {"none.xml", "cannot be read"});
  expect_refused("platform import " + workshop.path(""), {"is a folder"});
  expect_refused(
      "platform import " + sample("slurm-tree.conf") + " --link ndr --oversubscription 0.5",
      {"--oversubscription = 0.5", "must be 1 (none) to 64"});
}

TEST(PlatformImportCommand, HelpTeaches) {
  expect_answer("platform import --help",
                {"nccl-topology", "nvidia-smi", "hwloc", "ibnetdiscover", "slurm", "Examples:"});
  expect_answer("platform new --help", {"Examples:", "--oversubscription"});
}

TEST(PlatformNewCommand, OptionsMakeAPlatform) {
  const Workshop workshop;
  const std::string file = workshop.path("mine.json");
  expect_answer("platform new --gpu h100 --gpus 8 --nodes 32 -o " + file + " </dev/null",
                {"32 nodes x 8 h100", "assumed"});
  const std::string large = "64/268435456";
  const double preset_s = all_reduce_times("dgx-h100").at(large);
  EXPECT_NEAR(all_reduce_times(file).at(large), preset_s, 0.05 * preset_s);
}

TEST(PlatformNewCommand, WithoutATerminalItNeverAsks) {
  expect_refused("platform new </dev/null", {"--gpu", "is needed"});
  expect_refused("platform new --gpu h100 --gpus 8 </dev/null", {"--nodes", "is needed"});
  expect_refused("platform new --gpu h1000 --gpus 8 --nodes 2 </dev/null", {"--gpu", "h1000"});
}

// `script` makes a terminal; a wrong answer is asked for again, an empty one takes the bracket's.
TEST(PlatformNewCommand, OnATerminalItAsks) {
  const Workshop workshop;
  const std::string file = workshop.path("asked.json");
  const std::string answers = workshop.file("answers", "h1000\na100\n4\nnone\n2\nhdr\n16\n2\n3\n");
  const std::string command = "script -qec '" + std::string(FORESCALE_PROGRAM) +
                              " platform new -o " + file + "' /dev/null <" + answers +
                              " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const nlohmann::json platform = parse_json(text_of(file));
  EXPECT_EQ(platform["node"]["gpu"], "a100");
  EXPECT_EQ(platform["node"]["count"], 16);
  EXPECT_EQ(platform["fabric"]["link"], "hdr");
  EXPECT_EQ(platform["fabric"]["layout"], "fat-tree");
  expect_answer("platform check " + file, {"ok"});
}

// Every device of the node is in the picture once, every class of links in its legend.
TEST(PlatformPicture, ShowsANodeAndItsFabric) {
  const Workshop workshop;
  const std::string file = workshop.path("picture.svg");
  expect_answer("platform show dgx-h100 --svg " + file);
  const std::string svg = text_of(file);
  EXPECT_EQ(svg.rfind("<svg", 0), 0U);
  for (const char* part : {">gpu0<", ">gpu7<", ">nic7<", ">switch7<", ">nvswitch<", ">cpu1<",
                           ">node31<", "nvlink4-x18: 370.8 GB/s", "ndr: 48.8 GB/s", "</svg>"}) {
    const size_t at = svg.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    EXPECT_EQ(svg.find(part, at + 1), std::string::npos) << part << " is there twice";
  }
  expect_refused("platform show dgx-h100 --svg /nowhere/a.svg", {"--svg", "cannot be written"});
}

TEST(PlatformPicture, LargeFabricsAreDrawnInPart) {
  const Workshop workshop;
  const std::string file = workshop.path("picture.svg");
  for (const char* platform : {"dgx-h100:nodes=4096", "gb200-nvl72", "piz-daint",
                               "fat-tree:radix=32,levels=3,bandwidth=50GB/s,latency=1us",
                               "star:hosts=2,bandwidth=1GB/s,latency=1us"}) {
    expect_answer(std::string("platform show ") + platform + " --svg " + file);
    EXPECT_LT(text_of(file).size(), 20000U) << platform;
    EXPECT_GT(text_of(file).size(), 1000U) << platform;
  }
}

}  // namespace
}  // namespace forescale::testing
