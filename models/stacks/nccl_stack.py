"""What one of NCCL's stacks is made from, and the orders of its parts."""
import dataclasses
import itertools

from nccl_sources import FLUSH, MIB, PEER_CHANNELS_TO_2_28, peer_channels_2_29
from nccl_tuner import Machine


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


def full_mesh_paths():
    """Of eight GPUs with a link between every two, where rings come and go through adapters: eight open paths that use each
    link once each way (Walecki: a zigzag and its turns), each entered and left by another GPU."""
    zigzag = [0, 1, 7, 2, 6, 3, 5, 4]
    return [[(gpu + turn) % 8 for gpu in zigzag] for turn in range(8)]


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
    adapter_gbps: float = 0  # that a GPU's sends between nodes share out to channels from 2.29 on; 0: no more than before
    knows_sends: bool = True  # between nodes
    steps: dict = dataclasses.field(default_factory=dict)  # inside a node, by protocol; others: NCCL's table
    ll_wire: dict = None  # likewise
    caps: dict = dataclasses.field(default_factory=dict)  # of a part's connections inside a node, by protocol
    rank_caps: dict = dataclasses.field(default_factory=dict)  # of all that a rank sends there
    network_cap: dict = None  # of a part's connections between nodes
    pcie: bool = False  # no NVLink: GPUs send each other over PCIe, to the other socket as within one
    network_wire: dict = None  # bytes that a byte takes of the adapters, flags left out
    network_more_us: dict = dataclasses.field(default_factory=dict)  # what a step between nodes takes more, by protocol: as it
    # is, fast, slow, and why
    all_to_all: str = "pairwise"
    machine: Machine = None  # whose algorithms and protocols NCCL can be told to take; none: nothing
    by_rail: bool = True  # PXN, from 2.12 on and where NVLink joins all GPUs of a node
    flush_us: float = 0
    nvls_proxy_us: tuple = None  # of one of NVLSTree's messages at either end: as it is, fast, slow, and why
    tree_proxy_us: tuple = None  # of one of a low-latency tree's
    nvls_tree_most: tuple = None  # bytes of NVLSTree's chunk, and its source; none: NCCL's
    tuner_of: str = None  # the platform whose tuner it loads by itself
    between_calls: object = None  # BetweenCalls of its all-reduces
    named_orders: dict = dataclasses.field(default_factory=dict)  # what its file's rules call them
    flush_why: str = FLUSH
    first_release: str = "2.18"  # that knows the GPU
    tree_simple: str = "tree-simple"  # what its paths call that: of some GPUs of each node queues may carry another share

    def described(self, first, last):
        """Of its releases from first to last."""
        return self.description.replace("NCCL", f"NCCL {first}" + (f" to {last}" if last != first else ""), 1)

    @property
    def peer_channels(self):
        """Of sends between nodes: how many at most, and why."""
        if self.machine and self.machine.release.wide_sends and self.adapter_gbps:
            return max(PEER_CHANNELS_TO_2_28, peer_channels_2_29(self.adapter_gbps), key=lambda channels: channels[0])
        return PEER_CHANNELS_TO_2_28

    @property
    def pat(self):
        return bool(self.machine and self.gathers) and self.machine.release.pat

    @property
    def collnet(self):
        return bool(self.machine) and self.machine.collnet

    @property
    def collnet_channels(self):
        """Half as many more where a channel carries more inside the node than between nodes (src/graph/connect.cc)."""
        more = self.machine.node_gbps > self.machine.network_gbps
        return self.channels * 3 // 2 if more else self.channels

    @property
    def channels(self):
        """That carry trees between nodes: two for each that NCCL's search finds (src/graph/connect.cc)."""
        return 2 * (self.search_channels or len(self.orders))

    def part(self, gpus):
        """For groups with so many of each node's GPUs: rings that start at each of them, and from Hopper on at each twice
        ("4 compute channels per search channel to reach peak BW on <8 PPN", src/graph/connect.cc)."""
        found = self.search_channels or len(self.orders)
        times = 2 if self.machine and self.machine.doubles_channels() else 1
        part = dataclasses.replace(self, gpus=gpus, orders=rotations(gpus) * times,
                                   search_channels=max(1, found * gpus // self.gpus) * times,
                                   machine=self.machine.part(gpus) if self.machine else None)
        is_alike = part.of_a_queue(1 << 20) == self.of_a_queue(1 << 20)
        return part if is_alike else dataclasses.replace(part, tree_simple=f"tree-simple-{gpus}")

    def parts(self):
        """Those groups, 1, 2, 4, ... of a node's GPUs."""
        return [self.part(1 << i) for i in range((self.gpus - 1).bit_length())]

    def of_a_queue(self, of_a_channel):
        """What belongs to one of NCCL's channels, for a queue of a plan: of each part, one a tree."""
        return self.of_a_queue_of(self.channels, of_a_channel)

    def of_a_queue_of(self, channels, of_a_channel):
        return of_a_channel * channels // (2 * len(self.orders))
