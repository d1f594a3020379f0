#!/usr/bin/env python3
"""What frameworks' rows say of `unmodelled` in models/compute/transformer_frameworks.json:

    forescale validate -o validation.json
    python3 studies/layout/fit_frameworks.py validation.json

prints, by framework and with one pipeline stage, several, or experts, how much less and more time than
the prediction 90 % of the rows take, adjusted ones and predictions: calibration is too near. Intervals
made of the adjusted rows alone held 12 of the 21 predictions of llm-blackwell."""
import json
import math
import re
import sys

LEAST_ROWS = 5


def ratios_of(validation):
    """Measured over predicted times of layouts, by framework and pipeline."""
    ratios = {}
    for row in validation["rows"]:
        layout = re.search(r"--layout (\S+)", " ".join(row["commands"]))
        if not layout or row["unit"] != "s" or row["error"] is None or row["role"] == "calibration":
            continue
        framework = re.search(r"--framework (\S+)", row["commands"][0])
        text = layout.group(1)
        kind = "pipeline" if re.search(r"\bpp=", text) else "one_stage"
        kind = "experts" if re.search(r"\bep=", text) else kind
        name = framework.group(1) if framework else "Megatron-LM"
        ratios.setdefault((name, kind), []).append(row["measured"] / row["predicted"])
    return ratios


def ends_of(ratios):
    ordered = sorted(ratios)
    low = ordered[int(0.05 * len(ordered))]
    high = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return {"faster": round(max(0, 1 - low), 3), "slower": round(max(0, high - 1), 3)}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        ratios = ratios_of(json.load(file))
    for (framework, kind), found in sorted(ratios.items()):
        what = ends_of(found) if len(found) >= LEAST_ROWS else "too few"
        print(f"{framework}, {kind}: {len(found)} rows, {what}")


if __name__ == "__main__":
    main()
