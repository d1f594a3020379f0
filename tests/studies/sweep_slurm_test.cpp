#include "studies/sweep/sweep_slurm.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "tests/studies/sweep_studies.hpp"

namespace forescale::testing {
namespace {

TEST(SweepSlurm, ShardsHaveNamesOfTheirOwn) {
  EXPECT_EQ(shard_file("out/results.sqlite", {.index = 1, .count = 4}),
            "out/results.shard-1-of-4.sqlite");
  EXPECT_EQ(shard_file("results", {.index = 0, .count = 1}), "results.shard-0-of-1");
}

// The script with a program that writes down its arguments, for every task and for the merge.
TEST(SweepSlurm, TheScriptRunsEachShardAndTheMerge) {
  const ScratchFolder folder("sweep");
  const std::string odd = folder.file("it's a $folder");
  std::filesystem::create_directory(odd);
  const std::string program = written(folder, "program", "#!/bin/sh\necho \"$PWD|$*\" >> ../log\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string script = slurm_script({.program = program,
                                           .study = odd + "/my study.json",
                                           .output = odd + "/all.sqlite",
                                           .folder = odd,
                                           .name = "my study 100%",
                                           .shards = 2,
                                           .jobs = 3});
  expect_says(script, {"#!/bin/bash\n", "\n#SBATCH --job-name=my_study_100_\n",
                       "\n#SBATCH --array=0-1\n", "\n#SBATCH --cpus-per-task=3\n"});
  const std::string file = written(folder, "script.sh", script);
  for (const int task : {0, 1})
    ASSERT_EQ(std::system(fmt::format("SLURM_ARRAY_TASK_ID={} bash {}", task, file).c_str()), 0);
  ASSERT_EQ(std::system(fmt::format("SLURM_ARRAY_TASK_ID=0 bash {} merge", file).c_str()), 0);
  const std::string expected = fmt::format(
      "{0}|sweep {0}/my study.json --shard 0/2 --output {0}/all.shard-0-of-2.sqlite --jobs 3\n"
      "{0}|sweep {0}/my study.json --shard 1/2 --output {0}/all.shard-1-of-2.sqlite --jobs 3\n"
      "{0}|merge {0}/all.sqlite {0}/all.shard-0-of-2.sqlite {0}/all.shard-1-of-2.sqlite\n",
      odd);
  EXPECT_EQ(text_of(folder.file("log")), expected);
}

}  // namespace
}  // namespace forescale::testing
