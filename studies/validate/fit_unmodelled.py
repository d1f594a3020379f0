#!/usr/bin/env python3
"""What is left when every input is as measured: fit_unmodelled.py VALIDATION.json [UNMODELLED.json].

Reads what `forescale validate --interval -o VALIDATION.json` wrote, with the unmodelled.json that is
here now, and prints the new numbers of it (or writes them to UNMODELLED.json). They are made for
tables that are not here: each table (a series or request) is left out in turn, the others make ends
that an equal share of rows lies beyond on each side with the narrowest intervals, and that share
is the greatest, of one to five in a hundred, with which nine of ten rows of the tables left out are
held (where none does that, the one that holds most). No other number of the model is changed by it."""
import json
import math
import pathlib
import re
import statistics
import sys

OUTSIDE = tuple(step / 200 for step in range(10, 1, -1))  # of the rows, on each side: 5 % to 1 %
HELD = 0.9   # of the rows of tables left out
STEP = 0.01  # of a logarithm, in which the end of an idle network is looked for
PAPERS = {"open-8-gpus", "open-clusters", "open-collectives", "open-gpus", "open-nccl",
          "open-nccl-node", "open-nccl-together", "open-networks", "open-nodes"}
# Whose rows all were adjusted: docs/gpu_models.md, docs/validation.md.
ADJUSTED = {"open-gpus", "open-networks", "open-8-gpus", "open-clusters", "open-nodes"}
FILE = pathlib.Path(__file__).resolve().parents[2] / "models" / "unmodelled.json"
GROUPS = {
    ("training", "synthetic"): lambda row: not row["reads_images"] and not row["from_kernels"],
    ("training", "reading"): lambda row: row["reads_images"],
    ("training", "kernels"): lambda row: row["from_kernels"] and not row["reads_images"],
    ("collective", "one_node"): lambda row: row["nodes"] == 1,
    ("collective", "several_nodes"): lambda row: row["nodes"] > 1,
}
# Rows without a busy network say nothing of one: its end is the other group's, if that is wider.
BUSY_AS = {("training", "kernels"): ("training", "synthetic")}
BUSY = 0.5


def table_of(row):
    """The row's series: its id without the scale at the end."""
    return re.sub(r"(-\d+)+$", "", row["id"])


def ends_of(numbers):
    """Logarithms of a group's numbers by side: those of an idle and of a busy network."""
    return {-1: [-math.log1p(-numbers[end]["faster"]) for end in ("idle", "busy")],
            1: [math.log1p(numbers[end]["slower"]) for end in ("idle", "busy")]}


def between(ends, share):
    return ends[0] + (ends[1] - ends[0]) * share


def part_of(row, ends):
    """Logarithms: which side it is off (1: slower than predicted), how far, what the inputs explain on
    that side; how often the unmodelled part counts; how busy the network is."""
    off = math.log(row["measured"] / row["predicted"])
    end = row["predicted_high"] if off > 0 else row["predicted_low"]
    wide = abs(math.log(end / row["predicted"]))
    side = 1 if (off > 0) != row["unit"].endswith("/s") else -1  # a throughput falls as time grows
    share = min(1.0, row["busiest_share"])
    unmodelled = between(ends[side], share)
    inputs = math.sqrt(max(0.0, wide**2 - row["runs"] * unmodelled**2))
    return side, abs(off), inputs, row["runs"], share


def fitted_ends(parts, side, share_outside):
    """The pair with the least mean deviation beyond which, on this side, so many of all rows lie."""
    needs = [(math.sqrt(max(0.0, off**2 - inputs**2) / runs) if of == side else 0.0, share)
             for of, off, inputs, runs, share in parts]
    outside = math.floor(share_outside * len(needs))
    best = None
    for step in range(1 + math.ceil(max(need for need, _ in needs) / STEP)):
        idle = step * STEP
        # What a busy network would have to be for each row to lie inside.
        busy = sorted(0.0 if need <= idle * (1 - share) else
                      (need - idle * (1 - share)) / share if share > 0 else math.inf
                      for need, share in needs)[-1 - outside]
        mean = statistics.mean(between((idle, busy), share) for _, share in needs)
        if math.isfinite(busy) and (best is None or mean < best[0]):
            best = mean, (idle, busy)
    return best[1]


def both_ends(parts, share_outside):
    return {side: fitted_ends(parts, side, share_outside) for side in (-1, 1)}


def held_left_out(tables, share_outside):
    """How many rows lie in intervals that the tables without theirs make."""
    return sum(
        holding(judged, both_ends(sum((of for other, of in tables.items() if other != name), []), share_outside))
        for name, judged in tables.items())


def holding(parts, ends):
    return sum(off <= math.hypot(inputs, math.sqrt(runs) * between(ends[side], share)) + 1e-12
               for side, off, inputs, runs, share in parts)


with open(sys.argv[1], encoding="utf-8") as file:
    rows = [row for row in json.load(file)["rows"] if row["paper"] in PAPERS
            and (row["role"] == "prediction" or row["paper"] in ADJUSTED and row["role"] == "adjusted")
            and row["predicted_low"] is not None]
document = json.loads(FILE.read_text())
for (about, kind), belongs in GROUPS.items():
    now = ends_of(document[about][kind])
    tables = {}
    for row in rows:
        if row["about"] == about and belongs(row):
            tables.setdefault(table_of(row), []).append(part_of(row, now))
    parts = sum(tables.values(), [])
    left_out, share_outside = 0, OUTSIDE[0]
    for share in OUTSIDE:
        held = held_left_out(tables, share)
        if held > left_out:
            left_out, share_outside = held, share
        if held >= HELD * len(parts):
            break
    ends = both_ends(parts, share_outside)
    widths = [(math.expm1(math.hypot(inputs, math.sqrt(runs) * between(ends[1], share))) -
               math.expm1(-math.hypot(inputs, math.sqrt(runs) * between(ends[-1], share)))) / 2
              for _, _, inputs, runs, share in parts]
    if max(share for *_, share in parts) < BUSY:
        other = ends_of(document[about][BUSY_AS[about, kind][1]])
        ends = {side: (idle, max(idle, other[side][1])) for side, (idle, _) in ends.items()}
    document[about][kind] = {
        end: {"faster": round(-math.expm1(-ends[-1][i]), 3),
              "slower": round(math.expm1(ends[1][i]), 3)} for i, end in enumerate(("idle", "busy"))}
    print(f"{about}, {kind}: {document[about][kind]} from {len(parts)} rows of {len(tables)} tables, "
          f"median half-width {statistics.median(widths):.2f}; hold {holding(parts, ends)}, of tables "
          f"left out {left_out}, those of now {holding(parts, now)}")
if len(sys.argv) > 2:
    text = json.dumps(document, indent=2)
    text = re.sub(r"\{\s*(\"faster\": [\d.]+),\s*(\"slower\": [\d.]+)\s*\}", r"{\1, \2}", text)
    pathlib.Path(sys.argv[2]).write_text(text + "\n")
