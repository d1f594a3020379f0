#!/usr/bin/python3
"""Trains with PyTorch's DistributedDataParallel over gloo, and traces it for `forescale replay`.

One process a rank. Each writes OUT/rankN.timeline.json, the profiler's timeline of the steps, and
OUT/rankN.execution.json, the execution trace of one of them, which has the sizes; rank 0 writes
OUT/steps.json, the times of steps that nothing traced. Layers are emulated as a GPU would run them:
the host sleeps for as long as they take and leaves its cores to others.

  trace_ddp.py --rank 0 --ranks 2 --master 10.201.0.1 --bucket-mb 25 --out traced
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


class Network(torch.nn.Module):
    """Layers of `parameters` floats that take `forward_s` and `backward_s` each."""

    def __init__(self, layers):
        super().__init__()
        self.times = [(forward_s, backward_s) for _, forward_s, backward_s in layers]
        self.weights = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.zeros(parameters)) for parameters, _, _ in layers])

    def forward(self, x):
        for weight, (forward_s, backward_s) in zip(self.weights, self.times):
            x = Sleep.apply(x, weight, forward_s, backward_s)
        return x


def network_of(arguments):
    """Layers whose sizes grow with their depth, as in convolutional networks."""
    count = arguments.layers
    total = sum(range(1, count + 1))
    floats = arguments.megabytes * 1e6 / 4
    return Network([(max(1, round(floats * (i + 1) / total)), arguments.forward_ms / 1e3 / count,
                     arguments.backward_ms / 1e3 / count) for i in range(count)])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--master", default="127.0.0.1", help="address of rank 0")
    parser.add_argument("--port", type=int, default=29500)
    parser.add_argument("--interface", default="", help="network interface that gloo takes")
    parser.add_argument("--bucket-mb", type=float, default=25, help="DDP's bucket_cap_mb")
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--megabytes", type=float, default=40, help="of all parameters")
    parser.add_argument("--forward-ms", type=float, default=100, help="of all layers")
    parser.add_argument("--backward-ms", type=float, default=200, help="of all layers")
    parser.add_argument("--steps", type=int, default=8, help="timed without tracing")
    parser.add_argument("--traced-steps", type=int, default=4)
    parser.add_argument("--out", default="traced", help="folder")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    os.makedirs(arguments.out, exist_ok=True)
    torch.set_num_threads(1)
    if arguments.interface:
        os.environ["GLOO_SOCKET_IFNAME"] = arguments.interface
    dist.init_process_group("gloo", rank=arguments.rank, world_size=arguments.ranks,
                            init_method=f"tcp://{arguments.master}:{arguments.port}")
    model = DistributedDataParallel(network_of(arguments), bucket_cap_mb=arguments.bucket_mb)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(1)).sum().backward()
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
    observer = torch.profiler.ExecutionGraphObserver()
    observer.register_callback(name + ".execution.json")
    observer.start()
    step()
    observer.stop()
    observer.unregister_callback()
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
