"""NCCL on nodes whose GPUs have PCIe alone, fitted to eight RTX PRO 6000; between nodes by RDMA, and by sockets."""
import dataclasses

from nccl_paths import FLAGS
from nccl_rules import Rule, call_of, sends_calls
from nccl_sources import KIB, MIB, assumed
from nccl_stack import Stack, rotations

RTX_PRO_6000 = ("eight RTX PRO 6000 Blackwell Server Edition (ai-dynamo/aiconfigurator, systems/data/rtx_pro_6000_server/comm/nccl/"
                "2.29.2, half precision)")
LINKS_US = 0.6  # four links of PCIe between two GPUs of a socket
RINGS = 4
LL_STEP_US, LL_CALL_US = 1.4, 4.6  # of any number of ranks
LL_MOST = 768 * KIB
SIMPLE_STEP_US = 3.6
# By ranks: GB/s of bus bandwidth of LL and of the simple protocol, and the latter's call beside a step's 3.6 us.
GATHERS = {2: (15, 32.4, 10), 4: (12.2, 23.4, 5), 8: (7, 23.1, 8.4)}
REDUCES = {2: (21, 37.5, 8.4), 4: (12.4, 25.2, 2), 8: (7.4, 24.4, 8.4)}
SEND_GBPS, PAIR_GBPS = 24.4, 25.7

SOCKETS = ("what NCCL reaches over TCP: 4 to 6 GB/s of 100 Gbit/s on four nodes of eight V100 (NVIDIA/nccl issue 450), 3.8 of 32 Gbit/s with "
           "a GPU a node and 1.8 to 2.8 with eight (issue 209)")
SOCKET_STEP_US = (30, 15, 80, "of a message the kernel's TCP, at both ends, and copies to and from host memory")


def cap(gbps, what, times=1):
    """Of a connection, `times` bytes of which are one of a vector's."""
    rate = times * gbps * 1e9 / RINGS
    counted = f", counted with the flags, {times:g} times" if times > 1 else ""
    return assumed(rate, f"fitted: {gbps:g} GB/s of bus bandwidth, {what}, on {RTX_PRO_6000}; a {RINGS}th of it for each of {RINGS} "
                   f"rings{counted}. What limits it is not seen: neither the card's link (52 GB/s) nor, as two GPUs reach more, the "
                   "GPU. PCIe 4.0 reaches 20 GB/s on A100 (NVIDIA/nccl-tests issue 178)", 1.15 * rate, 0.75 * rate)


def step(us, of):
    return assumed(round((us - LINKS_US) * 1e-6, 10), f"a step takes {us:g} us, less {LINKS_US:g} us of the links: fitted to {of} on "
                   f"{RTX_PRO_6000}", round((us / 2) * 1e-6, 10), round(1.5 * us * 1e-6, 10))


def rules(kind, rates):
    bends = f"size range: as the times of {RTX_PRO_6000} bend"
    ll_call = call_of(LL_CALL_US, 3, 6.6, f"fitted with LL's step on {RTX_PRO_6000}; 6.6 us in NCCL's table")
    found = []
    for ranks, (_, _, us) in rates.items():
        call = call_of(us, us / 2, 2 * us + 5, f"fitted with the rate on {RTX_PRO_6000}")
        found += [Rule(f"ring-ll-{kind}-{ranks}", bends, LL_MOST, ranks, 1, call_overhead_s=ll_call),
                  Rule(f"ring-simple-{kind}-{ranks}", bends, None, ranks, 1, call_overhead_s=call)]
    between = "between nodes, rings alone; size range assumed: that of NCCL on two nodes of H100"
    return [*found, Rule("ring-ll", between, 512 * KIB), Rule("ring-simple", between)]


def pcie_stack():
    what = {"gather": "allgathers and reduce-scatters", "reduce": "all-reduces"}
    caps = {}
    for kind, rates in (("gather", GATHERS), ("reduce", REDUCES)):
        for ranks, (ll_gbps, gbps, _) in rates.items():
            caps |= {f"ring-ll-{kind}-{ranks}": cap(ll_gbps, f"{what[kind]} of {ranks} by LL", 2),
                     f"ring-simple-{kind}-{ranks}": cap(gbps, f"{what[kind]} of {ranks}, 64 to 512 MiB")}
    own = {name: FLAGS if "ll" in name else None for name in caps}
    # Between nodes, as of eight.
    caps |= {"ring-ll": caps["ring-ll-reduce-8"], "ring-simple": caps["ring-simple-reduce-8"],
             "send-recv": assumed(PAIR_GBPS * 1e9, f"fitted: all-to-alls of two, 16 MiB and more, on {RTX_PRO_6000}", 28e9, 21e9)}
    ll_step, simple_step = step(LL_STEP_US, "all-reduces of 1 KiB"), step(SIMPLE_STEP_US, "all-reduces of 1 to 8 MiB")
    return Stack(
        "nccl-2.29-pcie", "NCCL 2.29 on nodes of GPUs without NVLink, over PCIe: rings, low-latency and simple protocol.",
        rotations(8)[::8 // RINGS], 8, ["ring-ll"], rules=rules("reduce", REDUCES), gathers=rules("gather", GATHERS),
        generation="blackwell, PCIe", tree_gbps=52, pcie=True, by_rail=False, knows_sends=False, ll_wire=FLAGS, own=own, caps=caps,
        rank_caps={"send-recv": assumed(SEND_GBPS * 1e9, f"of all that a GPU sends: fitted to all-to-alls of four, 64 MiB and more, on "
                                        f"{RTX_PRO_6000}", 28e9, 18e9)},
        steps={name: ll_step if "ll" in name else simple_step for name in caps},
        sends=(None, None), sends_calls=sends_calls(RTX_PRO_6000, (None, (5, 3, 8))))


def socket_stack():
    """Without RDMA: the same inside a node."""
    rate = 4e9 / RINGS
    return dataclasses.replace(
        pcie_stack(), name="nccl-2.29-pcie-sockets",
        description="NCCL 2.29 on nodes of GPUs without NVLink, between nodes by TCP sockets.", named_orders={},
        network_cap=assumed(rate, f"a {RINGS}th, for each of {RINGS} rings, of 4 GB/s, in the middle of {SOCKETS}; BERT on nodes of T4 and of RTX "
                            "2080 Ti waits as for 0.4 to 2 GB/s of 50 Gbit/s (petuum/adaptdl, siasosp23/artifacts)", 11e9 / RINGS, 0.5e9 / RINGS),
        network_more_us=dict.fromkeys(("ring-ll", "ring-simple"), SOCKET_STEP_US))
