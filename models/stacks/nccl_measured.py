"""Rules of one node whose rings of two, four and eight GPUs were measured."""
import dataclasses

from nccl_rules import Rule, call_of
from nccl_sources import B200, KIB, MIB, assumed

# Nodes of eight whose rings of two, four, eight GPUs were measured: GB/s of bus bandwidth and the
# call, us, beside NCCL's steps (None: the launch in its table), by ranks; of allgather and
# reduce-scatter together, and of all-reduce.

@dataclasses.dataclass
class Measured:
    where: str
    link_gbps: float
    gathers: dict
    reduces: dict
    how: str = "2 to 512 MiB"
    spread: tuple = (1.1, 0.9)  # fast and slow, of GB/s
    ll_call: dict = None  # None: the launch in NCCL's table

    def wire(self, gbps, calls, fast=None, slow=None):
        """Wire factor of a bus bandwidth; fast and slow of the same, GB/s."""
        return assumed(round(self.link_gbps / gbps, 3),
                       f"fitted: {gbps:g} GB/s of bus bandwidth, {calls}, {self.how}, on {self.where}",
                       round(self.link_gbps / (fast or self.spread[0] * gbps), 3),
                       round(self.link_gbps / (slow or self.spread[1] * gbps), 3))

    def wires(self):
        return {f"ring-simple-{kind}-{ranks}": self.wire(gbps, f"{calls} of {ranks} GPUs")
                for kind, rates, calls in (
                    ("gather", self.gathers, "allgathers and reduce-scatters"),
                    ("reduce", self.reduces, "all-reduces"))
                for ranks, (gbps, _) in rates.items()}

    def rules(self, kind, ll_up_to, nodes=None):
        """LL up to so many bytes, by ranks, and what was measured; of groups on so many nodes."""
        bends = f"size range: as the times of {self.where} bend"
        found = []
        for ranks, (_, us) in (self.gathers if kind == "gather" else self.reduces).items():
            call = None if us is None else call_of(us, us / 2, 2 * us + 10,
                                                   f"fitted with the rate on {self.where}")
            found += [Rule("ring-ll", bends, ll_up_to(ranks), ranks, nodes,
                           call_overhead_s=self.ll_call),
                      Rule(f"ring-simple-{kind}-{ranks}", bends, None, ranks, nodes,
                           call_overhead_s=call)]
        return found


H100 = ("eight H100 (ai-dynamo/aiconfigurator, systems/data/h100_sxm/comm/nccl/2.29.2, half "
        "precision)")
A100 = ("eight A100 (ai-dynamo/aiconfigurator, systems/data/a100_sxm/comm/nccl/2.27.3, half "
        "precision)")
MEASURED = {
    "hopper": Measured(H100, 370.8, {2: (236, 14), 4: (308, 13), 8: (326, 0)},
                       {2: (300, 13), 4: (344, 4)}),
    "ampere": Measured(A100, 233.3, {2: (154, 26), 4: (192, 31), 8: (200, 15)}, {8: (218, None)},
                       ll_call=call_of(9, 6.6, 12, f"fitted to allgathers of 4 KiB on {A100}")),
    "blackwell": Measured(B200, 721.8, {2: (450, None), 4: (582, None), 8: (634, None)},
                          {2: (553, None), 4: (658, None)},
                          how="the slope from 256 to 512 MiB", spread=(1.05, 0.9)),
}
NVLINK5 = MEASURED["blackwell"].link_gbps
NVLS_GBPS, SEND_GBPS = 756, 550


# Blackwell

# Up to these bytes of 8 GPUs: a loop's, and the call, us.
NVLS_EIGHT = ((2 * MIB, 256 * KIB, (4, 0, 10)), (4 * MIB, 512 * KIB, (20, 10, 35)),
              (16 * MIB, 512 * KIB, (45, 20, 60)), (64 * MIB, MIB, (110, 60, 140)),
              (None, MIB, (80, 50, 120)))


def blackwell_rules(largest):
    """Of all-reduce, and of allgather and reduce-scatter, inside an NVLink domain of as many."""
    measured = MEASURED["blackwell"]
    reduces = measured.rules("reduce", lambda ranks: (ranks + 4) * MIB // 2)
    for up_to, chunk, times in NVLS_EIGHT:
        call = call_of(*times, f"fitted to all-reduces of 8 on {B200}, above the 23 us of NCCL's "
                       "table")
        reduces.append(Rule("nvls-eight", f"{reduces[0].source}; chunk as on eight H100", up_to, 8,
                            chunk_bytes=chunk, call_overhead_s=call))
    gathers = [dataclasses.replace(rule, up_to_ranks=largest) if rule.up_to_ranks == 8 else rule
               for rule in measured.rules("gather", lambda ranks: 4 * MIB, nodes=1)]
    return reduces, gathers
