#!/usr/bin/python3
"""Trains over gloo in PyTorch, and traces it for `forescale replay`: with DistributedDataParallel, or
tensor-parallel by hand, where all ranks add up the activations of each layer, and in the backward
pass their gradients, before they go on.

One process a rank. Each writes OUT/rankN.timeline.json, the profiler's timeline of the steps, and
OUT/rankN.execution.json, the execution trace of one of them, which has the sizes; rank 0 writes
OUT/steps.json, the times of steps that nothing traced. Layers are emulated as a GPU would run them:
the host sleeps for as long as they take and leaves its cores to others. `--slow-rank` computes for
longer than the others, who wait for it in their collectives.

  trace_gloo.py --rank 0 --ranks 2 --master 10.201.0.1 --bucket-mb 25 --out traced
  trace_gloo.py --rank 0 --ranks 2 --master 10.201.0.1 --parallel tensor --out traced
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Sleep(torch.autograd.Function):
    """A layer's time: forward, then backward."""

    @staticmethod
    def forward(ctx, x, weight, forward_s, backward_s):
        ctx.backward_s = backward_s
        ctx.save_for_backward(weight)
        time.sleep(forward_s)
        return x + weight[:1]

    @staticmethod
    def backward(ctx, gradient):
        (weight,) = ctx.saved_tensors
        time.sleep(ctx.backward_s)
        return gradient, torch.full_like(weight, 1e-3), None, None


class AddForward(torch.autograd.Function):
    """Partial sums of all ranks become the sum; the gradient is every rank's already."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class AddBackward(torch.autograd.Function):
    """The opposite: what every rank has goes into its part, and the gradients are added up."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class Network(torch.nn.Module):
    """Layers of `parameters` floats that take `forward_s` and `backward_s` each; `is_split` over the
    ranks or whole on each."""

    def __init__(self, layers, is_split):
        super().__init__()
        self.is_split = is_split
        self.times = [(forward_s, backward_s) for _, forward_s, backward_s in layers]
        self.weights = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.zeros(parameters)) for parameters, _, _ in layers])

    def forward(self, x):
        for weight, (forward_s, backward_s) in zip(self.weights, self.times):
            if self.is_split:
                x = AddBackward.apply(x)
            x = Sleep.apply(x, weight, forward_s, backward_s)
            if self.is_split:
                x = AddForward.apply(x)
        return x


def network_of(arguments):
    """Layers whose sizes grow with their depth, as in convolutional networks."""
    count = arguments.layers
    total = sum(range(1, count + 1))
    floats = arguments.megabytes * 1e6 / 4
    times = arguments.slow_factor if arguments.rank == arguments.slow_rank else 1
    return Network([(max(1, round(floats * (i + 1) / total)),
                     times * arguments.forward_ms / 1e3 / count,
                     times * arguments.backward_ms / 1e3 / count) for i in range(count)],
                   arguments.parallel == "tensor")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--master", default="127.0.0.1", help="address of rank 0")
    parser.add_argument("--port", type=int, default=29500)
    parser.add_argument("--interface", default="", help="network interface that gloo takes")
    parser.add_argument("--parallel", choices=["data", "tensor"], default="data")
    parser.add_argument("--activation-mb", type=float, default=2, help="of a layer, tensor-parallel")
    parser.add_argument("--bucket-mb", type=float, default=25, help="DDP's bucket_cap_mb")
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--megabytes", type=float, default=40, help="of all parameters")
    parser.add_argument("--forward-ms", type=float, default=100, help="of all layers")
    parser.add_argument("--backward-ms", type=float, default=200, help="of all layers")
    parser.add_argument("--slow-rank", type=int, default=-1, help="computes for longer")
    parser.add_argument("--slow-factor", type=float, default=2, help="as the others, so many times")
    parser.add_argument("--steps", type=int, default=8, help="timed without tracing")
    parser.add_argument("--traced-steps", type=int, default=4)
    parser.add_argument("--out", default="traced", help="folder")
    return parser.parse_args()


def trace_execution(step, file):
    """PyTorch 1.13 now and then writes nodes of two threads into each other: again, on all ranks,
    until every file is JSON."""
    for _ in range(10):
        observer = torch.profiler.ExecutionGraphObserver()
        observer.register_callback(file)
        observer.start()
        step()
        observer.stop()
        observer.unregister_callback()
        is_json = torch.ones(1)
        try:
            with open(file, encoding="utf-8") as written:
                json.load(written)
        except ValueError:
            is_json.zero_()
        dist.all_reduce(is_json, op=dist.ReduceOp.MIN)
        if is_json.item() == 1:
            return
    raise SystemExit(f"{file}: ten execution traces in turn were not JSON")


def main():
    arguments = parse_arguments()
    os.makedirs(arguments.out, exist_ok=True)
    torch.set_num_threads(1)
    if arguments.interface:
        os.environ["GLOO_SOCKET_IFNAME"] = arguments.interface
    dist.init_process_group("gloo", rank=arguments.rank, world_size=arguments.ranks,
                            init_method=f"tcp://{arguments.master}:{arguments.port}")
    model = network_of(arguments)
    floats = 1
    if arguments.parallel == "data":
        model = DistributedDataParallel(model, bucket_cap_mb=arguments.bucket_mb)
    else:
        floats = round(arguments.activation_mb * 1e6 / 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(floats, requires_grad=arguments.parallel == "tensor")).sum().backward()
        optimizer.step()

    for _ in range(3):  # DDP makes its buckets anew after the first
        step()
    times = []
    for _ in range(arguments.steps):
        dist.barrier()
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    name = os.path.join(arguments.out, f"rank{arguments.rank}")
    trace_execution(step, name + ".execution.json")
    with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=arguments.traced_steps),
            on_trace_ready=lambda it: it.export_chrome_trace(name + ".timeline.json")) as profile:
        for _ in range(arguments.traced_steps + 1):
            step()
            profile.step()
    if arguments.rank == 0:
        with open(os.path.join(arguments.out, "steps.json"), "w", encoding="utf-8") as file:
            json.dump({"ranks": arguments.ranks, "bucket_mb": arguments.bucket_mb,
                       "step_s": statistics.median(times), "steps_s": times}, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
