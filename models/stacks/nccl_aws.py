"""What the tuner of aws-ofi-nccl takes in place of NCCL's own choice, from aws_choices.csv."""
import csv
import itertools
import pathlib

CHOICES = pathlib.Path(__file__).resolve().parent / "aws_choices.csv"
COLLECTIVES = {"AllReduce": "all-reduce", "AllGather": "allgather", "ReduceScatter": "reduce-scatter"}
SOURCE = ("aws/aws-ofi-nccl, src/tuner/nccl_ofi_regions.cpp, commit 2daf7d30: lines drawn through AWS's measurements, here at "
          "4, 8, 16, ... 256 nodes; between two of these as on the larger, on two nodes NCCL's own choice. By itself it is "
          "loaded since pull request 922 of June 2025, before that with NCCL_TUNER_PLUGIN, and never where NCCL_ALGO or "
          "NCCL_PROTO is set")


def name_of(row):
    """As the stack calls it; empty where it is left to NCCL."""
    if row["algorithm"] == "nccl":
        return ""
    return f"{row['algorithm']}/{row['protocol']}".lower()


def choices(rows):
    """Of one operation: from few to many nodes and bytes, the first that fits."""
    found = []
    for ranks_per_node, of_group in itertools.groupby(rows, key=lambda row: int(row["ranks_per_node"])):
        from_nodes = 3  # "the regions are not well defined" up to two, as the source says
        of_nodes = [(nodes, list(each)) for nodes, each in itertools.groupby(of_group, key=lambda row: int(row["nodes"]))]
        for nodes, each in of_nodes:
            up_to = {"up_to_nodes": nodes} if nodes != of_nodes[-1][0] else {}
            for name, of_name in itertools.groupby(each, key=name_of):
                found.append({"from_nodes": from_nodes, **up_to, "ranks_per_node": ranks_per_node,
                              "up_to_bytes": int(list(of_name)[-1]["max_bytes"]), "order": name})
            from_nodes = nodes + 1
    return found


def tuner(platform):
    with CHOICES.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["platform"] == platform]
    return {"name": "aws-ofi-nccl", "source": SOURCE,
            "choices": {op: choices([row for row in rows if row["collective"] == collective])
                        for collective, op in COLLECTIVES.items()}}
