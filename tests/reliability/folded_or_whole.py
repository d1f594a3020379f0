#!/usr/bin/env python3
"""Random questions that a few ranks answer for all, asked of all ranks too (--whole): is the
difference within the error that is said? Exits with 1 where one is not.

    tests/reliability/folded_or_whole.py build/release/forescale --cases 100 --seed 7
"""
import argparse
import json
import random
import subprocess
import sys

NODES = {  # of a platform, with GPUs of each
    "alps-gh200": (200, 4),
    "aws-p5": (100, 8),
    "azure-nd-mi300x": (64, 8),
    "dgx-1-v100": (64, 8),
    "dgx-a100": (100, 8),
    "dgx-b200": (100, 8),
    "dgx-h100": (100, 8),
    "gcp-a3-mega": (64, 8),
    "gb200-nvl72": (8, 72),
}
PLANS = ["all-reduce"] * 3 + ["allgather", "reduce-scatter", "all-to-all", "all-reduce/ring",
                              "allgather/ring", "reduce-scatter/ring"]
BYTES = ["64KiB", "256KiB", "1MiB", "3333332B", "10000000B", "33333332B", "64MiB", "200000000B",
         "1GiB"]
LONGEST_S = 150  # of all ranks; longer ones are left out
EXACT = 1e-9


def machine(drawn):
    platform = drawn.choice(sorted(NODES))
    nodes, gpus = NODES[platform]
    return [f"--platform={platform}:nodes={nodes}"], nodes, gpus


def collective(drawn):
    words, nodes, gpus = machine(drawn)
    used = drawn.randint(min(nodes - 1, 16), nodes)
    slow = ["--link=node3/nic0=0.25"] if drawn.random() < 0.3 else []
    return ["collective", *words, f"--plan={drawn.choice(PLANS)}", f"--ranks={used * gpus}",
            f"--bytes={drawn.choice(BYTES)}", "--engine=sim", *slow]


def training(drawn):
    words, nodes, gpus = machine(drawn)
    slow = ["--straggler=3:1.5"] if drawn.random() < 0.3 else []
    return ["predict", *words, f"--gpus={min(nodes, 144 // gpus + drawn.randint(1, 8)) * gpus}",
            f"--model={drawn.choice(['alexnet', 'googlenet', 'resnet-50', 'vgg-16'])}",
            f"--batch={drawn.choice([4, 32])}", "--scaling=weak", "--system=ddp-nccl", "--iterations=2", *slow]


def ask(program, question, *more):
    """The answer; nothing where it takes too long or is refused."""
    try:
        run = subprocess.run([program, *question, *more, "--no-range", "--json"],
                             capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(run.stdout) if run.returncode == 0 else None


def time_and_error(question, answer):
    point = answer["points"][0] if question[0] == "predict" else answer
    return point["iteration_s" if question[0] == "predict" else "time_s"], point["folded_error"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=100, help="questions drawn (100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--training", type=float, default=0.1,
                        help="share of them that are training, which takes longest (0.1)")
    asked = parser.parse_args()
    drawn = random.Random(asked.seed)
    wrong = compared = 0
    for _ in range(asked.cases):
        question = (training if drawn.random() < asked.training else collective)(drawn)
        few = ask(asked.program, question)
        whole = few and ask(asked.program, question, "--whole")
        if not whole:
            continue
        few_s, said = time_and_error(question, few)
        whole_s, _ = time_and_error(question, whole)
        off = few_s / whole_s - 1
        compared += 1
        holds = abs(off) <= max(EXACT, said)
        wrong += not holds
        print(f"{'' if holds else 'WRONG '}{100 * off:+.4f} %, said {100 * said:.3g} %:",
              " ".join(question), flush=True)
    print(f"{compared} of {asked.cases} questions compared, {wrong} further off than said")
    sys.exit(1 if wrong or not compared else 0)


if __name__ == "__main__":
    main()
