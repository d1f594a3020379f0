#!/usr/bin/env python3
"""Fault campaign: forescale killed, interrupted, without disk, memory or a reader, at random moments,
and by a clock that jumps.

  faults.py PROGRAM [--rounds N] [--seed S] [--clock LIBRARY]

Each round does every kind of fault once. Counted are faults, losses (an answer that was there and is
gone or changed, a file that is neither whole nor missing, an end with a result that is none) and
leftovers (processes, temporary files). Prints each loss and leftover with what led to it, and a line of
counts a kind. Exit code 1 with any.
"""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

LINK = "bandwidth=1GB/s,latency=1us"
STUDY = {"format": "forescale-study-1", "command": "collective",
         "fixed": {"platform": f"star:hosts=8,{LINK}"},
         "grid": {"bytes": [1024 * i for i in range(1, 21)], "ranks": [2, 4, 8, 9]}}
PREDICT = "predict --platform kesch --system s-caffe-obr-hr --model googlenet --batch 256 --gpus 32 --no-range"
TUNE = f"tune collective --platform star:hosts=12,{LINK} --stack ideal --ranks 2..12 --bytes 4KiB..1MiB"
# What runs over MPI. TESTBED is a name that no other campaign has.
MEASURED = [("calibrate measure", "calibrate measure --ranks 2 --budget 1s --max-bytes 64KiB -o measured.json"),
            ("execute", "execute collective --ranks 3 --bytes 64KiB --budget 1s -o measured.json"),
            ("execute", "execute collective --mpi mpich --ranks 3 --bytes 64KiB --budget 1s -o measured.json"),
            ("execute --testbed", "execute --testbed TESTBED --hosts 2 --ranks 2 --bytes 64KiB --plans all-reduce/ring "
             "--measure-budget 3s --execute-budget 1s -o measured.json")]
SIGNALS = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]


class Campaign:
  def __init__(self, program, seed, clock):
    self.program = program
    self.clock = clock
    self.random = random.Random(seed)
    self.mark = f"FORESCALE_CAMPAIGN_{os.getpid()}"
    self.faults, self.losses, self.leftovers = Counter(), Counter(), Counter()
    self.folder = None
    self.testbed = f"c{os.getpid()}"
    self.holds_testbeds = self.bring_testbed_up()

  # --- running ---------------------------------------------------------------------------------

  def start(self, words, **more):
    environment = dict(os.environ, TMPDIR=str(self.folder / "tmp"), **{self.mark: "1"}, **more.pop("settings", {}))
    return subprocess.Popen([self.program, *words.split()], cwd=self.folder, env=environment,
                            stdin=subprocess.DEVNULL, text=True,
                            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

  def finish(self, words, **more):
    process = self.start(words, **more)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err

  def killed_after(self, words, longest_s, signals=tuple(SIGNALS)):
    """Ended by a signal after a random time; the signal, the exit code (negative: it died of one)."""
    process = self.start(words)
    delay_s = self.random.uniform(0, longest_s)
    which = self.random.choice(signals)
    try:
      process.communicate(timeout=delay_s)
    except subprocess.TimeoutExpired:
      process.send_signal(which)
      process.communicate()
    return which, process.returncode, delay_s

  def bring_testbed_up(self):
    """Whether this machine can hold one: it needs root and network namespaces."""
    up = subprocess.run([self.program, "testbed", "up", "--name", self.testbed, "--hosts", "1"],
                        capture_output=True, text=True, check=False)
    if up.returncode != 0:
      print(f"no kills of `execute --testbed`: {up.stderr.strip()}", flush=True)
      return False
    subprocess.run([self.program, "testbed", "down", "--name", self.testbed], capture_output=True, check=True)
    return True

  def processes(self):
    found = []
    for entry in Path("/proc").iterdir():
      if entry.name.isdigit() and int(entry.name) != os.getpid():
        try:
          if self.mark.encode() in (entry / "environ").read_bytes():
            found.append(entry.name)
        except OSError:
          pass
    return found

  # --- what is counted -------------------------------------------------------------------------

  def fault(self, kind):
    self.faults[kind] += 1

  def loss(self, kind, what):
    self.losses[kind] += 1
    print(f"LOSS {kind}: {what}", flush=True)

  def look_for_leftovers(self, kind, what, temporary=True):
    deadline = time.monotonic() + 5
    while self.processes() and time.monotonic() < deadline:
      time.sleep(0.05)
    left = [f"process {number}" for number in self.processes()]
    if temporary:
      left += [str(path) for path in (self.folder / "tmp").iterdir()]
    for one in left:
      self.leftovers[kind] += 1
      print(f"LEFTOVER {kind}: {one} after {what}", flush=True)
    for path in (self.folder / "tmp").iterdir():
      shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()

  # --- kinds of faults -------------------------------------------------------------------------

  def rows(self, database):
    code, out, err = self.finish(f"sweep study.json -o {database} --csv")
    if code != 0:
      self.loss("sweep", f"exit code {code} of a sweep that goes on: {err.strip()}")
    return out

  def sweep_killed(self):
    """What was answered stays, and the end is that of an undisturbed run."""
    whole = self.rows("whole.sqlite")
    for _ in range(4):
      which, code, delay_s = self.killed_after("sweep study.json -o killed.sqlite", 1.5)
      self.fault("sweep")
      what = f"{which.name} after {delay_s:.3f} s"
      if code == 0 or code == -which or (code > 0 and which != signal.SIGKILL):
        self.look_for_leftovers("sweep", what, temporary=which != signal.SIGKILL)
      else:
        self.loss("sweep", f"exit code {code} after {what}")
    if self.rows("killed.sqlite") != whole:
      self.loss("sweep", "other rows than undisturbed")

  def two_on_one_database(self):
    self.fault("two processes")
    both = [self.start("sweep study.json -o shared.sqlite") for _ in range(2)]
    ends = [process.communicate(timeout=300)[1] for process in both]
    for process, err in zip(both, ends):
      if process.returncode not in (0, 2) or (process.returncode == 2 and not err):
        self.loss("two processes", f"exit code {process.returncode}: {err.strip()}")
    if self.rows("shared.sqlite") != self.rows("whole.sqlite"):
      self.loss("two processes", "other rows than alone")

  def any_number_of_jobs(self):
    self.fault("jobs")
    texts = set()
    for jobs in (1, 2, 5):
      self.finish(f"sweep study.json -o jobs{jobs}.sqlite --jobs {jobs}")
      texts.add(self.rows(f"jobs{jobs}.sqlite"))
    if len(texts) != 1:
      self.loss("jobs", "rows depend on --jobs")

  def tune_killed(self):
    """The end with what was kept is the end without; nothing is simulated twice."""
    _, whole, _ = self.finish(TUNE + " --json")
    for _ in range(3):
      which, code, delay_s = self.killed_after(TUNE + " --resume kept.jsonl --json", 1.0)
      self.fault("tune --resume")
      if code not in (0, 1, 130, 143, -which):
        self.loss("tune --resume", f"exit code {code} after {which.name} at {delay_s:.3f} s")
      self.look_for_leftovers("tune --resume", which.name, temporary=which != signal.SIGKILL)
    code, out, err = self.finish(TUNE + " --resume kept.jsonl --json")
    same = code == 0 and is_json(out) and strip(json.loads(out)) == strip(json.loads(whole))
    if not same:
      self.loss("tune --resume", f"exit code {code}, or another answer: {err.strip()}")

  def files_killed(self):
    """A trace or a recording is whole, or is what was there before."""
    for option, name, is_whole in (("--trace", "trace.json", is_json), ("--record", "run.program", bool)):
      before = "what was there before"
      (self.folder / name).write_text(before)
      which, code, delay_s = self.killed_after(f"{PREDICT} {option} {name}", 1.2)
      self.fault("written files")
      text = (self.folder / name).read_text()
      if text != before and (code != 0 or not is_whole(text)):
        replayed = self.finish(f"replay {name} --json")[0] if option == "--record" else 1
        if not is_whole(text) or (option == "--record" and replayed != 0):
          self.loss("written files", f"{name} is neither old nor whole after {which.name} at {delay_s:.3f} s")
      self.look_for_leftovers("written files", which.name, temporary=which != signal.SIGKILL)
      for path in self.folder.glob(name + "*"):
        if path.name != name and which != signal.SIGKILL:
          self.leftovers["written files"] += 1
          print(f"LEFTOVER written files: {path.name} after {which.name}", flush=True)
        path.unlink()

  def measured_killed(self):
    """Ranks, launchers and a testbed's hosts go with the program; its file is whole or what was there before;
    then it runs as if nothing had been, and takes away what the killed one left."""
    for kind, words in MEASURED:
      words = words.replace("TESTBED", self.testbed)
      if "--testbed" in words and not self.holds_testbeds:
        continue
      file, before = self.folder / "measured.json", '"what was there before"'
      file.write_text(before)
      which, code, delay_s = self.killed_after(words, 2.5, (signal.SIGKILL, signal.SIGKILL, signal.SIGINT))
      self.fault(kind)
      what = f"{which.name} after {delay_s:.3f} s: {words}"
      if code not in (0, -which, 128 + which):
        self.loss(kind, f"exit code {code}, {what}")
      if not is_json(file.read_text()):
        self.loss(kind, f"{file.name} is neither old nor whole, {what}")
      self.look_for_leftovers(kind, what, temporary=False)
      file.unlink()
      code, _, err = self.finish(words)
      if code != 0 or not is_json(file.read_text()):
        self.loss(kind, f"exit code {code} of a run after {what}: {err.strip()[-300:]}")
      self.look_for_leftovers(kind, f"a run after {what}")
      if self.testbed in self.finish("testbed list")[1]:
        self.leftovers[kind] += 1
        print(f"LEFTOVER {kind}: testbed {self.testbed} after {what}", flush=True)

  def signals_end_it(self):
    """Interrupted or terminated it ends at once, by that signal, with all of its answer or none."""
    which = self.random.choice([signal.SIGINT, signal.SIGTERM])
    words = self.random.choice([PREDICT, TUNE, f"collective --platform fat-tree:down=16x16,up=4,{LINK} --bytes 4MiB"])
    process = self.start(words)
    time.sleep(self.random.uniform(0.01, 0.4))
    began = time.monotonic()
    process.send_signal(which)
    out, _ = process.communicate(timeout=60)
    self.fault("signals")
    if process.returncode not in (0, -which, 128 + which):
      self.loss("signals", f"exit code {process.returncode} of {which.name}: {words}")
    took_s = time.monotonic() - began
    if out and out != self.finish(words)[1]:
      self.loss("signals", f"{which.name} left half an answer: {words}")
    if took_s > 5:
      self.loss("signals", f"{which.name} took {took_s:.1f} s: {words}")
    self.look_for_leftovers("signals", f"{which.name}: {words}")

  def nobody_reads(self):
    for words in ("system list", PREDICT + " --json", TUNE, f"platform show dgx-h100"):
      self.fault("lost output")
      with open("/dev/full", "w", encoding="utf-8") as full:
        code, _, err = self.finish(words, stdout=full)
      if code == 0 or not err:
        self.loss("lost output", f"exit code {code} on a full device: {words}")
      reader, writer = os.pipe()
      os.close(reader)
      self.fault("lost output")
      code, _, err = self.finish(words, stdout=writer)
      os.close(writer)
      if code == 0:
        self.loss("lost output", f"exit code 0 without a reader: {words}")
      self.look_for_leftovers("lost output", words)

  def without_memory(self):
    limit = self.random.randrange(30, 400) << 20
    words = self.random.choice([PREDICT, TUNE, f"collective --platform star:hosts=512,{LINK} --op all-to-all --bytes 1MiB"])
    self.fault("no memory")
    code, out, err = self.finish(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if code < 0 or code > 3 or (code != 0 and not err):
      self.loss("no memory", f"exit code {code} with {limit >> 20} MiB: {words}: {err.strip()[-200:]}")
    if code != 0 and out:
      self.loss("no memory", f"half an answer with {limit >> 20} MiB: {words}")
    self.look_for_leftovers("no memory", words)

  def same_bytes(self):
    self.fault("asked twice")
    words = self.random.choice([PREDICT + " --json", TUNE + " --json", f"crossover --platform star:hosts=8,{LINK} "
                                "--plans reduce/binomial reduce/chain --ranks 2..8 --bytes 4MiB..64MiB --json"])
    first, second = self.finish(words), self.finish(words)
    if first[0] != 0 or not first[1] or first != second:
      self.loss("asked twice", f"exit code {first[0]}, or two answers: {words}")

  def clock_jumps(self):
    """The time of day moves by years, to and fro: same answers at the same pace."""
    for words in ("sweep study.json -o jumped.sqlite", TUNE + " --json", PREDICT + " --json"):
      began = time.monotonic()
      calm = self.finish(words.replace("jumped", "calm"))
      most_s = 30 + 20 * (time.monotonic() - began)
      self.fault("clock jumps")
      process = self.start(words, settings={"LD_PRELOAD": self.clock})
      try:
        out, _ = process.communicate(timeout=most_s)
      except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        self.loss("clock jumps", f"not done in {most_s:.0f} s: {words}")
      same = not words.endswith("--json") or (is_json(out) and strip(json.loads(out)) == strip(json.loads(calm[1])))
      if process.returncode != 0 or not same:
        self.loss("clock jumps", f"exit code {process.returncode}, or another answer: {words}")
      self.look_for_leftovers("clock jumps", words)
    if self.rows("jumped.sqlite") != self.rows("whole.sqlite"):
      self.loss("clock jumps", "other rows than undisturbed")

  def round(self):
    self.folder = Path(tempfile.mkdtemp(prefix="forescale-faults-"))
    (self.folder / "tmp").mkdir()
    (self.folder / "study.json").write_text(json.dumps(STUDY))
    try:
      for kind in (self.sweep_killed, self.two_on_one_database, self.any_number_of_jobs, self.tune_killed,
                   self.files_killed, self.measured_killed, self.signals_end_it, self.nobody_reads, self.without_memory, self.same_bytes):
        kind()
      if self.clock:
        self.clock_jumps()
    finally:
      shutil.rmtree(self.folder, ignore_errors=True)


def strip(answer):
  """Without what says how long it took or what was kept."""
  if isinstance(answer, dict):
    return {key: strip(value) for key, value in answer.items()
            if key not in ("wall_s", "simulated", "resumed", "command")}
  return [strip(one) for one in answer] if isinstance(answer, list) else answer


def is_json(text):
  try:
    json.loads(text)
    return True
  except ValueError:
    return False


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("program")
  parser.add_argument("--rounds", type=int, default=1)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--clock", default="", help="libjumping_clock.so, which a build of the tests has")
  arguments = parser.parse_args()
  # A shell's job in the background ignores it, and what it starts would.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  campaign = Campaign(os.path.abspath(arguments.program), arguments.seed, os.path.abspath(arguments.clock) if arguments.clock else "")
  for done in range(arguments.rounds):
    campaign.round()
    if sys.stderr.isatty() or (done + 1) % 10 == 0:
      print(f"round {done + 1} of {arguments.rounds}", end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr,
            flush=True)
  for kind, faults in campaign.faults.items():
    print(f"{kind:<16}{faults:>6} faults, {campaign.losses[kind]} losses, {campaign.leftovers[kind]} leftovers")
  return 1 if sum(campaign.losses.values()) + sum(campaign.leftovers.values()) else 0


if __name__ == "__main__":
  sys.exit(main())
