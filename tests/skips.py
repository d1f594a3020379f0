#!/usr/bin/env python3
"""Runs ctest and says which tests were skipped and why; a skip for a reason not listed here fails.

    skips.py JUNIT CTEST ARGUMENT...     JUNIT: where ctest's results may be written

What was skipped comes before ctest's closing lines, which stay the last that is printed. A test is
skipped for what a machine cannot have, never for what ./test installs or the repository holds.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

# What the test says, and why no set-up can help.
REASONS = (
    (r"--gpu: .*(?:no NVIDIA driver|no GPU was found|cannot be used|too old)", "needs a GPU"),
    (r"a GPU is here|PyTorch sees a GPU here", "about a machine without a GPU"),
    (r"forescale-gpu is not built", "needs a CUDA toolkit, which Debian's free archive lacks"),
    (r"network namespaces cannot be made|the kernel (?:makes|has) no", "needs network namespaces"),
    (r"no right to mount|slurmd needs root|Slurm does not start here", "needs root and its rights"),
)
CLOSING = re.compile(r"\d+% tests passed|No tests were found")


def reason_of(case):
    """What the test said: the text after googletest's "Skipped"."""
    said = case.findtext("system-out") or ""
    found = re.search(r": Skipped\n(.*?)\n\s*\[  SKIPPED \]", said, re.DOTALL)
    return " ".join((found.group(1) if found else said[-200:]).split())


def skipped(junit):
    """(test, reason) of each."""
    cases = xml.etree.ElementTree.parse(junit).getroot().iter("testcase")
    return [(case.get("name"), reason_of(case)) for case in cases if case.find("skipped") is not None]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    junit, command = os.path.abspath(sys.argv[1]), sys.argv[2:]  # ctest changes its folder
    closing = []
    with subprocess.Popen([*command, "--output-junit", junit], stdout=subprocess.PIPE,
                          text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            if closing or CLOSING.match(line):
                closing.append(line)
            else:
                print(line, end="", flush=True)
    skips = skipped(junit) if closing else []
    unlisted = 0
    print(f"skipped: {len(skips)} tests")
    for name, said in skips:
        why = next((why for pattern, why in REASONS if re.search(pattern, said)), None)
        unlisted += why is None
        print(f"  {name}: {why or 'NOT A REASON OF tests/skips.py'}: {said[:200]}")
    if unlisted:
        print(f"skipped for no listed reason, which fails: {unlisted} tests")
    print()
    print("".join(closing), end="", flush=True)
    sys.exit(ctest.returncode or (1 if unlisted else 0))


if __name__ == "__main__":
    main()
