#!/usr/bin/env python3
"""Times kernels on one GPU as PyTorch runs them: products, convolutions, attention, what lies between.

    torch_kernels.py REQUEST.json ANSWER.json [--budget 120] [--attention flash,cudnn]
                     [--tokens 8192 --hidden 4096]

REQUEST is what `forescale calibrate measure --gpu --request` writes, or any measurement: its
"kernels" are timed, in its "layout" where it has one. ANSWER is a measurement as forescale-gpu
writes it (docs/measurements.md), for `forescale calibrate fit`. It adds what forescale-gpu does not time:

* attention, forward and backward, by each of the --attention back ends of
  scaled_dot_product_attention: "algorithm" says which. Backward is by autograd;
* products in FP8 (torch._scaled_mm, one scale a tensor, quantised before) and several in one kernel;
* with --tokens, what a transformer runs between its products in BF16, eager, as "layer" of the bytes
  that it must read and write: norms, activations, rotary positions, residual sums, the loss, and the
  optimizer's step.

A time is the median of samples with its 95 % interval, after warm-up; a sample is the mean of as many
calls as fill 200 us, behind a kernel that holds the stream until all are enqueued. Convolutions take
the fastest engine that cuDNN's graphs find (torch.backends.cudnn.benchmark). Operands are random.
Exit code 2: no torch, no GPU, or a bad request.
"""

import argparse
import datetime
import json
import math
import os
import statistics
import sys
import time

from llama import rotated
from train_step import clocks, gpu_facts, stop, summary, torch_on

SAMPLE_S, SAMPLES_MAX, MOST_S = 200e-6, 50, 0.25
INTERVAL = 0.03
SUSTAIN_FLOPS = 1e12


class Unsupported(Exception):
    """Of a kernel that PyTorch does not run here."""


def type_of(torch, precision):
    types = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16,
             "bf16": torch.bfloat16}
    if precision not in types:
        raise Unsupported(f"no PyTorch kernel in {precision}")
    return types[precision]


class Timer:
    """Of calls, behind a kernel that holds the stream."""

    def __init__(self, torch, device):
        self.torch, self.on_gpu = torch, device.startswith("cuda")
        self.clock_hz = 2e9
        self.hold_s = 1e-3

    def mean_s(self, call, count):
        if not self.on_gpu:
            begin = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - begin) / count
        torch = self.torch
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(2):
            torch.cuda._sleep(int(self.hold_s * self.clock_hz))
            begin.record()
            asked_s = time.perf_counter()
            for _ in range(count):
                call()
            asked_s = time.perf_counter() - asked_s
            end.record()
            end.synchronize()
            in_time = asked_s < self.hold_s
            self.hold_s = min(20e-3, max(2 * asked_s + 2e-5, 0.9 * self.hold_s))
            if in_time:
                break
        return 1e-3 * begin.elapsed_time(end) / count

    def measure(self, call):
        begin_s = time.monotonic()
        self.mean_s(call, 1)
        self.mean_s(call, 1)
        once_s = self.mean_s(call, 1)
        count = min(1000, max(1, math.ceil(SAMPLE_S / max(once_s, 1e-9))))
        times_s = []
        while len(times_s) < SAMPLES_MAX:
            times_s.append(self.mean_s(call, count))
            now = summary(times_s)
            if len(times_s) >= 6 and now["high_s"] - now["low_s"] < 2 * INTERVAL * now["time_s"]:
                break
            if len(times_s) >= 2 and time.monotonic() - begin_s > MOST_S:
                break
        return summary(times_s)


def sustained(torch, timer, call, kernel, seconds):
    """What a large product takes when the GPU has done nothing else for a while."""
    begin_s, times_s = time.monotonic(), []
    while time.monotonic() - begin_s < seconds:
        times_s.append(timer.mean_s(call, 20))
    state = clocks(torch, torch.cuda.current_device()) if timer.on_gpu else {}
    few = max(1, len(times_s) // 10)
    first, last = statistics.median(times_s[:few]), statistics.median(times_s[-few:])
    return (f"sustained for {seconds:g} s: gemm {kernel['m']}x{kernel['n']}x{kernel['k']} "
            f"{kernel['transposes']} {kernel['precision']}: {1e3 * first:.4g} ms, at last "
            f"{1e3 * last:.4g} ms, {state.get('clock_mhz')} MHz, {state.get('power_w')} W")


def random(torch, device, shape, kind):
    return torch.rand(shape, device=device).sub_(0.5).to(kind)


def gemm(torch, device, kernel):
    """Row-major, C' (n x m) = B' A' of the column-major product."""
    m, n, k, count = kernel["m"], kernel["n"], kernel["k"], kernel.get("count", 1)
    transposes = kernel.get("transposes", "NN")
    if kernel["precision"] == "fp8":
        if transposes != "TN" or count != 1 or m % 16 or k % 16:
            raise Unsupported("FP8 products are TN, one at a time, of multiples of 16")
        left = random(torch, device, (n, k), torch.bfloat16).to(torch.float8_e4m3fn)
        right = random(torch, device, (m, k), torch.bfloat16).to(torch.float8_e4m3fn).t()
        scale = torch.ones((), device=device)
        return lambda: torch._scaled_mm(left, right, scale_a=scale, scale_b=scale,
                                        out_dtype=torch.bfloat16)
    kind = type_of(torch, kernel["precision"])

    def operand(rows, columns, is_transposed):
        shape = (columns, rows) if is_transposed else (rows, columns)
        values = random(torch, device, shape if count == 1 else (count, *shape), kind)
        return values.transpose(-1, -2) if is_transposed else values

    left = operand(n, k, transposes[1] == "T")
    right = operand(k, m, transposes[0] == "T")
    result = torch.matmul(left, right)
    return lambda: torch.matmul(left, right, out=result)


def convolution(torch, device, kernel, is_last):
    kind = type_of(torch, kernel["precision"])
    layout = {"memory_format": torch.channels_last} if is_last else {}
    stride = [kernel.get("stride_height", 1), kernel.get("stride_width", 1)]
    pad = [kernel.get("pad_height", 0), kernel.get("pad_width", 0)]
    groups = kernel.get("groups", 1)
    images = random(torch, device, (kernel["batch"], kernel["channels"], kernel["height"],
                                    kernel["width"]), kind).to(**layout)
    filters = random(torch, device, (kernel["filters"], kernel["channels"] // groups,
                                     kernel["filter_height"], kernel["filter_width"]),
                     kind).to(**layout)
    forward = torch.ops.aten.convolution
    if kernel["pass"] == "forward":
        return lambda: forward(images, filters, None, stride, pad, [1, 1], False, [0, 0], groups)
    gradient = torch.rand_like(
        forward(images, filters, None, stride, pad, [1, 1], False, [0, 0], groups))
    wanted = [kernel["pass"] == "backward-data", kernel["pass"] == "backward-weights", False]
    return lambda: torch.ops.aten.convolution_backward(
        gradient, images, filters, None, stride, pad, [1, 1], False, [0, 0], groups, wanted)


def attention(torch, device, kernel, backend):
    attend = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if attend is None:
        raise Unsupported("this PyTorch has no scaled_dot_product_attention")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    chosen = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
              "math": SDPBackend.MATH}[backend]
    kind = type_of(torch, kernel["precision"])

    def heads(count):
        # As a product of a layer leaves them: words before heads.
        return random(torch, device, (kernel["batch"], kernel["sequence"], count,
                                      kernel["head_size"]), kind).transpose(1, 2)

    shared = {"enable_gqa": True} if kernel["kv_heads"] != kernel["heads"] else {}
    query, key, value = (heads(kernel[name]) for name in ("heads", "kv_heads", "kv_heads"))

    def forward():
        with sdpa_kernel(chosen):
            return attend(query, key, value, is_causal=kernel["causal"], **shared)

    if kernel["pass"] == "forward":
        return forward
    operands = [each.requires_grad_() for each in (query, key, value)]
    result = forward()
    gradient = torch.rand_like(result)
    return lambda: torch.autograd.grad(result, operands, gradient, retain_graph=True)


def layers(torch, device, tokens, hidden):
    """Type, bytes that must be read, bytes that must be written, what to call; forward and backward."""
    functional, kind, wide = torch.nn.functional, torch.bfloat16, 2
    words = tokens * hidden * wide
    gate = 7 * words // 2  # Llama 3 8B: 14,336 over 4,096
    vocabulary = 32_000

    def values(*shape):
        return random(torch, device, shape, kind).requires_grad_()

    weight = values(hidden)
    rms_norm = getattr(functional, "rms_norm", None)
    if rms_norm:
        yield ("RMSNorm", words, words, [values(tokens, hidden), weight],
               lambda x, w: rms_norm(x, (hidden,), w))
    yield ("LayerNorm", words, words, [values(tokens, hidden), weight, values(hidden)],
           lambda x, w, b: functional.layer_norm(x, (hidden,), w, b))
    yield ("SwiGLU", 2 * gate, gate, [values(tokens, 7 * hidden // 2) for _ in range(2)],
           lambda a, b: functional.silu(a) * b)
    yield ("GELU", 4 * words, 4 * words, [values(tokens, 4 * hidden)],
           lambda x: functional.gelu(x, approximate="tanh"))
    yield ("Residual", 2 * words, words, [values(tokens, hidden) for _ in range(2)],
           lambda a, b: a + b)
    turns = torch.polar(torch.ones(tokens, 1, 64, device=device),
                        torch.rand(tokens, 1, 64, device=device))
    if hidden % 128 == 0:
        yield ("Rotary", words, words, [values(1, tokens, hidden // 128, 128)],
               lambda x: rotated(torch, x, turns))
    labels = torch.randint(0, vocabulary, (tokens,), device=device)
    scores = tokens * vocabulary * wide
    yield ("Loss", scores, 0, [values(tokens, vocabulary)],
           lambda x: functional.cross_entropy(x.float(), labels))


def layer_calls(torch, device, tokens, hidden):
    for name, read, written, operands, call in layers(torch, device, tokens, hidden):
        shape = {"operation": "layer", "type": name, "batch": tokens, "precision": "bf16"}
        yield (shape | {"pass": "forward", "input_bytes": read, "output_bytes": written},
               lambda call=call, operands=operands: call(*operands))
        if name == "Residual":  # both gradients are the one that comes
            continue
        result = call(*operands)
        gradient = torch.rand_like(result)
        # The gradient and what the forward pass read, and a gradient of each.
        yield (shape | {"pass": "backward", "input_bytes": written + read, "output_bytes": read},
               lambda result=result, operands=operands, gradient=gradient: torch.autograd.grad(
                   result, operands, gradient, retain_graph=True))
    parameters = torch.nn.Parameter(torch.rand(64 * hidden * hidden // 16, device=device))
    parameters.grad = torch.rand_like(parameters)
    fused = {"fused": True} if device.startswith("cuda") else {}
    optimizer = torch.optim.AdamW([parameters], lr=1e-6, **fused)
    optimizer.step()
    size = 4 * parameters.numel()
    yield ({"operation": "layer", "type": "AdamW", "batch": 1, "precision": "fp32",
            "pass": "forward", "input_bytes": 4 * size, "output_bytes": 3 * size}, optimizer.step)


def tasks(torch, options, request):
    """(entry, what makes the call), in the request's order."""
    is_last = request.get("layout") == "nhwc"
    for kernel in request.get("kernels", []):
        entry = {key: value for key, value in kernel.items()
                 if key not in ("time_s", "low_s", "high_s", "samples", "algorithm")}
        if kernel["operation"] == "gemm":
            yield entry, lambda kernel=kernel: gemm(torch, options.device, kernel)
        elif kernel["operation"] == "convolution":
            yield entry, lambda kernel=kernel: convolution(torch, options.device, kernel, is_last)
        elif kernel["operation"] == "attention":
            for backend in options.attention:
                yield (entry | {"algorithm": backend},
                       lambda kernel=kernel, backend=backend: attention(
                           torch, options.device, kernel, backend))
    for tokens in options.tokens:
        for hidden in options.hidden:
            for entry, call in layer_calls(torch, options.device, tokens, hidden):
                yield entry, lambda call=call: call


def flops_of(kernel):
    if kernel["operation"] != "gemm":
        return 0
    return 2 * kernel["m"] * kernel["n"] * kernel["k"] * kernel.get("count", 1)


def rounded(times):
    return {key: float(f"{value:.6g}") if key != "samples" else value
            for key, value in times.items()}


def keep(answer, file):
    kernels = ",\n".join(" " + json.dumps(kernel) for kernel in answer["kernels"])
    rest = json.dumps({key: value for key, value in answer.items() if key != "kernels"}, indent=1)
    with open(file + ".part", "w", encoding="utf-8") as stream:
        stream.write(rest[:-2] + ',\n "kernels": [\n' + kernels + "\n ]\n}\n")
    os.replace(file + ".part", file)


def whole_numbers(text):
    return [int(word) for word in text.split(",")]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("request", help="JSON with the kernels to time")
    parser.add_argument("answer", help="measurement, written as times come in")
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or cpu to try the script")
    parser.add_argument("--budget", type=float, default=120, help="seconds for all")
    parser.add_argument("--attention", type=lambda text: text.split(","),
                        default=["flash", "cudnn"], help="back ends: flash, cudnn, math")
    parser.add_argument("--sustain", type=float, default=0,
                        help="seconds that products from 1 TFLOP on run again, for the notes")
    parser.add_argument("--tokens", type=whole_numbers, default=[], help="of what lies between")
    parser.add_argument("--hidden", type=whole_numbers, default=[4096])
    return parser.parse_args()


def read_request(file):
    try:
        with open(file, encoding="utf-8") as stream:
            request = json.load(stream)
        for kernel in request.get("kernels", []):
            if not {"operation", "pass", "precision"} <= kernel.keys():
                raise ValueError(f"a kernel needs operation, pass and precision: {kernel}")
        return request
    except (OSError, ValueError, AttributeError) as error:
        stop(f"{file}: {error}")


def set_precision(torch, precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def main():
    options = parse_options()
    request = read_request(options.request)
    torch = torch_on(options.device)
    facts = gpu_facts(torch, options.device)
    now = datetime.datetime.now(datetime.timezone.utc)
    answer = {"format": "forescale-measurement-1", "machine": facts["name"],
              "library": f"PyTorch {torch.__version__}",
              "provenance": {"source": "forescale, calibrate/bench/gpu/torch_kernels.py",
                             "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "gpu": {key: str(value) for key, value in facts.items()}},
              "notes": [f"convolutions in {request.get('layout', 'nchw')}"], "series": [],
              "kernels": []}
    until = time.monotonic() + options.budget
    timer = Timer(torch, options.device)
    left_out, done, kept_s = {}, 0, time.monotonic()
    for entry, make in tasks(torch, options, request):
        if time.monotonic() > until:
            answer["notes"].append(f"the budget of {options.budget:g} s ended it, {done} done")
            break
        try:
            set_precision(torch, entry["precision"])
            call = make()
            answer["kernels"].append(entry | rounded(timer.measure(call)))
            if options.sustain and flops_of(entry) >= SUSTAIN_FLOPS:
                answer["notes"].append(sustained(torch, timer, call, entry, options.sustain))
        except (RuntimeError, Unsupported, ImportError) as error:
            why = str(error).split("\n", maxsplit=1)[0][:160]
            left_out[why] = left_out.get(why, 0) + 1
            if "CUDA error" in why:
                answer["notes"].append(why)
                break
        done += 1
        if time.monotonic() - kept_s > 5:
            keep(answer, options.answer)
            kept_s = time.monotonic()
            print(f"{done} done", file=sys.stderr)
    answer["notes"] += [f"left out, {count} of: {why}" for why, count in left_out.items()]
    keep(answer, options.answer)
    print(f"{options.answer}: {len(answer['kernels'])} kernels")


if __name__ == "__main__":
    main()
