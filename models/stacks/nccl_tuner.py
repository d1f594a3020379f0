"""NCCL 2.20's estimates of an all-reduce and an allgather, by which it takes an algorithm and a
protocol.

Source: NVIDIA/nccl v2.20, src/graph/tuning.cc, commit b6475625; exceptions are said where they are.
Estimates are of the size and the machine alone: they choose, what a collective takes is simulated.
"""
import dataclasses
import math

# Launch, us (baseLat), and a step inside a node and between nodes, us (hwLat). Tree Simple: later
# releases, those with entries for Blackwell; 28 us a step until 2.20, a chunk's time included.
LAUNCH_US = {"tree-ll": 6.8, "tree-ll128": 14.0, "tree-simple": 8.4,
             "ring-ll": 6.6, "ring-ll128": 14.0, "ring-simple": 8.4}
NODE_STEP_US = {"tree-ll": 0.6, "tree-ll128": 1.25, "tree-simple": 4.0,
                "ring-ll": 0.6, "ring-ll128": 1.9, "ring-simple": 3.4, "nvls": 11.5}
NETWORK_STEP_US = {"tree-ll": 5.0, "tree-ll128": 8.5, "tree-simple": 14.0,
                   "ring-ll": 2.7, "ring-ll128": 4.0, "ring-simple": 14.0, "nvls": 14.0, "pat": 14.0}

# GB/s of bus bandwidth that LL reaches at most on one, two and more nodes (llMaxBws; one node: of
# later releases; Intel processors), and that a channel reaches (perChMax...).
LL_MOST = {"volta": (39, 39, 20.4), "ampere": (87.7, 39, 20.4), "hopper": (141, 39, 20.4),
           "blackwell": (282, 39, 20.4)}
RING_LL128_CHANNEL = {"volta": 20, "ampere": 20, "hopper": 36.7, "blackwell": 73.4}
TREE_LL128_CHANNEL = {"volta": (20, 20, 20), "ampere": (20, 20, 20), "hopper": (36.7, 36.7, 29),
                      "blackwell": (73.4, 73.4, 20)}
TREE_CHANNEL = {"volta": (26.5, 18.5, 10), "ampere": (24, 23.6, 17.8), "hopper": (38.7, 41.4, 36),
                "blackwell": (77.4, 82.8, 24)}
# Of NVLSTree on four nodes and more, both ways together. Blackwell's of trees and NVLSTree there are those of NCCL 2.28 and later,
# until NVLSTree's became 80 (by 2.30.7); its choices on up to 64 nodes with 2.29.7 confirm them (open-nccl-scaling). On one and two
# nodes they are those of the releases before, as tables of two nodes are.
NVLS_TREE_CHANNEL = {"blackwell": 43.8}
# By log2(bytes / 64), of a tree's bandwidth (treeCorrectionFactor).
TREE_CORRECTION = {
    "ll": (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1),
    "ll128": (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1),
    "simple": (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8,
               .9, .9)}
# Parallel aggregated trees, as NCCL reckons (src/tuning/pat.cc, commit 12df1a11; before that src/graph/tuning.cc): launch, a step between nodes over this number, more
# for each rank, and the share of a ring's bandwidth.
PAT_US, PAT_STEPS, PAT_RANK_US, PAT_SHARE = 8.0, 3.5, 2.8, 0.75
# CollNet (SHARP): a step inside a node, between nodes all at once; a leaf's turn where all send to each other; what a direct exchange
# has of the bandwidth from Hopper on. It goes up and down a node's links, half of what they carry.
COLLNET_US = {"collnet-chain": (2.8, 30), "collnet-direct": (3.7, 31)}
COLLNET_TURN_US = 0.4
COLLNET_DIRECT_SHARE = 0.85
NVLS_US = 23  # a reduction by the switches
NVLS_SHARE = 5 / 6  # of the links' rate
# Of Blackwell as NCCL 2.29 reckons (src/tuning/nvls.cc: nvlsEfficiency, and all channels but one; between two nodes
# both directions count).
NVLS_BLACKWELL = 0.74
NVLS_BLACKWELL_US = (25, 20.9)  # a reduction by the switches, and NVLSTree's step between nodes (src/graph/tuning.cc, 2.28 and later)


@dataclasses.dataclass
class Machine:
    gpus: int  # of a node
    generation: str
    node_gbps: float  # what a ring carries inside a node, GB/s
    network_gbps: float  # and between nodes
    channels: int
    node_channels: int  # on one node
    network_latency_us: float = 0
    choices: tuple = tuple(LAUNCH_US)
    nvls: bool = False
    pat: bool = False  # from NCCL 2.23 on
    collnet: bool = False  # InfiniBand, whose switches can add

    def doubles_channels(self):
        """Where a search channel of a group with fewer GPUs a node carries more than 45 GB/s, from Hopper on."""
        return self.generation in ("hopper", "blackwell") and self.network_gbps / self.channels > 45

    def part(self, gpus):
        """With so many of each node's GPUs in a group: NCCL's search finds rings through the adapters of these alone,
        and as wide each (assumed); reductions by the switches take more than two GPUs (ncclNvlsInit, src/transport/nvls.cc).
        """
        share = gpus / self.gpus
        return dataclasses.replace(self, gpus=gpus, node_gbps=self.node_gbps * share, network_gbps=self.network_gbps * share,
                                   channels=max(1, int(self.channels * share)), nvls=self.nvls and gpus > 2,
                                   collnet=False)

    def of_all_reduces(self):
        """What it chooses of."""
        return self.choices + (("nvls",) if self.nvls else ())


def bus_gbps(machine, nodes, algorithm, protocol):
    """Bandwidth that NCCL reckons with, as nccl-tests counts it for a ring."""
    more = min(nodes - 1, 2)
    channels = machine.node_channels if nodes == 1 else machine.channels
    bus = machine.node_gbps
    # NCCL's search gives two nodes rings as wide as the node, but rings cross the adapters.
    if nodes > 2 or (nodes == 2 and algorithm == "ring"):
        bus = min(bus, machine.network_gbps)
    most = LL_MOST[machine.generation][more]
    if algorithm == "ring":
        if protocol == "ll":
            return min(bus / 2, most)
        if protocol == "ll128":
            of_link = 0.92 if machine.gpus > 1 else 0.7  # one GPU sends and receives through the adapter
            return min(bus * of_link, channels * RING_LL128_CHANNEL[machine.generation])
        return bus
    bus = min(bus * 0.92, channels * TREE_CHANNEL[machine.generation][more])
    chain = 1 if machine.gpus > 1 else 0.85  # one GPU has both ends of a node's chain (NCCL_TOPO_PATTERN_TREE)
    if protocol == "ll":
        return min(bus / 3.8, most) * chain
    if protocol == "ll128":
        return min(bus * (7 / 9 if nodes == 1 else 120 / 128),
                   channels * TREE_LL128_CHANNEL[machine.generation][more]) * chain
    return bus * chain


def ring_latency_us(machine, nodes, protocol, size):
    ring = f"ring-{protocol}"
    ranks = nodes * machine.gpus
    simple = protocol == "simple"
    node_us = NODE_STEP_US[ring]
    network_us = NETWORK_STEP_US[ring] + machine.network_latency_us * (2 if simple else 1)
    between = 2 * nodes if nodes > 1 else 0
    if between:
        node_us = max(node_us, 3 if simple else 1)
    latency = LAUNCH_US[ring] + (2 * (ranks - 1) - between) * node_us + between * network_us
    channels = machine.node_channels if nodes == 1 else machine.channels
    if simple and between and size / (channels * ranks) >= 64:
        latency *= 1.9 if machine.generation == "volta" else 1.4
    return latency


def tree_latency_us(machine, nodes, protocol):
    tree = f"tree-{protocol}"
    network_us = NETWORK_STEP_US[tree]
    network_us += machine.network_latency_us * (2 if protocol == "simple" else 1)
    inside = (machine.gpus - 1) * NODE_STEP_US[tree]
    return LAUNCH_US[tree] + 2 * (inside + int(math.log2(nodes)) * network_us)


def nvls_gbps(machine, nodes):
    """Bytes of an all-reduce a second, GB/s."""
    between = machine.network_gbps / (1 if nodes == 2 else 2) if nodes > 1 else math.inf
    if nodes > 2 and machine.generation in NVLS_TREE_CHANNEL:
        between = min(between, machine.channels * NVLS_TREE_CHANNEL[machine.generation] / 2)
    if machine.generation == "blackwell":
        share = NVLS_BLACKWELL * (machine.node_channels - 1) / machine.node_channels
        return min(machine.node_gbps * share, between)
    return min(machine.node_gbps, between) * NVLS_SHARE


def collnet_us(machine, choice, size):
    node_us, network_us = COLLNET_US[choice]
    others, gbps = machine.gpus - 1, machine.node_gbps / 2
    inside = others * node_us
    if choice == "collnet-direct":
        inside = node_us + others * COLLNET_TURN_US
        gbps *= COLLNET_DIRECT_SHARE if machine.generation in ("hopper", "blackwell") else 1
    return network_us + 2 * inside + size / gbps / 1e3


def estimate_us(machine, nodes, choice, size):
    """Of an all-reduce of `size` bytes by `choice`, as "tree-ll128"."""
    if choice in COLLNET_US:
        return collnet_us(machine, choice, size)
    levels = int(math.log2(nodes))
    if choice == "nvls":
        later = machine.generation == "blackwell" and nodes > 2
        node_us, network_us = NVLS_BLACKWELL_US if later else (NVLS_US, NETWORK_STEP_US["nvls"])
        latency = node_us + 2 * levels * (network_us + 2 * machine.network_latency_us)
        return latency + size / nvls_gbps(machine, nodes) / 1e3
    algorithm, protocol = choice.split("-")
    bus = bus_gbps(machine, nodes, algorithm, protocol)
    if algorithm == "ring":
        ranks = nodes * machine.gpus
        rate = bus * ranks / (2 * (ranks - 1))
        return ring_latency_us(machine, nodes, protocol, size) + size / rate / 1e3
    step = int(math.log2(max(size // 64, 1)))
    correction = TREE_CORRECTION[protocol][step] if step < len(TREE_CORRECTION[protocol]) else 1
    return tree_latency_us(machine, nodes, protocol) + size / (bus / 2 * correction) / 1e3


def pat_step_us(machine):
    return (NETWORK_STEP_US["pat"] + machine.network_latency_us) / PAT_STEPS


def gather_estimate_us(machine, nodes, choice, size):
    """Of an allgather or a reduce-scatter of `size` bytes in all, by a ring, as "ring-ll", or by "pat"."""
    ranks = nodes * machine.gpus
    if choice == "pat":
        latency = PAT_US + int(math.log2(nodes)) * pat_step_us(machine) + ranks * PAT_RANK_US
        return latency + size / (machine.network_gbps * PAT_SHARE) / 1e3
    protocol = choice.split("-")[1]
    node_us, network_us = NODE_STEP_US[choice], NETWORK_STEP_US[choice]
    network_us += machine.network_latency_us * (2 if protocol == "simple" else 1)
    if nodes > 1:
        node_us = max(node_us, 3 if protocol == "simple" else 1)
    between = nodes - 1
    latency = LAUNCH_US[choice] + (ranks - 1 - between) * node_us + between * network_us
    rate = bus_gbps(machine, nodes, "ring", protocol) * ranks / (ranks - 1)
    return latency + size / rate / 1e3


def gather_choices(machine):
    rings = tuple(each for each in machine.choices if each.startswith("ring"))
    return rings + (("pat",) if machine.pat and machine.gpus == 1 else ())


def gather_bands(machine, nodes):
    """As bands(), of allgather and reduce-scatter."""
    choices = gather_choices(machine)
    return best_by_size(choices, lambda choice, size: gather_estimate_us(machine, nodes, choice, size))


def bands(machine, nodes):
    """(choice, its last size in bytes) by size, 8 B to 16 GiB by doublings; the last has None."""
    return best_by_size(machine.of_all_reduces(), lambda choice, size: estimate_us(machine, nodes, choice, size))


SIZES = [1 << exponent for exponent in range(3, 35)]


def best_by_size(choices, estimate):
    """(the fastest, its last size in bytes) by size, 8 B to 16 GiB by doublings; the last has None."""
    return merged((min(choices, key=lambda choice: estimate(choice, size)), size) for size in SIZES)


def orders_by_size(choices, estimate):
    """The same of all choices, the fastest first."""
    return merged((sorted(choices, key=lambda choice: estimate(choice, size)), size) for size in SIZES)


def merged(by_size):
    """(choice, size) with one entry, the last, for sizes in a row of the same choice."""
    found = []
    for best, size in by_size:
        if found and found[-1][0] == best:
            found[-1] = (best, size)
        else:
            found.append((best, size))
    found[-1] = (found[-1][0], None)
    return found
