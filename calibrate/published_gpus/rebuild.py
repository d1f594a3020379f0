#!/usr/bin/env python3
"""Rebuilds the measurements in this folder from public tables.

    rebuild.py TABLES [--check]     TABLES: folder with deepbench_gemm.csv.gz, deepbench_conv.csv.gz,
                                    convnet_caffe_layers.csv.gz, aiconfigurator_gemm.csv.gz,
                                    aiconfigurator_attention.csv.gz and simumax_kernels.csv.gz
                                    (tests/calibrate/data/published_gpus)

DeepBench (baidu-research/DeepBench, Apache-2.0): results/train/DeepBench_*.xlsx, one table a GPU,
times of cuBLAS and cuDNN in ms. Convnet-benchmarks (soumith/convnet-benchmarks, MIT, commit
b458aab): times by layer that `caffe time` printed on a Titan X (Maxwell), Caffe with cuDNN R4 and
GreenTea's OpenCL Caffe; shapes from caffe/imagenet_winners/*.prototxt there (batch 128, VGG-A 64).
Aiconfigurator (ai-dynamo/aiconfigurator, Apache-2.0): times that TensorRT-LLM's and SGLang's kernels
took, from tables of tens of thousands of rows a GPU. Of the shapes' SHA-256 the last bit decides
whether a shape is "fitted" or "judged", on all GPUs alike; of each half stand 240 shapes a GPU and
precision in the tables here, in the order of another SHA-256. The judged ones go to JUDGED and
nowhere else. GEMM: activations m x k by weights n x k, row-major, which is TN with m and n exchanged.
NVFP4 and all of B300 came later, at shapes that had their half by then. Attention is causal; several
rows of a shape differ in what the table does not say (the cache's precision; a sliding window, which is
faster): the two slowest are averaged geometrically.
The H100 has more, which this project measured (calibrate/measured_gpus/): convolutions, the products of
both gradients, attention by cuDNN, forward and backward, and BatchNorm as PyTorch ran it in
BF16, channels last, in a step of ResNet-50. Attention by cuDNN takes the place of TensorRT-LLM's
attention, whose times are those of an operator that turns positions and writes a cache of keys besides. By
the last bit of the SHA-256 of its shape each is fitted or judged, in all passes and precisions alike. Left
out: convolutions in groups, and those by cuDNN's plainest algorithms, many of them 3 to 33 times as slow as
their neighbours (docs/gpu_measurements.md).
SimuMax (MooreThreads/SimuMax, commit 4dcaae51): shares of 2,250 TFLOP/s that Transformer Engine's
products and attention reach on B200 in a container for training, backward passes too; attention's
count all FLOP, causal or not. The machine's products take 1.4 times as long as
aiconfigurator's. Left out: attention whose queries and values differ in size, operands in one
tensor, and grouped products (tests/models/grouped_gemm_test.cpp judges by those).
With --check nothing is written: exit 1 when a file differs.
"""
import csv
import gzip
import hashlib
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
JUDGED = HERE.parents[1] / "tests/calibrate/data/judged_gpus"
MEASURED = HERE.parent / "measured_gpus"
GPUS = {
    "titan-x": ("NV_TitanX", "TITAN X (Maxwell)"),
    "m40": ("NV_M40", "Tesla M40"),
    "titan-x-pascal": ("NV_TitanX_Pascal", "TITAN X (Pascal)"),
    "titan-xp": ("NV_TitanXp", "TITAN Xp"),
    "1080-ti": ("NV_1080Ti", "GeForce GTX 1080 Ti"),
    "p100": ("NV_P100", "Tesla P100"),
    "v100": ("NV_V100", "Tesla V100"),
    "t4": ("NV_T4", "Tesla T4"),
}
PASSES = (("v1", "forward"), ("v2", "backward-data"), ("v3", "backward-weights"))
FP32 = 4


def rows(path):
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def seconds(milliseconds):
    """Exact in decimal: 0.182 ms is 0.000182 s."""
    return float(f"{milliseconds}e-3")


def precision(text):
    return "fp32" if text == "Float" else "fp16"


def whole(text):
    return int(float(text))


def gemm(row):
    return {"operation": "gemm", "m": int(row["M"]), "n": int(row["N"]), "k": int(row["K"]),
            "transposes": row["a_transpose"] + row["b_transpose"], "pass": "forward",
            "precision": precision(row["precision"]), "time_s": seconds(row["time_ms"])}


def convolutions(row):
    shape = {"operation": "convolution", "batch": whole(row["N"]), "channels": whole(row["C"]),
             "height": whole(row["H"]), "width": whole(row["W"]), "filters": whole(row["K"]),
             "filter_height": whole(row["filter_h"]), "filter_width": whole(row["filter_w"]),
             "pad_height": whole(row["pad_h"]), "pad_width": whole(row["pad_w"]),
             "stride_height": whole(row["stride_h"]), "stride_width": whole(row["stride_w"])}
    for column, name in PASSES:
        if row[column]:
            yield shape | {"pass": name, "precision": precision(row["precision"]),
                           "time_s": seconds(row[column])}


def deepbench(tables):
    kernels = {device: [] for device, _ in GPUS.values()}
    paths = {}
    for row in rows(tables / "deepbench_gemm.csv.gz"):
        if row["device"] in kernels:
            kernels[row["device"]].append(gemm(row))
            paths[row["device"]] = row["path"]
    for row in rows(tables / "deepbench_conv.csv.gz"):
        if row["device"] in kernels:
            kernels[row["device"]].extend(convolutions(row))
    for name, (device, gpu) in GPUS.items():
        yield name, {
            "format": "forescale-measurement-1", "machine": gpu, "library": "cuBLAS, cuDNN",
            "provenance": {"source": f"baidu-research/DeepBench {paths[device]}, Apache-2.0",
                           "gpu": {"convolution_layout": "nchw", "name": gpu}},
            "series": [], "kernels": kernels[device]}


# A net: its batch, its image and layers (name, type, numbers). conv: filters, size, stride, pad;
# pool: size, stride, pad, type; fc: outputs.
def chain(*layers):
    return list(layers)


OWT = chain(("conv1", "conv", 64, 11, 4, 2), ("conv1/relu", "relu"),
            ("pool1/3x3_s2", "pool", 3, 2, 0), ("conv2/5x5_s1", "conv", 192, 5, 1, 2),
            ("conv2/relu", "relu"), ("pool2/3x3_s2", "pool", 3, 2, 0),
            ("conv3/3x3_s1", "conv", 384, 3, 1, 1), ("conv3/relu", "relu"),
            ("conv4/3x3_s1", "conv", 256, 3, 1, 1), ("conv4/relu", "relu"),
            ("conv5/3x3_s1", "conv", 256, 3, 1, 1), ("conv5/relu", "relu"),
            ("pool5/3x3_s2", "pool", 3, 2, 0), ("fc6", "fc", 4096), ("fc7", "fc", 4096),
            ("fc8", "fc", 1000))
OVERFEAT = chain(("conv1/11x11_s4", "conv", 96, 11, 4, 0), ("conv1/relu", "relu"),
                 ("pool1/2x2_s2", "pool", 2, 2, 0), ("conv2/5x5_s1", "conv", 256, 5, 1, 0),
                 ("conv2/relu", "relu"), ("pool2/2x2_s2", "pool", 2, 2, 0),
                 ("conv3/3x3_s1", "conv", 512, 3, 1, 1), ("conv3/relu", "relu"),
                 ("conv4/3x3_s1", "conv", 1024, 3, 1, 1), ("conv4/relu", "relu"),
                 ("conv5/3x3_s1", "conv", 1024, 3, 1, 1), ("conv5/relu", "relu"),
                 ("pool5/2x2_s2", "pool", 2, 2, 0), ("fc6", "fc", 3072), ("fc7", "fc", 4096),
                 ("fc8", "fc", 1000))


def vgg_a():
    layers, pool = [], 0
    for i, filters in enumerate((64, 128, 256, 256, 512, 512, 512, 512), 1):
        layers += [(f"conv{i}/3x3_s1", "conv", filters, 3, 1, 0 if i == 1 else 1),
                   (f"conv{i}/relu", "relu")]
        if i in (1, 2, 4, 6, 8):
            pool += 1
            layers.append((f"pool{pool}/2x2_s2", "pool", 2, 2, 0))
    return layers + [("fc6", "fc", 4096), ("fc7", "fc", 4096), ("fc8", "fc", 1000)]


# Szegedy et al., CVPR 2015, Table 1: 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection.
INCEPTION = {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
             "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64),
             "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
             "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
             "5b": (384, 192, 384, 48, 128, 128)}


class Walk:
    """Kernels by layer name, as the image passes the layers."""

    def __init__(self, batch, channels, size):
        self.batch, self.channels, self.size, self.kernels = batch, channels, size, {}

    def values(self):
        return self.batch * self.channels * self.size * self.size

    def layer(self, name, kind, inputs, outputs):
        self.kernels[name] = {"operation": "layer", "type": kind, "batch": self.batch,
                              "input_bytes": FP32 * inputs, "output_bytes": FP32 * outputs}

    def conv(self, name, filters, size, stride, pad):
        self.kernels[name] = {
            "operation": "convolution", "batch": self.batch, "channels": self.channels,
            "height": self.size, "width": self.size, "filters": filters, "filter_height": size,
            "filter_width": size, "pad_height": pad, "pad_width": pad, "stride_height": stride,
            "stride_width": stride}
        self.channels, self.size = filters, (self.size + 2 * pad - size) // stride + 1

    def relu(self, name):
        self.layer(name, "ReLU", self.values(), self.values())

    def pool(self, name, size, stride, pad):
        before = self.values()
        self.size = -(-(self.size + 2 * pad - size) // stride) + 1
        self.layer(name, "Pooling", before, self.values())

    def fc(self, name, outputs):
        self.kernels[name] = {"operation": "gemm", "m": outputs, "n": self.batch,
                              "k": self.values() // self.batch, "transposes": "TN"}
        self.channels, self.size = outputs, 1

    def run(self, layers):
        for name, kind, *numbers in layers:
            getattr(self, kind)(name, *numbers)
        return self

    def inception(self, name, numbers):
        one, reduce3, three, reduce5, five, projection = numbers
        channels, size = self.channels, self.size
        prefix = f"inception_{name}/"
        for steps in (
                (("1x1", one, 1, 0),),
                (("3x3_reduce", reduce3, 1, 0), ("3x3", three, 3, 1)),
                (("5x5_reduce", reduce5, 1, 0), ("5x5", five, 5, 2)),
                (("pool", 3), ("pool_proj", projection, 1, 0))):
            self.channels, self.size = channels, size
            for step, *shape in steps:
                if step == "pool":
                    self.pool(prefix + step, 3, 1, 1)
                else:
                    self.conv(prefix + step, shape[0], shape[1], 1, shape[2])
                    self.relu(prefix + "relu_" + step)
        self.channels = one + three + five + projection
        self.layer(prefix + "output", "Concat", self.values(), self.values())


def googlenet():
    walk = Walk(128, 3, 224).run(
        [("conv1/7x7_s2", "conv", 64, 7, 2, 3), ("conv1/relu_7x7", "relu"),
         ("pool1/3x3_s2", "pool", 3, 2, 0), ("conv2/3x3_reduce", "conv", 64, 1, 1, 0),
         ("conv2/relu_3x3_reduce", "relu"), ("conv2/3x3", "conv", 192, 3, 1, 1),
         ("conv2/relu_3x3", "relu"), ("pool2/3x3_s2", "pool", 3, 2, 0)])
    for name, numbers in INCEPTION.items():
        walk.inception(name, numbers)
        if name in ("3b", "4e"):
            walk.pool(f"pool{name[0]}/3x3_s2", 3, 2, 0)
    return walk.run([("pool5/7x7_s1", "pool", 7, 1, 0), ("fc6", "fc", 1000), ("fc6/relu", "relu")])


def nets():
    return {"alexnet": Walk(128, 3, 224).run(OWT), "overfeat": Walk(128, 3, 231).run(OVERFEAT),
            "a": Walk(64, 3, 224).run(vgg_a()), "googlenet": googlenet()}


NAMES = {"alexnet": "convnet-alexnet", "overfeat": "convnet-overfeat", "a": "convnet-vgg-a",
         "googlenet": "convnet-googlenet"}


def convnet(tables):
    shapes = {net: walk.kernels for net, walk in nets().items()}
    found = {}
    for row in rows(tables / "convnet_caffe_layers.csv.gz"):
        if row["direction"] in ("forward", "backward"):
            found.setdefault(row["framework"], []).append(row)
    for framework, layers in found.items():
        kernels, without = [], 0
        for row in layers:
            shape = shapes[row["net"]].get(row["layer"])
            if shape is None:
                without += 1
                continue
            kernels.append(shape | {"pass": row["direction"], "precision": "fp32",
                                    "time_s": seconds(row["time_ms"]),
                                    "network": NAMES[row["net"]], "layer": row["layer"]})
        library = {"caffe": "Caffe, cuDNN R4", "greentea": "GreenTea (OpenCL Caffe)"}[framework]
        yield f"titan-x-{framework}", {
            "format": "forescale-measurement-1", "machine": "TITAN X (Maxwell)",
            "library": library,
            "provenance": {"source": "soumith/convnet-benchmarks at commit b458aab61c0a, "
                                     f"{framework}/output_*.log, MIT",
                           "gpu": {"name": "TITAN X (Maxwell)"}},
            "notes": [f"{without} of {len(layers)} times are left out: input and split layers, "
                      "which launch no kernel forward and have no shape of their own"],
            "series": [], "kernels": kernels}


AICONFIGURATOR = {"a100": ("a100_sxm", "NVIDIA A100-SXM4-80GB"),
                  "h100": ("h100_sxm", "NVIDIA H100 80GB HBM3"), "b200": ("b200_sxm", "NVIDIA B200"),
                  "gb200": ("gb200", "NVIDIA GB200"),
                  "b300": ("b300_sxm", "NVIDIA B300 SXM6 AC"),
                  "l40s": ("l40s", "NVIDIA L40S"),
                  "rtx-pro-6000": ("rtx_pro_6000_server",
                                   "NVIDIA RTX PRO 6000 Blackwell Server Edition")}
MEASURED_GPUS = {name for name in AICONFIGURATOR if (MEASURED / f"{name}-pytorch.json").exists()}
AICONFIGURATOR_PRECISIONS = {"bfloat16": "bf16", "fp8": "fp8", "nvfp4": "nvfp4"}


def aiconfigurator_gemm(row):
    return {"operation": "gemm", "m": int(row["n"]), "n": int(row["m"]), "k": int(row["k"]),
            "transposes": "TN"}


def aiconfigurator_attention(row):
    return {"operation": "attention", "batch": int(row["batch"]), "sequence": int(row["seq_len"]),
            "heads": int(row["heads"]), "kv_heads": int(row["kv_heads"]),
            "head_size": int(row["head_dim"]), "causal": True}


def aiconfigurator(tables):
    """(whether judged, name, document)"""
    found = {}
    measured = {AICONFIGURATOR[name][0] for name in MEASURED_GPUS}  # whose attention is not theirs
    for table, shape_of in (("gemm", aiconfigurator_gemm), ("attention", aiconfigurator_attention)):
        for row in rows(tables / f"aiconfigurator_{table}.csv.gz"):
            if table == "attention" and row["system"] in measured:
                continue
            kernel = shape_of(row) | {"pass": "forward",
                                      "precision": AICONFIGURATOR_PRECISIONS[row["dtype"]]}
            paths, kernels = found.setdefault((row["split"], row["system"]), (set(), {}))
            paths.add(row["path"])
            kernels.setdefault(json.dumps(kernel), []).append(seconds(row["latency_ms"]))
    for is_judged, split in enumerate(("fitted", "judged")):
        for name, (system, gpu) in AICONFIGURATOR.items():
            paths, kernels = found[split, system]
            timed = []
            for kernel, times in kernels.items():
                slowest = sorted(times)[-2:]
                mean = math.prod(slowest) ** (1 / len(slowest))
                timed.append(json.loads(kernel) | {"time_s": float(f"{mean:.6g}")})
            yield bool(is_judged), name, {
                "format": "forescale-measurement-1", "machine": gpu,
                "library": "TensorRT-LLM" if system != "a100_sxm" else "TensorRT-LLM, SGLang",
                "provenance": {"source": "ai-dynamo/aiconfigurator "
                                         f"{', '.join(sorted(paths))}, Apache-2.0",
                               "gpu": {"name": gpu}},
                "notes": ["attention: rows of a shape differ in what the table does not say, and the "
                          "two slowest are averaged geometrically"],
                "series": [], "kernels": timed}


# Of the kernels that were measured here, which count: operation and pass, precisions, library.
SLOW_ALGORITHMS = ("implicit-gemm", "algorithm-0")
GRADIENTS = ("backward-data", "backward-weights")


def counts(kernel):
    if kernel["operation"] == "convolution":
        return kernel.get("groups", 1) == 1 and kernel["algorithm"] not in SLOW_ALGORITHMS
    if kernel["operation"] == "attention":
        return kernel["algorithm"] == "cudnn"
    if kernel["operation"] == "layer":
        return kernel["type"] == "BatchNorm"
    return (kernel["operation"] == "gemm" and kernel["precision"] == "bf16"
            and kernel["pass"] in GRADIENTS)


def is_judged_shape(kernel):
    shape = {key: kernel[key] for key in sorted(kernel)
             if key not in ("pass", "precision", "time_s", "low_s", "high_s", "samples",
                            "algorithm", "transposes")}
    return bool(hashlib.sha256(json.dumps(shape).encode()).digest()[-1] & 1)


def measured_here(gpu):
    """Fitted and judged kernels."""
    halves = ([], [])
    # Of each file what it is best for.
    operations = {"convolutions": ("convolution", "gemm"), "pytorch": ("attention", "gemm"),
                  "resnet-50": ("layer",)}
    for name, wanted in operations.items():
        document = json.loads((MEASURED / f"{gpu}-{name}.json").read_text(encoding="utf-8"))
        for kernel in document["kernels"]:
            if kernel["operation"] in wanted and counts(kernel):
                halves[is_judged_shape(kernel)].append(kernel)
    return halves


def with_measured(name, is_judged, document):
    if name not in MEASURED_GPUS:
        return document
    provenance = document["provenance"]
    return document | {
        "library": "TensorRT-LLM, cuDNN, cuBLAS",
        "provenance": provenance | {
            "source": f"{provenance['source']}; this project's calibrate/measured_gpus/{name}-*.json"},
        "notes": ["convolutions, both gradients of products and attention: calibrate/measured_gpus"],
        "kernels": document["kernels"] + measured_here(name)[is_judged]}


SIMUMAX_PEAK = 2250e12
SIMUMAX_PASSES = {"TN": "forward", "NN": "backward-data", "NT": "backward-weights"}


def simumax_gemm(sizes):
    m, n, k = (int(sizes[name]) for name in ("n", "m", "k"))
    return 2 * m * n * k, {"operation": "gemm", "m": m, "n": n, "k": k,
                           "transposes": sizes["layout"], "pass": SIMUMAX_PASSES[sizes["layout"]]}


def simumax_attention(sizes, is_forward):
    batch, sequence, heads, kv_heads, head_size = (
        int(sizes[name]) for name in ("batch", "seq_len", "head_num", "kv_head_num", "v_head_dim"))
    if int(sizes["qk_head_dim"]) != head_size or sizes["qkv_contiguous"] == "True":
        return None
    return (4 if is_forward else 10) * batch * heads * sequence ** 2 * head_size, {
        "operation": "attention", "batch": batch, "sequence": sequence, "heads": heads,
        "kv_heads": kv_heads, "head_size": head_size, "causal": True,
        "pass": "forward" if is_forward else "backward"}


def simumax(tables):
    times, paths = {}, set()
    for row in rows(tables / "simumax_kernels.csv.gz"):
        sizes = dict(each.split("=") for each in row["shape"].split(", "))
        if row["operation"] == "matmul":
            found = simumax_gemm(sizes)
        elif row["operation"] == "group_matmul":
            found = None
        else:
            found = simumax_attention(sizes, row["operation"] == "sdp_fwd")
        if found is None:
            continue
        flops, kernel = found
        rate = float(row["efficiency_of_peak"]) * SIMUMAX_PEAK
        times.setdefault(json.dumps(kernel | {"precision": "bf16"}), float(f"{flops / rate:.6g}"))
        paths.add(row["path"])
    return "b200-simumax", {
        "format": "forescale-measurement-1", "machine": "NVIDIA B200",
        "library": "Transformer Engine 2.11, CUDA 13.1",
        "provenance": {"source": f"MooreThreads/SimuMax {', '.join(paths)}, commit 4dcaae51",
                       "gpu": {"name": "NVIDIA B200"}},
        "series": [],
        "kernels": [json.loads(kernel) | {"time_s": time_s} for kernel, time_s in times.items()]}


def text(document):
    kernels = ",\n".join(" " + json.dumps(kernel) for kernel in document["kernels"])
    rest = json.dumps({key: value for key, value in document.items() if key != "kernels"},
                      indent=1)
    return rest[:-2] + ',\n "kernels": [\n' + kernels + "\n ]\n}\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tables, is_check = pathlib.Path(sys.argv[1]), "--check" in sys.argv[2:]
    differ = []
    documents = [(HERE / f"{name}.json", document)
                 for name, document in (*deepbench(tables), *convnet(tables), simumax(tables))]
    documents += [((JUDGED if is_judged else HERE) / f"{name}.json",
                   with_measured(name, is_judged, document))
                  for is_judged, name, document in aiconfigurator(tables)]
    for file, document in documents:
        new = text(document)
        if is_check:
            if not file.exists() or file.read_text(encoding="utf-8") != new:
                differ.append(file.name)
        else:
            file.write_text(new, encoding="utf-8")
            print(f"{file.name}: {len(document['kernels'])} kernels, {len(new) // 1000} kB")
    if differ:
        sys.exit("differ from the tables: " + ", ".join(differ))


if __name__ == "__main__":
    main()
