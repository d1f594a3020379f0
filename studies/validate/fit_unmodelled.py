#!/usr/bin/env python3
"""What is left when every input is as measured: fit_unmodelled.py VALIDATION.json.

Reads what `forescale validate --paper open-clusters,open-collectives,open-nccl,open-nodes --interval
-o VALIDATION.json` wrote and prints the numbers of models/unmodelled.json: with which
nine of ten measured values of one half of the tables lie in their intervals, one of twenty beyond
each end. Tables (series and
requests) are sorted by name; the 1st, 3rd, ... are fitted, the others judged, whose coverage is
printed beside. No number of the model is changed by it."""
import json
import math
import re
import statistics
import sys

OUTSIDE = 0.05  # of the rows, on each side
GROUPS = {
    ("training", "one_node"): lambda row: row["about"] == "training" and row["nodes"] == 1,
    ("training", "several_nodes"): lambda row: row["about"] == "training" and row["nodes"] > 1,
    ("collective", "one_node"): lambda row: row["about"] == "collective" and row["nodes"] == 1,
    ("collective", "several_nodes"): lambda row: row["about"] == "collective" and row["nodes"] > 1,
}


def table_of(row):
    """The row's series: its id without the scale at the end."""
    return re.sub(r"(-\d+)+$", "", row["id"])


def parts_of(row, assumed):
    """Logarithms: how far off (above 0: slower than predicted), what the inputs explain on that side,
    and how often the unmodelled part counts."""
    off = math.log(row["measured"] / row["predicted"])
    # A throughput falls where a time grows.
    falls = row["unit"].endswith("/s")
    end = row["predicted_high"] if off > 0 else row["predicted_low"]
    wide = abs(math.log(end / row["predicted"]))
    slower = (off > 0) != falls
    # One influence is left out for each simulation that the number follows from.
    unmodelled = math.log1p(assumed["slower"]) if slower else -math.log1p(-assumed["faster"])
    inputs = math.sqrt(max(0.0, wide**2 - row["runs"] * unmodelled**2))
    return (1 if slower else -1) * abs(off), inputs, row["runs"]


def needed(parts, side):
    """The least deviation beyond which, on this side, OUTSIDE of all rows lie."""
    each = sorted((math.sqrt(max(0.0, off**2 - inputs**2) / runs) if off * side > 0 else 0.0)
                  for off, inputs, runs in parts)
    return each[min(len(each) - 1, math.ceil((1 - OUTSIDE) * len(each)) - 1)]


def holding(parts, down, up):
    return sum(abs(off) <= math.hypot(inputs, math.sqrt(runs) * (up if off > 0 else down)) + 1e-12
               for off, inputs, runs in parts)


with open(sys.argv[1], encoding="utf-8") as file:
    rows = [row for row in json.load(file)["rows"]
            if row["role"] == "prediction" and row["predicted_low"] is not None]
with open(sys.argv[2] if len(sys.argv) > 2 else "models/unmodelled.json", encoding="utf-8") as file:
    now = json.load(file)
for (about, where), belongs in GROUPS.items():
    of_group = [row for row in rows if belongs(row)]
    tables = sorted({table_of(row) for row in of_group})
    fitted_tables = set(tables[0::2])
    assumed = now[about][where]
    halves = {True: [], False: []}
    for row in of_group:
        halves[table_of(row) in fitted_tables].append(parts_of(row, assumed))
    fitted, judged = halves[True], halves[False]
    if not fitted:
        continue
    down, up = needed(fitted, -1), needed(fitted, 1)
    widths = [(math.expm1(math.hypot(inputs, math.sqrt(runs) * up)) -
               math.expm1(-math.hypot(inputs, math.sqrt(runs) * down))) / 2
              for _, inputs, runs in fitted + judged]
    now_down, now_up = -math.log1p(-assumed["faster"]), math.log1p(assumed["slower"])
    print(f"{about}, {where}: faster {-math.expm1(-down):.3f}, slower {math.expm1(up):.3f} from "
          f"{len(fitted)} rows of {len(fitted_tables)} tables; hold {holding(judged, down, up)} of "
          f"the {len(judged)} rows of the other {len(tables) - len(fitted_tables)}; median half-width "
          f"{statistics.median(widths):.2f}; those of now hold {holding(fitted, now_down, now_up)} "
          f"and {holding(judged, now_down, now_up)}")
