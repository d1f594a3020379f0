#!/usr/bin/env bash
# tests/fuzz/run.sh            fuzzes the importers of traces and ONNX, one minute in all
# tests/fuzz/run.sh SECONDS    the same for SECONDS in all
# Installs what is missing, builds with Clang in build/fuzz and prints a line for every importer. Exit
# code 0 without findings, 1 with one; then it says how to run that input again. What was reached is
# kept in build/fuzz/corpus, and the next run goes on from there.
set -euo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
# shellcheck source=cmake/setup.sh
source "$root/cmake/setup.sh"

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "the time must be whole seconds: $seconds"

folder=$root/build/fuzz
mkdir -p "$folder"
setup_log=$folder/setup.log
need_packages "${run_packages[@]}" clang-16 libclang-rt-16-dev
if [[ ! -f $folder/build.ninja ]]; then
  step "configuring the fuzz targets" cmake -S "$root/tests/fuzz" -B "$folder" -G Ninja \
    -D CMAKE_CXX_COMPILER=clang++-16 || die "could not configure"
fi
step "building the fuzz targets" cmake --build "$folder" --parallel "$(nproc)" ||
  die "could not build"

# In memory, as every input is written to a file.
if [[ -d /dev/shm && -w /dev/shm ]]; then scratch=/dev/shm; else scratch=${TMPDIR:-/tmp}; fi
TMPDIR=$(mktemp -d "$scratch/forescale-fuzz-XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# fuzz FORMAT SECONDS: its status is libFuzzer's.
fuzz() {
  local corpus=$folder/corpus/$1 seeds=$root/tests/fuzz/seeds/$1
  local -a folders=("$corpus")
  if [[ -d $seeds ]]; then folders+=("$seeds"); fi
  mkdir -p "$corpus" "$folder/findings"
  local -a target=("$folder/fuzz_importer" "$1")
  if [[ $1 == onnx ]]; then
    target=("$folder/fuzz_onnx")
    folders+=("$root/tests/models/data/onnx")
  fi
  "${target[@]}" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -artifact_prefix="$folder/findings/$1-" -print_final_stats=1 "${folders[@]}"
}

# last PATTERN LOG: what its group matched last; 0 where it did not.
last() {
  local found
  found=$(sed -nE "s/.*$1.*/\1/p" "$2" | tail -n 1)
  echo "${found:-0}"
}

mapfile -t formats < <("$folder/fuzz_importer" && echo onnx)
share=$(((seconds + ${#formats[@]} - 1) / ${#formats[@]}))
status=0
for format in "${formats[@]}"; do
  log=$folder/$format.log
  outcome="no finding"
  fuzz "$format" "$share" >"$log" 2>&1 || outcome="FINDING"
  printf '%-10s %8d executions, %5d edges covered, %s\n' "$format" \
    "$(last 'stat::number_of_executed_units: ([0-9]+)' "$log")" "$(last ' cov: ([0-9]+)' "$log")" \
    "$outcome"
  if [[ $outcome == FINDING ]]; then
    status=1
    grep -E -m 3 '^(==[0-9]+== ?ERROR|SUMMARY)|runtime error|^forescale|terminate called|what\(\)' \
      "$log" >&2 || tail -n 5 "$log" >&2
    input=$(last 'Test unit written to (.*)' "$log")
    again="fuzz_importer $format"
    if [[ $format == onnx ]]; then again=fuzz_onnx; fi
    say "again: $folder/$again $input"
    say "the whole story: $log"
  fi
done
exit "$status"
