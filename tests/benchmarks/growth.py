#!/usr/bin/python3
"""How the cost of an answer grows with the number of GPUs: the plot of docs/performance.md.

  growth.py PROGRAM SVG [--most-s 60]

Runs `forescale` on 64 to 65,536 GPUs for five schedules, whole process, and prints wall time and
memory of each; a line ends where an answer took longer than --most-s.
"""

import argparse
import os
import sys
import time

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

GPUS = [4**i for i in range(3, 9)]
H100 = "--platform dgx-h100:nodes=8192"
# Name, command, and the most GPUs that are simulated.
SCHEDULES = [
    ("NCCL ring, 1 GiB, H100 (folded)",
     lambda n: f"collective {H100} --op all-reduce --algorithm ring --ranks {n} --bytes 1GiB", 65536),
    ("DDP, ResNet-50, H100 (one worker for all)",
     lambda n: f"predict {H100} --gpus {n} --model resnet-50 --batch 64 --scaling weak "
               "--system ddp-nccl --no-range", 65536),
    ("Llama 3 70B, tp=8,pp=8, H100 (collectives folded)",
     lambda n: f"predict {H100} --model llama-3-70b --seq 8192 --gpus {n} --no-range "
               f"--layout tp=8,pp=8,global={n // 8},zero=optimizer", 65536),
    ("Horovod, ResNet-50, Piz Daint (whole)",
     lambda n: f"predict --platform piz-daint --gpus {n} --model resnet-50 --batch 64 "
               "--scaling weak --system horovod-mpi-opt --no-range", 4096),
    ("S-Caffe OBR-HR, GoogLeNet, Piz Daint (whole)",
     lambda n: f"predict --platform piz-daint --gpus {n} --model googlenet --batch 64 "
               "--scaling weak --system s-caffe-obr-hr --no-range", 4096),
]


def measured(program, command, most_s):
    """Seconds and megabytes of a process; None where it takes longer or fails."""
    begin = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(program, [program, *command.split()])
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        wall_s = time.perf_counter() - begin
        if ended:
            return (wall_s, usage.ru_maxrss / 1024) if status == 0 else None
        if wall_s > most_s:
            os.killpg(pid, 9)
            os.wait4(pid, 0)
            return None
        time.sleep(0.002)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("svg")
    parser.add_argument("--most-s", type=float, default=60)
    arguments = parser.parse_args()
    figure, (time_axes, memory_axes) = plt.subplots(1, 2, figsize=(11, 4.2), sharex=True)
    for name, command, most in SCHEDULES:
        counts, times, memory = [], [], []
        for gpus in [count for count in GPUS if count <= most]:
            result = measured(arguments.program, command(gpus), arguments.most_s)
            if result is None:
                break
            counts.append(gpus)
            times.append(result[0])
            memory.append(result[1])
            print(f"{name}: {gpus} GPUs {result[0]:.2f} s, {result[1]:.0f} MB", flush=True)
        time_axes.plot(counts, times, marker="o", label=name)
        memory_axes.plot(counts, memory, marker="o")
    for axes, label in ((time_axes, "seconds"), (memory_axes, "MB")):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(GPUS, [f"{count:,}" for count in GPUS])
        axes.set_xlabel("GPUs")
        axes.set_ylabel(label)
        axes.grid(True, which="both", alpha=0.3)
    figure.legend(loc="lower center", ncols=2, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.17, 1, 1))
    figure.savefig(arguments.svg, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
