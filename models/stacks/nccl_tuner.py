"""NCCL's estimates of an all-reduce and an allgather, by which a release takes an algorithm and a protocol.

Source: NVIDIA/nccl, src/graph/tuning.cc, at the commits of RELEASES. Estimates are of the size and the machine alone:
they choose, what a collective takes is simulated.
"""
import dataclasses
import math

# Launch, us (baseLat), and a step inside a node and between nodes, us (hwLat), from 2.23 on; what releases before have
# otherwise is in RELEASES.
LAUNCH_US = {"tree-ll": 6.8, "tree-ll128": 14.0, "tree-simple": 8.4,
             "ring-ll": 6.6, "ring-ll128": 14.0, "ring-simple": 8.4}
NODE_STEP_US = {"tree-ll": 0.6, "tree-ll128": 1.25, "tree-simple": 4.0,
                "ring-ll": 0.6, "ring-ll128": 1.9, "ring-simple": 3.4, "nvls": 11.5}
NETWORK_STEP_US = {"tree-ll": 5.0, "tree-ll128": 8.5, "tree-simple": 14.0,
                   "ring-ll": 2.7, "ring-ll128": 4.0, "ring-simple": 14.0, "nvls": 14.0, "pat": 14.0}

# GB/s of bus bandwidth that LL reaches at most (llMaxBws): inside a node by the GPU, on two and more nodes by the processor.
LL_NODE_MOST = {"volta": 39, "ampere": 87.7, "hopper": 141, "blackwell": 282}
LL_NETWORK_MOST = {"intel": (39, 20.4), "amd": (22.5, 19)}
# What a step of a ring between nodes costs the processor at least, us (getNetOverhead); by the simple protocol three times.
NETWORK_OVERHEAD_US = {"intel": 1, "amd": 2}
# GB/s that a channel reaches on one, two and more nodes (perChMax...).
RING_LL128_CHANNEL = {"volta": 20, "ampere": 20, "hopper": 36.7, "blackwell": 73.4}
TREE_LL128_CHANNEL = {"volta": (20, 20, 20), "ampere": (20, 20, 20), "hopper": (36.7, 36.7, 29),
                      "blackwell": (73.4, 73.4, 58)}
TREE_CHANNEL = {"volta": (26.5, 18.5, 10), "ampere": (24, 23.6, 17.8), "hopper": (38.7, 41.4, 36),
                "blackwell": (77.4, 82.8, 72)}


@dataclasses.dataclass(frozen=True)
class Release:
    """What a release reckons with otherwise than the ones after or before it."""
    first: str  # that has it
    last: str
    source: str  # which src/graph/tuning.cc of NVIDIA/nccl
    tree_simple_us: tuple = (8.4, 4.0, 14.0)  # launch, a step inside a node and between nodes; 28: a chunk's time included
    ring_ll_share: float = 0.5  # of a ring's bandwidth that LL has
    ll_of_hopper: float = 141  # GB/s inside a node
    nvls_us: float = 25  # a reduction by the switches
    nvls_network_us: float = 14  # NVLSTree's step between nodes
    nvls: str = "halved"  # how NVLSTree's bandwidth is reckoned: see nvls_gbps
    # With one GPU a node nothing hides a ring's steps between nodes, so they take a tree's time, and LL128 has a full share.
    exposes_lone: bool = True
    pat: bool = True
    # Of Blackwell, GB/s a channel: trees by LL128 and the simple protocol on four nodes and more, NVLSTree there.
    blackwell: tuple = None
    corrects_nvls: bool = False  # NVLSTree of Blackwell by the factors of trees, where processors are x86
    wide_sends: bool = False  # between nodes on as many channels as an adapter needs, before on two


LATER_COPY = ("a copy of that file that does not say its release (formulas, Hopper; Blackwell at 80 GB/s a channel), and the file of 2.28 for "
              "Blackwell's 43.8")
RELEASES = [
    Release("2.18", "2.18", "2.18.3, commit ea383122", ring_ll_share=0.25, ll_of_hopper=87.7, tree_simple_us=(0, 4.0, 14.0),
            nvls_us=23, nvls_network_us=19, nvls="hops", exposes_lone=False, pat=False),
    Release("2.20", "2.20", "2.20.3, commit b6475625", ring_ll_share=0.25, ll_of_hopper=87.7, tree_simple_us=(0, 28.0, 28.0),
            nvls_us=23, exposes_lone=False, pat=False),
    Release("2.21", "2.22", "2.21.5 and 2.22.3, commits ab2b89c4 and 178b6b75", tree_simple_us=(0, 28.0, 28.0), exposes_lone=False,
            pat=False),
    Release("2.23", "2.27", "2.25.1, commit 80f6bda4, and the same at 72d24320; 2.23 and 2.24 not read"),
    Release("2.28", "2.28", LATER_COPY, nvls="capped", nvls_network_us=20.9, blackwell=(20, 24, 43.8)),
    Release("2.29", "2.29", LATER_COPY, nvls="capped", nvls_network_us=20.9, blackwell=(20, 24, 43.8), wide_sends=True),
    Release("2.30", "2.30", "a copy of that file that does not say its release, and 2.30.7 for Blackwell's 80 GB/s", nvls="capped", nvls_network_us=20.9, blackwell=(20, 24, 80), corrects_nvls=True,
            wide_sends=True),
]
RELEASE = {release.first: release for release in RELEASES}
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
NVLS_SHARE = 5 / 6  # of the links' rate, up to 2.27
# From 2.28 on, of what a node's links carry one way (nvlsEfficiency), by all channels but one.
NVLS_EFFICIENCY = {"hopper": 0.85, "blackwell": 0.74}
# Of NVLSTree on a channel from 2.28 on, GB/s of bus bandwidth: two nodes, more.
NVLS_TREE_CHANNEL = {"hopper": (57.7, 45.5), "blackwell": (96, 43.8)}
# Of estimates so near to each other that of NVLS is the one taken: for 512 KiB on 16 H100, NCCL 2.26.2, they are 54.7 us, and 54.5 of
# trees by LL128, and the time is not theirs (XE9680, NVIDIA/nccl-tests issue 309).
NVLS_TIE = 0.01
RING_LL128_OF_BLACKWELL = 40  # a channel, from 2.28 on, on four nodes and more


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
    collnet: bool = False  # InfiniBand, whose switches can add
    cpu: str = "intel"  # "amd" is told apart by NCCL, others are as Intel's
    release: Release = RELEASE["2.23"]


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


# On one and two nodes of Blackwell, whatever the release: with its constants rows of two nodes are 40 to 60 % off at 256 KiB or
# 1 MiB, or twice as long from 1 GiB on, which trees would take (docs/nccl.md).
FEW_OF_BLACKWELL = dataclasses.replace(RELEASE["2.23"], nvls_us=23, nvls="capped")


def release_for(machine, nodes):
    return FEW_OF_BLACKWELL if machine.generation == "blackwell" and nodes <= 2 else machine.release


def tree_channel_gbps(machine, nodes, protocol):
    of_blackwell = release_for(machine, nodes).blackwell if machine.generation == "blackwell" else None
    if of_blackwell:
        return of_blackwell[0 if protocol == "ll128" else 1]
    return (TREE_LL128_CHANNEL if protocol == "ll128" else TREE_CHANNEL)[machine.generation][min(nodes, 3) - 1]


def ring_ll128_channel_gbps(machine, nodes):
    later = machine.generation == "blackwell" and release_for(machine, nodes).blackwell
    return RING_LL128_OF_BLACKWELL if later else RING_LL128_CHANNEL[machine.generation]


def ll_gbps(machine, nodes):
    """Bus bandwidth that LL reaches at most."""
    if nodes > 1:
        return LL_NETWORK_MOST[machine.cpu][min(nodes, 3) - 2]
    return machine.release.ll_of_hopper if machine.generation == "hopper" else LL_NODE_MOST[machine.generation]


def bus_gbps(machine, nodes, algorithm, protocol):
    """Bandwidth that NCCL reckons with, as nccl-tests counts it for a ring."""
    channels = machine.node_channels if nodes == 1 else machine.channels
    bus = machine.node_gbps
    # NCCL's search gives two nodes rings as wide as the node, but rings cross the adapters.
    if nodes > 2 or (nodes == 2 and algorithm == "ring"):
        bus = min(bus, machine.network_gbps)
    if algorithm == "ring":
        if protocol == "ll":
            return min(bus * machine.release.ring_ll_share, ll_gbps(machine, nodes))
        if protocol == "ll128":
            # One GPU sends and receives through the adapter.
            of_link = 0.92 if machine.gpus > 1 or machine.release.exposes_lone else 0.7
            return min(bus * of_link, channels * ring_ll128_channel_gbps(machine, nodes))
        return bus
    bus = min(bus * 0.92, channels * tree_channel_gbps(machine, nodes, "simple"))
    chain = 1 if machine.gpus > 1 else 0.85  # one GPU has both ends of a node's chain (NCCL_TOPO_PATTERN_TREE)
    if protocol == "ll":
        return min(bus / 3.8, ll_gbps(machine, nodes)) * chain
    if protocol == "ll128":
        return min(bus * (7 / 9 if nodes == 1 else 120 / 128),
                   channels * tree_channel_gbps(machine, nodes, "ll128")) * chain
    return bus * chain


def ring_network_us(machine, protocol):
    """A ring's step between nodes."""
    lone = machine.gpus == 1 and machine.release.exposes_lone
    step = NETWORK_STEP_US[f"{'tree' if lone else 'ring'}-{protocol}"]
    return step + machine.network_latency_us * (2 if protocol == "simple" else 1)


def ring_node_us(machine, nodes, protocol):
    """A ring's step inside a node, or what its sends between nodes keep the processor."""
    overhead_us = NETWORK_OVERHEAD_US[machine.cpu] * (3 if protocol == "simple" else 1) if nodes > 1 else 0
    return max(NODE_STEP_US[f"ring-{protocol}"], overhead_us)


def ring_latency_us(machine, nodes, protocol, size):
    ranks = nodes * machine.gpus
    between = 2 * (nodes - machine.release.exposes_lone) if nodes > 1 else 0
    latency = (LAUNCH_US[f"ring-{protocol}"] + (2 * (ranks - 1) - between) * ring_node_us(machine, nodes, protocol)
               + between * ring_network_us(machine, protocol))
    channels = machine.node_channels if nodes == 1 else machine.channels
    if protocol == "simple" and between and size / (channels * ranks) >= 64:
        latency *= 1.9 if machine.generation == "volta" else 1.4
    return latency


def tree_latency_us(machine, nodes, protocol):
    tree = f"tree-{protocol}"
    steps = LAUNCH_US[tree], NODE_STEP_US[tree], NETWORK_STEP_US[tree]
    launch_us, node_us, network_us = machine.release.tree_simple_us if protocol == "simple" else steps
    network_us += machine.network_latency_us * (2 if protocol == "simple" else 1)
    return launch_us + 2 * ((machine.gpus - 1) * node_us + int(math.log2(nodes)) * network_us)


def nvls_gbps(machine, nodes):
    """Bytes of an all-reduce a second, GB/s."""
    release = release_for(machine, nodes)
    if release.nvls == "capped":
        both_ways = 2 * machine.node_gbps * NVLS_EFFICIENCY[machine.generation] * (machine.node_channels - 1) / machine.node_channels
        if nodes > 1:
            of_channel = NVLS_TREE_CHANNEL[machine.generation][min(nodes, 3) - 2]
            if nodes > 2 and machine.generation == "blackwell":
                of_channel = release.blackwell[2]
            both_ways = min(both_ways, machine.network_gbps * (2 if nodes == 2 else 1), machine.channels * of_channel)
        ranks = nodes * machine.gpus
        return both_ways * ranks / (2 * (ranks - 1))
    if release.nvls == "hops" and nodes > 1:
        return machine.network_gbps * 0.7 * nodes / (2 * (nodes - 1))
    between = machine.network_gbps / (1 if nodes == 2 else 2) if nodes > 1 else math.inf
    return min(machine.node_gbps, between) * NVLS_SHARE


def nvls_latency_us(machine, nodes):
    release = release_for(machine, nodes)
    if release.nvls == "hops":
        return release.nvls_us + 2 * (nodes - 1) * release.nvls_network_us
    hop_us = release.nvls_network_us + 2 * machine.network_latency_us
    return release.nvls_us + 2 * int(math.log2(nodes)) * hop_us


def collnet_us(machine, choice, size):
    node_us, network_us = COLLNET_US[choice]
    others, gbps = machine.gpus - 1, machine.node_gbps / 2
    inside = others * node_us
    if choice == "collnet-direct":
        inside = node_us + others * COLLNET_TURN_US
        gbps *= COLLNET_DIRECT_SHARE if machine.generation in ("hopper", "blackwell") else 1
    return network_us + 2 * inside + size / gbps / 1e3


def correction(protocol, step):
    return TREE_CORRECTION[protocol][step] if step < len(TREE_CORRECTION[protocol]) else 1


def estimate_us(machine, nodes, choice, size):
    """Of an all-reduce of `size` bytes by `choice`, as "tree-ll128"."""
    if choice in COLLNET_US:
        return collnet_us(machine, choice, size)
    step = int(math.log2(max(size // 64, 1)))
    if choice == "nvls":
        corrects = machine.generation == "blackwell" and release_for(machine, nodes).corrects_nvls
        gbps = nvls_gbps(machine, nodes) * (correction("simple", step) if corrects else 1)
        return (nvls_latency_us(machine, nodes) + size / gbps / 1e3) * (1 - NVLS_TIE)
    algorithm, protocol = choice.split("-")
    bus = bus_gbps(machine, nodes, algorithm, protocol)
    if algorithm == "ring":
        ranks = nodes * machine.gpus
        rate = bus * ranks / (2 * (ranks - 1))
        return ring_latency_us(machine, nodes, protocol, size) + size / rate / 1e3
    return tree_latency_us(machine, nodes, protocol) + size / (bus / 2 * correction(protocol, step)) / 1e3


def pat_step_us(machine):
    return (NETWORK_STEP_US["pat"] + machine.network_latency_us) / PAT_STEPS


def gather_estimate_us(machine, nodes, choice, size):
    """Of an allgather or a reduce-scatter of `size` bytes in all, by a ring, as "ring-ll", or by "pat"."""
    ranks = nodes * machine.gpus
    if choice == "pat":
        latency = PAT_US + int(math.log2(nodes)) * pat_step_us(machine) + ranks * PAT_RANK_US
        return latency + size / (machine.network_gbps * PAT_SHARE) / 1e3
    protocol = choice.split("-")[1]
    between = nodes - 1
    latency = (LAUNCH_US[choice] + (ranks - 1 - between) * ring_node_us(machine, nodes, protocol)
               + between * ring_network_us(machine, protocol))
    rate = bus_gbps(machine, nodes, "ring", protocol) * ranks / (ranks - 1)
    return latency + size / rate / 1e3


def gather_choices(machine):
    rings = tuple(each for each in machine.choices if each.startswith("ring"))
    return rings + (("pat",) if machine.release.pat and machine.gpus == 1 else ())


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
