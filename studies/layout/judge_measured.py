#!/usr/bin/env python3
"""How well a prediction does that starts from one measured iteration (`predict --measured`):

    forescale validate -o validation.json
    python3 studies/layout/judge_measured.py validation.json build/release/forescale

Rows of published tables that differ in copies and batch alone, of the same network, sequence, precision
and platform: the one of fewest GPUs is taken as measured, and the program is asked for the others
(minutes). Beside its errors stand those without the measurement, and those of perfect scaling (as many
sequences a GPU and second). Left out are rows that are predicted to fill the memory. It prints the
ends of models/compute/transformer_frameworks.json, `from_measured`, as fit_frameworks.py makes them:
each source is left out in turn, the others make ends with an equal share of their rows beyond each, and
that share is the greatest with which nine of ten of the rows left out are held."""
import collections
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys

from fit_frameworks import HELD, OUTSIDE, SOURCE, ends_of, held_left_out, source_of


def option(command, name):
    found = re.search(rf"--{name} (\S+)", command)
    return found.group(1) if found else ""


def without_copies(layout):
    return ",".join(field for field in layout.split(",") if not field.startswith(("global=", "dp=")))


def series_of(validation):
    """Rows that differ in copies and batch alone, by growing GPU counts."""
    series = collections.defaultdict(list)
    for row in validation["rows"]:
        command = row["commands"][0] if row["commands"] else ""
        if (row["unit"] != "s" or row["error"] is None or "--layout" not in command
                or row["role"] not in ("adjusted", "prediction", "calibration")):
            continue
        layout = option(command, "layout")
        same = re.sub(r"--gpus \S+|--network-scale \S+|--layout \S+", "", command)
        batch = re.search(r"global=(\d+)", layout)
        series[same, without_copies(layout)].append(
            {"row": row, "command": command, "layout": layout, "gpus": int(option(command, "gpus")),
             "batch": int(batch.group(1)) if batch else None})
    for rows in series.values():
        rows.sort(key=lambda each: (each["gpus"], each["batch"] or 0))
        yield rows


def pairs_of(validation):
    for rows in series_of(validation):
        first = rows[0]
        for other in rows[1:]:
            if other["gpus"] > first["gpus"]:
                yield first, other


def asked(program, first, other):
    """The prediction from the first row, or nothing where it fills the memory or is refused."""
    measured = f"{first['row']['measured']}s@{first['gpus']}"
    if first["batch"]:
        measured += f":global={first['batch']}"
    done = subprocess.run([program, *other["command"].split()[1:], "--measured", measured, "--no-range", "--json"],
                          check=False, capture_output=True)
    if done.returncode != 0:
        print(f"left out: {other['row']['id']}: {done.stderr.decode().strip()[:150]}", file=sys.stderr)
        return None
    answer = json.loads(done.stdout)["predictions"][0]
    return None if "full_memory" in answer else answer["iteration_s"]


def perfect_s(first, other):
    if not first["batch"] or not other["batch"]:
        return first["row"]["measured"]
    return first["row"]["measured"] * (other["batch"] / other["gpus"]) / (first["batch"] / first["gpus"])


def median_error(ratios):
    return 100 * statistics.median(abs(ratio - 1) for ratio in ratios)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    validation = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    pairs = list(pairs_of(validation))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        predicted = list(pool.map(lambda pair: asked(sys.argv[2], *pair), pairs))
    by_paper, rows = collections.defaultdict(list), []
    for (first, other), time_s in zip(pairs, predicted):
        if time_s is None:
            continue
        measured = other["row"]["measured"]
        by_paper[other["row"]["paper"]].append(
            (time_s / measured, other["row"]["predicted"] / measured, perfect_s(first, other) / measured))
        rows.append((source_of(other["row"]), option(other["command"], "model"), measured / time_s))
    everything = [each for paper in by_paper.values() for each in paper]
    print(f"{'':24} rows  from one measured  without  perfect scaling (median error, %)")
    for paper, ratios in (*sorted(by_paper.items()), ("all", everything)):
        own, without, perfect = (median_error(ratio) for ratio in zip(*ratios))
        print(f"{paper:24} {len(ratios):4} {own:18.1f} {without:8.1f} {perfect:16.1f}")
    outside = next((share for share in OUTSIDE if held_left_out(rows, SOURCE, share) >= HELD), OUTSIDE[-1])
    low, high = ends_of(rows, outside)
    print(f"from_measured: faster {1 - low:.3f}, slower {high - 1:.3f}; {outside:.3f} beyond each; holds "
          f"{100 * held_left_out(rows, SOURCE, outside):.0f} % of the rows of sources left out")


if __name__ == "__main__":
    main()
