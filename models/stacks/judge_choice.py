#!/usr/bin/env python3
"""Whether what forescale takes to be the fastest of NCCL's algorithms and protocols is what AWS measured to be.

    judge_choice.py [--program build/release/forescale] [--platform aws-p5] [--op all-reduce] [--ranks-per-node 8]
                    [--nodes 4,8,16] [--sizes 8KiB,16KiB,...] [--told | --releases]

aws_choices.csv has what the tuner of aws-ofi-nccl takes on p5 (8 H100, 32 EFA) and p6-b200 (8 B200, 8 EFA) for
all-reduces, allgathers and reduce-scatters of eight, two or one ranks a node, by nodes and bytes: lines that AWS
drew through its measurements (aws/aws-ofi-nccl, src/tuner/nccl_ofi_regions.cpp, commit 2daf7d30); "nccl" where it
leaves the choice to NCCL. Each algorithm and protocol of the platform's stack is simulated for all sizes (a few
minutes), and the fastest compared with AWS's. Prints both by size, what AWS's choice would lose by the simulated times, and how often the two agree: with all
algorithms and protocols, and with those only that AWS's file takes anywhere (on p5 LL it does not: perhaps it was
not tried); beside how often NCCL's own estimate (nccl_tuner.py) agrees with AWS, of the sizes that AWS decided,
and with --told how often NCCL does that loads what `tune collective --emit nccl-plugin` writes. --releases simulates
nothing and prints how often the estimates of each of NCCL's releases agree with AWS."""
import argparse
import csv
import dataclasses
import json
import math
import pathlib
import statistics
import subprocess
import sys

import rebuild_nccl
from nccl_sources import GIB, KIB, MIB
from nccl_told import told_name
from nccl_tuner import LAUNCH_US, RELEASES, Machine, bands, gather_bands, gather_choices

HERE = pathlib.Path(__file__).resolve().parent
GPUS = 8  # of a node
STACKS = {"aws-p5": ("nccl-2.23-h100-efa", rebuild_nccl.EIGHT_H100_OF_P5),
          "aws-p6-b200": ("nccl-2.29-b200-efa", rebuild_nccl.EIGHT_B200_OF_P6)}
COLLECTIVES = {"all-reduce": "AllReduce", "allgather": "AllGather", "reduce-scatter": "ReduceScatter"}
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


@dataclasses.dataclass
class Case:
    """One collective of groups with so many ranks of each node."""
    program: str
    platform: str
    op: str
    ranks_per_node: int

    @property
    def stack(self):
        return STACKS[self.platform][0]

    @property
    def machine(self) -> Machine:
        return STACKS[self.platform][1].part(self.ranks_per_node)

    def choices(self):
        if self.op != "all-reduce":
            return gather_choices(self.machine)
        return (*LAUNCH_US, "nvls") if self.machine.nvls else tuple(LAUNCH_US)

    def estimated(self, nodes, release=None):
        machine = dataclasses.replace(self.machine, release=release or self.machine.release)
        return (bands if self.op == "all-reduce" else gather_bands)(machine, nodes)

    def measured(self):
        """(nodes, least bytes, most bytes, AWS's choice as "tree-ll128"; nothing where it has none)."""
        with (HERE / "aws_choices.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if (row["platform"], int(row["ranks_per_node"]), row["collective"]) != (
                        self.platform, self.ranks_per_node, COLLECTIVES[self.op]):
                    continue
                choice = {"nccl": None, "PAT": "pat", "NVLS_TREE": "nvls"}.get(
                    row["algorithm"], f"{row['algorithm']}-{row['protocol']}".lower())
                yield int(row["nodes"]), int(row["min_bytes"]), int(row["max_bytes"]), choice

    def simulated(self, nodes, choice, sizes):
        """Seconds by bytes."""
        slots = range(0, GPUS * nodes, GPUS // self.ranks_per_node)
        sizes = [size for size in sizes if LEAST.get(choice, 0) <= size <= MOST.get(choice, math.inf)]
        if not sizes:
            return {}
        answer = subprocess.run(
            [self.program, "collective", "--platform", f"{self.platform}:nodes={nodes}", "--stack",
             f"{self.stack}:take={told_name(choice, nodes)}", "--op", self.op, "--slots", ",".join(map(str, slots)),
             "--bytes", ",".join(map(str, sizes)), "--csv"], check=True, stdout=subprocess.PIPE, text=True)
        return {int(row["bytes"]): float(row["simulated_s"]) for row in csv.DictReader(answer.stdout.splitlines())}

    def told_regions(self, nodes, sizes):
        """(least bytes, most bytes, choice) that `tune collective` tells NCCL, as "tree-ll128"."""
        answer = subprocess.run(
            [self.program, "tune", "collective", "--platform", f"{self.platform}:nodes={nodes}", "--stack", f"{self.stack}:NCCL_TUNER_PLUGIN=none",
             "--op", self.op, "--ranks", str(GPUS * nodes), "--split", f"mod{GPUS // self.ranks_per_node}", "--bytes",
             ",".join(map(str, sizes)), "--json"], check=True, stdout=subprocess.PIPE, text=True)
        for region in json.loads(answer.stdout)["regions"]:
            if region["plan"] != "own choice":
                name = region["plan"].split(":")[0]
                choice = next(each for each in self.choices() if told_name(each, nodes) == name)
                yield region["from_bytes"], region["to_bytes"], choice


def chosen(found, size):
    return next(choice for choice, up_to in found if up_to is None or size <= up_to)


def judge_releases(case, nodes, sizes):
    choices = list(case.measured())
    for release in RELEASES:
        found = {count: case.estimated(count, release) for count in nodes}
        pairs = [(choice, chosen(found[count], size)) for count in nodes for size in sizes
                 for of, least, most, choice in choices if of == count and least <= size <= most and choice]
        print(f"{release.first:>5}: {sum(aws == nccl for aws, nccl in pairs)} of {len(pairs)}")


def judge(case, nodes, sizes, with_told):
    times = {choice: case.simulated(nodes, choice, sizes) for choice in case.choices()}
    told = list(case.told_regions(nodes, sizes)) if with_told else []
    estimated = case.estimated(nodes)
    choices = list(case.measured())
    named = {choice for *_, choice in choices}
    decided, agreed, named_agreed, told_agreed, estimate_agreed, losses = 0, 0, 0, 0, 0, []
    print(f"\n{nodes} nodes\n{'size':>8}  {'AWS':12}{'forescale':12}{'NCCL':12}AWS's choice takes longer by")
    for size in sizes:
        taken = {choice: of[size] for choice, of in times.items() if size in of}
        best = min(taken, key=taken.get)
        estimate = chosen(estimated, size)
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
    parser.add_argument("--platform", default="aws-p5", choices=STACKS)
    parser.add_argument("--op", default="all-reduce", choices=COLLECTIVES)
    parser.add_argument("--ranks-per-node", type=int, default=GPUS, choices=(1, 2, GPUS))
    parser.add_argument("--nodes", default="4,8,16")
    parser.add_argument("--sizes", default=",".join(size_text(1 << exponent).replace(" ", "")
                                                    for exponent in range(13, 35)))
    parser.add_argument("--told", action="store_true", help="what `tune collective` tells NCCL too (minutes more)")
    parser.add_argument("--releases", action="store_true", help="only NCCL's own estimates, release by release")
    options = parser.parse_args()
    sizes = [bytes_of(text) for text in options.sizes.split(",")]
    case = Case(options.program, options.platform, options.op, options.ranks_per_node)
    if not list(case.measured()):
        sys.exit(f"AWS has no choices for {options.op} of {options.ranks_per_node} ranks a node on {options.platform}")
    if options.releases:
        judge_releases(case, [int(nodes) for nodes in options.nodes.split(",")], sizes)
        return
    found = [judge(case, int(nodes), sizes, options.told) for nodes in options.nodes.split(",")]
    decided, *counts = (sum(column) for column in zip(*found))
    texts = (f"{count} ({count / decided:.0%})" for count in counts)
    print(f"\nall: of {decided} forescale takes AWS's choice at {next(texts)}, of those that AWS takes anywhere at "
          f"{next(texts)}; NCCL's estimate at {next(texts)}{f', told by forescale at {next(texts)}' if options.told else ''}")


if __name__ == "__main__":
    sys.exit(main())
