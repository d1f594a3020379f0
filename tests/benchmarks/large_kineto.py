#!/usr/bin/env python3
"""How long and with how much memory forescale imports a large Kineto file.

    tests/benchmarks/large_kineto.py build/release/forescale [BYTES, default 1e9] [more of import's options]

Writes a synthetic trace of one rank of a DDP job: training steps of 1,000 kernels on one stream and
10 all-reduces on another, with what PyTorch's profiler writes around them (operators, launches, flow
events). Prints bytes, kernels, seconds and peak memory.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

KERNELS = 1000
COLLECTIVES = 10
NAME = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)")


def event(category, name, ts, dur, tid, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": tid, "ts": round(ts, 3),
            "dur": round(dur, 3), "args": args}


def flow(phase, number, ts, tid):
    return {"ph": phase, "id": number, "pid": 0, "tid": tid, "ts": round(ts, 3), "cat": "ac2g",
            "name": "ac2g"}


def step(number):
    """Events of one training step of 30 ms, which begins at number * 30 ms."""
    begin = number * 30_000.0
    yield event("user_annotation", f"ProfilerStep#{number}", begin, 29_999, 1)
    correlation = number * 10_000
    for i in range(KERNELS):
        correlation += 1
        call = begin + 10 + 10 * i
        run = call + 20 + 15 * i
        for depth in range(3):
            yield event("cpu_op", "aten::add_", call - 2 + depth / 2, 6 - depth, 1,
                        **{"External id": correlation, "Record function id": 0, "Ev Idx": i,
                           "Input Dims": [[64, 256, 56, 56], [64, 256, 56, 56], []],
                           "Input type": ["float", "float", "Scalar"]})
        yield event("cuda_runtime", "cudaLaunchKernel", call, 3, 1, cbid=211,
                    correlation=correlation)
        yield flow("s", correlation, call, 1)
        yield flow("f", correlation, run, 7)
        yield event("kernel", NAME, run, 14, 7,
                    **{"External id": correlation, "queued": 0, "device": 0, "context": 1,
                       "stream": 7, "correlation": correlation, "registers per thread": 22,
                       "shared memory": 0, "blocks per SM": 116.148148, "warps per SM": 464.59259,
                       "grid": [12544, 1, 1], "block": [128, 1, 1],
                       "est. achieved occupancy %": 100})
        if i % (KERNELS // COLLECTIVES) == KERNELS // COLLECTIVES - 1:
            correlation += 1
            yield event("cuda_runtime", "cudaLaunchKernelExC", call + 5, 3, 1, cbid=430,
                        correlation=correlation)
            yield event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", run + 15, 900, 20,
                        **{"device": 0, "stream": 20, "correlation": correlation,
                           "Collective name": "allreduce", "In msg nelems": 2_500_000,
                           "Out msg nelems": 2_500_000, "dtype": "Float", "Group size": 8,
                           "Process Group Name": "0",
                           "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"})


def write(path, size):
    kernels = 0
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, '
                  '"world_size": 8}, "traceEvents": [\n{"ph": "M", "name": "process_name"}')
        number = 0
        while out.tell() < size:
            for one in step(number):
                out.write(",\n" + json.dumps(one))
            kernels += KERNELS
            number += 1
        out.write("\n]}\n")
    return kernels


def main():
    program = sys.argv[1]
    size = int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**9
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "large.json")
        kernels = write(trace, size)
        print(f"{os.path.getsize(trace) / 1e9:.2f} GB, {kernels} kernels")
        began = time.monotonic()
        done = subprocess.run([program, "import", trace] + sys.argv[3:], check=False)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{time.monotonic() - began:.1f} s, {used.ru_maxrss / 1024:.0f} MiB at most")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
