#include "studies/sweep/sweep_slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace forescale {
namespace {

// A word for the shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// A name that means nothing else to sbatch, to which % and blanks do.
std::string plain(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return name;
}

constexpr const char* kScript = R"(#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={jobs}
#SBATCH --output={name}.%A-%a.log
#SBATCH --requeue

# A task for each shard. One that is killed, or the whole array submitted again, goes on where it was.
# Submit, and join the results afterwards:
#   job=$(sbatch --parsable THIS_SCRIPT)
#   sbatch --array=0 --dependency=afterok:$job THIS_SCRIPT merge
set -euo pipefail
cd {folder}
parts=({parts}
)
if [[ ${{1:-}} == merge ]]; then
  exec {program} merge {output} "${{parts[@]}}"
fi
exec {program} sweep {study} --shard "$SLURM_ARRAY_TASK_ID/{shards}" \
  --output "${{parts[SLURM_ARRAY_TASK_ID]}}" --jobs {jobs}
)";

}  // namespace

std::string shard_file(const std::string& output, const StudyShard& shard) {
  const std::filesystem::path path(output);
  const std::string name = fmt::format("{}.shard-{}-of-{}{}", path.stem().string(), shard.index,
                                       shard.count, path.extension().string());
  return path.parent_path() / name;
}

std::string slurm_script(const SlurmArray& array) {
  std::string parts;
  for (int i = 0; i < array.shards; ++i)
    parts += "\n  " + quoted(shard_file(array.output, {.index = i, .count = array.shards}));
  return fmt::format(kScript, fmt::arg("name", plain(array.name)),
                     fmt::arg("last", array.shards - 1), fmt::arg("jobs", array.jobs),
                     fmt::arg("folder", quoted(array.folder)), fmt::arg("parts", parts),
                     fmt::arg("program", quoted(array.program)),
                     fmt::arg("output", quoted(array.output)),
                     fmt::arg("study", quoted(array.study)), fmt::arg("shards", array.shards));
}

}  // namespace forescale
