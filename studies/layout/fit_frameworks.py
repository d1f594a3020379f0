#!/usr/bin/env python3
"""What frameworks' rows say of `unmodelled` in models/compute/transformer_frameworks.json:

    forescale validate -o validation.json
    python3 studies/layout/fit_frameworks.py validation.json [build/release/forescale]

prints, by framework and kind of layout, how much less and more time than the prediction 90 % of the rows
take, adjusted ones and predictions: calibration is too near. Beside it, of how many rows of one network
lie between the ends that the other networks' rows make. Intervals made of the adjusted rows alone
held 12 of the 21 predictions of llm-blackwell. The program is asked which layouts fill the memory
(minutes): what those take is `full_memory`, and they are left out. Without it they count as the others."""
import collections
import concurrent.futures
import json
import math
import re
import subprocess
import sys

LEAST_ROWS = 5


def degree(layout, name):
    found = re.search(rf"\b{name}=(\d+)", layout)
    return int(found.group(1)) if found else 1


def kind_of(layout, gpus, nodes):
    """As studies/layout/layout_prediction.cpp chooses."""
    pipeline = degree(layout, "pp")
    data = gpus // (degree(layout, "tp") * degree(layout, "cp") * pipeline)
    if degree(layout, "ep") > 1:
        return "experts"
    if nodes > 1 and pipeline > 1 and data > 1 and "zero=" not in layout:
        return "whole_gradients"
    if degree(layout, "tp") * nodes > gpus:
        return "tensor_over_nodes"
    return "pipeline" if pipeline > 1 else "one_stage"


def is_full(program, command):
    answer = subprocess.run([program, *command.split()[1:], "--no-range", "--json"], check=True, capture_output=True)
    return "full_memory" in json.loads(answer.stdout)["predictions"][0]


def ratios_of(validation, program):
    """(network, measured over predicted time) of layouts, by framework and kind."""
    rows = [row for row in validation["rows"]
            if row["unit"] == "s" and row["error"] is not None and row["role"] != "calibration"
            and "--layout" in " ".join(row["commands"])]
    commands = [row["commands"][0] for row in rows]
    full = [False] * len(rows)
    if program:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            full = list(pool.map(lambda command: is_full(program, command), commands))
    ratios = collections.defaultdict(list)
    for row, command, fills in zip(rows, commands, full):
        if fills:
            continue
        framework = re.search(r"--framework (\S+)", command)
        name = framework.group(1) if framework else "Megatron-LM"
        kind = kind_of(re.search(r"--layout (\S+)", command).group(1),
                       int(re.search(r"--gpus (\d+)", command).group(1)), row["nodes"])
        network = re.search(r"--model (\S+)", command).group(1)
        ratios[name, kind].append((network, row["measured"] / row["predicted"]))
    return ratios


def ends_of(ratios):
    ordered = sorted(ratios)
    low = ordered[int(0.05 * len(ordered))]
    high = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return {"faster": round(max(0, 1 - low), 3), "slower": round(max(0, high - 1), 3)}


def held_of_others(found):
    """How many of each network's rows lie between the ends of the others, of how many."""
    held = judged = 0
    for network in {name for name, _ in found}:
        others = [ratio for name, ratio in found if name != network]
        own = [ratio for name, ratio in found if name == network]
        if len(others) < LEAST_ROWS:
            continue
        ends = ends_of(others)
        held += sum(1 - ends["faster"] <= ratio <= 1 + ends["slower"] for ratio in own)
        judged += len(own)
    return f"{held} of {judged}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        ratios = ratios_of(json.load(file), sys.argv[2] if len(sys.argv) > 2 else None)
    for (framework, kind), found in sorted(ratios.items()):
        what = "too few"
        if len(found) >= LEAST_ROWS:
            what = f"{ends_of([ratio for _, ratio in found])}; of other networks' ends {held_of_others(found)} held"
        print(f"{framework}, {kind}: {len(found)} rows, {what}")


if __name__ == "__main__":
    main()
