// A trace format that registers itself here: `import` lists and recognises it, `replay` runs what
// it holds, and no other file knows of it.
#include <gtest/gtest.h>

#include <fstream>

#include "base/registry.hpp"
#include "tests/cli/in_process.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/program/program_writer.hpp"

namespace forescale {
namespace {

using testing::answer_here;
using testing::Workshop;

constexpr const char* kHead = "toy trace";

// After the head: the seconds that each rank computes.
ImportedTrace import_toy(const std::vector<std::string>& files, const ImportOptions& options) {
  std::ifstream in(files.front());
  std::string line;
  std::getline(in, line);
  ImportedTrace imported;
  for (double time_s = 0; in >> time_s;) {
    imported.program.ranks.emplace_back();
    ProgramWriter writer(imported.program.ranks.back());
    writer.wait(
        0, writer.start(0, Action::Kind::kKernel, Kernel{.duration_s = time_s, .label = "toy"}));
    writer.end_iteration();
    imported.program.images.push_back(1);
    ++imported.found.kernels;
    imported.found.compute_s += time_s;
  }
  require_ranks(options, imported.program.ranks.size());
  imported.program.workers = static_cast<int>(imported.program.ranks.size());
  imported.program.iterations = 1;
  return imported;
}

const bool kToyTraceFormatRegistered = Registry<TraceFormat>::add(
    {.name = "toy",
     .description = "seconds of each rank, of this test",
     .reads = {"--ranks"},
     .detects = [](const std::string& /*file*/,
                   const std::string& head) { return head.rfind(kHead, 0) == 0; },
     .import = import_toy});

TEST(ToyTraceFormat, IsListed) {
  EXPECT_TRUE(kToyTraceFormatRegistered);
  answer_here("import --help", {"toy", "seconds of each rank, of this test"});
}

TEST(ToyTraceFormat, IsRecognisedImportedAndReplayed) {
  const Workshop workshop;
  const std::string file = workshop.file("a.toy", std::string(kHead) + "\n0.25 0.5\n");
  answer_here("import " + file, {"toy", "2 ranks"});
  const std::string program = workshop.path("program.jsonl");
  answer_here("import " + file + " -o " + program);
  answer_here("import " + program, {"2 ranks"});
}

}  // namespace
}  // namespace forescale
