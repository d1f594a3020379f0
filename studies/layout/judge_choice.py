#!/usr/bin/env python3
"""Whether the layout that is predicted to be the fastest was: over layouts of one model, sequence, batch and GPU
count that were all measured.

    python3 studies/layout/judge_choice.py VALIDATION.json [--paper llm-nanotron]

VALIDATION.json is what `forescale validate -o` writes. A group is what differs in its layout alone, three rows or
more. Prints, by group, how much slower the layout predicted fastest was measured than the fastest one measured (its
regret), beside what the median layout loses; and how often of two layouts the one predicted faster was measured
faster, by how far apart they are predicted."""
import argparse
import collections
import json
import re
import statistics

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
        groups[command.replace(layout, batch.group() if batch else "")].append(
            (row["measured"], row["predicted"], layout))
    return {name: rows for name, rows in groups.items() if len(rows) >= 3}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("validation")
    parser.add_argument("--paper", default="llm-nanotron")
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


if __name__ == "__main__":
    main()
