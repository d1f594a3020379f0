#!/usr/bin/python3
"""What an answer takes, whole process: the first table of docs/performance.md.

  targets.py PROGRAM [WORD ...]

Runs every command below (those whose name holds one of the WORDs) and prints a row for each, as
Markdown: what was asked of it, the median, least and longest wall time, the largest memory of any of
its processes, and how far the answer may be off by what few say of all, as it says itself. Five times;
41 below 50 ms, three times above 3 s, once above 8 s. Nothing may run beside it.
"""

import os
import re
import statistics
import sys
import tempfile
import time

STAR = "collective --platform star:hosts={n},bandwidth=12.5GB/s,latency=1us"
RING = STAR + " --algorithm ring --ranks {n} --bytes 100MiB --engine {engine}"
CB8 = STAR + (" --op reduce --algorithm cb --chain-size 8 --ranks {n} --bytes 256MiB "
              "--chunk-bytes 4MiB --engine {engine}")
FAT_TREE = ("collective --platform fat-tree:down=32x32,up=16,bandwidth=12.5GB/s,latency=1us "
            "--op all-reduce --algorithm ring --bytes 100MiB --engine sim")
DEALT = ",".join(str(i % 32 * 32 + i // 32) for i in range(1024))
H100 = "--platform dgx-h100:nodes={nodes}"
NCCL = f"collective {H100} --ranks {{n}} --bytes {{size}} --op "
DDP = (f"predict {H100} --gpus {{n}} --model resnet-50 --batch 64 --scaling weak "
       "--system ddp-nccl --no-range")
HOROVOD = ("predict --platform piz-daint --gpus {n} --model resnet-50 --batch 64 --scaling weak "
           "--system horovod-mpi-opt --no-range")
LLAMA = f"predict {H100} --model llama-3-70b "

# Name, what was asked of it, and the command.
ROWS = [
    ("the program's start", "10 ms, 15 MB", "--version"),
    ("ring of 1,024, 100 MiB, cost engine, folded", "0.05 s, 20 MB",
     RING.format(n=1024, engine="cost")),
    ("the same of 4,096", "0.3 s, 20 MB", RING.format(n=4096, engine="cost")),
    ("the same of 65,536", "", RING.format(n=65536, engine="cost")),
    ("ring of 1,024, simulator, folded", "", RING.format(n=1024, engine="sim")),
    ("ring of 1,024 on a fat tree that is 2:1, one leaf for all", "1 s", FAT_TREE),
    ("the same, ranks dealt round the leaves: uplinks are shared", "1 s",
     FAT_TREE + " --slots " + DEALT),
    ("CB-8 of 160, 64 chunks, simulator, all ranks", "0.1 s", CB8.format(n=160, engine="sim")),
    ("CB-8 of 65,536, cost engine", "1 s", CB8.format(n=65536, engine="cost")),
    ("NCCL ring, 1 GiB, 1,024 H100, one node for all", "0.5 s",
     NCCL.format(nodes=8192, n=1024, size="1GiB") + "all-reduce --algorithm ring"),
    ("the same on 65,536, folded", "5 s, 500 MB",
     NCCL.format(nodes=8192, n=65536, size="1GiB") + "all-reduce --algorithm ring"),
    ("NCCL's trees, 1 GiB, 1,024 H100, folded", "",
     NCCL.format(nodes=8192, n=1024, size="1GiB") + "all-reduce"),
    ("NCCL's trees, 64 MiB, 1,024 H100, one part for all", "",
     NCCL.format(nodes=8192, n=1024, size="64MiB") + "all-reduce"),
    ("NCCL's trees, 64 MiB, 65,536 H100, folded", "",
     NCCL.format(nodes=8192, n=65536, size="64MiB") + "all-reduce"),
    ("all-to-all, 1 GiB, 1,024 H100, one node for all", "",
     NCCL.format(nodes=128, n=1024, size="1GiB") + "all-to-all"),
    ("NCCL ring, 1 GiB, 1,024 H100, one adapter at a quarter, ten nodes for all", "",
     NCCL.format(nodes=128, n=1024, size="1GiB") +
     "all-reduce --algorithm ring --link node3/nic0=0.25"),
    ("the same with trees, 16 nodes for all", "",
     NCCL.format(nodes=128, n=1024, size="1GiB") + "all-reduce --link node3/nic0=0.25"),
    ("1 GiB on 9,216 GPUs of 128 racks of NVL72, trees, two of 16 parts for all", "",
     "collective --platform gb200-nvl72:nodes=128 --op all-reduce --ranks 9216 --bytes 1GiB"),
    ("SHARP, 16 GiB on 368 B200, a few chunks for all", "",
     "collective --platform dgx-b200:nodes=64 --plan all-reduce --ranks 368 --bytes 16GiB "
     "--stack nccl:NCCL_COLLNET_ENABLE=1,NCCL_NVLS_ENABLE=0 --no-range"),
    ("DDP, ResNet-50, 256 H100, one worker for all", "0.5 s",
     DDP.format(nodes=32, n=256)),
    ("the same on 1,024", "2 s", DDP.format(nodes=128, n=1024)),
    ("the same on 16,384", "", DDP.format(nodes=2048, n=16384)),
    ("the same on 65,536", "", DDP.format(nodes=8192, n=65536)),
    ("DDP, 1,024 H100, a straggler, one worker of each kind", "",
     DDP.format(nodes=128, n=1024) + " --straggler 3:1.5"),
    ("DDP, 256 H100, kernels that vary, 24 iterations, all workers", "",
     DDP.format(nodes=32, n=256) + " --noise sigma=0.1,seed=7"),
    ("the same on 1,024", "", DDP.format(nodes=128, n=1024) + " --noise sigma=0.1,seed=7"),
    ("Llama 3 70B, tp=8,pp=8, 16,384 H100, with its interval", "10 s",
     LLAMA.format(nodes=2048) + "--seq 8192 --gpus 16384 "
     "--layout tp=8,pp=8,global=2048,zero=optimizer"),
    ("Llama 3 70B, tp=8,pp=16,vpp=5, 65,536 micro-batches", "",
     LLAMA.format(nodes=2048) + "--seq 2048 --gpus 128 --layout tp=8,pp=16,vpp=5,global=65536 "
     "--no-range"),
    ("Horovod, ResNet-50, 1,024 GPUs of Piz Daint, all ranks", "3 s", HOROVOD.format(n=1024)),
    ("S-Caffe OBR-HR, GoogLeNet, 160 GPUs of KESCH, all ranks", "1 s",
     "predict --platform kesch --gpus 160 --model googlenet --batch 1024 "
     "--system s-caffe-obr-hr --no-range"),
    ("the same on 1,024", "",
     "predict --platform kesch:nodes=128 --gpus 1024 --model googlenet --batch 8 --scaling weak "
     "--system s-caffe-obr-hr --no-range"),
    ("TensorFlow's gRPC, ResNet-50, 128 workers and servers", "",
     "predict --platform piz-daint --gpus 128 --model resnet-50 --batch 64 --scaling weak "
     "--system tf-grpc-aries --no-range"),
    ("`tune collective`, reduce, 160 GPUs of KESCH, 20 sizes", "10 s",
     "tune collective --platform kesch --stack mvapich2-gdr --op reduce --ranks 160"),
]


def run(program, command):
    """Seconds, megabytes of a process and those that it starts, and what it says of its error."""
    with tempfile.NamedTemporaryFile() as output:
        files = [(os.POSIX_SPAWN_OPEN, 1, output.name, os.O_WRONLY, 0),
                 (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        begin = time.perf_counter()
        pid = os.posix_spawn(program, [program, *command.split()], os.environ, file_actions=files)
        _, status, usage = os.wait4(pid, 0)
        time_s = time.perf_counter() - begin
        text = output.read().decode()
    if status != 0:
        sys.exit(f"failed: forescale {command}")
    said = re.search(r"^\d+ (?:ranks|GPUs): .*simulated.*, (within \S+ %|exact to \S+)", text, re.M)
    return time_s, usage.ru_maxrss * 1024 / 1e6, said[1] if said else ""


def time_text(seconds):
    return f"{1e3 * seconds:.0f} ms" if seconds < 0.05 else f"{seconds:.2g} s"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, words = sys.argv[1], sys.argv[2:]
    print("| what | asked | median | least to longest | memory | error | command |")
    print("|---|---|---|---|---|---|---|")
    for name, asked, command in ROWS:
        if words and not any(word in name for word in words):
            continue
        runs = [run(program, command)]
        first_s = runs[0][0]
        count = 41 if first_s < 0.05 else 5 if first_s < 3 else 3 if first_s < 8 else 1
        runs += [run(program, command) for _ in range(count - 1)]
        times_s = sorted(time_s for time_s, _, _ in runs)
        shown = command.replace(DEALT, "0,32,64,...")
        print(f"| {name} | {asked} | {time_text(statistics.median(times_s))} | "
              f"{time_text(times_s[0])} to {time_text(times_s[-1])} | "
              f"{max(memory for _, memory, _ in runs):.0f} MB | {runs[0][2]} | `{shown}` |", flush=True)


if __name__ == "__main__":
    main()
