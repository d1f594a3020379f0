"""How a message of each protocol travels inside a node and between nodes: a stack's paths."""
from nccl_chunks import collnet_chunks
from nccl_sources import (KIB, LATER, LINKS_BETWEEN_US, LINKS_IN_NODE_US, MIB, NODE_CHANNELS, NODE_CHANNEL_GBPS,
                          NODE_PART_MOST, PAT_TUNING, PEER_CHANNELS_OF_RANKS, PEER_CHANNEL_GBPS, SENDRECV, SHARP, SHARP_US, TOGETHER,
                          TREE_BLOCK_GBPS, TUNING, assumed, known, peer_channels_2_29, seconds)
from nccl_tuner import (COLLNET_US, LL_NETWORK_MOST, LL_NODE_MOST, NETWORK_STEP_US, NODE_STEP_US, PAT_RANK_US, PAT_SHARE, PAT_STEPS,
                        RELEASE, TREE_CHANNEL, bus_gbps)


def ring_ll(stack):
    if stack.ll_wire:
        return stack.ll_wire
    link, most = stack.ring_gbps or stack.tree_gbps, LL_NODE_MOST[stack.generation]
    return assumed(
        round(link / most, 2),
        "half of what it sends are flags; NCCL reckons with half of the link, and with no more "
        f"than {most:g} GB/s on {stack.generation.capitalize()} ({LATER}, those with entries for "
        f"Blackwell; a quarter and 87.7 GB/s in 2.20, llMaxBws), of {link:g}",
        2, round(1.5 * link / most, 2))


def tree_ll(stack, more, where):
    most = LL_NETWORK_MOST["intel"][more - 1]
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


MANY = "nvls-many"  # of four nodes and more, where NCCL knows what a channel of NVLSTree carries
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
            stack.tree_simple: lambda: known(1.087, f"0.92 of a ring's bandwidth by {TUNING}"),
            "nvls": lambda: stack.nvls,
            MANY: lambda: stack.nvls,
            FOUR: lambda: nvls_of_four(stack),
            "send-recv": lambda: stack.sends[0]}.get(protocol, lambda: stack.own.get(protocol))()


# Paths

def step_of(protocol):
    """Its name in NCCL's table."""
    if protocol == "send-recv":
        return "ring-simple"
    return "-".join(protocol.split("-")[:1 if protocol.startswith(("nvls", "pat")) else 2])


def table_of(protocol):
    if step_of(protocol) == "tree-simple":
        return f"{LATER} (28 us in 2.20 to 2.22, a chunk's time included)"
    return TUNING


def block_cap(stack, channels):
    """Of all that a rank sends on one of a tree's channels, and what NCCL reckons that one carries."""
    generation = "hopper" if stack.generation == "blackwell" else stack.generation
    bus_gbps, hopper_gbps = TREE_CHANNEL[generation][1], TREE_CHANNEL["hopper"][1]
    reckoned = f"{bus_gbps:g} GB/s ({TUNING}, perChMaxTreeBws)"
    of_plan = (f"; {channels} channels on {2 * len(stack.orders)} of a plan"
               if stack.of_a_queue_of(channels, 1 << 20) != 1 << 20 else "")
    rate, fast, slow = TREE_BLOCK_GBPS
    share = bus_gbps / hopper_gbps
    why = (f"fitted to {TOGETHER}: {rate:g} GB/s of all that a rank sends on one of a tree's channels, up and down "
           "together, as one block of threads does both")
    if stack.generation == "hopper":
        why += "; the same is assumed of H100"
    elif share != 1:
        why += f"; less in proportion to what NCCL reckons with on two nodes, {reckoned} of {hopper_gbps:g}, or not less"
        fast = fast / share

    def cap(gbps):
        return round(stack.of_a_queue_of(channels, gbps * 1e9), -7)

    return assumed(cap(rate * share), why + of_plan, cap(fast * share), cap(slow * share)), bus_gbps, reckoned, of_plan


def tree_caps(stack, wire_factor):
    """Of a message of a tree of the simple protocol, and of all that a rank sends on one of its channels."""
    block, bus_gbps, reckoned, of_plan = block_cap(stack, stack.channels)

    def cap(gbps, factor=1):
        return round(stack.of_a_queue(gbps * 1e9) * factor, -7)

    wire = wire_factor["value"] if wire_factor else 1
    why_one = ("one way on a tree's channel: half of the bus bandwidth that NCCL reckons with on two "
               f"nodes, {reckoned}" + ("; B200 as H100" if stack.generation == "blackwell" else "") + of_plan +
               (f"; counted with the wire factor, {wire:g}" if wire != 1 else ""))
    return {"connection_cap_bytes_per_s": assumed(cap(bus_gbps / 2, wire), why_one, cap(bus_gbps, wire),
                                                  cap(bus_gbps / 4, wire)),
            "channel_cap_bytes_per_s": block}


def direct(stack, where, protocol, latency, wire_factor):
    path = {"where": where}
    if protocol != "ring-simple":
        path["protocol"] = protocol
    path |= {"buffers": "gpu", "mechanism": "direct",
             "o_send_s": known(0, "NCCL's kernels post without a call a message"),
             "latency_s": latency}
    if where == "inter-node" and stack.by_rail:
        path["by_rail"] = True
    if protocol == stack.tree_simple:
        path |= tree_caps(stack, wire_factor)
    if where == "peer" and protocol in stack.caps:
        path["connection_cap_bytes_per_s"] = stack.caps[protocol]
    if where == "inter-node" and stack.network_cap:
        path["connection_cap_bytes_per_s"] = stack.network_cap
    if where == "peer" and protocol in stack.rank_caps:
        path["channel_cap_bytes_per_s"] = stack.rank_caps[protocol]
    return path | ({"wire_factor": wire_factor} if wire_factor else {})


def in_node(stack, protocol):
    us = NODE_STEP_US[step_of(protocol)]
    if protocol in stack.steps:
        return direct(stack, "peer", protocol, stack.steps[protocol], inside_node(stack, protocol))
    what = "a step inside a node takes"
    if step_of(protocol) == "nvls":
        what = "half of the 23 us of a reduction by the switches:"
    return direct(stack, "peer", protocol,
                  known(seconds(us - LINKS_IN_NODE_US),
                        f"{what} {us:g} us by {table_of(protocol)} (hwLat), less "
                        f"{LINKS_IN_NODE_US:g} us of the links"),
                  inside_node(stack, protocol))


def network_wire(stack, protocol):
    if protocol == MANY:
        gbps = stack.machine.network_gbps / stack.machine.channels
        channel, release = (RELEASE["2.28"].blackwell[2], "2.28") if gbps <= 50 else (RELEASE["2.30"].blackwell[2], "2.30.7")  # 400 Gbit/s, and more
        return assumed(round(gbps / channel, 3), f"{channel:g} GB/s of an adapter's {gbps:g}, what NCCL {release} reckons with of one of "
                       "NVLSTree's channels on four nodes and more (src/graph/tuning.cc, perChMaxNVLSTreeBws); fast: all of it", 1,
                       round(1.2 * gbps / channel, 3))
    flags, more = BETWEEN_NODES.get(protocol), stack.network_wire
    if not (flags and more):
        return flags or more
    return assumed(round(flags["value"] * more["value"], 3), f"{flags.get('assumed') or flags['source']}; {more['assumed']}",
                   round(flags.get("fast", flags["value"]) * more["fast"], 3), round(flags["value"] * more["slow"], 3))


def between_nodes(stack, protocol):
    us = NETWORK_STEP_US[step_of(protocol)]
    step = f"a step between nodes takes {us:g} us by {table_of(protocol)} (hwLat), less"
    left = us - LINKS_BETWEEN_US
    if has_tree_proxy(stack, protocol):
        both_ends = 2 * stack.tree_proxy_us[0]
        step += f" {both_ends:g} us of the proxy threads and"
        left -= both_ends
    if stack.flush_us and protocol in ("ring-simple", stack.tree_simple, "nvls", MANY, FOUR):
        latency = assumed(seconds(left + stack.flush_us),
                          f"{step} {LINKS_BETWEEN_US:g} us of an InfiniBand network's links; "
                          f"{stack.flush_why}",
                          seconds(left), seconds(left + 2 * stack.flush_us))
    elif protocol in stack.network_more_us:
        more, fast, slow, why = stack.network_more_us[protocol]
        latency = assumed(seconds(left + more), f"{step} {LINKS_BETWEEN_US:g} us of the links; {more:g} us more: {why}",
                          seconds(left + fast), seconds(left + slow))
    else:
        latency = known(seconds(left), f"{step} {LINKS_BETWEEN_US:g} us of the links")
    return direct(stack, "inter-node", protocol, latency, network_wire(stack, protocol)) | proxy(stack, protocol)


PAT_WIRE = assumed(round(1 / PAT_SHARE, 3), f"{PAT_SHARE:g} of a ring's bandwidth by {PAT_TUNING}; fast: all of it", 1, 1.6)


def pat_path(stack):
    us = NETWORK_STEP_US["pat"] / PAT_STEPS
    latency = known(seconds(us - LINKS_BETWEEN_US),
                    f"a step between nodes takes {us:g} us by {PAT_TUNING} ({NETWORK_STEP_US['pat']:g} us over {PAT_STEPS:g}), less "
                    f"{LINKS_BETWEEN_US:g} us of the links")
    blocks = assumed(seconds(PAT_RANK_US),
                     f"what the blocks of a message take a kernel: {PAT_RANK_US:g} us for each by {PAT_TUNING}, as 2.23 took one at a time; "
                     "since 2.26 as many at once as a message has, 16 at most (NVIDIA's post on that release; src/include/collectives.h), "
                     "and a message's are taken as one; fast: nothing", 0, seconds(2 * PAT_RANK_US))
    return direct(stack, "inter-node", "pat", latency, PAT_WIRE) | {"o_send_s": blocks}


# Of trees between nodes, what an adapter sends of a vector where switches add and copy: a plan's trees send it as often as this
# more; three nodes are between.
COLLNET_PLAN = {2: ("-two", 1), 3: ("-three", 1.5), 4: ("", 2)}


def collnet_name(choice, nodes):
    return choice + COLLNET_PLAN[min(nodes, 4)][0]


def collnet_queue_chunk(stack, choice, chunk):
    """Of a channel, or of a head on a channel, for a queue of a plan."""
    return stack.of_a_queue_of(stack.collnet_channels, chunk * (stack.gpus if choice == "collnet-direct" else 1))


def sharp_wire(stack, times, chunk):
    """Bytes that an adapter's link takes for one of a plan's, in messages of `chunk`."""
    gbps = stack.machine.network_gbps / stack.machine.channels
    us, *_ = SHARP_US
    why = (f"switches add and copy, and a message takes an adapter {us:g} us more: fitted to {SHARP}; {chunk // KIB} KiB at {gbps:g} GB/s")
    if times != 1:
        why += f"; the plan sends {times:g} times the vector"
    value, fast, slow = (round((1 + more_us * gbps * 1e3 / chunk) / times, 3) for more_us in SHARP_US)
    return assumed(value, why, fast, slow)


def collnet_paths(stack):
    """Of chains and of direct exchanges inside a node, by their chunks."""
    found = []
    in_call = known(0, "a network's time is in the call")
    for choice in COLLNET_US if stack.collnet else ():
        us = COLLNET_US[choice][0]
        latency = known(seconds(us - LINKS_IN_NODE_US), f"a step inside a node takes {us:g} us by {TUNING} (hwLat), less "
                        f"{LINKS_IN_NODE_US:g} us of the links")
        inside = direct(stack, "peer", choice, latency, None)
        if choice == "collnet-chain":
            inside["channel_cap_bytes_per_s"] = block_cap(stack, stack.collnet_channels)[0]
        for nodes, (_, times) in COLLNET_PLAN.items():
            name = collnet_name(choice, nodes)
            found.append(inside | {"protocol": name})
            for up_to, chunk in collnet_chunks(choice, stack.gpus, stack.collnet_channels):
                path = direct(stack, "inter-node", name, in_call, sharp_wire(stack, times, chunk))
                found.append(path | ({"up_to_bytes": collnet_queue_chunk(stack, choice, chunk)} if up_to else {}))
    return found


def peer_protocols(stack):
    """(name, channels, ranks of a communicator up to which it is so) of sends to a GPU of another node."""
    if not stack.knows_sends:
        return []
    return [(f"send-recv-{count}", count, PEER_CHANNELS_OF_RANKS // count if count > 1 else None)
            for count in reversed(powers_of_two(stack.peer_channels[0]))]


def powers_of_two(most):
    return [1 << i for i in range(most.bit_length())]


def peer_paths(stack):
    """Sends inside a node are as all-to-alls' are, between nodes on few channels."""
    found = []
    inside = "send-recv" if stack.sends else "ring-simple"
    rate, fast, slow = PEER_CHANNEL_GBPS
    # Those of later releases, too, whose files state rules alone.
    most = max(stack.peer_channels[0], peer_channels_2_29(stack.adapter_gbps)[0] if stack.adapter_gbps else 0)
    for count in reversed(powers_of_two(most)) if stack.knows_sends else ():
        name = f"send-recv-{count}"
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


def has_many(stack):
    """On EFA AWS takes NVLSTree where it would be slower so."""
    return (stack.machine is not None and "nvls" in stack.protocols and stack.generation == "blackwell"
            and not stack.nvls_proxy_us)


def proxy(stack, protocol):
    """What a rank's proxy thread does for a message of a plan: NVLSTree's, those of eight channels in one."""
    messages, cost = ((1, stack.tree_proxy_us) if has_tree_proxy(stack, protocol) else
                      (8, stack.nvls_proxy_us) if protocol in ("nvls", MANY, FOUR) else (0, None))
    if not cost:
        return {}
    us, fast_us, slow_us = (seconds(messages * each) for each in cost[:3])
    return {"o_proxy_s": assumed(us, cost[3], fast_us, slow_us)}


def over_sockets(path):
    """As it is, and as it is to the other socket."""
    return [path] + ([path | {"where": "cross-socket"}] if path["where"] == "peer" else [])


def paths(stack):
    all_paths = []
    of_four = [FOUR] if "nvls" in stack.protocols and stack.gpus == 8 else []
    of_many = [MANY] if has_many(stack) else []
    for protocol in [*stack.protocols, *of_many, *of_four, "ring-simple"]:
        if protocol == "ring-simple":
            all_paths += [in_node(stack, name) for name in stack.own]
        if protocol == "ring-simple" and stack.sends:
            pair = {"pair_cap_bytes_per_s": stack.sends[1]} if stack.sends[1] else {}
            all_paths.append(in_node(stack, "send-recv") | pair)
            all_paths += node_send_paths(stack)
        if protocol == "ring-simple":
            all_paths += peer_paths(stack)
            all_paths += [pat_path(stack)] if stack.pat else []
            all_paths += collnet_paths(stack)
        of_parts = [part for part in stack.parts() if part.tree_simple != protocol] if protocol == "tree-simple" else []
        for each in (*of_parts, stack):
            name = each.tree_simple if protocol == "tree-simple" else protocol
            all_paths += [in_node(each, name), between_nodes(each, name)]
    if stack.pcie:
        all_paths = [each for path in all_paths for each in over_sockets(path)]
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
    return all_paths + ([] if stack.pcie else [staged]) + [small, large]
