#!/usr/bin/env bash
# tests/fuzz/run.sh                    fuzzes all that users write, two minutes in all
# tests/fuzz/run.sh SECONDS            the same for SECONDS in all
# tests/fuzz/run.sh SECONDS NAME...    these importers and readers alone
# Installs what is missing, builds with Clang in build/fuzz and prints a line for every importer and
# reader. Exit code 0 without findings, 1 with one; then it says how to run that input again. What was
# reached is kept in build/fuzz/corpus, and the next run goes on from there.
set -euo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
# shellcheck source=cmake/setup.sh
source "$root/cmake/setup.sh"

seconds=${1:-120}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "the time must be whole seconds: $seconds"

set_up fuzz fuzz "${run_packages[@]}" clang-16 libclang-rt-16-dev
folder=$root/build/fuzz

# In memory, as every input is written to a file.
if [[ -d /dev/shm && -w /dev/shm ]]; then scratch=/dev/shm; else scratch=${TMPDIR:-/tmp}; fi
TMPDIR=$(mktemp -d "$scratch/forescale-fuzz-XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# What there is: a program with its argument, and folders of seeds.
declare -A program seeds
for format in $("$folder/tests/fuzz/fuzz_importer"); do
  program[$format]="fuzz_importer $format"
  seeds[$format]=tests/fuzz/seeds/$format
done
program[onnx]=fuzz_onnx
seeds[onnx]=tests/models/data/onnx
while read -r reader folders; do
  program[$reader]="fuzz_reader $reader"
  seeds[$reader]=$folders
done < <("$folder/tests/fuzz/fuzz_reader")

# fuzz NAME SECONDS: its status is libFuzzer's.
fuzz() {
  local corpus=$folder/corpus/$1 seed
  local -a folders=("$corpus") command
  read -ra command <<<"${program[$1]}"
  for seed in ${seeds[$1]}; do
    if [[ -d $root/$seed ]]; then folders+=("$root/$seed"); fi
  done
  mkdir -p "$corpus" "$folder/findings"
  "$folder/tests/fuzz/${command[0]}" "${command[@]:1}" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 \
    -max_len=32768 -artifact_prefix="$folder/findings/$1-" -print_final_stats=1 "${folders[@]}"
}

# last PATTERN LOG: what its group matched last; 0 where it did not.
last() {
  local found
  found=$(sed -nE "s/.*$1.*/\1/p" "$2" | tail -n 1)
  echo "${found:-0}"
}

names=("${@:2}")
if [[ ${#names[@]} == 0 ]]; then mapfile -t names < <(printf '%s\n' "${!program[@]}" | sort); fi
share=$(((seconds + ${#names[@]} - 1) / ${#names[@]}))
status=0
for name in "${names[@]}"; do
  [[ -n ${program[$name]:-} ]] || die "no such importer or reader: $name (one of: ${!program[*]})"
  log=$folder/$name.log
  outcome="no finding"
  fuzz "$name" "$share" >"$log" 2>&1 || outcome="FINDING"
  printf '%-14s %8d executions, %5d edges covered, %s\n' "$name" \
    "$(last 'stat::number_of_executed_units: ([0-9]+)' "$log")" "$(last ' cov: ([0-9]+)' "$log")" \
    "$outcome"
  if [[ $outcome == FINDING ]]; then
    status=1
    grep -E -m 3 '^(==[0-9]+== ?ERROR|SUMMARY)|runtime error|^forescale|terminate called|what\(\)' \
      "$log" >&2 || tail -n 5 "$log" >&2
    input=$(last 'Test unit written to (.*)' "$log")
    say "again: $folder/tests/fuzz/${program[$name]} $input"
    say "the whole story: $log"
  fi
done
exit "$status"
