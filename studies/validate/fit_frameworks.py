#!/usr/bin/env python3
"""What frameworks add to kernels timed alone: fit_frameworks.py [build/release/forescale].

Fits four numbers of models/compute/assumptions.json to the published times of image networks on one
GPU (tables in TABLES below) and prints them, then each family of networks predicted with the numbers
of the other families, and what stands in the file now scores.

An iteration is, over the passes of its layers,
    sum of max(kernel + launch, dispatch) + conversion * T + depthwise * D + update,
where kernel is a convolution's or product's time or other_layers times the bytes' time of any other
pass; T are the bytes of convolutions in half precision whose images lie channels first, read and
written, D the bytes of convolutions of each channel by itself, both over the memory's rate. The launch
and other_layers of channels first are the file's, from other rows. Fitted by Huber's loss on logarithms; rows that differ
in the machine or the release alone share one weight."""
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSUMPTIONS = ROOT / "models" / "compute" / "assumptions.json"
TABLES = ("open-gpus", "open-networks", "own-h100")
GPU_MODELS = ROOT / "models" / "hardware" / "gpu_models"
# TensorFlow 2.3 on A100 takes up to twice the time of TensorFlow 1 there: not what a release should add.
LEFT_OUT = "lambda-tensorflow-a100"
FAMILIES = ("resnet", "efficientnet", "alexnet")  # others are one of their own
START = {"nhwc": 1.0, "dispatch": 50e-6, "conversion": 1.5, "depthwise": 6.0}
HUBER = 0.2


def family_of(model):
    names = [name for name in FAMILIES if model.startswith(name)]
    return names[0] if names else "resnext" if "resnext" in model else model


def neutral_data(folder):
    """The data files, in which frameworks add nothing."""
    for entry in ROOT.iterdir():
        if entry.is_dir() and entry.name not in ("build", "models", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "models" / "compute").mkdir(parents=True)
    for entry in (ROOT / "models").iterdir():
        if entry.name != "compute":
            (folder / "models" / entry.name).symlink_to(entry)
    for entry in (ROOT / "models" / "compute").iterdir():
        if entry != ASSUMPTIONS:
            (folder / "models" / "compute" / entry.name).symlink_to(entry)
    document = json.loads(ASSUMPTIONS.read_text())
    compute, frameworks = document["compute"], document["compute"]["frameworks"]
    def put(number, value):
        number.update({"value": value, "fast": value, "slow": value})
    for kind in ("nchw", "nhwc", "sequences"):
        put(frameworks[kind]["other_layers"], 1.0)
        put(frameworks[kind]["kernel_s"], 0)
    put(frameworks["dispatch_s"], 0)
    put(compute["depthwise_over_bytes"], 1e-3)
    (folder / "models" / "compute" / "assumptions.json").write_text(json.dumps(document))


def convolution_values(network):
    """Values that all passes of convolutions read and write, for one image: dense ones, depthwise ones."""
    shapes, values = {}, [0, 0]
    outputs = {layer["name"]: layer["output_shape"] for layer in network["inferred"]["layers"]}
    for layer in network["layers"]:
        names = [layer.get(key, []) for key in ("bottom", "top")]
        bottoms, tops = ([name] if isinstance(name, str) else name for name in names)
        output = outputs.get(layer["name"])
        if layer["type"] == "Convolution":
            inputs = shapes[bottoms[0]]
            is_depthwise = 1 < layer.get("group", 1) == inputs[0]
            passes = 2 if bottoms[0] == "data" else 3
            values[is_depthwise] += passes * (math.prod(inputs) + math.prod(output))
        if output is not None:
            shapes.update({top: output for top in tops or [layer["name"]]})
    return values


class Row:
    def __init__(self, forescale, folder, claim, run, gpu):
        self.id, self.model, self.batch = claim["id"], run["model"], run["batch"]
        self.precision = run.get("precision", "fp32" if gpu.startswith("v100") else "tf32")
        is_half = self.precision in ("fp16", "bf16")
        self.format = run.get("memory_format", "nhwc" if is_half else "nchw")
        self.kind = (self.id.split("-")[0], self.model, gpu, self.precision, self.format)
        self.measured_s = self.batch / claim["measured"]
        answer = subprocess.run(
            [forescale, "model", "show", self.model, "--gpu", gpu, "--precision", self.precision,
             "--memory-format", "nhwc", "--batch", str(self.batch), "--json"],
            check=True, capture_output=True, env=dict(os.environ, FORESCALE_DATA=str(folder)))
        network = json.loads(answer.stdout)
        compute = network["compute"]
        self.update_s = compute["update_s"]
        self.kernels = []  # whether other layers' factor is for it, seconds of one, how many
        for layer in compute["layers"]:
            flops = layer["forward_flops_per_image"]
            for way in ("forward", "backward"):
                if layer[way + "_s"] == 0:
                    continue
                count = 2 if way == "backward" and layer["backward_flops_per_image"] > 1.5 * flops > 0 else 1
                is_other = flops == 0 and "data sheet" in layer[way + "_from"]
                self.kernels.append((is_other, layer[way + "_s"] / count, count))
        rate = next(number["value"] for number in compute["numbers"]
                    if number["path"] == "/memory_bandwidth_bytes_per_s")
        width = 2 if is_half else 4
        dense, depthwise = (width * self.batch * values / rate for values in convolution_values(network))
        facts = json.loads((GPU_MODELS / f"{compute['gpu']}.json").read_text())["gpu"]
        is_converted = (is_half and self.format == "nchw"
                        and facts.get("convolution_layout") != "nchw")
        self.converted_s, self.depthwise_s = 2 * dense * is_converted, depthwise

    def seconds(self, numbers, frameworks):
        factor = numbers["nhwc"] if self.format == "nhwc" else frameworks["nchw"]["other_layers"]["value"]
        launch_s = frameworks[self.format]["kernel_s"]["value"]
        return (sum(count * max(time * (factor if is_other else 1) + launch_s, numbers["dispatch"])
                    for is_other, time, count in self.kernels)
                + numbers["conversion"] * self.converted_s + numbers["depthwise"] * self.depthwise_s
                + self.update_s)

    def error(self, numbers, frameworks):
        """Of the throughput."""
        return self.measured_s / self.seconds(numbers, frameworks) - 1


def read_rows(forescale, folder):
    listed = subprocess.run([forescale, "platform", "list", "--json"], check=True, capture_output=True)
    gpus = {platform["name"]: platform.get("gpu") for platform in json.loads(listed.stdout)}
    rows = []
    for table in TABLES:
        document = json.loads((ROOT / "studies" / "claims" / f"{table}.json").read_text())
        for claim in document["claims"]:
            point = claim["formula"].get("point")
            if point is None or claim["role"] == "not predictable" or claim["unit"] != "images/s":
                continue
            run = document["requests"][point]["predict"]
            if run["gpus"] == 1 and run["model"] != "vit-b-16":
                rows.append(Row(forescale, folder, claim, run, gpus[run["platform"]]))
    return rows


def fit(rows, frameworks):
    alike = collections.Counter(row.kind for row in rows)
    def loss(logarithms):
        numbers = {name: math.exp(value) for name, value in logarithms.items()}
        total = 0.0
        for row in rows:
            size = abs(math.log(1 + row.error(numbers, frameworks)))
            total += (size**2 / 2 if size < HUBER else HUBER * (size - HUBER / 2)) / alike[row.kind]
        return total
    best = {name: math.log(value) for name, value in START.items()}
    least, step = loss(best), 0.5
    while step > 4e-3:
        tried = [{**best, name: best[name] + sign * step} for name in best for sign in (1, -1)]
        value, found = min(((loss(each), index) for index, each in enumerate(tried)))
        if value < least:
            least, best = value, tried[found]
        else:
            step /= 2
    return {name: math.exp(value) for name, value in best.items()}


def to_text(numbers):
    return (f"nhwc/other_layers {numbers['nhwc']:.2f}, dispatch_s {1e6 * numbers['dispatch']:.0f} us, layout_conversion "
            f"{numbers['conversion']:.2f}, depthwise_over_bytes {numbers['depthwise']:.1f}")


def median(errors):
    return f"{100 * statistics.median(map(abs, errors)):.1f} % of {len(errors)}"


def main():
    forescale = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "release" / "forescale")
    with tempfile.TemporaryDirectory() as folder:
        neutral_data(pathlib.Path(folder))
        rows = read_rows(forescale, folder)
    compute = json.loads(ASSUMPTIONS.read_text())["compute"]
    frameworks = compute["frameworks"]
    fitted = [row for row in rows if not row.id.startswith(LEFT_OUT)]
    print(f"all: {to_text(fit(fitted, frameworks))}")
    held_out = []
    for family in sorted({family_of(row.model) for row in rows}):
        numbers = fit([row for row in fitted if family_of(row.model) != family], frameworks)
        errors = [row.error(numbers, frameworks) for row in rows if family_of(row.model) == family]
        held_out += errors
        print(f"without {family}: {to_text(numbers)}; its rows: {median(errors)}")
    print(f"median error, each family by the others' numbers: {median(held_out)}")
    now = {"nhwc": frameworks["nhwc"]["other_layers"]["value"], "dispatch": frameworks["dispatch_s"]["value"],
           "conversion": frameworks["layout_conversion"]["value"], "depthwise": compute["depthwise_over_bytes"]["value"]}
    print(f"by the file's numbers: {median([row.error(now, frameworks) for row in rows])}")


if __name__ == "__main__":
    main()
