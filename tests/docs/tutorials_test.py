#!/usr/bin/env python3
"""Every command of docs/tutorials/ answers, with what the page shows.

  tutorials_test.py PROGRAM [--only NAME...] [--but NAME...]

The lines "./run ARGUMENTS" of a page's ```sh blocks are run in their order, in a folder of the page's own. A ```text
block shows what the ```sh block before it printed: each of its lines is one of that output, spaces aside; "..." leaves
out words of a line, or lines. In a ```console block numbers with their units may be any, as they are measured. Each
file that a command names with a folder is there after it. What needs a testbed is left out, with all that follows it
on the page, where no network namespace can be made.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "./run "
NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?( ?([num]?s|[kKMGT]?i?B(/s)?|%)(?![\w/]))?")
FILE = re.compile(r"(?:out|tests|calibrate)/[\w./-]+")


def blocks(page):
  """(language, number of its first line, lines) of each fenced block."""
  language, first, lines = None, 0, []
  for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), start=1):
    if line.startswith("```"):
      if language is None:
        language, first, lines = line[3:], number + 1, []
      else:
        yield language, first, lines
        language = None
    elif language is not None:
      lines.append(line)


def plain(line, measured=False):
  return " ".join((NUMBER.sub("#", line) if measured else line).split())


def occurs(shown, output):
  """Some line of the output has all pieces of the shown one, in order; without "..." it is that line."""
  pieces = [piece.strip() for piece in re.split(r"(?:^|\s)\.\.\.(?=\s|$)", shown)]
  pattern = re.compile(r".*".join(re.escape(piece) for piece in pieces))
  return any(pattern.fullmatch(line) for line in output)


def no_testbed():
  """Why there can be none here, or nothing (calibrate/testbed/testbed.cpp asks the same of its tools)."""
  if subprocess.run(["unshare", "-n", "ip", "link", "add", "forescale0", "type", "veth"], capture_output=True,
                    check=False).returncode != 0:
    return "no network namespaces (root and iproute2 are needed)"
  if subprocess.run(["mpirun", "--version"], capture_output=True, check=False).returncode != 0:
    return "no mpirun"
  return ""


class Lesson:
  def __init__(self, page, program):
    self.page, self.program, self.problems = page, program, []
    self.run_count, self.left_out = 0, ""

  def complain(self, line, words):
    self.problems.append(f"docs/tutorials/{self.page.name}:{line}: {words}")

  def take(self, folder):
    (folder / "out").mkdir()
    for name in ("tests", "calibrate"):  # of the sources, where a reader is
      (folder / name).symlink_to(ROOT / name)
    run = folder / "run"
    run.write_text(f'#!/bin/sh\nexec {shlex.quote(self.program)} "$@"\n')
    run.chmod(0o755)
    output = None
    for language, first, lines in blocks(self.page):
      if language == "sh":
        output = self.commands(folder, first, lines)
      elif language in ("text", "console") and output is not None:
        measured = language == "console"
        have = [plain(line, measured) for line in output]
        for number, line in enumerate(lines, start=first):
          if line.strip() not in ("", "...") and not occurs(plain(line, measured), have):
            self.complain(number, f"is not in the output: {line.strip()}")

  def commands(self, folder, first, lines):
    """The lines that a block's commands print; None where they were left out."""
    output = []
    for number, line in enumerate(lines, start=first):
      if not line.startswith(COMMAND):
        if line.strip():
          self.complain(number, f"is no {COMMAND.strip()} command: {line}")
        continue
      if "testbed" in line and not self.left_out:
        self.left_out = no_testbed()
      if self.left_out:
        return None
      done = subprocess.run(["bash", "-c", line], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=300, check=False)
      self.run_count += 1
      if done.returncode != 0:
        self.complain(number, f"exit code {done.returncode}: {line}\n{done.stderr.strip()}")
      for name in FILE.findall(line):
        if not (folder / name).exists():
          self.complain(number, f"{name} is not there after: {line}")
      output += done.stdout.split("\n") + done.stderr.split("\n")
    return output

  def clean_up(self):
    """A testbed that a failed lesson left."""
    for name in re.findall(r"testbed up --name (\w+)", self.page.read_text(encoding="utf-8")):
      subprocess.run([self.program, "testbed", "down", "--name", name], capture_output=True, check=False)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("program")
  parser.add_argument("--only", nargs="+", help="these pages: buy, tune, ...")
  parser.add_argument("--but", nargs="+", default=[], help="all but these")
  arguments = parser.parse_args()
  problems = []
  pages = [page for page in sorted((ROOT / "docs/tutorials").glob("*.md"))
           if page.stem not in arguments.but and (not arguments.only or page.stem in arguments.only)]
  if not pages:
    sys.exit("no such page")
  for page in pages:
    lesson, began = Lesson(page, os.path.abspath(arguments.program)), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forescale-lesson-") as folder:
      try:
        lesson.take(Path(folder))
      finally:
        if not lesson.left_out:
          lesson.clean_up()
    if lesson.run_count < 4 and not lesson.left_out:
      lesson.complain(1, f"has {lesson.run_count} commands only")
    left_out = f"; the rest left out: {lesson.left_out}" if lesson.left_out else ""
    print(f"{page.name}: {lesson.run_count} commands in {time.monotonic() - began:.1f} s{left_out}", flush=True)
    problems += lesson.problems
  print("\n".join(problems))
  return 1 if problems else 0


if __name__ == "__main__":
  sys.exit(main())
