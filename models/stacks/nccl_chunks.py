"""Bytes of the chunks in which NCCL 2.20 sends a tree of LL128, NVLSTree, and CollNet.

Source: NVIDIA/nccl v2.20, src/enqueue.cc, computeCollChunkInfo. "Up to" is bytes of the all-reduce, None the rest."""

from nccl_sources import GIB, KIB, MIB


def ll128_chunk(size, nodes, ranks_per_node, channels):
    """Data in one channel's chunk of a tree that carries `size` bytes.

    >>> [ll128_chunk(size * MIB, 8, 8, 16) for size in (1, 8, 16, 64, 1024)]
    [18000, 36000, 72000, 72000, 576000]
    """
    steps = 1 + (nodes.bit_length() - 1) + 0.1 * ranks_per_node
    chunk = 120 * 640 * 8 // 16 * 15  # of a step of the buffer: 640 threads, 120 words of 8 bytes
    for least, factor in ((128 * KIB, 64), (32 * KIB, 16)):
        while chunk > least and size // (channels * chunk) < steps * factor / ranks_per_node:
            chunk //= 2
    return chunk


def ll128_chunks(nodes, ranks_per_node, channels):
    """(up to, chunk), as of each power of two."""
    sizes = [4 * KIB << i for i in range(24)]
    last = {ll128_chunk(size, nodes, ranks_per_node, channels): size for size in sizes}
    return [(2 * size - 1 if chunk < max(last) else None, chunk) for chunk, size in last.items()]


def nvls_tree_chunks(nodes, most=None):
    """(up to, chunk) of one head on one of 16 channels, on several nodes; `most`: NCCL_NVLSTREE_MAX_CHUNKSIZE.

    >>> [chunk // KIB for _, chunk in nvls_tree_chunks(2)], [chunk // KIB for _, chunk in nvls_tree_chunks(4)]
    ([32, 64, 128, 256, 512], [32, 64, 64, 64, 64])
    """
    most = most // KIB if most else (64 if nodes >= 4 else 512)
    chunks = ((8 * MIB - 1, 32), (64 * MIB - 1, 64), (512 * MIB - 1, 128), (2 * GIB - 1, 256), (None, 512))
    return [(up_to, min(chunk, most) * KIB) for up_to, chunk in chunks]


def collnet_chunks(choice, gpus, channels):
    """(up to, chunk) of a chain's channel, or of one head on a channel of a direct exchange.

    >>> [(up_to and round(up_to / MIB), chunk // KIB) for up_to, chunk in collnet_chunks("collnet-chain", 8, 24)]
    [(12, 32), (192, 64), (3072, 128), (None, 256)]
    >>> [chunk // KIB for _, chunk in collnet_chunks("collnet-direct", 8, 24)]
    [32, 64, 128, 256, 512]
    """
    if choice == "collnet-chain":
        most, concurrent, factors = 256 * KIB, channels * gpus, (64, 8, 1)
    else:  # a depth of two
        most, concurrent, factors = 512 * KIB, channels * gpus * 2, (64, 8, 8)
    edges = set()
    chunk = most
    for least, factor in zip((128 * KIB, 64 * KIB, 32 * KIB), factors):
        while chunk > least:
            edges.add((concurrent * chunk * factor - 1, chunk // 2))
            chunk //= 2
    return [*sorted(edges), (None, most)]
