#pragma once

#include <string>

#include "studies/sweep/sweep_study.hpp"

namespace forescale {

struct SlurmArray {
  std::string program;  // full paths
  std::string study;
  std::string output;  // of the whole: "results.sqlite"
  std::string folder;  // where it runs: files that the study names are relative to it
  std::string name;
  int shards = 1;
  int jobs = 1;  // cores a task
};

// A batch script: an array job whose task i runs `forescale sweep --shard i/N`. How to submit it,
// and the merge after it, stands in its comments.
std::string slurm_script(const SlurmArray& array);

// "results.sqlite", {1, 4} -> "results.shard-1-of-4.sqlite".
std::string shard_file(const std::string& output, const StudyShard& shard);

}  // namespace forescale
