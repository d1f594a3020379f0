#!/usr/bin/env python3
"""What frameworks' rows say of `unmodelled` in models/compute/transformer_frameworks.json:

    forescale validate --interval -o validation.json
    python3 studies/layout/fit_frameworks.py validation.json [build/release/forescale]

prints, by framework (releases as one) and kind of layout, how much less and more time than the prediction the rows take,
adjusted ones and predictions: calibration is too near. The ends are made for a source that is not here
(a repository, of MLPerf a submitter, of Together a cluster), each counting as much as any other of three
rows and more: each is left out in turn, the others make ends with an equal share of them beyond each,
and that share is the greatest, of one to five in a hundred, with which nine of ten of the rows left out
are held. Where fewer than three sources are known the share is five in a hundred, and what is left out
is a network. Ends made of the adjusted rows alone held 12 of the 21 predictions of llm-blackwell, and
36 of the first 54 of llm-together.

The program is asked which layouts fill the memory (minutes): what those take is `full_memory`, and they
are left out. Without it they count as the others."""
import collections
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys

LEAST_ROWS = 5
LEAST_SOURCES = 3
FRAMEWORKS = pathlib.Path(__file__).resolve().parents[2] / "models/compute/transformer_frameworks.json"
FULL_WEIGHT = 3  # rows with which a source counts fully
OUTSIDE = tuple(step / 200 for step in range(10, 1, -1))  # 5 % to 1 %
HELD = 0.9


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


def source_of(row):
    place = row["section"].removeprefix("github:")
    repository = re.split(r"[ ,]", place)[0]
    if "training_results" in repository:
        submitter = re.search(r", ([^,/]+)/results", place)
        return "MLPerf, " + (submitter.group(1) if submitter else repository)
    if "together-dgxc-benchmarking" in repository:
        return "Together, " + row["id"].removeprefix("llm-together-").split("-")[0]
    return repository


def ratios_of(validation, program):
    """(source, network, measured over predicted time) of layouts, by framework and kind."""
    rows = [row for row in validation["rows"]
            if row["unit"] == "s" and row["error"] is not None
            and row["role"] in ("adjusted", "prediction") and "--layout" in " ".join(row["commands"])]
    commands = [row["commands"][0] for row in rows]
    known = json.loads(FRAMEWORKS.read_text())["frameworks"]
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
        name = known[name].get("as", name)
        kind = kind_of(re.search(r"--layout (\S+)", command).group(1),
                       int(re.search(r"--gpus (\d+)", command).group(1)), row["nodes"])
        network = re.search(r"--model (\S+)", command).group(1)
        ratios[name, kind].append((source_of(row), network, row["measured"] / row["predicted"]))
    return ratios


SOURCE, NETWORK, RATIO = range(3)


def weights_of(rows):
    """Of each row, so that sources count alike."""
    counts = collections.Counter(row[SOURCE] for row in rows)
    return [1 / max(counts[row[SOURCE]], FULL_WEIGHT) for row in rows]


def end_of(weighted, outside):
    """The first ratio with no more than so much of the weight before it."""
    before = 0
    for ratio, weight in weighted:
        if before + weight > outside * sum(weight for _, weight in weighted):
            return ratio
        before += weight
    return weighted[-1][0]


def ends_of(rows, outside):
    weighted = sorted(zip((row[RATIO] for row in rows), weights_of(rows)))
    return min(1, end_of(weighted, outside)), max(1, end_of(weighted[::-1], outside))


def held_left_out(rows, apart, outside):
    """The share of the rows' weight that lies between the ends of the rows that are not of the same source or network."""
    weights = weights_of(rows)
    held = 0
    for group in {row[apart] for row in rows}:
        low, high = ends_of([row for row in rows if row[apart] != group], outside)
        held += sum(weight for row, weight in zip(rows, weights)
                    if row[apart] == group and low <= row[RATIO] <= high)
    return held / sum(weights)


def describe(rows):
    if len(rows) < LEAST_ROWS:
        return "too few"
    sources, networks = ({row[of] for row in rows} for of in (SOURCE, NETWORK))
    apart, outside = (NETWORK, OUTSIDE[0]) if len(sources) < LEAST_SOURCES else (SOURCE, next(
        (share for share in OUTSIDE if held_left_out(rows, SOURCE, share) >= HELD), OUTSIDE[-1]))
    low, high = ends_of(rows, outside)
    text = (f'"faster": {1 - low:.3f}, "slower": {high - 1:.3f} of {len(sources)} sources; '
            f"{outside:.1%} beyond each end")
    if len(networks if apart == NETWORK else sources) == 1:
        return text
    return (f"{text}; of {'networks' if apart == NETWORK else 'sources'} left out "
            f"{held_left_out(rows, apart, outside):.0%} held")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        ratios = ratios_of(json.load(file), sys.argv[2] if len(sys.argv) > 2 else None)
    for (framework, kind), rows in sorted(ratios.items()):
        print(f"{framework}, {kind}: {len(rows)} rows: {describe(rows)}")
        for source in sorted({row[SOURCE] for row in rows}):
            own = sorted(row[RATIO] for row in rows if row[SOURCE] == source)
            print(f"    {source}: {len(own)} rows, measured over predicted {own[0]:.2f}, "
                  f"{statistics.median(own):.2f}, {own[-1]:.2f}")


if __name__ == "__main__":
    main()
