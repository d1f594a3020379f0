"""Which algorithm and protocol NCCL takes by nodes, GPUs of each and bytes, and what a call costs: a stack's rules."""
import dataclasses
import itertools

from nccl_chunks import collnet_chunks, ll128_chunks, nvls_tree_chunks
from nccl_paths import (FOUR, MANY, collnet_name, collnet_queue_chunk, has_many, node_channels, node_send_paths, peer_protocols,
                        step_of)
from nccl_sources import (CROSSING, ENQUEUE, GIB, KIB, LATER, LINKS_BETWEEN_US, MIB, NODE_CHANNELS, P5, PAT_TUNING,
                          PEER_CHANNELS_OF_RANKS, TUNING, assumed, known, seconds)
from nccl_stack import rotations
from nccl_tuner import COLLNET_TURN_US, COLLNET_US, LAUNCH_US, PAT_US

NODES = tuple(2 << i for i in range(10))  # up to 1,024, the last stands for more


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
    table = LATER if step_of(protocol) == "tree-simple" else TUNING
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
    algorithm = "star-tree" if rule.protocol.startswith("collnet-direct") else {
        "ring": "ring", "tree": "chain-tree", "nvls": "star-tree", "pat": "pat", "collnet": "chain-tree"}[rule.protocol.split("-")[0]]
    fields = {"up_to_ranks": rule.up_to_ranks, "from_nodes": rule.from_nodes, "up_to_nodes": rule.up_to_nodes,
              "ranks_per_node": rule.ranks_per_node,
              "up_to_bytes": rule.up_to_bytes,
              "algorithm": algorithm,
              "chain_size": (rule.ranks_per_node or stack.gpus) if algorithm.endswith("tree") else None,
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
    return [(end, Rule(stack.tree_simple, source, chunk_bytes=chunk, orders=orders))
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


PAT_CALL = known(seconds(PAT_US), f"launch, {PAT_US:g} us by {PAT_TUNING} (baseLat)")

def pat_rule(stack):
    step = stack.buffer[0] // 8
    return Rule("pat", f"chunk: a step of NCCL's buffer, {step // KIB} KiB ({stack.buffer[1]}), and what the plan makes of it; {CROSSING}",
                chunk_bytes=step, orders=stack.orders, call_overhead_s=PAT_CALL)


HOPS = 6  # of a tree's edges, on eight nodes: their links' time is not counted again


def collnet_pieces(stack, nodes, choice):
    """Chunks of a channel's chain, or of all heads on a channel, for those on a queue of a plan."""
    network_us, launch_us = COLLNET_US[choice][1], LAUNCH_US["ring-simple"]
    is_direct = choice == "collnet-direct"
    turns_us = 2 * (stack.gpus - 1) * COLLNET_TURN_US if is_direct else 0
    us = launch_us + network_us + turns_us - HOPS * LINKS_BETWEEN_US
    source = (f"chunk: {'a head' if is_direct else 'a chain'}'s for as many bytes ({ENQUEUE}), {stack.collnet_channels} channels "
              "(src/graph/connect.cc)")
    call = assumed(seconds(us), f"between nodes {network_us:g} us, of which the links take {HOPS * LINKS_BETWEEN_US:g} (eight nodes)"
                   + (f", turns of the leaves {turns_us:g} us" if is_direct else "")
                   + f" ({TUNING}, hwLat); launch as of rings, {launch_us:g} us", seconds(us - network_us / 2), seconds(us + network_us))
    return [(up_to, Rule(collnet_name(choice, nodes), source, call_overhead_s=call, chunk_bytes=collnet_queue_chunk(stack, choice, chunk)))
            for up_to, chunk in collnet_chunks(choice, stack.gpus, stack.collnet_channels)]


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
        """The same rules with what is added, more where that changes. To PAT, which no table measures, nothing."""
        if choice == "pat":
            return pieces
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


def gathers_between(stack):
    return GATHERS_BETWEEN if stack.between_calls else None


def rules_of_band(stack, nodes, choice, after, up_to, why, between=None):
    """One protocol's, above `after` bytes: more where its chunk changes."""
    if choice == "nvls":
        pieces = nvls_pieces(stack, nodes)
        if stack.gpus == 4:  # a part for each GPU's head
            pieces = [(end, dataclasses.replace(rule, protocol=FOUR, orders=rotations(4))) for end, rule in pieces]
        elif nodes > 2 and has_many(stack):
            pieces = [(end, dataclasses.replace(rule, protocol=MANY)) for end, rule in pieces]
    elif choice == "pat":
        pieces = [(None, pat_rule(stack))]
    elif choice in COLLNET_US:
        pieces = collnet_pieces(stack, nodes, choice)
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


def rules_up_to(stack, ranks, nodes, found, why=CROSSING):
    rules, after = [], 0
    for choice, up_to in found:
        for rule in rules_of_band(stack, nodes, choice, after, up_to, why):
            rules.append(dataclasses.replace(rule, up_to_ranks=ranks))
        after = up_to
    return rules


def each_once(by_nodes):
    """Rules of few nodes to many, without those that the next count of nodes has as well."""
    def of_any(rules):
        return [dataclasses.replace(rule, up_to_ranks=None, up_to_nodes=None) for rule in rules]

    kept = [rules for rules, of_more in itertools.pairwise(by_nodes) if of_any(rules) != of_any(of_more)]
    return list(itertools.chain(*kept, by_nodes[-1]))


def node_rules(stack, found, why=CROSSING):
    """Of all of one node's GPUs; `found`: bands."""
    return rules_up_to(stack, stack.gpus, 1, found, why)


def call_of(us, fast_us, slow_us, why):
    return assumed(seconds(us), why, seconds(fast_us), seconds(slow_us))


def sends_calls(where, *calls):
    return tuple((up_to, call_of(*us, f"fitted to all-to-alls of this size range on {where}"))
                 for up_to, us in calls)


RING_ASKED_FOR = Rule("ring-simple", "where --algorithm ring is asked for")


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
