#!/usr/bin/env python3
"""Whether the layout that is predicted to be the fastest was: over layouts of one model, sequence, batch and GPU
count that were all measured.

    python3 studies/layout/judge_choice.py VALIDATION.json [--paper llm-nanotron] [--program build/release/forescale]

VALIDATION.json is what `forescale validate -o` writes. A group is what differs in its layout alone, three rows or
more. Prints, by group, how much slower the layout predicted fastest was measured than the fastest one measured (its
regret), beside what the median layout loses; and how often of two layouts the one predicted faster was measured
faster, by how far apart they are predicted. With --program, which is asked for the memory of each (minutes): the
regret where only layouts are chosen that fit at the upper end of their memory's interval, and how much slower than
predicted layouts run by the share of memory that they are predicted to need."""
import argparse
import collections
import json
import re
import statistics
import subprocess

GAPS = (0, 0.02, 0.05, 0.1, 0.2, 0.4)  # of predicted times
NEAR = 1.3  # pairs of which the faster is within that of the group's fastest


def groups_of(rows, paper):
    groups = collections.defaultdict(list)
    for row in rows:
        if row["paper"] != paper or row["unit"] != "s" or not row["predicted"] or not row["commands"]:
            continue
        command = row["commands"][0]
        layout = re.search(r"--layout (\S+)", command).group(1)
        batch = re.search(r"global=\d+", layout)
        # What groups of a layout find of a network is the layout's.
        question = re.sub(r" --network-scale \S+", "", command)
        groups[question.replace(layout, batch.group() if batch else "")].append(
            (row["measured"], row["predicted"], layout, command))
    return {name: rows for name, rows in groups.items() if len(rows) >= 3}


def memory_of(program, command):
    """Predicted bytes, their upper end, and what the GPU has."""
    answer = subprocess.run([program, *command.split()[1:], "--no-range", "--json"], check=True, capture_output=True)
    prediction = json.loads(answer.stdout)["predictions"][0]
    return [prediction[name] for name in ("memory_bytes", "memory_high_bytes", "gpu_memory_bytes")]


def judge_memory(groups, program):
    memory = {row[3]: memory_of(program, row[3]) for rows in groups.values() for row in rows}
    print("regret among those that surely fit | layouts of them | chosen | group")
    slower = collections.defaultdict(list)
    for name, rows in sorted(groups.items()):
        for measured, predicted, _, command in rows:
            share = memory[command][0] / memory[command][2]
            slower[int(10 * share)].append(measured / predicted)
        sure = [row for row in rows if memory[row[3]][1] <= memory[row[3]][2]]
        if sure:
            chosen = min(sure, key=lambda row: row[1])
            print(f"{chosen[0] / min(rows)[0] - 1:6.1%} | {len(sure)} | {chosen[2]} | {name}")
    for tenth, ratios in sorted(slower.items()):
        print(f"memory predicted {10 * tenth} to {10 * tenth + 10} % full: {len(ratios)} layouts, measured over predicted "
              f"time {statistics.median(ratios):.2f} (median)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("validation")
    parser.add_argument("--paper", default="llm-nanotron")
    parser.add_argument("--program")
    options = parser.parse_args()
    with open(options.validation, encoding="utf-8") as file:
        groups = groups_of(json.load(file)["rows"], options.paper)
    print("layouts  regret  median layout  chosen | measured fastest | group")
    for name, rows in sorted(groups.items()):
        fastest = min(rows)
        chosen = min(rows, key=lambda row: row[1])
        median = statistics.median(row[0] for row in rows)
        print(f"{len(rows):7}  {chosen[0] / fastest[0] - 1:6.1%}  {median / fastest[0] - 1:13.1%}  {chosen[2]} | "
              f"{fastest[2]} | {name}")
    for low, high in zip(GAPS, GAPS[1:] + (float("inf"),)):
        right = pairs = 0
        for rows in groups.values():
            near = NEAR * min(row[1] for row in rows)
            for place, one in enumerate(rows):
                for other in rows[:place]:
                    first, second = sorted((one, other), key=lambda row: row[1])
                    if first[1] <= near and low <= second[1] / first[1] - 1 < high:
                        pairs += 1
                        right += first[0] < second[0]
        if pairs:
            print(f"predicted {low:.0%} to {high:.0%} apart: {right / pairs:.0%} of {pairs} pairs in the measured order")
    if options.program:
        judge_memory(groups, options.program)


if __name__ == "__main__":
    main()
