"""What NCCL can be told to take in place of its own choice, and in which order it prefers what is left."""
import dataclasses

from nccl_rules import NODES, Rule, each_once, gathers_between, rules_of_band, written
from nccl_tuner import COLLNET_US, estimate_us, gather_choices, gather_estimate_us, orders_by_size

TOLD = "as NCCL_ALGO and NCCL_PROTO force it"
COLLNET_ENABLE = "NCCL_COLLNET_ENABLE"


def told_name(protocol, nodes):
    if protocol.startswith("nvls"):
        return "nvls/simple" if nodes == 1 else "nvls_tree/simple"
    if protocol.startswith("pat"):
        return "pat/simple"
    if protocol.startswith("collnet"):
        return "_".join(protocol.split("-")[:2]) + "/simple"
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
        of_whole_nodes = choice == "nvls" or choice in COLLNET_US
        counts = sorted({*NODES, 3}) if choice in COLLNET_US else NODES
        by_nodes = [[dataclasses.replace(rule, from_nodes=2, up_to_nodes=None if nodes == NODES[-1] else nodes,
                                         ranks_per_node=stack.gpus if of_whole_nodes else ranks_per_node,
                                         orders=rule.orders or (stack.orders if ranks_per_node else None))
                     for rule in rules_of_band(stack, nodes, choice, 0, None, TOLD, between)] for nodes in counts]
        found[told_name(choice, 2)] = each_once(by_nodes)
    return found


def chunk_factor(stack, name):
    """A plan's chunk over NCCL's: of trees a queue's over a channel's, of NVLSTree all heads' of a channel. None
    where NCCL has one size alone (LL), or chunks are not what the plan has (rings, NVLS in a node)."""
    factors = {"tree/ll128": stack.of_a_queue(1 << 20) / (1 << 20), "tree/simple": stack.of_a_queue(1 << 20) / (1 << 20),
               "nvls_tree/simple": 8}
    if stack.collnet:
        factors["collnet_chain/simple"] = stack.of_a_queue_of(stack.collnet_channels, 1 << 20) / (1 << 20)
    return factors.get(name)


def alternatives(stack, rings, chain):
    """By name, what it does to each operation."""
    if not stack.machine:
        return {}
    choices = stack.machine.of_all_reduces() + (tuple(COLLNET_US) if stack.collnet else ())
    found = {}

    def add(op, by_name):
        for name, rules in by_name.items():
            found.setdefault(name, {}).setdefault(op, []).extend(written(stack, rule) for rule in rules)

    add("all-reduce", told_in_a_node(stack, stack.rules))
    for part in stack.parts():
        add("all-reduce", told_between_nodes(part, part.machine.of_all_reduces(), stack.between_calls, part.gpus))
    add("all-reduce", told_between_nodes(stack, choices, stack.between_calls))
    for op in ("allgather", "reduce-scatter"):
        if stack.gathers:
            add(op, told_in_a_node(stack, stack.gathers))
            for part in stack.parts():
                add(op, told_between_nodes(part, gather_choices(part.machine), gathers_between(stack), part.gpus))
            add(op, told_between_nodes(stack, gather_choices(stack.machine), gathers_between(stack)))
        else:
            found["ring/simple"][op] = [rings]
    for op in ("broadcast", "reduce"):
        found["ring/simple"][op] = [chain]
    def with_factor(name, ops):
        factor = chunk_factor(stack, name)
        needs = {"needs": COLLNET_ENABLE} if name.startswith("collnet") else {}
        return needs | ({"chunk_factor": round(factor, 9)} if factor else {}) | ops

    return {name: with_factor(name, ops) for name, ops in sorted(found.items())}


def preferences(stack, told):
    """By operation: what NCCL prefers of what it can be told, by its own estimates."""
    machine = stack.machine
    found = {}

    def add(op, machine, nodes, groups, choices, estimate):
        for order, up_to in orders_by_size(choices, lambda choice, size: estimate(machine, nodes, choice, size)):
            names = [told_name(choice, nodes) for choice in order]
            names = [name for name in names if op in told.get(name, {})]
            band = groups | ({"up_to_bytes": up_to} if up_to else {}) | {"order": " ".join(names)}
            found.setdefault(op, []).append(band)

    def of_all_reduce(machine):
        return machine.of_all_reduces()

    for op, choices_of, estimate in (("all-reduce", of_all_reduce, estimate_us), ("allgather", gather_choices, gather_estimate_us),
                                     ("reduce-scatter", gather_choices, gather_estimate_us)):
        for part in stack.parts():
            for nodes in NODES:
                up_to = {"up_to_nodes": nodes} if nodes != NODES[-1] else {}
                add(op, part.machine, nodes, {"from_nodes": 2, **up_to, "ranks_per_node": part.gpus},
                    choices_of(part.machine), estimate)
        for nodes in (1, *NODES):
            ranks = {"up_to_ranks": nodes * machine.gpus} if nodes != NODES[-1] else {}
            if nodes == 1:
                ranks["up_to_nodes"] = 1
            collnet = tuple(COLLNET_US) if stack.collnet and nodes > 1 and op == "all-reduce" else ()
            add(op, machine, nodes, ranks, choices_of(machine) + collnet, estimate)
    return found
