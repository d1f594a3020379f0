"""What published measurements say of each stack, platform, GPU and system: the rows of `forescale validate -o FILE`.

A row counts for every platform and system that its questions name, and for the stacks that answered: named in the
question, else the system's; `nccl`, and a layout without a stack, is the platform's own. For the platforms' GPUs count
the rows in which GPUs compute, or their memory fills up.
"""
import json
import re
import shlex
from statistics import median

ROLES = ["prediction", "adjusted", "calibration"]
SUBJECTS = ["training", "memory", "collectives"]
OLDEST_NCCL = "nccl-2.3"  # of a platform that names none (sim/ask/inputs.cpp)


class Measured:
  """None of it is known where `file` is None: validate was not run."""

  def __init__(self, file, platforms, systems):
    self.known = file is not None
    self.command = ""
    self.rows = {}  # (kind, name) -> rows
    if not self.known:
      return
    with open(file, encoding="utf-8") as opened:
      document = json.load(opened)
    if document.get("format") != "forescale-validation-1":
      raise SystemExit(f"{file}: is not what `forescale validate -o FILE` writes")
    self.command = re.sub(r" (-o|--output) \S+", "", document["command"])
    for row in document["rows"]:
      if row["role"] in ROLES:
        for key in used_by(row, platforms, systems):
          self.rows.setdefault(key, []).append(row)

  def of(self, kind, name):
    return self.rows.get((kind, name), [])


def used_by(row, platforms, systems):
  """{(kind, name)}"""
  keys = set()
  for command in row["commands"]:
    words = shlex.split(command)
    options = {word: value for word, value in zip(words, words[1:]) if word.startswith("--")}
    platform = options.get("--platform", "").split(":")[0]
    system = options.get("--system", "")
    about = platforms.get(platform, {})
    stack = options.get("--stack") or systems.get(system, {}).get("stack", "")
    if stack == "nccl" or (not stack and platform in platforms):
      stack = about.get("nccl") or OLDEST_NCCL
    keys |= {("platforms", platform), ("systems", system), ("stacks", stack.split(":")[0])}
    if subject_of(row) != "collectives":
      keys.add(("gpus", about.get("gpu", "")))
  return {key for key in keys if key[1]}


def subject_of(row):
  if row["unit"] == "GiB":
    return "memory"
  return "collectives" if all(command.startswith("forescale collective") for command in row["commands"]) else "training"


def errors_of(rows):
  """Rows of which predicted and measured are numbers, by absolute error."""
  return sorted((row for row in rows if row["error"] is not None), key=lambda row: abs(row["error"]))


def summary(rows):
  """Of one role and subject: counts, median, worst row, the median of the predictor without a model, orderings."""
  scored = errors_of(rows)
  trivial = [abs(row["trivial_error"]) for row in scored if row["trivial_error"] is not None]
  ordered = [row["right"] for row in rows if row["right"] is not None]
  return {"claims": len(rows), "scored": len(scored), "worst": scored[-1] if scored else None,
          "median": median(abs(row["error"]) for row in scored) if scored else None,
          "trivial": median(trivial) if trivial else None,
          "orderings": len(ordered), "orderings_right": sum(ordered)}
