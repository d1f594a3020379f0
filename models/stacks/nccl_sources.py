"""Where numbers of NCCL's stacks come from, how a stack file writes one, and those of its sends."""
import math

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

TUNING = "NVIDIA NCCL v2.20, src/graph/tuning.cc, commit b6475625"
ENQUEUE = "src/enqueue.cc of NVIDIA NCCL v2.20"
PAT_TUNING = "NVIDIA NCCL, src/tuning/pat.cc, commit 12df1a11, as src/graph/tuning.cc before"
LATER = "later releases of NVIDIA NCCL, src/graph/tuning.cc"
P3DN = ("two p3dn, rings (AWS DLAMI developer guide, Using EFA on the DLAMI, tutorial-efa-using.md of awsdocs, NCCL 2.4.8)")
P5 = ("p5 (aws-samples/awsome-distributed-training, micro-benchmarks/nccl-tests/aws-batch/"
      "README.md, commit 7217859f)")
NVL72 = "a GB200 NVL72 (coreweave/nccl-tests, README.md, commit cb865533)"
B200 = ("eight B200 (ai-dynamo/aiconfigurator, systems/data/b200_sxm/comm/nccl/2.29.2, half "
        "precision)")
EFA = "8 p5, 4 GiB by NVLSTree in chunks of 64 KiB, 81.1 ms (NVIDIA/nccl, pull request 1112)"
AWS_CROSSING = ("where trees of LL128 end for 16 p5 with one rank each, 2.4 MB (aws/aws-ofi-nccl, "
                "src/tuner/nccl_ofi_regions.cpp, commit 2daf7d30)")
SENDRECV = ("64 MiB on 16 nodes of eight B200 (togethercomputer/together-nccl-tests, "
            "benchmarks/B200/sendrecv-p2p-scaling/P2P_Bandwidth_Scaling_2to64_Nodes.md, commit 280e4df2)")
TOGETHER = ("2 GiB on two and four nodes of eight B200 (togethercomputer/together-dgxc-benchmarking, "
            "worklog/2026-04-17_nccl_collective_scaling_report.md, commit 661e8e14)")
MI300X = ("eight MI300X, RCCL 2.22.3 (ROCm/rocm-blogs, blogs/software-tools-optimization/"
          "mi300x-rccl-xgmi/README.md, commit 0e81c2ca)")
GALVATRON = "(PKU-DAIR/Hetu-Galvatron, sp_time_1nodes_8gpus_per_node.json, commit cea12ffb)"
CROSSING = f"size range: where the estimates of NCCL's tuner cross ({TUNING})"
FLUSH = ("waiting until the last bytes are in GPU memory (flush) takes a message's latency again, "
         "as NCCL reckons (ncclTopoTuneModel); not seen by the table of NCCL")

# What the steps of NCCL's table hold of the links, us.
LINKS_IN_NODE_US, LINKS_BETWEEN_US = 0.2, 1.3


# Accesses of a GPU's memory for each byte that arrives: stored in NCCL's buffer, read there, and read or written in
# its caller's memory.
ACCESSES = ("maintainers in NVIDIA/nccl issue 1428: two to three; its products take 1.76 times as long beside 300 GB/s "
            "on an A100, attention 1.83 times, where 1 / (1 - 3 x 300 / 2039) is 1.79")


def known(value, source):
    return {"value": value, "source": source}


def assumed(value, why, fast, slow):
    return {"value": value, "assumed": why, "fast": fast, "slow": slow}


def seconds(us):
    return round(us * 1e-6, 10)


# Channels on which two GPUs of different nodes send to each other, at most, and where that is from.
PEER_CHANNELS_TO_2_28 = (2, "NCCL up to 2.28")
PEER_CHANNELS_OF_RANKS = 128  # channels times ranks of the communicator, at most
PEER_CHANNEL_GBPS = (14.7, 17.2, 13)  # of one of them: as it is, fast, slow

# Inside a node: channels, shared out among a communicator's ranks; bytes of a part from which two GPUs take twice as
# many; GB/s of a channel, by generation: as it is, fast, slow, and why.
NODE_CHANNELS, NODE_PART_MOST = 32, 16 * MIB
NODE_SENDS = "64 MiB of a sendrecv of eight B200 (\"B200 / Vultr POC cluster test summary\", nccl_tests_dgxc.log)"
NODE_CHANNEL_GBPS = {"blackwell": (21.6, 24.8, 20, f"fitted to {NODE_SENDS}, four channels"),
                     "hopper": (21.6, 24.8, 15, f"not measured, as on B200: fitted to {NODE_SENDS}, four channels")}

# GB/s of all that a rank sends on one of a tree's channels by the simple protocol, B200: as it is, fast, slow.
TREE_BLOCK_GBPS = (24.8, 27, 22)

# CollNet: what a message that the network's switches add takes an adapter more, us: as it is, fast, slow.
SHARP_US = (2.4, 1.6, 3.5)
SHARP = ("2 GiB in messages of 128 KiB on four nodes of eight B200, 398 GB/s of bus bandwidth (togethercomputer/together-nccl-tests, "
         "baselines/flapping-airplanes/2026-07-11_nccl_4n_tuned_vs_may.md)")


def peer_channels_2_29(adapter_gbps):
    count = 1 << (math.ceil(adapter_gbps / 14) - 1).bit_length()
    return count, f"NCCL 2.29: an adapter's {adapter_gbps:g} GB/s over 14, to a power of two"
