"""The catalogue's pages, out of what the program says of its own data (`--json`) and of the GPUs' files.

A page for each stack, platform, GPU, model of a GPU's kernels and system, and a table of each kind.
"""
import json
import os
import re
import subprocess
from pathlib import Path

import markdown as md
import measured
from measured import ROLES, SUBJECTS

NOTHING = "Nothing measured is held against this."
NOT_RUN = ("Measured errors are not on this page: it was made without the answers of `forescale validate`, "
           "which takes minutes.")


class Program:
  def __init__(self, path, data):
    self.path, self.data = str(path), Path(data)

  def says(self, *words):
    done = subprocess.run([self.path, *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, FORESCALE_DATA=str(self.data)))
    if done.returncode != 0:
      raise SystemExit(f"forescale {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.replace(f"{self.path} ", "forescale ")

  def json(self, *words):
    return json.loads(self.says(*words, "--json"))

  def read(self, folder):
    """{name: document} of the data files of a folder."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8"))
            for file in sorted((self.data / folder).glob("*.json"))}


class Catalogue:
  """`pages()` gives {file of the site: Markdown}."""

  def __init__(self, program, validation):
    self.program = program
    self.stack_files = program.read("models/stacks")
    self.platform_files = program.read("topologies/presets")
    self.gpu_files = program.read("models/hardware/gpus")
    self.kernel_files = program.read("models/hardware/gpu_models")
    self.systems = {one["name"]: one for one in program.json("system", "list")}
    self.platforms = {one["name"]: one for one in program.json("platform", "list") if one["kind"] == "preset"}
    for name, one in self.platforms.items():
      one["nccl"] = self.platform_files[name].get("nccl", "")
    self.errors = measured.Measured(validation, self.platforms, self.systems)

  def pages(self):
    pages = {}
    for kind, names, make in (("stacks", self.stack_files, self.stack), ("gpus", self.gpu_files, self.gpu),
                              ("platforms", self.platform_files, self.platform),
                              ("kernels", self.kernel_files, self.kernels), ("systems", self.systems, self.system)):
      for name in names:
        pages[f"catalogue/{kind}/{name}.md"] = make(name)
    pages.update({f"catalogue/{name}.md": text for name, text in self.indices().items()})
    return pages

  # --- pages -----------------------------------------------------------------------------------

  def stack(self, name):
    about, file = self.program.json("stack", "show", name), self.stack_files[name]
    children = [other for other, one in self.stack_files.items() if one.get("extends") == name]
    users = [system for system, one in self.systems.items() if one["stack"] == name]
    platforms = [platform for platform, one in self.platforms.items() if one["nccl"] == name]
    facts = {"file": md.code(f"models/stacks/{name}.json"), "progress": md.text(about["progress"]),
             "channels": f"{about['channels']} a " + {"queue": "collective, queues by themselves"}.get(
                 about["channels_of"], about["channels_of"]),
             "additions of GPU buffers": md.text(about["reduction"]["place"]),
             "additions of host buffers": md.text(about["host_reduction"]["place"]),
             "extends": md.link(file["extends"], file["extends"] + ".md") if "extends" in file else "",
             "extended by": links(children), "systems with it": links(users, "../systems/"),
             "platforms that name it as their NCCL": links(platforms, "../platforms/")}
    return page(f"Stack {name}", about["description"], facts,
                self.measured("stacks", name, children),
                "## How it behaves\n", md.block(self.program.says("stack", "show", name).split("\n\n", 1)[1]),
                self.numbers(about["numbers"]))

  def platform(self, name):
    about, file = self.program.json("platform", "show", name), self.platform_files[name]
    base = file["node"].get("preset")
    facts = {"file": md.code(f"topologies/presets/{name}.json"), "source": md.text(file.get("source", "")),
             "nodes": f"{about['nodes']}, with {about['slots']} GPUs in all",
             "GPU": md.link(about["gpu"], f"../gpus/{about['gpu']}.md"), "CPU": md.code(about["cpu"]),
             "nodes as of": md.link(base, f"{base}.md") if base else "",
             "fabric": md.text(about["fabric"]),
             "bisection, upper bound": f"{md.quantity('_bytes_per_s', about['bisection_bytes_per_s'])} one way",
             "its NCCL": md.link(file["nccl"], f"../stacks/{file['nccl']}.md") if file.get("nccl") else ""}
    assumptions = "".join(f"* {md.text(each)}\n" for each in about["assumptions"])
    classes = [[md.code(one["name"]), f"{md.quantity('_bytes_per_s', one['bandwidth_bytes_per_s'])}",
                md.text(one["duplex"]), md.quantity("_s", one["latency_s"])] for one in about["link_classes"]]
    drawn = self.program.says("platform", "show", name).split("link classes")[0].split("\n\n", 1)[1]
    return page(f"Platform {name}", about["summary"], facts, self.measured("platforms", name),
                "## One node, and the fabric\n", md.block(drawn),
                "## Links\n", md.table(["class", "bandwidth", "duplex", "latency"], classes),
                "## Assumed about the structure\n\n" + assumptions if assumptions else "",
                self.numbers(about["numbers"]))

  def gpu(self, name):
    file = self.gpu_files[name]
    where = f"models/hardware/gpus/{name}.json"
    numbers = [dict(value, file=where, path=f"/{key}", assumed="assumed" in value,
                    reason=value.get("assumed", "")) for key, value in file.items() if is_number(value)]
    platforms = [platform for platform, one in self.platforms.items() if one["gpu"] == name]
    model = file.get("gpu_model")
    links_of = file.get("nvlinks", {})
    facts = {"file": md.code(where), "platforms with it": links(platforms, "../platforms/"),
             "model of its kernels": md.link(model, f"../kernels/{model}.md") if model else "none: a roofline",
             "NVLinks": f"{links_of['count']} of generation {links_of['generation']}" if links_of else ""}
    return page(f"GPU {name}", file["note"], facts, self.measured("gpus", name), self.numbers(numbers),
                self.published_times(name))

  def published_times(self, gpu):
    rows = []
    for file in sorted((self.program.data / "models/compute/times").glob("*.json")):
      document = json.loads(file.read_text(encoding="utf-8"))
      for one in document["measurements"] if document["gpu"] == gpu else []:
        key = "images_per_s" if "images_per_s" in one else "seconds_per_iteration"
        unit = "images/s" if key == "images_per_s" else "s an iteration"
        rows.append([md.text(document["network"]), md.text(one["framework"]), str(one["batch"]),
                     f"{one[key]['value']:g} {unit}", "yes" if one.get("use") else "no", md.text(why(one[key]))])
    if not rows:
      return ""
    return ("## Published times of whole networks\n\n"
            "A network that was measured on the GPU takes what was measured; these are calibration, no test of it.\n\n"
            + md.table(["network", "framework", "batch", "published", "used", "source"], rows))

  def kernels(self, name):
    file = self.kernel_files[name]
    gpus = [gpu for gpu, one in self.gpu_files.items() if one.get("gpu_model") == name]
    facts = {"file": md.code(f"models/hardware/gpu_models/{name}.json"), "measured on": md.text(file["gpu"]["name"]),
             "source": md.text(file.get("provenance", {}).get("source", "")),
             "GPUs that take it": links(gpus, "../gpus/")}
    rows = [[md.text(one["operation"]), md.text(one["pass"]), md.text(one["precision"]), str(one["count"]),
             ends("_flops_per_s", one, "flops_per_s"), ends("_bytes_per_s", one, "bytes_per_s"),
             ends("_s", one, "launch_s", "launch_ends_s"), percent(one.get("median_error")),
             percent(one.get("p90_error"))] for one in file["kernels"]]
    notes = "".join(f"* {md.text(note)}\n" for note in file.get("notes", []))
    return page(f"Kernels of {name}", "A line or a surface for each kind of kernel, fitted to measured times.", facts,
                "## Kinds of kernels\n\nErrors are of measured shapes, each predicted without itself.\n",
                md.table(["kernel", "pass", "precision", "shapes", "arithmetic (ends)", "memory (ends)",
                          "launch (ends)", "median error", "nine in ten within"], rows),
                "## Notes\n\n" + notes if notes else "",
                "How such a model is made and judged: [GPU models](../../gpu_models.md).")

  def system(self, name):
    about = self.systems[name]
    stack = about["stack"]
    facts = {"file": md.code(f"algorithms/systems/{name}.json"),
             "source": md.text(f"{about['paper']}, {about['section']}"), "schedule": md.code(about["schedule"]),
             "stack": md.link(stack, f"../stacks/{stack}.md") if stack in self.stack_files else
                      f"{md.code(stack)}: the platform's own",
             "compute times of": md.text(about["framework"] or ""), "training data": md.text(about["data"]),
             "options": ", ".join(md.code(f"{key}={value}") for key, value in about["options"].items()),
             "collectives": ", ".join(md.code(json.dumps(one)) for one in about["collectives"])
                            or "the stack's own choice", "note": md.text(about["note"])}
    return page(f"System {name}", about["description"], facts, self.measured("systems", name),
                "## Its schedule\n\n" + md.block(self.program.says("schedule", "show", about["schedule"])))

  # --- parts of a page -------------------------------------------------------------------------

  def numbers(self, numbers):
    """Numbers alike but for their place share a row, the places in their order."""
    alike = {}
    for one in numbers:
      file, key = self.relative(one["file"]), one["path"].rsplit("/", 1)[-1]
      words = one["reason"] if one["assumed"] else one["source"]
      alike.setdefault((file, key, one["value"], one.get("fast"), one.get("slow"), one["assumed"], words),
                       []).append(one["path"])
    rows = []
    for (file, key, value, fast, slow, assumed, words), paths in alike.items():
      both = fast is not None and slow is not None
      rows.append([f"{md.code(file)} {places(paths)}", md.quantity(f"_{key}", value),
                   f"{md.quantity(f'_{key}', fast)} to {md.quantity(f'_{key}', slow)}" if both else "",
                   "**assumed**" if assumed else "no source" if is_bare(words) else "source",
                   md.text(self.relative(words))])
    assumed = sum(one["assumed"] for one in numbers)
    bare = sum(not one["assumed"] and is_bare(one["source"]) for one in numbers)
    count = f"{len(numbers)} numbers, {assumed} of them assumed" + (f", {bare} given without a source" if bare else "")
    header = ["number", "value", "fast to slow end", "mark", "source, or why it is assumed"]
    return f"## Numbers\n\n{count}.\n\n" + (md.table(header, rows) if rows else "")

  def relative(self, words):
    return words.replace(f"{self.program.data}/", "")

  def measured(self, kind, name, children=()):
    lines = ["## Held against measurements\n"]
    rows = self.errors.of(kind, name)
    if not self.errors.known:
      return "\n".join([*lines, NOT_RUN, ""])
    if not rows:
      lines.append(NOTHING)
    else:
      lines += [md.table(["of", "role", "claims", "with an error", "median error", "without a model",
                          "orderings right", "worst"], rows_of_roles(rows)),
                "Errors without their sign; of factors and of less time, of the improvement. Predictions are what "
                "counts: [roles and scoring](../../validation.md).\n",
                md.table(["studies/claims", "predictions", "adjusted", "calibration",
                          "median error of predictions and adjusted"], self.by_paper(rows))]
    if any(self.errors.of(kind, child) for child in children):
      lines.append(f"What extends it is held against measurements too: {links(children)}.")
    return "\n".join([*lines, ""])

  @staticmethod
  def by_paper(rows):
    for paper in sorted({row["paper"] for row in rows}):
      of_it = [row for row in rows if row["paper"] == paper]
      counts = [str(sum(row["role"] == role for row in of_it)) for role in ROLES]
      scored = measured.summary([row for row in of_it if row["role"] != "calibration"])
      yield [md.code(paper), *counts, percent(scored["median"])]

  # --- tables of each kind ---------------------------------------------------------------------

  def indices(self):
    stacks = {one["name"]: one for one in self.program.json("stack", "list")}
    kinds = {
      "stacks": ("Communication stacks", "How a communication library behaves: what a message costs, who adds, which "
                 "algorithm is chosen. `forescale stack show NAME` prints one.",
                 {name: one["description"] for name, one in stacks.items()}),
      "platforms": ("Platforms", "Machines with their links. `forescale platform show NAME` prints one; generators "
                    "such as `star:hosts=64,bandwidth=12.5GB/s,latency=1us` make others.",
                    {name: one["summary"] for name, one in self.platforms.items()}),
      "gpus": ("GPUs", "Memory, rates and overheads of a GPU; its kernels are a model of their own.",
               {name: one["note"] for name, one in self.gpu_files.items()}),
      "kernels": ("Kernels of GPUs", "Fitted times of matrix products, convolutions and attention.",
                  {name: one["gpu"]["name"] for name, one in self.kernel_files.items()}),
      "systems": ("Systems", "A schedule with its options, a stack and the paper they come from. `forescale system "
                  "show NAME`.", {name: one["description"] for name, one in self.systems.items()}),
    }
    pages = {}
    for kind, (title, words, names) in kinds.items():
      with_errors = kind != "kernels"
      rows = [[md.link(name, f"{kind}/{name}.md"), md.text(about),
               *(self.in_short(kind, name) if with_errors else [])] for name, about in names.items()]
      header = ["name", "what"]
      for subject in subjects_of(kind) if with_errors and self.errors.known else []:
        header += [f"{subject}: predictions", "median error", "without a model"]
      pages[kind] = "\n".join([f"# {title}\n", words + "\n",
                               "" if self.errors.known or not with_errors else NOT_RUN + "\n",
                               md.table(header, rows), toctree([f"{kind}/{name}" for name in names])])
    held = (f"Errors beside them are of `{self.errors.command}`." if self.errors.known else NOT_RUN)
    pages["index"] = "\n".join([
      "# Catalogue\n", "What ships with forescale, made into pages from the data files themselves: every number with "
      "its source, the mark `assumed` or the words that it has none, and how far off predictions with it were where "
      "somebody measured.\n",
      held + "\n",
      *(f"* [{title}]({kind}.md): {len(names)}" for kind, (title, _, names) in kinds.items()), "", toctree(kinds)])
    return pages

  def in_short(self, kind, name):
    if not self.errors.known:
      return []
    cells = []
    for subject in subjects_of(kind):
      found = measured.summary(select(self.errors.of(kind, name), subject, "prediction"))
      cells += [str(found["claims"] or "none"), percent(found["median"]), percent(found["trivial"])]
    return cells


def page(title, summary, facts, *parts):
  rows = [[key, value] for key, value in facts.items() if value]
  return "\n".join([f"# {md.text(title)}\n", md.text(summary) + "\n", md.table(rows[0], rows[1:]), *parts])


def subjects_of(kind):
  return [subject for subject in SUBJECTS if kind != "gpus" or subject != "collectives"]


def select(rows, subject, role):
  return [row for row in rows if row["role"] == role and measured.subject_of(row) == subject]


def rows_of_roles(rows):
  for subject in SUBJECTS:
    for role in ROLES:
      if select(rows, subject, role):
        yield [subject, *role_row(role, select(rows, subject, role))]


def role_row(role, rows):
  found = measured.summary(rows)
  worst = found["worst"]
  orderings = f"{found['orderings_right']} of {found['orderings']}" if found["orderings"] else ""
  said = ""
  if worst:
    said = f"{100 * worst['error']:+.0f} %: {md.text(worst['claim'])} ({md.text(worst['id'])})"
  return [role, str(found["claims"]), str(found["scored"]), percent(found["median"]), percent(found["trivial"]),
          orderings, said]


def percent(share):
  return "" if share is None else f"{100 * share:.1f} %"


def ends(unit, one, key, ends_key=None):
  both = one.get(ends_key or f"{key}_ends")
  value = md.quantity(unit, one.get(key))
  return f"{value} ({md.quantity(unit, both[0])} to {md.quantity(unit, both[1])})" if value and both else value


def why(number):
  return number["source"] if "source" in number else f"assumed: {number['assumed']}"


def is_bare(source):
  """What the program says of a number that its file gives alone: sizes where another rule begins, zeros."""
  return source.startswith("given in ")


def is_number(value):
  return isinstance(value, dict) and "value" in value


def links(names, folder=""):
  return ", ".join(md.link(name, f"{folder}{name}.md") for name in names)


def places(paths):
  """/paths/0/latency_s and /paths/2/latency_s are /paths/0,2/latency_s."""
  forms = {}
  for path in paths:
    found = re.match(r"(.*?)/(\d+)/(.*)", path)
    head, number, tail = found.groups() if found else (path, "", "")
    forms.setdefault((head, tail), []).append(number)
  return ", ".join(md.code(f"{head}/{','.join(numbers)}/{tail}" if tail else head)
                   for (head, tail), numbers in forms.items())


def toctree(entries):
  return md.block("\n".join([":hidden:", "", *entries]), "{toctree}")
