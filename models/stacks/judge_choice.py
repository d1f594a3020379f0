#!/usr/bin/env python3
"""Whether what forescale takes to be the fastest of NCCL's algorithms and protocols is what AWS measured to be.

    judge_choice.py [--program build/release/forescale] [--ranks-per-node 8] [--nodes 4,8,16]
                    [--sizes 8KiB,16KiB,...] [--told]

aws_choices.csv has what the tuner of aws-ofi-nccl takes for all-reduces on p5 (8 H100, 32 EFA), eight, two or one
ranks a node, by nodes and bytes: lines that AWS drew through its measurements (aws/aws-ofi-nccl, src/tuner/nccl_ofi_regions.cpp,
commit 2daf7d30); "nccl" where it leaves the choice to NCCL. Each algorithm and protocol of nccl-2.20-h100-efa is
simulated for all sizes (a few minutes), and the fastest compared with AWS's. Prints both by size, what AWS's choice
would lose by the simulated times, and how often the two agree: with all algorithms and protocols, and with
those only that AWS's file takes anywhere (LL it does not: perhaps it was not tried); beside how often NCCL's
own estimate (nccl_tuner.py) agrees with AWS, of the sizes that AWS decided, and with --told how often NCCL
does that loads what `tune collective --emit nccl-plugin` writes."""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

import rebuild_nccl
from nccl_tuner import LAUNCH_US, bands
from rebuild_nccl import GIB, KIB, MIB, told_name

HERE = pathlib.Path(__file__).resolve().parent
STACK = "nccl-2.20-h100-efa"
GPUS = 8  # of a node
# What would take minutes to simulate and is far from the fastest.
LEAST = {"tree-simple": MIB, "ring-simple": MIB, "nvls": MIB}
MOST = {"tree-ll": 4 * MIB, "tree-ll128": 512 * MIB, "tree-simple": 2 * GIB, "ring-ll": 64 * MIB,
        "ring-ll128": 4 * GIB}
UNITS = {"KiB": KIB, "MiB": MIB, "GiB": GIB}


def bytes_of(text):
    return int(text[:-3]) * UNITS[text[-3:]]


def size_text(size):
    unit = next(name for name in ("GiB", "MiB", "KiB") if size % UNITS[name] == 0)
    return f"{size // UNITS[unit]} {unit}"


def choices_of(ranks_per_node):
    return (*LAUNCH_US, "nvls") if rebuild_nccl.EIGHT_H100_OF_P5.part(ranks_per_node).nvls else tuple(LAUNCH_US)


def measured_choices(ranks_per_node):
    """(nodes, least bytes, most bytes, AWS's choice as "tree-ll128"; nothing where it has none)."""
    with (HERE / "aws_choices.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["ranks_per_node"]) != ranks_per_node:
                continue
            choice = {"nccl": None, "NVLS_TREE": "nvls"}.get(
                row["algorithm"], f"{row['algorithm']}-{row['protocol']}".lower())
            yield int(row["nodes"]), int(row["min_bytes"]), int(row["max_bytes"]), choice


def simulated(program, ranks_per_node, nodes, choice, sizes):
    """Seconds by bytes."""
    slots = range(0, GPUS * nodes, GPUS // ranks_per_node)
    sizes = [size for size in sizes if LEAST.get(choice, 0) <= size <= MOST.get(choice, math.inf)]
    if not sizes:
        return {}
    answer = subprocess.run(
        [program, "collective", "--platform", f"aws-p5:nodes={nodes}", "--stack",
         f"{STACK}:take={told_name(choice, nodes)}", "--op", "all-reduce", "--slots", ",".join(map(str, slots)),
         "--bytes", ",".join(map(str, sizes)), "--csv"], check=True, stdout=subprocess.PIPE, text=True)
    return {int(row["bytes"]): float(row["simulated_s"]) for row in csv.DictReader(answer.stdout.splitlines())}


def told_regions(program, ranks_per_node, nodes, sizes):
    """(least bytes, most bytes, choice) that `tune collective` tells NCCL, as "tree-ll128"."""
    answer = subprocess.run(
        [program, "tune", "collective", "--platform", f"aws-p5:nodes={nodes}", "--stack", STACK, "--ranks",
         str(GPUS * nodes), "--split", f"mod{GPUS // ranks_per_node}", "--bytes", ",".join(map(str, sizes)), "--json"], check=True, stdout=subprocess.PIPE, text=True)
    for region in json.loads(answer.stdout)["regions"]:
        if region["plan"] != "own choice":
            name = region["plan"].split(":")[0]
            choice = next(each for each in choices_of(ranks_per_node) if told_name(each, nodes) == name)
            yield region["from_bytes"], region["to_bytes"], choice


def judge(program, ranks_per_node, nodes, sizes, with_told):
    times = {choice: simulated(program, ranks_per_node, nodes, choice, sizes) for choice in choices_of(ranks_per_node)}
    told = list(told_regions(program, ranks_per_node, nodes, sizes)) if with_told else []
    estimated = bands(rebuild_nccl.EIGHT_H100_OF_P5.part(ranks_per_node), nodes)
    choices = list(measured_choices(ranks_per_node))
    named = {choice for *_, choice in choices}
    decided, agreed, named_agreed, told_agreed, estimate_agreed, losses = 0, 0, 0, 0, 0, []
    print(f"\n{nodes} nodes\n{'size':>8}  {'AWS':12}{'forescale':12}{'NCCL 2.20':12}AWS's choice takes longer by")
    for size in sizes:
        taken = {choice: of[size] for choice, of in times.items() if size in of}
        best = min(taken, key=taken.get)
        estimate = next(choice for choice, up_to in estimated if up_to is None or size <= up_to)
        measured = next((choice for of, least, most, choice in choices
                         if of == nodes and least <= size <= most), None)
        loss = taken[measured] / taken[best] - 1 if measured in taken else None
        print(f"{size_text(size):>8}  {measured or '-':12}{best:12}{estimate:12}"
              f"{'' if loss is None else f'{loss:.1%}'}")
        if measured is None:
            continue
        decided += 1
        agreed += best == measured
        named_agreed += min(named & taken.keys(), key=taken.get) == measured
        told_agreed += measured == next((choice for least, most, choice in told if least <= size <= most), estimate)
        estimate_agreed += estimate == measured
        if loss:
            losses.append(loss)
    lost = f"{statistics.median(losses):.0%} median, {max(losses):.0%} at most" if losses else "none"
    print(f"{nodes} nodes: of {decided} decided sizes forescale takes AWS's choice at {agreed}, at {named_agreed} of "
          f"those that AWS takes anywhere; NCCL's estimate at {estimate_agreed}"
          f"{f', told by forescale at {told_agreed}' if with_told else ''}; where forescale does not, AWS's takes longer by: {lost}")
    return decided, agreed, named_agreed, estimate_agreed, told_agreed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/forescale")
    parser.add_argument("--ranks-per-node", type=int, default=GPUS, choices=(1, 2, GPUS))
    parser.add_argument("--nodes", default="4,8,16")
    parser.add_argument("--sizes", default=",".join(size_text(1 << exponent).replace(" ", "")
                                                    for exponent in range(13, 35)))
    parser.add_argument("--told", action="store_true", help="what `tune collective` tells NCCL too (minutes more)")
    options = parser.parse_args()
    sizes = [bytes_of(text) for text in options.sizes.split(",")]
    found = [judge(options.program, options.ranks_per_node, int(nodes), sizes, options.told) for nodes in options.nodes.split(",")]
    decided, *counts = (sum(column) for column in zip(*found))
    texts = (f"{count} ({count / decided:.0%})" for count in counts)
    print(f"\nall: of {decided} forescale takes AWS's choice at {next(texts)}, of those that AWS takes anywhere at "
          f"{next(texts)}; NCCL's estimate at {next(texts)}{f', told by forescale at {next(texts)}' if options.told else ''}")


if __name__ == "__main__":
    sys.exit(main())
