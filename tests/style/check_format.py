#!/usr/bin/env python3
"""clang-format leaves every C++ file as it is. --fix rewrites those that it would change.

Only version 14 counts (Debian 12's): the output of clang-format changes between versions.
"""

import re
import shutil
import subprocess
import sys

import project

VERSION = "14"
BATCH = 50  # files a call


def formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if f"version {VERSION}." in version:
                return program
    sys.exit(f"clang-format {VERSION} not found; ./test installs it")


def main():
    arguments = project.parse_arguments(
        __doc__, ("--fix", {"action": "store_true", "help": "rewrite the files"}))
    root = arguments.root
    program = formatter()
    report = project.Report("format (python3 tests/style/check_format.py --fix mends it)")
    sources = project.files(root, project.CXX)
    mode = ["-i"] if arguments.fix else ["--dry-run", "--Werror"]
    for start in range(0, len(sources), BATCH):
        batch = [str(path) for path in sources[start:start + BATCH]]
        result = subprocess.run([program, "--style=file", *mode, *batch], cwd=root,
                                capture_output=True, text=True)
        found = re.findall(r"^(.+?):(\d+):\d+: error: ", result.stderr, re.MULTILINE)
        first_lines = {}
        for path, line in found:
            first_lines[path] = min(int(line), first_lines.get(path, int(line)))
        for path, line in first_lines.items():
            report.add(path, line, "not as clang-format would write it, from here on")
        if result.returncode != 0 and not found:
            sys.exit(f"clang-format failed:\n{result.stderr}")
    report.finish(len(sources))


if __name__ == "__main__":
    main()
