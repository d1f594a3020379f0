#!/usr/bin/env python3
"""Times a whole training step on one GPU with PyTorch: what predictions are compared with.

    train_step.py -o step.json [--models resnet-50,transformer] [--batches 8,32,128]
                  [--precisions fp32,tf32,bf16] [--budget 120] [--device cuda:0]
    train_step.py -o step.json --config llama-3.2-1b/config.json --sequence 4096 --batches 1,2
                  --precisions bf16 [--compile] [--profile trace.json]

A step is what a training loop does with a batch that lies on the GPU already: forward, loss,
backward, SGD with momentum; no data loading, no communication. resnet-50 is torchvision's where it
is installed, else the same network built here (stride in the 3x3 convolution, He et al. 2015, 25.6
million parameters). transformer is a stack of BERT-large's encoder layers (hidden 1024, 16 heads,
feed-forward 4096, sequences of 512; Devlin et al. 2019): --layers of them, without embeddings.

--config FILE, which may be repeated, takes Llama and its kin by their config.json: BF16 weights and
gradients with FP32 master weights, AdamW fused, scaled_dot_product_attention as PyTorch chooses it,
random tokens; --compile compiles each layer and the loss by torch.compile, as FSDP users do. It is the
model that `forescale predict --model DIR/config.json --framework PyTorch` predicts.

Precisions: fp32 without TF32; tf32 with it; fp16 and bf16 by autocast with FP32 weights, as
mixed-precision training does, fp16 with a scaled loss.

Times are medians of steps by CUDA events with the 95 % interval of the median, whatever their
distribution; beside them the memory that PyTorch allocated and reserved at most, and, where NVML can be
asked, the clock and the power just after. The file is written after each case. Exit code 2: no torch, no GPU, or a bad option.
"""

import argparse
import contextlib
import datetime
import gc
import json
import math
import os
import platform
import statistics
import sys
import time

from llama import decoder

FORMAT = "forescale-train-step-1"
MODELS = ("resnet-50", "transformer")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
HIDDEN, HEADS, FEED_FORWARD, SEQUENCE = 1024, 16, 4096, 512
WARM_UP, STEPS_MIN = 5, 6


def stop(why, exit_code=2):
    print(f"{os.path.basename(sys.argv[0])}: {why}", file=sys.stderr)
    sys.exit(exit_code)


def bottleneck(nn, inputs, width, stride):
    """The layers of one residual block, and its shortcut where shapes change."""
    outputs = 4 * width
    body = nn.Sequential(
        nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
    shortcut = nn.Identity()
    if stride != 1 or inputs != outputs:
        shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                 nn.BatchNorm2d(outputs))
    return body, shortcut


def built_resnet_50(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            self.body, self.shortcut = bottleneck(nn, inputs, width, stride)
            self.last = nn.ReLU(inplace=True)

        def forward(self, x):
            return self.last(self.body(x) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Block(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)]
    return nn.Sequential(*layers)


def resnet_50(torch):
    try:
        import torchvision
        return torchvision.models.resnet50(weights=None), f"torchvision {torchvision.__version__}"
    except (ImportError, AttributeError, RuntimeError, TypeError):
        return built_resnet_50(torch), "built by train_step.py"


def transformer(torch, layers):
    layer = torch.nn.TransformerEncoderLayer(HIDDEN, HEADS, FEED_FORWARD, dropout=0.1,
                                             activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers)


class MasterWeights:
    """AdamW on FP32 copies of BF16 weights."""

    def __init__(self, torch, parameters, on_gpu):
        self.parameters = [each for each in parameters if each.requires_grad]
        self.masters = [each.detach().clone().float() for each in self.parameters]
        self.torch = torch
        fused = {"fused": True} if on_gpu else {}
        self.optimizer = torch.optim.AdamW(self.masters, lr=1e-5, **fused)

    def zero_grad(self, set_to_none=True):
        for each in self.parameters:
            each.grad = None

    def step(self):
        for master, parameter in zip(self.masters, self.parameters):
            master.grad = parameter.grad.float()
        self.optimizer.step()
        with self.torch.no_grad():
            for master, parameter in zip(self.masters, self.parameters):
                parameter.copy_(master)
                master.grad = None


class Case:
    """A network, a batch that stays on the device, and one training step."""

    def __init__(self, torch, options, model, batch, precision):
        self.torch = torch
        self.device = options.device
        self.precision = precision
        self.on_gpu = self.device.startswith("cuda")
        self.allow_tf32(precision != "fp32")
        torch.manual_seed(1)
        if model in options.configs:
            self.take_decoder(options, options.configs[model], batch)
            return
        if model == "resnet-50":
            self.model, self.source = resnet_50(torch)
            self.inputs = torch.randn(batch, 3, options.image, options.image)
            self.labels = torch.randint(0, 1000, (batch,)).to(self.device)
            criterion = torch.nn.CrossEntropyLoss()
            self.loss = lambda outputs: criterion(outputs, self.labels)
        else:
            self.model = transformer(torch, options.layers)
            self.source = f"torch.nn.TransformerEncoder, {options.layers} layers"
            self.inputs = torch.randn(batch, options.sequence, HIDDEN)
            self.loss = lambda outputs: outputs.float().pow(2).mean()
        layout = {}
        if options.channels_last and model == "resnet-50":
            layout = {"memory_format": torch.channels_last}
        self.model = self.model.to(self.device, **layout).train()
        self.inputs = self.inputs.to(self.device, **layout)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.scaler = self.make_scaler(precision == "fp16" and self.on_gpu)

    def take_decoder(self, options, config, batch):
        torch = self.torch
        if self.precision != "bf16":
            raise ValueError(f"{self.precision}: a decoder is timed in bf16")
        with torch.device(self.device) if self.on_gpu else contextlib.nullcontext():
            self.model = decoder(torch, config).to(torch.bfloat16).train()
            self.inputs = torch.randint(0, config["vocab_size"], (batch, options.sequence))
            self.labels = torch.randint(0, config["vocab_size"], (batch * options.sequence,))
        self.source = "built by train_step.py from its config.json"
        self.precision = "own"  # no autocast: weights are in BF16
        criterion = torch.nn.functional.cross_entropy

        def loss(scores):
            return criterion(scores.flatten(0, 1).float(), self.labels)

        self.loss = loss
        if options.compile:
            self.source += ", layers compiled"
            for each in self.model.layers:
                each.compile()
            self.loss = torch.compile(loss)
        self.optimizer = MasterWeights(torch, self.model.parameters(), self.on_gpu)
        self.scaler = self.make_scaler(False)

    def allow_tf32(self, allowed):
        self.torch.backends.cuda.matmul.allow_tf32 = allowed
        self.torch.backends.cudnn.allow_tf32 = allowed

    def make_scaler(self, enabled):
        if hasattr(self.torch.amp, "GradScaler"):  # 2.3 and later
            return self.torch.amp.GradScaler("cuda", enabled=enabled)
        return self.torch.cuda.amp.GradScaler(enabled=enabled)

    def autocast(self):
        types = {"fp16": self.torch.float16, "bf16": self.torch.bfloat16}
        return self.torch.autocast("cuda" if self.on_gpu else "cpu",
                                   dtype=types.get(self.precision, self.torch.bfloat16),
                                   enabled=self.precision in types)

    def parameters(self):
        return sum(parameter.numel() for parameter in self.model.parameters())

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = self.loss(self.model(self.inputs))
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def timed_step(self):
        if not self.on_gpu:
            begin = time.perf_counter()
            self.step()
            return time.perf_counter() - begin
        begin = self.torch.cuda.Event(enable_timing=True)
        end = self.torch.cuda.Event(enable_timing=True)
        begin.record()
        self.step()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)


def summary(times_s):
    """Median and the order statistics that hold it with 95 %: the number below is binomial, 1/2."""
    ordered = sorted(times_s)
    count = len(ordered)
    outside, below = 0, 0.5 ** count
    while below <= 0.025 and outside < count // 2:
        outside += 1
        below += math.comb(count, outside) * 0.5 ** count
    outside = max(0, outside - 1)
    return {"time_s": statistics.median(ordered), "low_s": ordered[outside],
            "high_s": ordered[count - 1 - outside], "samples": count}


def measure(case, until, steps_max):
    for _ in range(WARM_UP):
        case.step()
    times_s = []
    while len(times_s) < steps_max and (len(times_s) < STEPS_MIN or time.monotonic() < until):
        times_s.append(case.timed_step())
        now = summary(times_s)
        if len(times_s) >= 20 and now["high_s"] - now["low_s"] < 0.02 * now["time_s"]:
            break
    return summary(times_s)


def gpu_facts(torch, device):
    if not device.startswith("cuda"):
        return {"name": "none: " + (platform.processor() or platform.machine())}
    properties = torch.cuda.get_device_properties(device)
    return {"name": properties.name, "memory_bytes": properties.total_memory,
            "sm_count": properties.multi_processor_count,
            "compute_capability": f"{properties.major}.{properties.minor}",
            "runtime": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}


def clocks(torch, device):
    """The clock and the power of now, where NVML can be asked."""
    try:
        return {"clock_mhz": torch.cuda.clock_rate(device),
                "power_w": round(1e-3 * torch.cuda.power_draw(device), 1)}
    except (AttributeError, ImportError, RuntimeError, AssertionError):
        return {}


def after(torch, device):
    if not device.startswith("cuda"):
        return {}
    return {"allocated_bytes": torch.cuda.max_memory_allocated(device),
            "reserved_bytes": torch.cuda.max_memory_reserved(device), **clocks(torch, device)}


def profile(torch, case, file):
    """A trace of one step, as Chrome and `forescale trace` read it."""
    with torch.profiler.profile(record_shapes=True) as recorded:
        case.step()
        if case.on_gpu:
            torch.cuda.synchronize()
    recorded.export_chrome_trace(file)


def keep(result, file):
    if file:
        with open(file + ".part", "w", encoding="utf-8") as stream:
            stream.write(json.dumps(result, indent=1) + "\n")
        os.replace(file + ".part", file)


def run_case(torch, options, result, what, until):
    model, batch, precision = what
    entry = {"model": model, "batch": batch, "precision": precision}
    if model in options.configs:
        entry["sequence"] = options.sequence
    if options.device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(options.device)
    case = None
    try:
        case = Case(torch, options, model, batch, precision)
        entry["source"] = case.source
        entry["parameters"] = case.parameters()
        entry.update(measure(case, until, options.steps))
        entry.update(after(torch, options.device))
        if options.profile:
            profile(torch, case, options.profile)
        result["steps"].append(entry)
        print(f"{model:12} batch {batch:5} {precision}: {1e3 * entry['time_s']:.2f} ms "
              f"({batch / entry['time_s']:.0f} samples/s)")
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        result["notes"].append(f"out of memory, left out: {model}, batch {batch}, {precision}")
        print(result["notes"][-1])
    case = None
    gc.collect()  # a case's loss refers to the case
    if options.device.startswith("cuda"):
        torch.cuda.empty_cache()


def words(known):
    def parse(text):
        chosen = text.split(",")
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word} is none of {', '.join(known)}")
        return chosen
    return parse


def whole_numbers(text):
    numbers = [int(word) for word in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return numbers


def read_config(file):
    needed = ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers",
              "vocab_size")
    try:
        with open(file, encoding="utf-8") as stream:
            config = json.load(stream)
        for key in needed:
            if not isinstance(config.get(key), int) or config[key] < 1:
                raise ValueError(f"{key} must be a whole number from 1 on")
    except (OSError, ValueError, AttributeError) as error:
        stop(f"{file}: {error}")
    return config


def name_of(file):
    """The folder's name, as predictions name it, else the file's."""
    folder, name = os.path.split(os.path.abspath(file))
    return os.path.basename(folder) if name == "config.json" else os.path.splitext(name)[0]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--out", help="JSON file, written after each case")
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or cpu to try the script")
    parser.add_argument("--models", type=words(MODELS), default=list(MODELS))
    parser.add_argument("--batches", type=whole_numbers, default=[8, 32, 128])
    parser.add_argument("--precisions", type=words(PRECISIONS), default=["fp32", "tf32", "bf16"])
    parser.add_argument("--budget", type=float, default=120, help="seconds for all cases")
    parser.add_argument("--steps", type=int, default=100, help="at most, of each case")
    parser.add_argument("--layers", type=int, default=6, help="of the transformer")
    parser.add_argument("--image", type=int, default=224, help="side of resnet-50's images")
    parser.add_argument("--sequence", type=int, default=SEQUENCE, help="tokens of a sample")
    parser.add_argument("--channels-last", action="store_true", help="convolutions in NHWC")
    parser.add_argument("--config", action="append", default=[],
                        help="a Llama's config.json instead of --models; may be repeated")
    parser.add_argument("--compile", action="store_true", help="a decoder's layers and loss")
    parser.add_argument("--profile", help="a trace of one step of the last case")
    options = parser.parse_args()
    options.configs = {name_of(file): read_config(file) for file in options.config}
    if options.configs:
        options.models = list(options.configs)
    return options


def torch_on(device):
    """PyTorch, set to the device; convolutions try what cuDNN has."""
    try:
        import torch
    except ImportError as error:
        stop(f"PyTorch is needed: {error}")
    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            stop("PyTorch sees no GPU (torch.cuda.is_available() is false)")
        torch.cuda.set_device(device)
        torch.backends.cudnn.benchmark = True
    return torch


def main():
    options = parse_options()
    torch = torch_on(options.device)
    now = datetime.datetime.now(datetime.timezone.utc)
    result = {"format": FORMAT,
              "provenance": {"date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "command": " ".join(["train_step.py"] + sys.argv[1:]),
                             "torch": torch.__version__,
                             "gpu": gpu_facts(torch, options.device)},
              "settings": {"image": options.image, "layers": options.layers,
                           "sequence": options.sequence, "channels_last": options.channels_last,
                           "compile": options.compile},
              "notes": [], "steps": []}
    cases = [(model, batch, precision) for precision in options.precisions
             for model in options.models for batch in options.batches]
    begin = time.monotonic()
    for index, what in enumerate(cases):
        left_s = options.budget - (time.monotonic() - begin)
        if left_s <= 0:
            result["notes"].append(f"the budget of {options.budget:g} s ended it with {index} of "
                                   f"{len(cases)} cases done")
            print(result["notes"][-1])
            break
        try:
            run_case(torch, options, result, what,
                     time.monotonic() + left_s / (len(cases) - index))
        except (RuntimeError, ValueError) as error:
            result["notes"].append(f"{', '.join(map(str, what))} failed: {error}")
            keep(result, options.out)
            stop(result["notes"][-1], exit_code=1)
        keep(result, options.out)
    keep(result, options.out)


if __name__ == "__main__":
    main()
