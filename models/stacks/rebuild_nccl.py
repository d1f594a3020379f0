#!/usr/bin/env python3
"""Writes the stack files nccl-2.20-*, nccl-2.29-*, nccl-2.4-v100-efa, nccl-gb200-nvl72 and
rccl-2.22-mi300x of this folder.

    rebuild_nccl.py [--check]     with --check nothing is written: exit 1 when a file differs

Latencies and launches are those of NCCL's tuning table, size rules where its estimates cross
(nccl_tuner.py); what was fitted and what is assumed is said in the files and in docs/nccl.md.
"""
import dataclasses
import itertools
import json
import pathlib
import sys

from nccl_chunks import ll128_chunks, nvls_tree_chunks
from nccl_tuner import (LAUNCH_US, LL_MOST, NETWORK_STEP_US, NODE_STEP_US, TREE_CHANNEL,
                        Machine, bands, estimate_us, gather_bands, gather_estimate_us, orders_by_size)

HERE = pathlib.Path(__file__).resolve().parent
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

TUNING = "NVIDIA NCCL v2.20, src/graph/tuning.cc, commit b6475625"
ENQUEUE = "src/enqueue.cc of NVIDIA NCCL v2.20"
LATER = "later releases of NVIDIA NCCL, src/graph/tuning.cc"
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


def peer_channels_2_29(count, adapter_gbps):
    return count, f"NCCL 2.29: an adapter's {adapter_gbps} GB/s over 14, to a power of two"


@dataclasses.dataclass
class Stack:
    name: str
    description: str
    orders: list  # of the parts: GPUs of a node
    gpus: int  # of a node
    protocols: list  # but ring-simple, which all have
    rules: list  # of all-reduce
    generation: str
    tree_gbps: float  # of a GPU's links, where each sends all it has
    ring_gbps: float = 0  # where a ring sees other links
    nvls: dict = None  # wire factor
    own: dict = dataclasses.field(default_factory=dict)  # wire factors of protocols of one node
    search_channels: int = None  # that NCCL finds between nodes; none: as many as orders
    buffer: tuple = (4 * MIB, "src/init.cc")  # NCCL_BUFFSIZE, bytes, and its source
    gathers: list = None  # rules of allgather and reduce-scatter
    sends: tuple = None  # of ncclSend and ncclRecv: wire factor, and cap of a pair of GPUs
    sends_calls: tuple = ()  # (up to these bytes, call)
    peer_channels: tuple = PEER_CHANNELS_TO_2_28  # of sends between nodes: how many at most, and why; none: not known
    ll_step: dict = None  # of LL inside a node; none: NCCL's table
    ll_wire: dict = None  # likewise
    all_to_all: str = "pairwise"
    machine: Machine = None  # whose algorithms and protocols NCCL can be told to take; none: nothing
    by_rail: bool = True  # PXN, from 2.12 on and where NVLink joins all GPUs of a node
    flush_us: float = 0
    nvls_proxy_us: tuple = None  # of one of NVLSTree's messages at either end: as it is, fast, slow, and why
    tree_proxy_us: tuple = None  # of one of a low-latency tree's
    nvls_tree_most: tuple = None  # bytes of NVLSTree's chunk, and its source; none: NCCL's
    between_calls: object = None  # BetweenCalls of its all-reduces
    named_orders: dict = dataclasses.field(default_factory=dict)  # what its file's rules call them
    flush_why: str = FLUSH

    @property
    def channels(self):
        """That carry trees between nodes: two for each that NCCL's search finds (src/graph/connect.cc)."""
        return 2 * (self.search_channels or len(self.orders))

    def part(self, gpus):
        """For groups with so many of each node's GPUs: rings that start at each of them, and from Hopper on at each twice
        ("4 compute channels per search channel to reach peak BW on <8 PPN", src/graph/connect.cc)."""
        found = self.search_channels or len(self.orders)
        times = 2 if self.machine and self.machine.doubles_channels() else 1
        return dataclasses.replace(self, gpus=gpus, orders=rotations(gpus) * times,
                                   search_channels=max(1, found * gpus // self.gpus) * times,
                                   machine=self.machine.part(gpus) if self.machine else None)

    def parts(self):
        """Those groups, 1, 2, 4, ... of a node's GPUs."""
        return [self.part(1 << i) for i in range((self.gpus - 1).bit_length())]

    def of_a_queue(self, of_a_channel):
        """What belongs to one of NCCL's channels, for a queue of a plan: of each part, one a tree."""
        return of_a_channel * self.channels // (2 * len(self.orders))


# Wire factors

def ring_ll(stack):
    if stack.ll_wire:
        return stack.ll_wire
    link, most = stack.ring_gbps or stack.tree_gbps, LL_MOST[stack.generation][0]
    return assumed(
        round(link / most, 2),
        "half of what it sends are flags; NCCL reckons with half of the link, and with no more "
        f"than {most:g} GB/s on {stack.generation.capitalize()} ({LATER}, those with entries for "
        f"Blackwell; a quarter and 87.7 GB/s in 2.20, llMaxBws), of {link:g}",
        2, round(1.5 * link / most, 2))


def tree_ll(stack, more, where):
    most = LL_MOST[stack.generation][more]
    factor = round(stack.tree_gbps / (1.75 * most / 2), 1)
    return assumed(factor,
                   f"so that no more than {most:g} GB/s of bus bandwidth pass, NCCL's limit "
                   f"{where} with Intel processors ({TUNING}, llMaxBws); held at NVLink, where "
                   "each GPU sends 2 (n-1)/n of the vector",
                   round(factor / 2, 1), round(factor * 1.3, 1))


LL128 = known(1.087, f"120 of 128 bytes are data; 0.92 of the link by {TUNING}")
FLAGS = assumed(2, "half of what it sends are flags", 2, 4)
BETWEEN_NODES = {"ring-ll": FLAGS, "tree-ll-two": FLAGS, "tree-ll": FLAGS, "ring-ll128": LL128,
                 "tree-ll128": LL128}


FOUR = "nvls-four"  # of groups with four of a node's eight GPUs


def nvls_of_four(stack):
    """Of n GPUs each sends (n+1)/n of the vector by the switches, where the plan sends 2 (n-1)/n."""
    share = (5 / 4) / (6 / 4) / ((9 / 8) / (14 / 8))
    known_of_eight = stack.nvls
    return assumed(round(known_of_eight["value"] * share, 3),
                   f"as of eight GPUs, {known_of_eight['value']:g}, times {share:.3f}: of four each sends 5/4 of the vector by "
                   "the switches and 6/4 by the plan, of eight 9/8 and 14/8",
                   round(known_of_eight["fast"] * share, 3), round(known_of_eight["slow"] * share, 3))


def inside_node(stack, protocol):
    return {"ring-ll": lambda: ring_ll(stack),
            "tree-ll-two": lambda: tree_ll(stack, 1, "between two nodes"),
            "tree-ll": lambda: tree_ll(stack, 2, "between four nodes and more"),
            "ring-ll128": lambda: LL128,
            "tree-ll128": lambda: LL128,
            "tree-simple": lambda: known(1.087, f"0.92 of a ring's bandwidth by {TUNING}"),
            "nvls": lambda: stack.nvls,
            FOUR: lambda: nvls_of_four(stack),
            "send-recv": lambda: stack.sends[0]}.get(protocol, lambda: stack.own.get(protocol))()


# Paths

def step_of(protocol):
    """Its name in NCCL's table."""
    if protocol == "send-recv":
        return "ring-simple"
    return "-".join(protocol.split("-")[:1 if protocol.startswith("nvls") else 2])


def table_of(protocol):
    if protocol == "tree-simple":
        return f"{LATER} (28 us until 2.20, a chunk's time included)"
    return TUNING


def tree_caps(stack, wire_factor):
    """Of a message of a tree of the simple protocol, and of all that a rank sends on one of its channels."""
    generation = "hopper" if stack.generation == "blackwell" else stack.generation
    bus_gbps, hopper_gbps = TREE_CHANNEL[generation][1], TREE_CHANNEL["hopper"][1]
    reckoned = f"{bus_gbps:g} GB/s ({TUNING}, perChMaxTreeBws)"
    of_plan = (f"; {stack.channels} channels on {2 * len(stack.orders)} of a plan"
               if stack.of_a_queue(1 << 20) != 1 << 20 else "")

    def cap(gbps, factor=1):
        return round(stack.of_a_queue(gbps * 1e9) * factor, -7)

    wire = wire_factor["value"] if wire_factor else 1
    why_one = ("one way on a tree's channel: half of the bus bandwidth that NCCL reckons with on two "
               f"nodes, {reckoned}" + ("; B200 as H100" if generation != stack.generation else "") + of_plan +
               (f"; counted with the wire factor, {wire:g}" if wire != 1 else ""))
    rate, fast, slow = TREE_BLOCK_GBPS
    share = bus_gbps / hopper_gbps
    why_all = (f"fitted to {TOGETHER}: {rate:g} GB/s of all that a rank sends on one of a tree's channels, up and down "
               "together, as one block of threads does both")
    if stack.generation == "hopper":
        why_all += "; the same is assumed of H100"
    elif share != 1:
        why_all += f"; less in proportion to what NCCL reckons with on two nodes, {reckoned} of {hopper_gbps:g}, or not less"
        fast = fast / share
    return {"connection_cap_bytes_per_s": assumed(cap(bus_gbps / 2, wire), why_one, cap(bus_gbps, wire),
                                                  cap(bus_gbps / 4, wire)),
            "channel_cap_bytes_per_s": assumed(cap(rate * share), why_all + of_plan, cap(fast * share),
                                               cap(slow * share))}


def direct(stack, where, protocol, latency, wire_factor):
    path = {"where": where}
    if protocol != "ring-simple":
        path["protocol"] = protocol
    path |= {"buffers": "gpu", "mechanism": "direct",
             "o_send_s": known(0, "NCCL's kernels post without a call a message"),
             "latency_s": latency}
    if where == "inter-node" and stack.by_rail:
        path["by_rail"] = True
    if protocol == "tree-simple":
        path |= tree_caps(stack, wire_factor)
    return path | ({"wire_factor": wire_factor} if wire_factor else {})


def in_node(stack, protocol):
    us = NODE_STEP_US[step_of(protocol)]
    if protocol == "ring-ll" and stack.ll_step:
        return direct(stack, "peer", protocol, stack.ll_step, inside_node(stack, protocol))
    what = "a step inside a node takes"
    if step_of(protocol) == "nvls":
        what = "half of the 23 us of a reduction by the switches:"
    return direct(stack, "peer", protocol,
                  known(seconds(us - LINKS_IN_NODE_US),
                        f"{what} {us:g} us by {table_of(protocol)} (hwLat), less "
                        f"{LINKS_IN_NODE_US:g} us of the links"),
                  inside_node(stack, protocol))


def between_nodes(stack, protocol):
    us = NETWORK_STEP_US[step_of(protocol)]
    step = f"a step between nodes takes {us:g} us by {table_of(protocol)} (hwLat), less"
    left = us - LINKS_BETWEEN_US
    if has_tree_proxy(stack, protocol):
        both_ends = 2 * stack.tree_proxy_us[0]
        step += f" {both_ends:g} us of the proxy threads and"
        left -= both_ends
    if stack.flush_us and protocol in ("ring-simple", "tree-simple", "nvls", FOUR):
        latency = assumed(seconds(left + stack.flush_us),
                          f"{step} {LINKS_BETWEEN_US:g} us of an InfiniBand network's links; "
                          f"{stack.flush_why}",
                          seconds(left), seconds(left + 2 * stack.flush_us))
    else:
        latency = known(seconds(left), f"{step} {LINKS_BETWEEN_US:g} us of the links")
    return direct(stack, "inter-node", protocol, latency, BETWEEN_NODES.get(protocol)) | proxy(stack, protocol)


def peer_protocols(stack):
    """(name, channels, ranks of a communicator up to which it is so) of sends to a GPU of another node."""
    if not stack.peer_channels:
        return []
    counts = [1 << i for i in range(stack.peer_channels[0].bit_length())]
    return [(f"send-recv-{count}", count, PEER_CHANNELS_OF_RANKS // count if count > 1 else None)
            for count in reversed(counts)]


def peer_paths(stack):
    """Sends inside a node are as all-to-alls' are, between nodes on few channels."""
    found = []
    inside = "send-recv" if stack.sends else "ring-simple"
    rate, fast, slow = PEER_CHANNEL_GBPS
    for name, count, _ in peer_protocols(stack):
        cap = assumed(count * rate * 1e9, f"{count} channel{'s' * (count > 1)} of {rate:g} GB/s: fitted to "
                      f"{SENDRECV}; NCCL reckons with 14 (NCCL_P2P_PER_CHANNEL_NET_BW, src/graph/paths.cc, 2.29), "
                      "17 on another cluster", count * fast * 1e9, count * slow * 1e9)
        pair = {"pair_cap_bytes_per_s": stack.sends[1]} if stack.sends else {}
        found += [in_node(stack, inside) | pair | {"protocol": name},
                  between_nodes(stack, "ring-simple") | {"protocol": name, "connection_cap_bytes_per_s": cap}]
    return found


def node_channels(ranks):
    """(channels of two GPUs, up to these bytes) of sends in a communicator of one node."""
    count = NODE_CHANNELS // ranks
    while count < NODE_CHANNELS:
        yield count, count * NODE_PART_MOST
        count *= 2
    yield count, None


def node_send_paths(stack):
    if not (stack.sends and stack.generation in NODE_CHANNEL_GBPS):
        return []
    *rates, why = NODE_CHANNEL_GBPS[stack.generation]
    rate, fast, slow = (each * 1e9 for each in rates)
    counts = sorted({count for ranks in (2, 4, 8) for count, _ in node_channels(ranks)})
    path = {name: value for name, value in in_node(stack, "send-recv").items() if name != "wire_factor"}
    return [path | {
        "protocol": f"send-recv-in-node-{count}", "connection_cap_bytes_per_s": assumed(
            count * rate, f"{count} channels of {rate / 1e9:g} GB/s: {why}", count * fast, count * slow)}
            for count in counts]


def has_tree_proxy(stack, protocol):
    return bool(stack.tree_proxy_us) and protocol.startswith("tree-ll")


def proxy(stack, protocol):
    """What a rank's proxy thread does for a message of a plan: NVLSTree's, those of eight channels in one."""
    messages, cost = ((1, stack.tree_proxy_us) if has_tree_proxy(stack, protocol) else
                      (8, stack.nvls_proxy_us) if protocol in ("nvls", FOUR) else (0, None))
    if not cost:
        return {}
    us, fast_us, slow_us = (seconds(messages * each) for each in cost[:3])
    return {"o_proxy_s": assumed(us, cost[3], fast_us, slow_us)}


def paths(stack):
    all_paths = []
    of_four = [FOUR] if "nvls" in stack.protocols and stack.gpus == 8 else []
    for protocol in [*stack.protocols, *of_four, "ring-simple"]:
        if protocol == "ring-simple":
            all_paths += [in_node(stack, name) for name in stack.own]
        if protocol == "ring-simple" and stack.sends:
            pair = {"pair_cap_bytes_per_s": stack.sends[1]}
            all_paths.append(in_node(stack, "send-recv") | pair)
            all_paths += node_send_paths(stack)
        if protocol == "ring-simple":
            all_paths += peer_paths(stack)
        all_paths += [in_node(stack, protocol), between_nodes(stack, protocol)]
    staged = {"where": "cross-socket", "buffers": "gpu", "mechanism": "staged",
              "segment_bytes": assumed(512 * KIB, "NCCL's buffer of 4 MiB in 8 steps "
                                       "(src/init.cc); only pairs without NVLink come this way",
                                       128 * KIB, MIB),
              "segment_overhead_s": assumed(2e-6, "a flag in host memory that both kernels poll",
                                            1e-6, 5e-6),
              "o_send_s": 0,
              "latency_s": known(5.7e-6, f"a step over PCIe takes 5.7 us by {TUNING}")}
    small = {"where": "any", "buffers": "host", "up_to_bytes": 16 * KIB, "mechanism": "direct",
             "o_send_s": assumed(3e-7, "small message of an MPI beside NCCL, as in nccl-2.3", 1e-7,
                                 6e-7), "o_recv_s": 0}
    large = {"where": "any", "buffers": "host", "mechanism": "direct",
             "o_send_s": assumed(4e-6, "rendez-vous handshake of an MPI beside NCCL, as in "
                                 "nccl-2.3", 2e-6, 8e-6), "o_recv_s": 0}
    return all_paths + [staged, small, large]


# Rules of the all-reduce

NODES = (2, 4, 8, 16, 32)  # the last stands for more


@dataclasses.dataclass
class Rule:
    protocol: str
    source: str
    up_to_bytes: int = None
    up_to_ranks: int = None
    up_to_nodes: int = None
    ranks_per_node: int = None
    chunk_bytes: int = None
    call_overhead_s: dict = None  # None: the launch in NCCL's table
    orders: list = None  # None: the stack's
    from_nodes: int = None


def launch(protocol):
    us = LAUNCH_US[step_of(protocol)]
    table = LATER if protocol == "tree-simple" else TUNING
    return known(seconds(us), f"launch, {us:g} us by {table} (baseLat)")


def name_of(stack, orders):
    """Among the file's orders, which it becomes one of."""
    count, of = len(orders), len(orders[0])
    name = f"{count} order{'s' * (count > 1)} of {of} GPU{'s' * (of > 1)}"
    for more in itertools.count(2):
        if stack.named_orders.setdefault(name, orders) == orders:
            return name
        name = f"{name.split(',')[0]}, {more}"


def written(stack, rule):
    algorithm = {"ring": "ring", "tree": "chain-tree", "nvls": "star-tree"}[
        rule.protocol.split("-")[0]]
    fields = {"up_to_ranks": rule.up_to_ranks, "from_nodes": rule.from_nodes, "up_to_nodes": rule.up_to_nodes,
              "ranks_per_node": rule.ranks_per_node,
              "up_to_bytes": rule.up_to_bytes,
              "algorithm": algorithm,
              "chain_size": (rule.ranks_per_node or stack.gpus) if algorithm != "ring" else None,
              "chunk_bytes": rule.chunk_bytes,
              "protocol": rule.protocol if rule.protocol != "ring-simple" else None,
              "orders": name_of(stack, rule.orders or stack.orders),
              "call_overhead_s": rule.call_overhead_s or launch(rule.protocol),
              "source": rule.source}
    return {name: value for name, value in fields.items() if value is not None}


def nvls_call(us, fast_us, slow_us):
    return assumed(seconds(us), f"fitted to the rows of this size range of {P5}, above the 23 us "
                   "of NCCL's table", seconds(fast_us), seconds(slow_us))


# Up to these bytes: bytes of all GPUs' loop, and the call.
NVLS = ((8 * MIB - 1, 2 * MIB, nvls_call(25, 15, 35)),
        (64 * MIB - 1, 4 * MIB, nvls_call(50, 35, 60)),
        (GIB - 1, 8 * MIB, nvls_call(60, 45, 90)),
        (None, 16 * MIB, nvls_call(100, 60, 150)))
NVLS_SOURCE = ("chunk: what NVLS does in a loop, 16 channels x 8 GPUs x 16 to 128 KiB (computeColl "
               "of NCCL v2.18, src/enqueue.cc); overhead fitted, see docs/nccl.md")
NVLS_TREE_MOST = "on four nodes and more 64 KiB at most"
TREE_LL_SOURCE = f"chunk: half of a step of LL's buffer, 512 KiB in 8 ({ENQUEUE}); {CROSSING}"


def earlier(a, b):
    return min((each for each in (a, b) if each is not None), default=None)


def tree_simple_pieces(stack):
    """Few bytes take fewer channels, 32 KiB each (512 threads, threadThresholds 64)."""
    chunk = stack.of_a_queue(stack.buffer[0] // 8)
    count = len(stack.orders)
    few = [(stack.channels // share * 32 * KIB, stack.orders[:max(1, count // share)])
           for share in (8, 4, 2)]
    source = (f"chunk: a step of NCCL's buffer, {stack.buffer[0] // MIB} MiB in 8 ({stack.buffer[1]}), "
              f"32 KiB a channel at least (computeCollChunkInfo, {ENQUEUE}); {CROSSING}")
    return [(end, Rule("tree-simple", source, chunk_bytes=chunk, orders=orders))
            for end, orders in [*few, (None, None)]]


def tree_ll128_pieces(stack, nodes):
    source = f"chunk: NCCL's for as many steps as the tree has (nstepsLL128, {ENQUEUE}); {CROSSING}"
    return [(up_to, Rule("tree-ll128", source, chunk_bytes=stack.of_a_queue(chunk)))
            for up_to, chunk in ll128_chunks(nodes, stack.gpus, stack.channels)]


def nvls_pieces(stack, nodes):
    """Chunks of a head's channel: 16 channels x 8 heads, 8 of them on a queue (a part's: 16) of a plan."""
    if nodes == 1:
        return [(end, Rule("nvls", NVLS_SOURCE, chunk_bytes=loop // 8, call_overhead_s=call))
                for end, loop, call in NVLS]
    most, why = stack.nvls_tree_most or (None, NVLS_TREE_MOST)
    source = (f"chunk: NVLSTree's, 32 to 512 KiB, {why} (computeCollChunkInfo, {ENQUEUE}); overhead fitted, see "
              "docs/nccl.md")
    chunks = nvls_tree_chunks(nodes, most)
    rules = []
    for end in sorted({end for end, _ in chunks[:-1]} | {end for end, _, _ in NVLS[:-1]}) + [None]:
        chunk = next(chunk for up_to, chunk in chunks if up_to is None or (end and end <= up_to))
        call = next(call for up_to, _, call in NVLS if up_to is None or (end and end <= up_to))
        rules.append((end, Rule("nvls", source, chunk_bytes=8 * chunk,
                                call_overhead_s=call)))
    return rules


# What collectives between nodes take beyond the steps of NCCL's table, by protocol: up to these bytes, us as it is,
# fast, slow; and where that was fitted. LL above what it is taken for has LL128's.
FITTED_RANKS = 16


@dataclasses.dataclass
class BetweenCalls:
    where: str
    steps: dict
    rings: object = None  # BetweenCalls of low-latency rings, where they were fitted elsewhere

    def of_ring(self, ranks):
        """For a ring of so many ranks: in proportion to its steps, of those of the 16 that this was fitted to, no more."""
        share = min(1, (ranks - 1) / (FITTED_RANKS - 1))
        scaled = {kind: tuple((end, tuple(round(share * us, 2) for us in times)) for end, times in calls)
                  for kind, calls in self.steps.items()}
        where = self.where if share == 1 else f"{self.where}, {share:.3f} of that for {ranks} ranks,"
        return dataclasses.replace(self, where=where, steps=scaled, rings=self.rings and self.rings.of_ring(ranks))

    def added(self, choice, pieces):
        """The same rules with what is added, more where that changes."""
        if self.rings and choice in ("ring-ll", "ring-ll128"):
            return self.rings.added(choice, pieces)
        calls = self.steps.get(choice.split("-")[-1])
        if not calls:
            return pieces
        rules = []
        for end in sorted({end for end, _ in [*pieces, *calls] if end is not None}) + [None]:
            rule = next(rule for up_to, rule in pieces if up_to is None or (end and end <= up_to))
            times = next(us for up_to, us in calls if up_to is None or (end and end <= up_to))
            base = rule.call_overhead_s or launch(rule.protocol)
            values = [base["value"], base.get("fast", base["value"]), base.get("slow", base["value"])]
            value, fast, slow = (round(of_base + seconds(us), 10) for of_base, us in zip(values, times))
            why = (f"what the steps of NCCL's table leave out between nodes: fitted to this size range of {self.where}, above "
                   + base.get("assumed", base.get("source")))
            rules.append((end, dataclasses.replace(rule, call_overhead_s=assumed(value, why, fast, slow))))
        return rules


GATHERS_BETWEEN = BetweenCalls("allgathers of 16 B200 (A4, GoogleCloudPlatform/cluster-toolkit)", {
    "ll": ((None, (8, 4, 37)),),
    "ll128": ((2 * MIB, (34, 15, 40)), (8 * MIB, (45, 30, 60)), (None, (80, 43, 110))),
    "simple": ((512 * MIB, (126, 76, 208)), (None, (208, 166, 505)))})
BETWEEN_CALLS = {
    "hopper": BetweenCalls("all-reduces of 16 H100 (Nebius, dstackai/dstack; XE9680, NVIDIA/nccl-tests issue 309)", {
        "ll": ((None, (7, 0, 12)),),
        "nvls": ((8 * MIB, (0, 0, 12)), (16 * MIB, (33, 20, 46)), (32 * MIB, (59, 40, 80)), (128 * MIB, (125, 117, 143)),
                 (512 * MIB, (185, 165, 204)), (None, (252, 242, 700)))}, GATHERS_BETWEEN),
    "efa": BetweenCalls("all-reduces of 16 H100 of p5 (KeitaW/p5-nccl-test-2024-07-19, NCCL 2.20.3)", {
        "ll": ((8 * KIB, (13, 6, 20)), (2 * MIB, (52, 26, 80)), (8 * MIB, (83, 41, 125)), (None, (159, 80, 240))),
        "ll128": ((512 * KIB, (22, 11, 50)), (2 * MIB, (45, 22, 67)), (8 * MIB, (83, 41, 125)), (None, (159, 80, 240))),
        "simple": ((None, (159, 80, 240)),),  # not measured: as much as LL128's messages
        "nvls": ((128 * MIB, (102, 50, 150)), (512 * MIB, (21, 10, 100)), (None, (285, 140, 700)))}),
    "ampere": BetweenCalls("all-reduces of 16 A100 (Azure's NDm v4; Crusoe, dstackai/dstack)", {
        "ll": ((512 * KIB, (21, 5, 32)), (2 * MIB, (35, 28, 43)), (None, (64, 52, 76))),
        "ll128": ((512 * KIB, (17, 8, 26)), (2 * MIB, (35, 28, 43)), (None, (64, 52, 76))),
        "simple": ((32 * MIB, (104, 78, 138)), (128 * MIB, (167, 133, 211)), (None, (190, 88, 400)))}),
    "blackwell": BetweenCalls("all-reduces of 16 B200 (Lambda, dstackai/dstack)", {
        "ll": ((None, (18, 12, 24)),),
        "ll128": ((None, (17, 8, 26)),),
        "nvls": ((8 * MIB, (30, 14, 42)), (32 * MIB, (39, 30, 56)), (128 * MIB, (52, 40, 80)), (None, (95, 27, 280)))}, GATHERS_BETWEEN),
    "slingshot": BetweenCalls("all-reduces of 8 GH200 (Santis, NCCL over CXI)", {
        "ll": ((8 * KIB, (0, 0, 5)), (32 * KIB, (17, 8, 65)), (128 * KIB, (41, 20, 90)), (None, (90, 45, 340)))}),
}


def rules_of_band(stack, nodes, choice, after, up_to, why, between=None):
    """One protocol's, above `after` bytes: more where its chunk changes."""
    if choice == "nvls":
        pieces = nvls_pieces(stack, nodes)
        if stack.gpus == 4:  # a part for each GPU's head
            pieces = [(end, dataclasses.replace(rule, protocol=FOUR, orders=rotations(4))) for end, rule in pieces]
    elif choice == "tree-simple":
        pieces = tree_simple_pieces(stack)
    elif choice == "tree-ll128":
        pieces = tree_ll128_pieces(stack, nodes)
    elif choice == "tree-ll":
        name = "tree-ll-two" if nodes == 2 else choice
        pieces = [(None, Rule(name, TREE_LL_SOURCE, chunk_bytes=stack.of_a_queue(32 * KIB)))]
    else:
        pieces = [(None, Rule(choice, why))]
    if between and nodes > 1:
        if choice.startswith("ring"):
            between = between.of_ring(nodes * stack.gpus)
        pieces = between.added(choice, pieces)
    rules = []
    for end, rule in pieces:
        end = earlier(end, up_to)
        if end is not None and end <= after:
            continue
        rules.append(dataclasses.replace(rule, up_to_bytes=end))
        if end == up_to:
            break
    return rules


def rules_up_to(stack, ranks, nodes, found, why=CROSSING, between=None):
    rules, after = [], 0
    for choice, up_to in found:
        for rule in rules_of_band(stack, nodes, choice, after, up_to, why, between):
            rules.append(dataclasses.replace(rule, up_to_ranks=ranks))
        after = up_to
    return rules


def tuned_rules(stack, machine, one_node=None):
    """For 1 to 32 nodes, the last for more. `one_node`: bands that do not come from the estimate, and
    why."""
    rules = []
    counts = (1, 2, 4, 8, 16, 32)
    for nodes in counts:
        ranks = None if nodes == counts[-1] else nodes * machine.gpus
        found, why = bands(machine, nodes), CROSSING
        if nodes == 1 and one_node:
            found, why = one_node
        rules += rules_up_to(stack, ranks, nodes, found, why, stack.between_calls)
    if rules[-1].protocol != "ring-simple":
        rules.append(RING_ASKED_FOR)
    return rules


def of_parts(stack, bands_of, between):
    """Groups with 1, 2, 4 of a node's GPUs on each of several nodes."""
    rules = []
    for part in stack.parts():
        for nodes in NODES:
            why = f"of {part.gpus} of each node's GPUs; {CROSSING}"
            rules += [dataclasses.replace(rule, up_to_ranks=None, from_nodes=2, up_to_nodes=None if nodes == NODES[-1] else nodes,
                                          ranks_per_node=part.gpus, orders=rule.orders or part.orders)
                      for rule in rules_up_to(part, None, nodes, bands_of(part.machine, nodes), why, between)]
    return rules


def call_of(us, fast_us, slow_us, why):
    return assumed(seconds(us), why, seconds(fast_us), seconds(slow_us))


def sends_calls(where, *calls):
    return tuple((up_to, call_of(*us, f"fitted to all-to-alls of this size range on {where}"))
                 for up_to, us in calls)


RING_ASKED_FOR = Rule("ring-simple", "where --algorithm ring is asked for")


# Nodes of eight whose rings of two, four, eight GPUs were measured: GB/s of bus bandwidth and the
# call, us, beside NCCL's steps (None: the launch in its table), by ranks; of allgather and
# reduce-scatter together, and of all-reduce.

@dataclasses.dataclass
class Measured:
    where: str
    link_gbps: float
    gathers: dict
    reduces: dict
    how: str = "2 to 512 MiB"
    spread: tuple = (1.1, 0.9)  # fast and slow, of GB/s
    ll_call: dict = None  # None: the launch in NCCL's table

    def wire(self, gbps, calls, fast=None, slow=None):
        """Wire factor of a bus bandwidth; fast and slow of the same, GB/s."""
        return assumed(round(self.link_gbps / gbps, 3),
                       f"fitted: {gbps:g} GB/s of bus bandwidth, {calls}, {self.how}, on {self.where}",
                       round(self.link_gbps / (fast or self.spread[0] * gbps), 3),
                       round(self.link_gbps / (slow or self.spread[1] * gbps), 3))

    def wires(self):
        return {f"ring-simple-{kind}-{ranks}": self.wire(gbps, f"{calls} of {ranks} GPUs")
                for kind, rates, calls in (
                    ("gather", self.gathers, "allgathers and reduce-scatters"),
                    ("reduce", self.reduces, "all-reduces"))
                for ranks, (gbps, _) in rates.items()}

    def rules(self, kind, ll_up_to, nodes=None):
        """LL up to so many bytes, by ranks, and what was measured; of groups on so many nodes."""
        bends = f"size range: as the times of {self.where} bend"
        found = []
        for ranks, (_, us) in (self.gathers if kind == "gather" else self.reduces).items():
            call = None if us is None else call_of(us, us / 2, 2 * us + 10,
                                                   f"fitted with the rate on {self.where}")
            found += [Rule("ring-ll", bends, ll_up_to(ranks), ranks, nodes,
                           call_overhead_s=self.ll_call),
                      Rule(f"ring-simple-{kind}-{ranks}", bends, None, ranks, nodes,
                           call_overhead_s=call)]
        return found


H100 = ("eight H100 (ai-dynamo/aiconfigurator, systems/data/h100_sxm/comm/nccl/2.29.2, half "
        "precision)")
A100 = ("eight A100 (ai-dynamo/aiconfigurator, systems/data/a100_sxm/comm/nccl/2.27.3, half "
        "precision)")
MEASURED = {
    "hopper": Measured(H100, 370.8, {2: (236, 14), 4: (308, 13), 8: (326, 0)},
                       {2: (300, 13), 4: (344, 4)}),
    "ampere": Measured(A100, 233.3, {2: (154, 26), 4: (192, 31), 8: (200, 15)}, {8: (218, None)},
                       ll_call=call_of(9, 6.6, 12, f"fitted to allgathers of 4 KiB on {A100}")),
    "blackwell": Measured(B200, 721.8, {2: (450, None), 4: (582, None), 8: (634, None)},
                          {2: (553, None), 4: (658, None)},
                          how="the slope from 256 to 512 MiB", spread=(1.05, 0.9)),
}
NVLINK5 = MEASURED["blackwell"].link_gbps
NVLS_GBPS, SEND_GBPS = 756, 550


def gathers_between(stack):
    return GATHERS_BETWEEN if stack.between_calls else None


def gathers_of(stack, machine, of_one_node):
    """In one node as measured, on more as NCCL's estimates are."""
    found = list(of_one_node)
    for nodes in NODES:
        ranks = None if nodes == NODES[-1] else nodes * machine.gpus
        found += rules_up_to(stack, ranks, nodes, gather_bands(machine, nodes), between=gathers_between(stack))
    return [*found, dataclasses.replace(RING_ASKED_FOR, source="rings")]


# Blackwell

# Up to these bytes of 8 GPUs: a loop's, and the call, us.
NVLS_EIGHT = ((2 * MIB, 256 * KIB, (4, 0, 10)), (4 * MIB, 512 * KIB, (20, 10, 35)),
              (16 * MIB, 512 * KIB, (45, 20, 60)), (64 * MIB, MIB, (110, 60, 140)),
              (None, MIB, (80, 50, 120)))


def blackwell_rules(largest):
    """Of all-reduce, and of allgather and reduce-scatter, inside an NVLink domain of as many."""
    measured = MEASURED["blackwell"]
    reduces = measured.rules("reduce", lambda ranks: (ranks + 4) * MIB // 2)
    for up_to, chunk, times in NVLS_EIGHT:
        call = call_of(*times, f"fitted to all-reduces of 8 on {B200}, above the 23 us of NCCL's "
                       "table")
        reduces.append(Rule("nvls-eight", f"{reduces[0].source}; chunk as on eight H100", up_to, 8,
                            chunk_bytes=chunk, call_overhead_s=call))
    gathers = [dataclasses.replace(rule, up_to_ranks=largest) if rule.up_to_ranks == 8 else rule
               for rule in measured.rules("gather", lambda ranks: 4 * MIB, nodes=1)]
    return reduces, gathers


# What NCCL can be told to take, by the names of its tuner's algorithms and protocols

TOLD = "as NCCL_ALGO and NCCL_PROTO force it"


def told_name(protocol, nodes):
    if protocol.startswith("nvls"):
        return "nvls/simple" if nodes == 1 else "nvls_tree/simple"
    algorithm, kind = protocol.split("-")[:2]
    return f"{algorithm}/{kind}"


def told_in_a_node(stack, rules):
    """By name, of one node: the protocols that `rules` have there, for all sizes, and rings of the others."""
    found = {}
    counts = sorted({rule.up_to_ranks for rule in rules if (rule.up_to_ranks or stack.gpus + 1) <= stack.gpus})
    for ranks in counts:
        of_node = [rule for rule in rules if rule.up_to_ranks == ranks]
        by_name = {}
        for rule in of_node:
            by_name.setdefault(told_name(rule.protocol, 1), []).append(rule)
        for protocol in ("ring-ll", "ring-ll128", "ring-simple"):
            if protocol in (*stack.protocols, "ring-simple"):
                by_name.setdefault(told_name(protocol, 1), [Rule(protocol, TOLD, up_to_ranks=ranks)])
        for name, each in by_name.items():
            each[-1] = dataclasses.replace(each[-1], up_to_bytes=None)
            if name == "nvls/simple":
                each = [dataclasses.replace(rule, up_to_ranks=None, ranks_per_node=ranks) for rule in each]
            elif name.startswith("ring"):
                each = each[-1:]
            found.setdefault(name, []).extend(dataclasses.replace(rule, up_to_nodes=1) for rule in each)
    return found


def told_between_nodes(stack, choices, between, ranks_per_node=None):
    """By name, of several nodes; of any number of GPUs on each, or of exactly so many."""
    found = {}
    for choice in choices:
        by_nodes = [[dataclasses.replace(rule, from_nodes=2, up_to_nodes=None if nodes == NODES[-1] else nodes,
                                         ranks_per_node=stack.gpus if choice == "nvls" else ranks_per_node,
                                         orders=rule.orders or (stack.orders if ranks_per_node else None))
                     for rule in rules_of_band(stack, nodes, choice, 0, None, TOLD, between)] for nodes in NODES]
        of_more = by_nodes[-1]
        rules = []
        for of_nodes in by_nodes[:-1]:
            if [dataclasses.replace(rule, up_to_nodes=None) for rule in of_nodes] != of_more:
                rules += of_nodes
        found[told_name(choice, 2)] = rules + of_more
    return found


def chunk_factor(stack, name):
    """A plan's chunk over NCCL's: of trees a queue's over a channel's, of NVLSTree all heads' of a channel. None
    where NCCL has one size alone (LL), or chunks are not what the plan has (rings, NVLS in a node)."""
    factors = {"tree/ll128": stack.of_a_queue(1 << 20) / (1 << 20), "tree/simple": stack.of_a_queue(1 << 20) / (1 << 20),
               "nvls_tree/simple": 8}
    return factors.get(name)


def alternatives(stack, rings, chain):
    """By name, what it does to each operation."""
    if not stack.machine:
        return {}
    choices = stack.machine.choices + (("nvls",) if stack.machine.nvls else ())
    found = {}

    def add(op, by_name):
        for name, rules in by_name.items():
            found.setdefault(name, {}).setdefault(op, []).extend(written(stack, rule) for rule in rules)

    add("all-reduce", told_in_a_node(stack, stack.rules))
    for part in stack.parts():
        of_part = [choice for choice in choices if choice != "nvls" or part.machine.nvls]
        add("all-reduce", told_between_nodes(part, of_part, stack.between_calls, part.gpus))
    add("all-reduce", told_between_nodes(stack, choices, stack.between_calls))
    of_rings = [choice for choice in choices if choice.startswith("ring")]
    for op in ("allgather", "reduce-scatter"):
        if stack.gathers:
            add(op, told_in_a_node(stack, stack.gathers))
            for part in stack.parts():
                add(op, told_between_nodes(part, of_rings, gathers_between(stack), part.gpus))
            add(op, told_between_nodes(stack, of_rings, gathers_between(stack)))
        else:
            found["ring/simple"][op] = [rings]
    for op in ("broadcast", "reduce"):
        found["ring/simple"][op] = [chain]
    def with_factor(name, ops):
        factor = chunk_factor(stack, name)
        return ({"chunk_factor": round(factor, 9)} if factor else {}) | ops

    return {name: with_factor(name, ops) for name, ops in sorted(found.items())}


def preferences(stack, told):
    """By operation: what NCCL prefers of what it can be told, by its own estimates."""
    machine = stack.machine
    rings = tuple(choice for choice in machine.choices if choice.startswith("ring"))
    found = {}
    def add(op, machine, nodes, groups, choices, estimate):
        for order, up_to in orders_by_size(choices, lambda choice, size: estimate(machine, nodes, choice, size)):
            names = [told_name(choice, nodes) for choice in order]
            names = [name for name in names if op in told.get(name, {})]
            band = groups | ({"up_to_bytes": up_to} if up_to else {}) | {"order": " ".join(names)}
            found.setdefault(op, []).append(band)

    for op, choices_of, estimate in (
            ("all-reduce", lambda machine: machine.choices + (("nvls",) if machine.nvls else ()), estimate_us),
            ("allgather", lambda _: rings, gather_estimate_us), ("reduce-scatter", lambda _: rings, gather_estimate_us)):
        for part in stack.parts():
            for nodes in NODES:
                up_to = {"up_to_nodes": nodes} if nodes != NODES[-1] else {}
                add(op, part.machine, nodes, {"from_nodes": 2, **up_to, "ranks_per_node": part.gpus},
                    choices_of(part.machine), estimate)
        for nodes in (1, *NODES):
            ranks = {"up_to_ranks": nodes * machine.gpus} if nodes != NODES[-1] else {}
            add(op, machine, nodes, ranks, choices_of(machine), estimate)
    return found


def shift_rules(stack):
    """Of every rank's send to the next one: by ranks, as channels are, and by bytes, as calls are."""
    rules = []
    for ranks in (2, 4, 8) if node_send_paths(stack) else ():
        for count, most in node_channels(ranks):
            for up_to, call in stack.sends_calls:
                end = earlier(up_to, most)
                rules.append({"up_to_ranks": ranks, "up_to_nodes": 1} | ({"up_to_bytes": end} if end else {}) | {
                    "algorithm": "ring", "protocol": f"send-recv-in-node-{count}", "call_overhead_s": call,
                    "source": f"{count} of {NODE_CHANNELS} channels of two GPUs, of {ranks}: as many as share them out, and "
                              "twice as many as long as a part is above 16 MiB (src/enqueue.cc: calcP2pChannelCount, 32 "
                              "chunks of NCCL_P2P_NVL_CHUNKSIZE)"})
                if end == most:
                    break
    for name, count, ranks in peer_protocols(stack) or [(None, 0, None)]:
        why = "ncclSend to the next rank and ncclRecv from the one before"
        if name:
            why += (f"; {count} channel{'s' * (count > 1)} of two GPUs ({stack.peer_channels[1]}: no more than "
                    f"{stack.peer_channels[0]}, and {PEER_CHANNELS_OF_RANKS} channels times ranks; ncclTopoGetNchannels, "
                    "src/graph/paths.cc)")
        for up_to, call in stack.sends_calls or ((None, None),):
            rules.append(({"up_to_ranks": ranks} if ranks else {}) | ({"up_to_bytes": up_to} if up_to else {}) |
                         {"algorithm": "ring"} | ({"protocol": name} if name else {}) |
                         {"call_overhead_s": call or launch("ring-simple"), "source": why})
    return rules


# Files

def document(stack):
    def ring(source):
        return {"orders": name_of(stack, stack.orders),
                "call_overhead_s": known(8.4e-6, f"launch of a ring, 8.4 us by {TUNING} (baseLat)"),
                "source": source}

    chain = {"algorithm": "chain", "chunk_bytes": 512 * KIB} | ring(
        "NCCL: pipelined around the ring, 512 KiB at a time (src/init.cc: 4 MiB in 8 steps)")
    rings = {"algorithm": "ring"} | ring("NCCL: rings")
    def of_groups(rules, bands_of, between):
        parts = of_parts(stack, bands_of, between) if stack.machine else []
        return [written(stack, rule) for rule in [*parts, *rules]]

    gathers = (of_groups(stack.gathers, gather_bands, gathers_between(stack))
               if stack.gathers else [rings])
    sends = {"protocol": "send-recv"} if stack.sends else {}

    def by_sends(algorithm, source):
        return [({"up_to_bytes": up_to} if up_to else {}) | {"algorithm": algorithm} | sends |
                ({"call_overhead_s": call} if call else {}) | {"source": source}
                for up_to, call in stack.sends_calls or ((None, None),)]

    flat = by_sends("flat", "ncclSend and ncclRecv with the root")
    pairs = by_sends(stack.all_to_all, "ncclSend and ncclRecv between all pairs")
    told = alternatives(stack, rings, chain)
    peers = peer_protocols(stack)
    made = {
        "format": "forescale-stack-1", "name": stack.name, "description": stack.description,
        "channels": 4, "channels_of": "queue", "eager_limit_bytes": 0,
        "latency_holds_ports": False, "progress": "hardware",
        "reduction": {"place": "free", "overlaps_transfer": False,
                      "source": "NCCL's kernels add while they copy: src/device/all_reduce.h"},
        "host_reduction": {"place": "cpu", "overlaps_transfer": False},
        "paths": paths(stack),
        "selection": {"all-reduce": of_groups(stack.rules, bands, stack.between_calls),
                      "broadcast": [chain], "reduce": [chain], "reduce-scatter": gathers,
                      "allgather": gathers, "gather": flat, "scatter": flat,
                      "all-to-all": pairs, "shift": shift_rules(stack)},
        **({"message_protocol": peers[0][0]} if peers else {}),
        **({"alternatives": told, "preferences": preferences(stack, told)} if told else {}),
        "note": "Four messages at a time in each part. Of trees, threads of their own carry what goes up "
                "and what comes down (src/device/all_reduce.h), one chunk after the other on each "
                "connection."}
    for by_op in (made["selection"], *told.values(), made.get("preferences", {})):
        if "allgather" in by_op and by_op["reduce-scatter"] == by_op["allgather"]:
            by_op["reduce-scatter"] = "allgather"
    # What they are before who names them.
    return {key: value for key, value in made.items() if key not in AFTER} | {"orders": stack.named_orders} | {
        key: value for key, value in made.items() if key in AFTER}


AFTER = ("selection", "message_protocol", "alternatives", "preferences", "note")


def is_short(value):
    if "value" in value and ("source" in value or "assumed" in value):
        return True
    return (not any(isinstance(each, (dict, list)) for each in value.values())
            and len(json.dumps(value, ensure_ascii=False)) < 90)


def text(value, depth=0):
    """JSON with a number and its source, or a part's order, on one line."""
    space = "  " * (depth + 1)
    end = "\n" + "  " * depth
    if isinstance(value, dict) and not is_short(value):
        inner = (f"{space}{json.dumps(name)}: {text(each, depth + 1)}"
                 for name, each in value.items())
        return "{\n" + ",\n".join(inner) + end + "}"
    if isinstance(value, list) and not all(isinstance(each, int) for each in value):
        return "[\n" + ",\n".join(space + text(each, depth + 1) for each in value) + end + "]"
    return json.dumps(value, ensure_ascii=False)


def rotations(count):
    return [[(first + i) % count for i in range(count)] for first in range(count)]


def cube_mesh():
    """Of a DGX-1: rings twice over the double links, once over the single ones, both ways."""
    double, single = [0, 3, 2, 1, 5, 6, 7, 4], [0, 1, 3, 7, 5, 4, 6, 2]
    return [double, double, double[::-1], double[::-1], single, single[::-1]]


def even_permutations(count):
    def is_even(order):
        return sum(a > b for a, b in itertools.combinations(order, 2)) % 2 == 0
    return [list(order) for order in itertools.permutations(range(count)) if is_even(order)]


def full_mesh():
    """Of eight GPUs with a link between every two: seven rings that use each link once each way
    (the complete digraph of eight splits so, Tillson 1980), each entered and left by another GPU."""
    return [[0, 1, 2, 3, 4, 5, 6, 7],
            [2, 1, 3, 5, 4, 7, 6, 0], [1, 4, 6, 2, 7, 5, 0, 3],
            [6, 3, 0, 4, 1, 5, 7, 2], [7, 4, 2, 0, 5, 3, 6, 1],
            [3, 7, 1, 0, 6, 5, 2, 4], [4, 0, 7, 3, 2, 5, 1, 6]]


ALL = ["ring-ll", "tree-ll-two", "tree-ll", "tree-ll128", "ring-ll128", "tree-simple"]
SIMPLE_ONLY = ("tree-simple", "ring-simple")


EIGHT_H100 = Machine(8, "hopper", 370, 384, channels=8, node_channels=16, nvls=True)
# Of a message, what the plug-in tells NCCL (aws/aws-ofi-nccl, src/platform-aws.cpp, commit 01666ece).
EFA_LATENCY_US = 75
EIGHT_B200 = Machine(8, "blackwell", NVLINK5, 384, channels=8, node_channels=16, nvls=True)
EFA_V4_LATENCY_US = 35
EIGHT_B200_OF_P6 = dataclasses.replace(EIGHT_B200, network_latency_us=EFA_V4_LATENCY_US)
EFA_NVLS_TREE_MOST = (512 * KIB, "NCCL_NVLSTREE_MAX_CHUNKSIZE as aws-ofi-nccl sets it (pull request 332)")
TREE_PROXY_US = (0.9, 0.3, 1.5, f"of a tree's message at either end: fitted to {AWS_CROSSING}; fast: a third, slow: a small "
                 "message of libfabric over EFA (ofiwg/libfabric, issue 5694)")
NVLS_PROXY_US = (2.45, 1.5, 3.5, f"fitted to {EFA}: 2.45 us of one of NCCL's messages at either end, eight of which are one of "
                 "a plan; fast: 1.5 us each, a small message of libfabric over EFA (ofiwg/libfabric, issue 5694), slow: as much "
                 "more")
P6_NVLS_PROXY_US = (*TREE_PROXY_US[:2], NVLS_PROXY_US[0], "that of p5's low-latency trees: 0.9 us of one of NCCL's messages at "
                    "either end, eight of which are one of a plan; slow: that of p5's NVLSTree with NCCL 2.20")
EIGHT_H100_OF_P5 = dataclasses.replace(EIGHT_H100, network_latency_us=EFA_LATENCY_US)


def stacks():
    def switched(name, description, **more):
        return Stack(name, description, rotations(8), 8, rules=[], **more)

    def mesh(name, description, **more):
        return Stack(name, description, cube_mesh(), 8, rules=[], generation="volta", tree_gbps=120,
                     search_channels=4, by_rail=False, **more)

    a100 = {"generation": "ampere", "tree_gbps": 233.3}
    h100 = {"generation": "hopper", "tree_gbps": 370.8,
            "sends": (assumed(1.236, "fitted: 300 GB/s, all-to-alls of 4 and of 8 GPUs, 2 to 512 MiB, "
                              f"on {H100}", 1.12, 1.37),
                      assumed(658e9, "the channels of a pair of GPUs, both ways together, counted "
                              "with the wire factor: fitted in the same way to an all-to-all of two, "
                              "266 GB/s", 720e9, 590e9)),
            "sends_calls": sends_calls(H100, (64 * KIB, (4, 2, 7)), (None, (10, 6, 20)))}
    hopper, ampere = MEASURED["hopper"], MEASURED["ampere"]

    def eight_h100(name, where, machine, **more):
        stack = switched(
            name, f"NCCL 2.20 on {where}: rings, trees and NVLS with their protocols; parts that use every "
            "adapter.", protocols=[*ALL, "nvls"], own=hopper.wires(),
            nvls=assumed(0.809, "the switches add and copy: a GPU sends (n+1)/n of the vector, 9/8 on "
                         "eight, where the plan sends 2 (n-1)/n, 14/8; the rest is fitted to 256 MiB "
                         f"to 2 GiB on {P5}. NCCL reckons with 5/6 of the links' rate ({TUNING}, ratio "
                         "of NVLS): 0.771, which the rows from 4 GiB on reach", 0.771, 0.83), **h100, **more)
        stack.gathers = gathers_of(stack, machine, hopper.rules("gather", lambda ranks: 2 * MIB, nodes=1))
        stack.rules = hopper.rules("reduce", lambda ranks: MIB) + tuned_rules(
            stack, machine,
            one_node=([("ring-ll", MIB), ("nvls", None)],
                      f"size range: as the rows of {P5} suggest; NCCL's estimates are 28.0 and 26.4 us "
                      f"at 1 MiB and cross after 512 KiB ({TUNING})"))
        stack.machine = machine
        return stack

    yield eight_h100("nccl-2.20-h100", "nodes of eight H100 or H200 with NVSwitch", EIGHT_H100,
                     between_calls=BETWEEN_CALLS["hopper"])
    yield eight_h100(
        "nccl-2.20-h100-efa", "p5, eight H100 with NVSwitch, EFA of the second generation through aws-ofi-nccl",
        EIGHT_H100_OF_P5, between_calls=BETWEEN_CALLS["efa"], nvls_proxy_us=NVLS_PROXY_US, tree_proxy_us=TREE_PROXY_US,
        nvls_tree_most=EFA_NVLS_TREE_MOST)

    stack = switched(
        "nccl-2.20-a100", "NCCL 2.20 on nodes of eight A100 with NVSwitch: rings and trees with "
        "their protocols; parts that use every adapter.", protocols=ALL, between_calls=BETWEEN_CALLS["ampere"],
        own=ampere.wires() | {"ring-simple-few": assumed(
            1.1, "up to four of a node's eight GPUs: rings of fewer channels; fitted, mean "
            f"of log(measured / predicted) of 64 MiB to 1 GiB on four A100 {GALVATRON}", 1, 1.15)},
        sends=(assumed(1.25, "sends and receives get fewer channels than collectives: fitted, mean "
                       "of log(measured / predicted) of 64 MiB to 1 GiB of an all-to-all of four "
                       f"A100 {GALVATRON}", 1, 1.4),
               assumed(393e9, "the channels of a pair of GPUs, both ways together, counted with "
                       "the wire factor: fitted in the same way to an all-to-all of two A100 "
                       f"{GALVATRON}", 466e9, 350e9)),
        sends_calls=sends_calls(A100, (512 * KIB, (10, 7, 14)), (None, (20, 12, 40))),
        ll_step=call_of(0.8, 0.4, 1, "a step takes 1 us, less 0.2 us of the links: fitted to "
                        f"allgathers of 4 KiB on {A100} (0.6 us by {TUNING}, hwLat)"), **a100)
    machine = Machine(8, "ampere", 240, 192, channels=8, node_channels=24)
    stack.gathers = gathers_of(stack, machine, ampere.rules("gather", lambda ranks: 2 * MIB, nodes=1))
    bends = f"size range: as the times of {A100} bend"
    few = [(2, 512 * KIB, (31, 15, 50)), (4, MIB, (25, 12, 45))]
    stack.rules = [rule for ranks, up_to, us in few for rule in (
        Rule("ring-ll", bends, up_to, ranks, call_overhead_s=ampere.ll_call),
        Rule("ring-simple-few", bends, None, ranks, call_overhead_s=call_of(
            *us, f"fitted to all-reduces of {ranks}, 2 to 512 MiB, on {A100}")))]
    stack.rules += tuned_rules(stack, machine, one_node=(
        [("ring-ll", MIB), ("ring-ll128", 4 * MIB), ("ring-simple-reduce-8", None)], bends))
    stack.machine = machine
    yield stack

    stack = mesh(
        "nccl-2.20-v100", "NCCL 2.20 on nodes of eight V100 with NVLink in a hybrid cube mesh: "
        "rings and trees with their protocols along the mesh's rings.", protocols=ALL)
    stack.machine = Machine(8, "volta", 120, 48, channels=4, node_channels=12)
    stack.rules = tuned_rules(stack, stack.machine)
    yield stack

    stack = switched(
        "nccl-2.20-a100-efa", "NCCL 2.20 on p4d and p4de: eight A100 with NVSwitch, EFA through "
        "aws-ofi-nccl, which allows the simple protocol only (force_proto_simple, "
        "aws/aws-ofi-nccl, src/platform-aws.c, commit 008a28b9).",
        protocols=["tree-simple"], flush_us=18, **a100)
    stack.machine = Machine(8, "ampere", 240, 48, channels=4, node_channels=24, network_latency_us=EFA_LATENCY_US,
                            choices=SIMPLE_ONLY)
    stack.rules = tuned_rules(stack, stack.machine)
    yield stack

    stack = switched(
        "nccl-2.20-h100-tcpxo", "NCCL 2.20 on a3-mega: eight H100 with NVSwitch, GPUDirect-TCPXO, "
        "simple protocol only, rings and trees.", protocols=["tree-simple"], flush_us=8,
        buffer=(8 * MIB, "NCCL_BUFFSIZE, GoogleCloudPlatform/cluster-toolkit, examples/machine-learning/"
                "a3-megagpu-8g/nemo-framework/README.md, commit 99ad9cae"), **h100)
    stack.machine = Machine(8, "hopper", 370, 192, channels=8, node_channels=16, network_latency_us=10,
                            choices=SIMPLE_ONLY)
    stack.rules = tuned_rules(stack, stack.machine)
    yield stack

    stack = switched(
        "nccl-2.20-h100-tcpx", "NCCL 2.20 on a3-high: eight H100 with NVSwitch, four adapters with "
        "GPUDirect-TCPX, rings, simple protocol only.", protocols=[], flush_us=234, **h100)
    stack.rules = [Rule("ring-simple", "simple protocol only, as with GPUDirect-TCPXO")]
    yield stack

    stack = mesh(
        "nccl-2.4-v100-efa", "NCCL 2.4.8 on p3dn: eight V100 in a hybrid cube mesh, EFA of the "
        "first generation through aws-ofi-nccl, rings only.", protocols=["ring-ll"], peer_channels=None, flush_us=132,
        flush_why="150 us more for a message through host memory, what the plug-in tells NCCL "
                  "(aws/aws-ofi-nccl, src/platform-aws.cpp, commit 01666ece, latency of "
                  "p3dn.24xlarge), less 18 us of the adapters")
    stack.rules = [
        Rule("ring-ll", "the step between 512 KiB and 1 MiB in the table of AWS (64 bytes a "
             "thread, 512 threads, 16 ranks)", up_to_bytes=512 * KIB),
        Rule("ring-simple", "trees were switched off (NCCL_TREE_THRESHOLD=0)")]
    yield stack

    stack = Stack(
        "nccl-2.20-gh200", "NCCL 2.20 on nodes of four GH200, each with NVLinks to all others: "
        "rings and trees with their protocols; parts that use every link and adapter.",
        even_permutations(4), 4, ["ring-ll", "tree-ll-two", "tree-ll", "tree-simple"], rules=[],
        generation="hopper", tree_gbps=247, ring_gbps=370.8, search_channels=4, between_calls=BETWEEN_CALLS["slingshot"])
    stack.machine = Machine(4, "hopper", 360, 96, channels=4, node_channels=16,
                            choices=("tree-ll", "tree-simple", "ring-simple"))
    stack.rules = tuned_rules(
        stack, stack.machine,
        one_node=([("ring-ll", MIB), ("ring-simple", None)],
                  "size range assumed: that of one node of H100"))
    yield stack

    blackwell = MEASURED["blackwell"]
    nvls = blackwell.wire(NVLS_GBPS, "all-reduces of 8", 800, 680)
    blackwell = {"generation": "blackwell", "tree_gbps": NVLINK5, "peer_channels": peer_channels_2_29(4, 50),
                 "own": blackwell.wires() | {"nvls-eight": nvls},
                 "sends": (
                     blackwell.wire(SEND_GBPS, "all-to-alls of 4 and 8", 640, 480),
                     assumed(910e9, "the channels of a pair of GPUs, both ways together, counted "
                             "with the wire factor: fitted, the slope from 256 to 512 MiB of "
                             f"all-to-alls of 2 on {B200}", 980e9, 820e9)),
                 "sends_calls": sends_calls(B200, (32 * KIB, (7, 4, 10)), (None, (12, 8, 20))),
                 "ll_step": call_of(1.4, 0.4, 1.8, "a step takes 1.6 us, less 0.2 us of the links: "
                                    f"fitted to allgathers of 4 KiB on {B200} (0.6 us by "
                                    f"{TUNING}, hwLat)")}
    def eight_blackwell(name, where, network, **more):
        stack = switched(f"nccl-2.29-{name}", f"NCCL 2.29 on {where}: rings, trees and NVLS with their protocols.",
                         protocols=[*ALL, "nvls"], nvls=nvls,
                         **{"between_calls": BETWEEN_CALLS["blackwell"]} | blackwell | more)
        reduces, gathers = blackwell_rules(8)
        machine = EIGHT_B200_OF_P6 if stack.tree_proxy_us else dataclasses.replace(EIGHT_B200, network_gbps=network)
        stack.rules = [*reduces, *(rule for rule in tuned_rules(stack, machine)
                                   if rule.up_to_ranks != 8)]
        stack.gathers = gathers_of(stack, machine, gathers)
        stack.machine = machine
        return stack

    yield eight_blackwell("b200", "nodes of eight B200 with NVSwitch and eight NDR adapters", 384)
    yield eight_blackwell("b300", "nodes of eight B300 with NVSwitch and eight 800G adapters", 768,
                          peer_channels=peer_channels_2_29(8, 100))
    yield eight_blackwell("b200-efa", "p6-b200, eight B200 with NVSwitch, EFA of the fourth generation through aws-ofi-nccl",
                          384, between_calls=BETWEEN_CALLS["efa"], nvls_proxy_us=P6_NVLS_PROXY_US, tree_proxy_us=TREE_PROXY_US,
                          nvls_tree_most=EFA_NVLS_TREE_MOST,
                          buffer=(8 * MIB, "NCCL_BUFFSIZE as aws-ofi-nccl sets it, src/platform-aws.cpp, commit 01666ece"))

    stack = Stack(
        "nccl-gb200-nvl72", "NCCL on racks of 72 Blackwell GPUs of one NVLink domain, and between "
        "racks: NVLS inside a rack, rings and trees between.",
        [rotations(72)[9 * i // 2] for i in range(16)], 72, ["ring-ll", "tree-ll", "nvls"],
        rules=[], nvls=assumed(0.842, "the switches add and copy: a GPU sends (n+1)/n of the vector, 73/72 "
                     "on 72, where the plan sends 2 (n-1)/n, 142/72; the rest is fitted to 8 GiB "
                     f"on {NVL72}: 20.3 ms", 0.78, 0.92), **blackwell)
    reduces, stack.gathers = blackwell_rules(72)
    whole_rack = "NVLS over more than eight of a rack; chunk assumed: a few of each part"
    for ranks in (16, 32, 64, 72):
        for up_to, chunk, share in ((ranks * MIB // 4, 256 * KIB, 0), (ranks * MIB, MIB // 2, 0.25),
                                    (4 * ranks * MIB, MIB, 0.6), (GIB, MIB, 1), (None, 4 * MIB, 1)):
            us = max(25, round(480 * ranks / 72 * share))
            call = call_of(us, us // 2, round(1.6 * us), "fitted to 512 MiB on 72 GPUs of "
                           f"{NVL72}, 1.81 ms: 480 us; of fewer GPUs and bytes less, assumed, as on "
                           f"{B200}")
            reduces.append(Rule("nvls", whole_rack, up_to, ranks, chunk_bytes=chunk,
                                call_overhead_s=call, orders=rotations(72)[:ranks]))
    of_a_rack = next(rule for rule in reduces if rule.up_to_ranks == 72)
    between = ("between whole racks, assumed: NVLS in them and a tree between, in the sizes in which "
               "the H100 stack has trees; chunks as in one rack")
    trees = [dataclasses.replace(of_a_rack, source=between, up_to_bytes=up_to, up_to_ranks=None,
                                 ranks_per_node=72, chunk_bytes=chunk)
             for up_to, chunk in ((72 * MIB, 256 * KIB), (GIB, MIB), (4 * GIB, 4 * MIB))]
    stack.rules = [
        *(dataclasses.replace(rule, up_to_nodes=1) for rule in reduces),
        Rule("tree-ll", "between racks, size range assumed: small ones go by trees", MIB,
             chunk_bytes=16 * KIB),
        *trees, Rule("ring-simple", "between racks, assumed: rings of what is left")]
    stack.gathers.append(dataclasses.replace(RING_ASKED_FOR, source="rings"))
    yield stack

    stack = Stack(
        "rccl-2.22-mi300x", "RCCL 2.22 on nodes of eight MI300X with an xGMI link between every "
        "two: rings along all of them, low-latency and simple protocol.", full_mesh(), 8,
        ["ring-ll"], rules=[], peer_channels=None, by_rail=False, generation="cdna3", tree_gbps=319, all_to_all="linear",
        ll_wire=assumed(1.55, "fitted: 206 GB/s of bus bandwidth beside NCCL's steps, all-reduces "
                        f"of 1 and 4 MiB on {MI300X}", 1.35, 2))
    stack.rules = [Rule("ring-ll", f"size range: as the times of {MI300X} bend", 8 * MIB, 8),
                   Rule("ring-simple", f"latency as in NCCL's table, which the rows from 16 MiB on of "
                        f"{MI300X} follow", None, 8),
                   Rule("ring-ll", "between nodes, size range assumed: that of NCCL on two nodes "
                        "of H100", 512 * KIB),
                   Rule("ring-simple", "between nodes, assumed: rings; trees are not modelled")]
    stack.gathers = [Rule("ring-ll", "size range assumed: half the bytes of an all-reduce pass",
                          4 * MIB, 8),
                     Rule("ring-simple", "as all-reduce", None, 8), *stack.rules[2:]]
    yield stack


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    differ = []
    for stack in stacks():
        file = HERE / f"{stack.name}.json"
        made = text(document(stack)) + "\n"
        if not sys.argv[1:]:
            file.write_text(made, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != made:
            differ.append(file.name)
    if differ:
        sys.exit(f"not what rebuild_nccl.py makes: {', '.join(differ)}")


if __name__ == "__main__":
    main()
