#!/usr/bin/env python3
"""Writes the stack files nccl-2.18-*, nccl-2.20-*, ... of NCCL's releases, nccl-2.4-v100-efa, nccl-gb200-nvl72,
nccl-2.29-pcie, nccl-2.29-pcie-sockets and rccl-2.22-mi300x of this folder.

    rebuild_nccl.py [--check]     with --check nothing is written: exit 1 when a file differs

Latencies and launches are those of NCCL's tuning table, size rules where its estimates cross
(nccl_tuner.py); what was fitted and what is assumed is said in the files and in docs/nccl.md.
"""
import dataclasses
import json
import pathlib
import sys

from nccl_aws import tuner
from nccl_measured import A100, H100, MEASURED, NVLINK5, NVLS_GBPS, SEND_GBPS, blackwell_rules
from nccl_paths import paths, peer_protocols
from nccl_pcie import pcie_stack, socket_stack
from nccl_rules import (BETWEEN_CALLS, RING_ASKED_FOR, Rule, call_of, name_of, node_rules, rules_up_to, sends_calls,
                        shift_rules, written)
from nccl_sources import (ACCESSES, AWS_CROSSING, B200, EFA, GALVATRON, GIB, KIB, MI300X, MIB, NVL72, P3DN, P5,
                          TUNING, assumed, known, seconds)
from nccl_stack import Stack, cube_mesh, even_permutations, full_mesh, full_mesh_paths, rotations
from nccl_told import alternatives, preferences
from nccl_tuner import NODE_STEP_US, RELEASE, RELEASES, Machine, bands, gather_bands

HERE = pathlib.Path(__file__).resolve().parent


FORMAT = "forescale-stack-1"


def rings_and_chain(stack):
    def ring(source):
        return {"orders": name_of(stack, stack.orders),
                "call_overhead_s": known(8.4e-6, f"launch of a ring, 8.4 us by {TUNING} (baseLat)"),
                "source": source}

    chain = {"algorithm": "chain", "chunk_bytes": 512 * KIB} | ring(
        "NCCL: pipelined around the ring, 512 KiB at a time (src/init.cc: 4 MiB in 8 steps)")
    return {"algorithm": "ring"} | ring("NCCL: rings"), chain


def document(stack):
    rings, chain = rings_and_chain(stack)

    def of_node(rules):
        """Between nodes NCCL's preferences decide."""
        return [written(stack, dataclasses.replace(rule, up_to_nodes=1) if stack.machine else rule) for rule in rules]

    gathers = of_node(stack.gathers) if stack.gathers else [rings]
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
        "format": FORMAT, "name": stack.name, "description": stack.description,
        "channels": 4, "channels_of": "queue", "eager_limit_bytes": 0,
        "latency_holds_ports": False, "collectives": "in-order",
        "memory_accesses": {"value": 3, "source": ACCESSES, "fast": 2, "slow": 3.1}, "progress": "hardware",
        "reduction": {"place": "free", "overlaps_transfer": False,
                      "source": "NCCL's kernels add while they copy: src/device/all_reduce.h"},
        "host_reduction": {"place": "cpu", "overlaps_transfer": False},
        "paths": paths(stack),
        "selection": {"all-reduce": of_node(stack.rules),
                      "broadcast": [chain], "reduce": [chain], "reduce-scatter": gathers,
                      "allgather": gathers, "gather": flat, "scatter": flat,
                      "all-to-all": pairs, "shift": shift_rules(stack)},
        **({"message_protocol": peers[0][0]} if peers else {}),
        **({"alternatives": told, "preferences": preferences(stack, told)} if told else {}),
        **({"tuner": tuner(stack.tuner_of)} if stack.tuner_of else {}),
        "note": "Four messages at a time in each part. Of trees, threads of their own carry what goes up "
                "and what comes down (src/device/all_reduce.h), one chunk after the other on each "
                "connection."}
    for by_op in (made["selection"], *told.values(), made.get("preferences", {})):
        if "allgather" in by_op and by_op["reduce-scatter"] == by_op["allgather"]:
            by_op["reduce-scatter"] = "allgather"
    # What they are before who names them.
    return {key: value for key, value in made.items() if key not in AFTER} | {"orders": stack.named_orders} | {
        key: value for key, value in made.items() if key in AFTER}


AFTER = ("selection", "message_protocol", "alternatives", "preferences", "tuner", "note")


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


ALL = ["ring-ll", "tree-ll-two", "tree-ll", "tree-ll128", "ring-ll128", "tree-simple"]
MI300X_PATHS = ("between nodes, rings alone (trees are not modelled), eight: each crosses a node by seven links and uses one of its "
                "adapters. 357 GB/s of bus bandwidth are more than seven adapters carry (two MI300X nodes, hisohara/ai-scripts, "
                "training/01_rccl-smoketest/README.md)")
SIMPLE_ONLY = ("tree-simple", "ring-simple")


EIGHT_H100 = Machine(8, "hopper", 370, 384, channels=8, node_channels=16, nvls=True, collnet=True)
# Of a message, what the plug-in tells NCCL (aws/aws-ofi-nccl, src/platform-aws.cpp, commit 01666ece).
EFA_LATENCY_US = 75
EIGHT_B200 = Machine(8, "blackwell", NVLINK5, 384, channels=8, node_channels=16, nvls=True, collnet=True, release=RELEASE["2.29"])
EFA_V4_LATENCY_US = 35
EIGHT_B200_OF_P6 = dataclasses.replace(EIGHT_B200, network_latency_us=EFA_V4_LATENCY_US, collnet=False)
EFA_NVLS_TREE_MOST = (512 * KIB, "NCCL_NVLSTREE_MAX_CHUNKSIZE as aws-ofi-nccl sets it (pull request 332)")
TREE_PROXY_US = (0.9, 0.3, 1.5, f"of a tree's message at either end: fitted to {AWS_CROSSING}; fast: a third, slow: a small "
                 "message of libfabric over EFA (ofiwg/libfabric, issue 5694)")
NVLS_PROXY_US = (2.45, 1.5, 3.5, f"fitted to {EFA}: 2.45 us of one of NCCL's messages at either end, eight of which are one of "
                 "a plan; fast: 1.5 us each, a small message of libfabric over EFA (ofiwg/libfabric, issue 5694), slow: as much "
                 "more")
P6_NVLS_PROXY_US = (*TREE_PROXY_US[:2], NVLS_PROXY_US[0], "that of p5's low-latency trees: 0.9 us of one of NCCL's messages at "
                    "either end, eight of which are one of a plan; slow: that of p5's NVLSTree with NCCL 2.20")
EIGHT_H100_OF_P5 = dataclasses.replace(EIGHT_H100, network_latency_us=EFA_LATENCY_US, collnet=False, cpu="amd")


TWO_RACKS = "all-reduces of 128 GB200, 64 of each of two racks, NCCL 2.29.2 (oracle-quickstart/oci-hpc-oke)"
RACKS = (f"size range: where NCCL's estimates of trees and rings cross ({TUNING}); NVLSTree, which they would put before both, is not "
         f"what the times of {TWO_RACKS}, are: 291 us for 1 MiB, 654 for 64 MiB")
# Sixteen channels through adapters of 100 GB/s: of these choices none depends on that rate.
SEVERAL_RACKS = Machine(72, "blackwell", NVLINK5, 16 * 100, channels=16, node_channels=16,
                        choices=("tree-ll", "tree-ll128", "ring-simple"))


def between_racks(stack):
    found = []
    for racks in (2, 4, 8, 16, 32, 128):
        ranks = None if racks == 128 else racks * stack.gpus
        found += rules_up_to(stack, ranks, racks, bands(SEVERAL_RACKS, racks), RACKS)
    return [*found, RING_ASKED_FOR]


def tree_steps_of_racks(of_ring):
    """A chain of trees through a rack takes as much longer a step as LL's rings do on eight B200."""
    why = ("a step inside a rack takes as much longer than in NCCL's table, 1 us, as one of LL's rings does on {0}; looked at with "
           "it: 1 KiB of {1}, 197 us").format(B200, TWO_RACKS)
    of_ll128 = {name: round(of_ring[name] + seconds(NODE_STEP_US["tree-ll128"] - NODE_STEP_US["tree-ll"]), 10)
                for name in ("value", "fast", "slow")}
    of_ll = assumed(of_ring["value"], why, of_ring["fast"], of_ring["slow"])
    return {"tree-ll-two": of_ll, "tree-ll": of_ll,
            "tree-ll128": assumed(of_ll128["value"], why, of_ll128["fast"], of_ll128["slow"])}


def stacks():
    def switched(name, description, **more):
        return Stack(name, description, rotations(8), 8, rules=[], **more)

    def mesh(name, description, **more):
        return Stack(name, description, cube_mesh(), 8, rules=[], generation="volta", tree_gbps=120,
                     search_channels=4, by_rail=False, **more)

    a100 = {"generation": "ampere", "tree_gbps": 233.3}
    h100 = {"generation": "hopper", "tree_gbps": 370.8, "adapter_gbps": 50,
            "sends": (assumed(1.236, "fitted: 300 GB/s, all-to-alls of 4 and of 8 GPUs, 2 to 512 MiB, "
                              f"on {H100}", 1.12, 1.37),
                      assumed(658e9, "the channels of a pair of GPUs, both ways together, counted "
                              "with the wire factor: fitted in the same way to an all-to-all of two, "
                              "266 GB/s", 720e9, 590e9)),
            "sends_calls": sends_calls(H100, (64 * KIB, (4, 2, 7)), (None, (10, 6, 20)))}
    hopper, ampere = MEASURED["hopper"], MEASURED["ampere"]

    def eight_h100(name, where, machine, **more):
        stack = switched(
            name, f"NCCL on {where}: rings, trees and NVLS with their protocols; parts that use every "
            "adapter.", protocols=[*ALL, "nvls"], own=hopper.wires(),
            nvls=assumed(0.809, "the switches add and copy: a GPU sends (n+1)/n of the vector, 9/8 on "
                         "eight, where the plan sends 2 (n-1)/n, 14/8; the rest is fitted to 256 MiB "
                         f"to 2 GiB on {P5}. NCCL reckons with 5/6 of the links' rate ({TUNING}, ratio "
                         "of NVLS): 0.771, which the rows from 4 GiB on reach", 0.771, 0.83), **h100, **more)
        stack.gathers = hopper.rules("gather", lambda ranks: 2 * MIB)
        stack.rules = hopper.rules("reduce", lambda ranks: MIB) + node_rules(
            stack, [("ring-ll", MIB), ("nvls", None)],
            f"size range: as the rows of {P5} suggest; NCCL's estimates are 28.0 and 28.1 us at 1 MiB and cross after that (2.23)")
        stack.machine = machine
        return stack

    yield eight_h100("nccl-2.23-h100", "nodes of eight H100 or H200 with NVSwitch", EIGHT_H100,
                     between_calls=BETWEEN_CALLS["hopper"])
    yield eight_h100(
        "nccl-2.23-h100-efa", "p5, eight H100 with NVSwitch, EFA of the second generation through aws-ofi-nccl",
        EIGHT_H100_OF_P5, between_calls=BETWEEN_CALLS["efa"], nvls_proxy_us=NVLS_PROXY_US, tree_proxy_us=TREE_PROXY_US,
        nvls_tree_most=EFA_NVLS_TREE_MOST, tuner_of="aws-p5")

    stack = switched(
        "nccl-2.23-a100", "NCCL on nodes of eight A100 with NVSwitch: rings and trees with "
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
        steps={"ring-ll": call_of(0.8, 0.4, 1, "a step takes 1 us, less 0.2 us of the links: fitted to "
                                  f"allgathers of 4 KiB on {A100} (0.6 us by {TUNING}, hwLat)")}, **a100)
    stack.machine = Machine(8, "ampere", 240, 192, channels=8, node_channels=24, collnet=True, cpu="amd")
    stack.gathers = ampere.rules("gather", lambda ranks: 2 * MIB)
    bends = f"size range: as the times of {A100} bend"
    few = [(2, 512 * KIB, (31, 15, 50)), (4, MIB, (25, 12, 45))]
    stack.rules = [rule for ranks, up_to, us in few for rule in (
        Rule("ring-ll", bends, up_to, ranks, call_overhead_s=ampere.ll_call),
        Rule("ring-simple-few", bends, None, ranks, call_overhead_s=call_of(
            *us, f"fitted to all-reduces of {ranks}, 2 to 512 MiB, on {A100}")))]
    stack.rules += node_rules(stack, [("ring-ll", MIB), ("ring-ll128", 4 * MIB), ("ring-simple-reduce-8", None)], bends)
    yield stack

    stack = mesh(
        "nccl-2.23-v100", "NCCL on nodes of eight V100 with NVLink in a hybrid cube mesh: "
        "rings and trees with their protocols along the mesh's rings.", protocols=ALL)
    stack.machine = Machine(8, "volta", 120, 48, channels=4, node_channels=12)
    stack.rules = node_rules(stack, bands(stack.machine, 1))
    stack.gathers = node_rules(stack, gather_bands(stack.machine, 1))
    yield stack

    stack = switched(
        "nccl-2.23-a100-efa", "NCCL on p4d and p4de: eight A100 with NVSwitch, EFA through "
        "aws-ofi-nccl, which allows the simple protocol only (force_proto_simple, "
        "aws/aws-ofi-nccl, src/platform-aws.c, commit 008a28b9).",
        protocols=["tree-simple"], flush_us=18, **a100)
    stack.machine = Machine(8, "ampere", 240, 48, channels=4, node_channels=24, network_latency_us=EFA_LATENCY_US,
                            choices=SIMPLE_ONLY)
    stack.rules = node_rules(stack, bands(stack.machine, 1))
    yield stack

    stack = switched(
        "nccl-2.23-h100-tcpxo", "NCCL on a3-mega: eight H100 with NVSwitch, GPUDirect-TCPXO, "
        "simple protocol only, rings and trees.", protocols=["tree-simple"], flush_us=8,
        buffer=(8 * MIB, "NCCL_BUFFSIZE, GoogleCloudPlatform/cluster-toolkit, examples/machine-learning/"
                "a3-megagpu-8g/nemo-framework/README.md, commit 99ad9cae"), **h100 | {"adapter_gbps": 25})
    stack.machine = Machine(8, "hopper", 370, 192, channels=8, node_channels=16, network_latency_us=10,
                            choices=SIMPLE_ONLY)
    stack.rules = node_rules(stack, bands(stack.machine, 1))
    yield stack

    stack = switched(
        "nccl-2.20-h100-tcpx", "NCCL 2.20 on a3-high: eight H100 with NVSwitch, four adapters with "
        "GPUDirect-TCPX, rings, simple protocol only.", protocols=[], flush_us=234, **h100 | {"adapter_gbps": 25})
    stack.rules = [Rule("ring-simple", "simple protocol only, as with GPUDirect-TCPXO")]
    yield stack

    stack = mesh(
        "nccl-2.4-v100-efa", "NCCL 2.4.8 on p3dn: eight V100 in a hybrid cube mesh, EFA of the "
        "first generation through aws-ofi-nccl, rings only.", protocols=["ring-ll"], knows_sends=False, flush_us=132,
        flush_why="150 us more for a message through host memory, what the plug-in tells NCCL "
                  "(aws/aws-ofi-nccl, src/platform-aws.cpp, commit 01666ece, latency of "
                  "p3dn.24xlarge), less 18 us of the adapters",
        network_wire=assumed(1.36, f"through host memory, which the adapter cannot leave out: fitted to 1 GiB on {P3DN}", 1, 1.6),
        network_more_us={"ring-ll": (8.4, 0, 17, f"what the plug-in takes for a message: fitted to 64 bytes on {P3DN}")})
    stack.rules = [
        Rule("ring-ll", "the step between 512 KiB and 1 MiB in the table of AWS (64 bytes a "
             "thread, 512 threads, 16 ranks)", up_to_bytes=512 * KIB),
        Rule("ring-simple", "trees were switched off (NCCL_TREE_THRESHOLD=0)")]
    yield stack

    stack = Stack(
        "nccl-2.23-gh200", "NCCL on nodes of four GH200, each with NVLinks to all others: "
        "rings and trees with their protocols; parts that use every link and adapter.",
        even_permutations(4), 4, ["ring-ll", "tree-ll-two", "tree-ll", "tree-simple"], rules=[],
        generation="hopper", tree_gbps=247, ring_gbps=370.8, search_channels=4, between_calls=BETWEEN_CALLS["slingshot"])
    stack.machine = Machine(4, "hopper", 360, 96, channels=4, node_channels=16,
                            choices=("tree-ll", "tree-simple", "ring-simple"))
    stack.rules = node_rules(stack, [("ring-ll", MIB), ("ring-simple", None)], "size range assumed: that of one node of H100")
    yield stack

    blackwell = MEASURED["blackwell"]
    nvls = blackwell.wire(NVLS_GBPS, "all-reduces of 8", 800, 680)
    blackwell = {"generation": "blackwell", "tree_gbps": NVLINK5, "adapter_gbps": 50,
                 "own": blackwell.wires() | {"nvls-eight": nvls},
                 "sends": (
                     blackwell.wire(SEND_GBPS, "all-to-alls of 4 and 8", 640, 480),
                     assumed(910e9, "the channels of a pair of GPUs, both ways together, counted "
                             "with the wire factor: fitted, the slope from 256 to 512 MiB of "
                             f"all-to-alls of 2 on {B200}", 980e9, 820e9)),
                 "sends_calls": sends_calls(B200, (32 * KIB, (7, 4, 10)), (None, (12, 8, 20))),
                 "steps": {"ring-ll": call_of(1.4, 0.4, 1.8, "a step takes 1.6 us, less 0.2 us of the links: "
                                              f"fitted to allgathers of 4 KiB on {B200} (0.6 us by "
                                              f"{TUNING}, hwLat)")}}
    def eight_blackwell(name, where, network, **more):
        stack = switched(f"nccl-2.29-{name}", f"NCCL on {where}: rings, trees and NVLS with their protocols.",
                         protocols=[*ALL, "nvls"], nvls=nvls,
                         **{"between_calls": BETWEEN_CALLS["blackwell"], "first_release": "2.23"} | blackwell | more)
        reduces, gathers = blackwell_rules(8)
        machine = EIGHT_B200_OF_P6 if stack.tree_proxy_us else dataclasses.replace(EIGHT_B200, network_gbps=network)
        stack.machine = machine
        stack.rules, stack.gathers = reduces, gathers
        return stack

    yield eight_blackwell("b200", "nodes of eight B200 with NVSwitch and eight NDR adapters", 384)
    yield eight_blackwell("b300", "nodes of eight B300 with NVSwitch and eight 800G adapters", 768,
                          adapter_gbps=100, first_release="2.28")
    yield eight_blackwell("b200-efa", "p6-b200, eight B200 with NVSwitch, EFA of the fourth generation through aws-ofi-nccl",
                          384, between_calls=BETWEEN_CALLS["efa"], nvls_proxy_us=P6_NVLS_PROXY_US, tree_proxy_us=TREE_PROXY_US,
                          nvls_tree_most=EFA_NVLS_TREE_MOST, tuner_of="aws-p6-b200",
                          buffer=(8 * MIB, "NCCL_BUFFSIZE as aws-ofi-nccl sets it, src/platform-aws.cpp, commit 01666ece"))

    stack = Stack(
        "nccl-gb200-nvl72", "NCCL on racks of 72 Blackwell GPUs of one NVLink domain, and between "
        "racks: NVLS inside a rack, rings and trees between.",
        [rotations(72)[9 * i // 2] for i in range(16)], 72, ["ring-ll", "tree-ll-two", "tree-ll", "tree-ll128", "nvls"],
        rules=[], **blackwell | {"steps": blackwell["steps"] | tree_steps_of_racks(blackwell["steps"]["ring-ll"])},
        nvls=assumed(0.842, "the switches add and copy: a GPU sends (n+1)/n of the vector, 73/72 "
                     "on 72, where the plan sends 2 (n-1)/n, 142/72; the rest is fitted to 8 GiB "
                     f"on {NVL72}: 20.3 ms", 0.78, 0.92))
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
    stack.rules = [
        *(dataclasses.replace(rule, up_to_nodes=1) for rule in reduces),
        *between_racks(stack)]
    stack.gathers.append(dataclasses.replace(RING_ASKED_FOR, source="rings"))
    yield stack

    stack = Stack(
        "rccl-2.22-mi300x", "RCCL 2.22 on nodes of eight MI300X with an xGMI link between every "
        "two: rings along all of them, low-latency and simple protocol.", full_mesh(), 8,
        ["ring-ll"], rules=[], knows_sends=False, by_rail=False, generation="cdna3", tree_gbps=319, all_to_all="linear",
        ll_wire=assumed(1.55, "fitted: 206 GB/s of bus bandwidth beside NCCL's steps, all-reduces "
                        f"of 1 and 4 MiB on {MI300X}", 1.35, 2))
    stack.rules = [Rule("ring-ll", f"size range: as the times of {MI300X} bend", 8 * MIB, 8),
                   Rule("ring-simple", f"latency as in NCCL's table, which the rows from 16 MiB on of "
                        f"{MI300X} follow", None, 8),
                   Rule("ring-ll", "between nodes, size range assumed: that of NCCL on two nodes "
                        "of H100", 512 * KIB, orders=full_mesh_paths()),
                   Rule("ring-simple", MI300X_PATHS, orders=full_mesh_paths())]
    stack.gathers = [Rule("ring-ll", "size range assumed: half the bytes of an all-reduce pass",
                          4 * MIB, 8),
                     Rule("ring-simple", "as all-reduce", None, 8), *stack.rules[2:]]
    yield stack

    yield pcie_stack()
    yield socket_stack()


def of_release(stack, release):
    """The same library's other release: what its file states in place of the stack's."""
    machine = stack.machine
    other = dataclasses.replace(stack, name=stack.name.replace(machine.release.first, release.first),
                                machine=dataclasses.replace(machine, release=release))
    told = alternatives(stack, *rings_and_chain(stack))
    sends = {"message_protocol": peer_protocols(other)[0][0]} if peer_protocols(other) else {}
    return {"name": other.name, **sends, "selection": {"shift": shift_rules(other)}, "preferences": preferences(other, told)}


def of_releases(stack):
    """A stack, and its releases before and after that have something otherwise."""
    own = stack.machine.release
    found = []
    for release in RELEASES:
        if float(release.first) < float(stack.first_release):
            continue
        made = of_release(stack, release)
        if not found or release == own or any(made[key] != found[-1][1][key] for key in ("selection", "preferences")):
            found.append((release, made, release.last))
        else:
            found[-1] = (*found[-1][:2], release.last)
    base = of_release(stack, own)
    for release, made, last in found:
        head = {"format": FORMAT, "name": made["name"], "description": stack.described(release.first, last),
                "releases": {"from": release.first, "to": last, "source": f"src/graph/tuning.cc of NVIDIA NCCL {release.source}"}}
        if release == own:
            yield head | document(stack) | head
        else:
            yield head | {"extends": stack.name} | {key: value for key, value in made.items() if base[key] != value and key != "name"}


def documents():
    for stack in stacks():
        if stack.machine:
            yield from of_releases(stack)
        else:
            yield document(stack)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    differ = []
    for each in documents():
        file = HERE / f"{each['name']}.json"
        made = text(each) + "\n"
        if not sys.argv[1:]:
            file.write_text(made, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != made:
            differ.append(file.name)
    if differ:
        sys.exit(f"not what rebuild_nccl.py makes: {', '.join(differ)}")


if __name__ == "__main__":
    main()
