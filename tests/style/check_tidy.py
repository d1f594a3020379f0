#!/usr/bin/env python3
"""clang-tidy finds no bug in the project's own sources (the checks are in .clang-tidy).

A file costs seconds, so one that passed is not checked again until it, a header of the project
that it reaches, .clang-tidy, its compile command or clang-tidy's version changes: BUILD/tidy/ keeps
a hash of those for each, and tidy_passed.txt beside this script those that had passed when --keep
last wrote it, so that a fresh checkout checks what has changed since. Sources that this build does not compile are named and left out, and
tests/ is left out: headers are seen through the sources that use them. So that a cold run stays
within minutes on two cores, the command line, the collectives and the MPI programs, many files of
one shape each, are checked with --all only.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import check_includes
import project

ONLY_WITH_ALL = ("cli/", "algorithms/collectives/", "calibrate/bench/")
PASSED = pathlib.Path("tests/style/tidy_passed.txt")
VERSION = "16"  # 14 and 15 cannot read the coroutines and ranges of GCC 12's library


def checker():
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", version):
                return program
    sys.exit(f"clang-tidy {VERSION} not found; ./test installs it")


def reached(root, path, seen):
    """`path` and the project's headers that it includes, directly or not."""
    if path in seen or not (root / path).is_file():
        return
    seen.add(path)
    code = project.code_only(project.text_of(root / path) or "")
    for match in check_includes.INCLUDE.finditer(code):
        if match.group(1):
            reached(root, pathlib.Path(match.group(1)), seen)


def fingerprint(root, build, path, command):
    """The same wherever the tree and its build folder are."""
    command = command.replace(str(build), "BUILD").replace(str(root), "ROOT")
    digest = hashlib.sha256(f"{VERSION}\n{command}\n".encode())
    seen = set()
    reached(root, path, seen)
    for name in [pathlib.Path(".clang-tidy"), *sorted(seen)]:
        digest.update(str(name).encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()


def without_precompiled(command):
    """`command` without the precompiled header, which is gcc's: clang reads what the file names."""
    return re.sub(r"(?:-Winvalid-pch )?-include \S+/cmake_pch\.hxx ", "", command)


def tidy(program, root, database, path):
    """The violations in `path` and its headers as (file, line, message); None: clean."""
    result = subprocess.run(
        [program, "-p", str(database), "--quiet", f"--config-file={root / '.clang-tidy'}",
         str(root / path)], capture_output=True, text=True)
    if result.returncode == 0:
        return None
    found = re.findall(r"^(/.+?):(\d+):\d+: (?:warning|error): (.*)$", result.stdout, re.MULTILINE)
    violations = []
    for name, line, message in found:
        real = pathlib.Path(name).resolve()  # the compiler may see the tree through a link
        if real.is_relative_to(root):
            violations.append((real.relative_to(root), int(line), message))
        else:
            violations.append((path, 1, f"by way of {real}:{line}: {message}"))
    return violations or [(path, 1, result.stdout + result.stderr)]


def passed_before(root):
    """Hashes of PASSED."""
    text = project.text_of(root / PASSED) if (root / PASSED).is_file() else ""
    return {line.split()[0] for line in text.splitlines()}


def keep(root, keys):
    lines = (f"{key} {path.as_posix()}\n" for path, key in sorted(keys.items()))
    (root / PASSED).write_text("".join(lines))


def main():
    arguments = project.parse_arguments(
        __doc__,
        ("--build", {"type": pathlib.Path, "required": True, "help": "has compile_commands.json"}),
        ("--jobs", {"type": int, "default": os.cpu_count()}),
        ("--all", {"action": "store_true", "help": "also " + ", ".join(ONLY_WITH_ALL)}),
        ("--keep", {"action": "store_true", "help": f"write {PASSED} where all pass"}))
    root, build = arguments.root, arguments.build.resolve()
    program = checker()
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = without_precompiled(entry["command"])
    (stamps / "compile_commands.json").write_text(json.dumps(entries))
    commands = {
        os.path.realpath(os.path.join(entry["directory"], entry["file"])): entry["command"]
        for entry in entries
    }
    sources, not_built, keys = [], [], {}
    for path in project.files(root, project.CXX_SOURCES):
        if path.parts[0] not in project.FOLDERS:
            continue
        if not arguments.all and path.as_posix().startswith(ONLY_WITH_ALL):
            continue
        command = commands.get(os.path.realpath(root / path))
        if command is None:
            not_built.append(path)
            continue
        sources.append(path)
        keys[path] = fingerprint(root, build, path, command)

    def stamp(path):
        return stamps / path.as_posix().replace("/", "__")

    before = passed_before(root)
    changed = [path for path in sources if keys[path] not in before
               and not (stamp(path).is_file() and stamp(path).read_text() == keys[path])]
    report = project.Report("tidy")
    violations = set()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda path: tidy(program, root, stamps, path), changed)
        for path, found in zip(changed, results):
            if found is None:
                stamp(path).write_text(keys[path])
            else:
                violations.update(found)
    for violation in violations:
        report.add(*violation)
    if arguments.keep and not violations:
        keep(root, keys)
    if not_built:
        print(f"not compiled here, so not checked: {', '.join(map(str, not_built))}")
    print(f"{len(changed)} checked now, {len(sources) - len(changed)} unchanged since they passed")
    report.finish(len(sources))


if __name__ == "__main__":
    main()
