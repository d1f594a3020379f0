#!/usr/bin/env python3
"""Writes the rules for reduce of mvapich2-gdr.json: HR (Tuned) of S-Caffe, PPoPP 2017, section 6.5,
the fastest combination for each size and rank count.

    rebuild_hr.py [--forescale PROGRAM] [--check]
        PROGRAM: default build/release/forescale; --check writes nothing: exit 1 when rules differ

What is fastest is predicted, on the paper's two clusters: of MVAPICH2's own reduce through the host
(mvapich2-gdr-no-hr) and of a binomial tree, a chain, CC-k and CB-k with k = 2, 4, 8 and 16 on the
GPUs. A size stays with the plan of the size before while that is within 1 % of the fastest.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STACK = HERE / "mvapich2-gdr.json"
BASELINE = "mvapich2-gdr-no-hr"
CHUNK_BYTES = 512 << 10
SIZES = [1024 << i for i in range(19)]  # 1 KiB to 256 MiB
TOLERANCE = 0.01
# Those of Cluster-B come before those of Cluster-A: they ask for two ranks on each node. Two ranks
# are the same on both.
CLUSTERS = (("kesch", (2,), {}), ("cluster-b", (4, 8, 16, 32, 40), {"ranks_per_node": 2}),
            ("kesch", (4, 8, 16, 32, 48, 64, 96, 128, 160, 192), {}))
CHUNKS = {"value": CHUNK_BYTES,
          "assumed": "chunk of the hierarchical reduce: S-Caffe does not state it; taken as the "
                     "buffer through which MVAPICH2 moves GPU memory between processes "
                     "(cudaipc_stage_buffer_size = 1 << 19, gen2/ibv_cuda_ipc.c; "
                     "kumattau/mvapich2 0c069887)",
          "fast": 256 << 10, "slow": 1 << 20}
SOURCE = ("S-Caffe, PPoPP 2017, section 6.5: the fastest combination for the size and the number "
          "of processes; as predicted on {} by rebuild_hr.py")


def plans():
    yield {"algorithm": "binomial"}
    yield {"algorithm": "chain"}
    for algorithm in ("cc", "cb"):
        for chain_size in (2, 4, 8, 16):
            yield {"algorithm": algorithm, "chain_size": chain_size}


def text_of(plan):
    if plan["algorithm"] == "binomial":
        return "reduce/binomial"
    options = [f"chain_size={plan['chain_size']}"] if "chain_size" in plan else []
    return f"reduce/{plan['algorithm']}:" + ",".join([*options, f"chunk_bytes={CHUNK_BYTES}"])


def times(program, platform, stack, ranks, plan):
    """Seconds by size."""
    command = [program, "collective", "--platform", platform, "--stack", stack, "--engine", "sim",
               "--ranks", str(ranks), "--bytes", ",".join(map(str, SIZES)), "--json"]
    command += ["--plan", text_of(plan)] if plan else ["--op", "reduce"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {point["bytes"]: point["time_s"] for point in json.loads(answer)["points"]}


def baseline_rule(bytes_):
    rules = json.loads((HERE / f"{BASELINE}.json").read_text())["selection"]["reduce"]
    return next(dict(rule) for rule in rules if bytes_ <= rule.get("up_to_bytes", math.inf))


def fastest(program, platform, gpu_stack, ranks):
    """(last size, index of the plan), by growing size; index 0 is the baseline."""
    choices = [None, *plans()]
    by_plan = [times(program, platform, gpu_stack if plan else BASELINE, ranks, plan)
               for plan in choices]
    chosen = []
    for size in SIZES:
        best = min(range(len(choices)), key=lambda i: by_plan[i][size])
        if chosen and by_plan[chosen[-1][1]][size] <= (1 + TOLERANCE) * by_plan[best][size]:
            best = chosen[-1][1]
        # The baseline's algorithm depends on the size, too.
        same = chosen and chosen[-1][1] == best and (
            best > 0 or baseline_rule(chosen[-1][0]) == baseline_rule(size))
        chosen = [*(chosen[:-1] if same else chosen), (size, best)]
    return [(size, choices[i]) for size, i in chosen]


def rule_of(size, plan, is_last_size, platform):
    rule = {}
    if not is_last_size:  # up to halfway, by ratio, to the next size
        rule["up_to_bytes"] = int(size * math.sqrt(2)) // 4 * 4
    if plan is None:
        own = baseline_rule(size)
        limit = own.pop("up_to_bytes", math.inf)
        return rule | own | ({} if is_last_size else {
            "up_to_bytes": min(limit, rule["up_to_bytes"])})
    rule |= plan
    if plan["algorithm"] != "binomial":
        rule["chunk_bytes"] = CHUNKS
    return rule | {"source": SOURCE.format(platform)}


def rules(program):
    with tempfile.TemporaryDirectory() as folder:
        gpu_stack = pathlib.Path(folder) / "hr-on-gpus.json"
        gpu_stack.write_text(json.dumps({
            "format": "forescale-stack-1", "name": "hr-on-gpus", "extends": "mvapich2-gdr",
            "description": "reductions on GPUs whatever the size",
            "selection": {"reduce": [{"algorithm": "binomial"}]}}))
        groups = []  # (largest rank count, shape, rules); neighbours with the same rules are one
        for platform, counts, shape in CLUSTERS:
            for ranks in counts:
                bands = fastest(program, platform, str(gpu_stack), ranks)
                made = [rule_of(size, plan, i + 1 == len(bands), platform)
                        for i, (size, plan) in enumerate(bands)]
                if groups and groups[-1][1:] == (shape, made):
                    groups.pop()
                groups.append((ranks, shape, made))
    return [({} if group is groups[-1] else {"up_to_ranks": group[0]}) | group[1] | rule
            for group in groups for rule in group[2]]


def with_rules(text, made):
    begin = text.index('"reduce": [')
    end = text.index("\n    ],", begin)
    lines = json.dumps(made, indent=2).splitlines()[1:-1]
    return text[:begin] + '"reduce": [\n' + "\n".join("    " + line for line in lines) + text[end:]


def main():
    arguments = sys.argv[1:]
    program = "build/release/forescale"
    if "--forescale" in arguments:
        program = arguments[arguments.index("--forescale") + 1]
    text = STACK.read_text()
    made = with_rules(text, rules(program))
    if "--check" not in arguments:
        STACK.write_text(made)
    elif made != text:
        sys.exit(f"{STACK.name} has other rules for reduce than rebuild_hr.py makes")


if __name__ == "__main__":
    main()
