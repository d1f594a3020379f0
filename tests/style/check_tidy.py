#!/usr/bin/env python3
"""clang-tidy finds no bug in the project's own sources (the checks are in .clang-tidy).

Nearly all of a file's 3 to 5 seconds go into the library headers that it reaches, which clang-tidy 16
reads and matches anew for every file. So files that compile alike are checked together, some fifty in
one source: in it each file's unnamed namespace has a name of its own, of which the rest of that file
sees what it uses. Files that would then say one name for two things are put apart. Where a group does
not compile all the same, the files that the errors name are checked in a smaller one, at last alone
and as they are: an error counts only there. All 451 files of the product take three minutes of a
processor; one by one they would take twenty-five.

What this cannot see: an include that a file lacks and another of its group has (a Debug build compiles
each alone, without precompiled headers). CUDA's kernels (.cu) are nvcc's, and sources that this build
does not compile are named and left out, as is tests/.

A file that passed is not checked again until it, a header of the project that it reaches, .clang-tidy,
its compile command or clang-tidy's version changes: BUILD/tidy/ keeps a hash of those.
"""

import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import check_includes
import project

VERSION = "16"  # 14 and 15 cannot read the coroutines and ranges of GCC 12's library
GROUP_MAX = 120

WORD = re.compile(r"(?:\bforescale::|(?<![\w.:>]))(\w+)")
# A name for something elsewhere, which several files may use for the same.
BORROWED = re.compile(r"^(?:using [\w:]+::|namespace )(\w+)(?: = [\w:]+)?;", re.MULTILINE)

NESTED = re.compile(r"^namespace (\w+) \{", re.MULTILINE)
# There is one for each type: names that several files may show.
OVERLOADED = {"to_json", "from_json"}

INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)
OPEN_ENUM = re.compile(r"^enum (?!class)(\w+)", re.MULTILINE)


def checker():
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", version):
                return program
    sys.exit(f"clang-tidy {VERSION} not found; ./test installs it")


def flags_of(entry):
    """What of the compile command decides how a source is read: neither the files, nor how well it
    is optimised, nor the precompiled header, which is gcc's, nor what is for several in one, nor
    shadows, which gcc sees: what files hide shadows what others do."""
    words = iter(shlex.split(entry["command"])[1:])
    flags = []
    for word in words:
        if word in ("-o", "-c", "-include"):
            next(words)
        elif not re.match(r"-O|-Winvalid-pch|--param=|-W(no-)?shadow$|-Wno-subobject-linkage$", word):
            flags.append(word)
    return tuple(flag for flag in flags if flag != entry["file"])


def compiled(entry):
    """The sources of a compile command: what it includes where CMake has put several into one."""
    path = pathlib.Path(os.path.realpath(os.path.join(entry["directory"], entry["file"])))
    if path.parent.name != "Unity":
        return [path]
    return [pathlib.Path(os.path.realpath(name)) for name in INCLUDED.findall(path.read_text())]


def found_by(flags):
    """Those of the flags that say what is defined and where headers are, and the others."""
    found, others = [], []
    words = iter(flags)
    for word in words:
        if word == "-isystem":
            found.append((word, next(words)))
        else:
            (found if re.match(r"-[DI]", word) else others).append((word,))
    return found, others


def flags_by_source(entries):
    """By source, the flags of its compile command, and what is defined and found for any source of the
    same CMakeLists.txt: so that they can be checked together."""
    of_folder, of_source = {}, {}
    for entry in sorted(entries, key=folder_of):
        found, others = found_by(flags_of(entry))
        shared = of_folder.setdefault(folder_of(entry), {})
        shared.update(dict.fromkeys(found))
        for path in compiled(entry):
            of_source.setdefault(path, (others, shared))
    return {path: tuple(word for flag in [*others, *shared] for word in flag)
            for path, (others, shared) in of_source.items()}


def folder_of(entry):
    """Where the CMakeLists.txt of a compile command is, in the tree."""
    output = re.search(r" -o (\S*?)CMakeFiles/", entry["command"])
    return output.group(1) if output else ""


@dataclasses.dataclass(frozen=True)
class Source:
    path: pathlib.Path  # in the tree
    flags: tuple
    shown: frozenset  # names of its unnamed namespaces that the rest of it uses
    borrowed: frozenset  # those that it uses and that stand for something elsewhere: json, fs
    headers: frozenset  # names that headers declare which it reaches
    key: str  # changes with whatever could change the verdict


def hidden(text, pattern):
    return {found.group(1) for found, _ in project.hidden(text, pattern)}


@functools.cache
def declared(path):
    return frozenset(found.group(1) for found, _ in project.declared(project.text_of(path) or ""))


def read_source(root, build, path, flags):
    """The key is the same wherever the tree and its build folder are."""
    told = " ".join(flags).replace(str(build), "BUILD").replace(str(root), "ROOT")
    digest = hashlib.sha256(f"{VERSION}\n{told}\n".encode())
    seen = set()
    check_includes.reached(root, path, seen)
    for name in [pathlib.Path(".clang-tidy"), *sorted(seen)]:
        digest.update(str(name).encode() + b"\0" + (root / name).read_bytes() + b"\0")
    text = project.text_of(root / path) or ""
    used = set(WORD.findall(project.code_only(project.UNNAMED.sub("", text))))
    return Source(path, flags, frozenset(hidden(text, project.DECLARED) & used),
                  frozenset(hidden(text, BORROWED) & used),
                  frozenset().union(*(declared(root / name) for name in seen if name != path)),
                  digest.hexdigest())


def grouped(sources):
    """Lists of at most GROUP_MAX that compile alike and in which no name is of two things."""
    groups = []  # (flags, names shown, names of headers, sources)
    for source in sources:
        own = source.shown - OVERLOADED
        for flags, shown, headers, members in groups:
            if (flags == source.flags and len(members) < GROUP_MAX and not shown & own
                    and not shown & source.headers and not headers & own):
                break
        else:
            shown, headers, members = set(), set(), []
            groups.append((source.flags, shown, headers, members))
        shown |= own
        headers |= source.headers
        members.append(source)
    return [members for _, _, _, members in groups]


def joined(root, group):
    """One source of the group's, and for each of its lines the file and line that it comes from."""
    lines, origins = [], []
    for part, source in enumerate(group):
        text = (root / source.path).read_text()

        def name_namespace(block):
            code = project.code_only(block.group(1))
            names = sorted(source.shown
                           & {found.group(1) for found in project.DECLARED.finditer(code)})
            again = [f" namespace {name} = part_{part}::{name};" for name in NESTED.findall(code)]
            again += [found.group(0) for found in BORROWED.finditer(code)
                     if found.group(1) in source.borrowed]
            return (f"namespace part_{part} {{{block.group(1)}}}"
                    + "".join(f" using part_{part}::{name};" for name in names) + "".join(again)
                    + "".join(f" using enum part_{part}::{name};" for name in OPEN_ENUM.findall(code)))

        of_file = (project.UNNAMED.sub(name_namespace, text) if len(group) > 1 else text).split("\n")
        lines += of_file
        origins += [(source.path, number) for number in range(1, len(of_file) + 1)]
    return "\n".join(lines), origins


def tidy(program, root, work, group):
    """The violations in the files of `group` and their headers as {(file, line, message)}, and the
    files that have to be checked in a smaller group, as they do not compile in this one."""
    name = hashlib.sha256("".join(source.key for source in group).encode()).hexdigest()
    together = work / f"{name}.cpp"
    text, origins = joined(root, group)
    together.write_text(text)
    result = subprocess.run(
        [program, "--quiet", f"--config-file={root / '.clang-tidy'}", str(together), "--",
         *group[0].flags, "-ferror-limit=0"], capture_output=True, text=True, cwd=work)
    if result.returncode == 0:
        together.unlink()
        return set(), []
    found = re.findall(r"^(/.+?):(\d+):\d+: (?:warning|error): (.*)$", result.stdout, re.MULTILINE)
    violations, broken = set(), set()
    for file, line, message in found:
        real = pathlib.Path(file).resolve()  # the compiler may see the tree through a link
        place = None
        if real == together.resolve():
            place = origins[int(line) - 1]
        elif real.is_relative_to(root):
            place = (real.relative_to(root), int(line))
        if "[clang-diagnostic-error]" in message:
            broken.add(place[0] if place else None)
        violations.add((*place, message) if place
                       else (group[0].path, 1, f"by way of {real}:{line}: {message}"))
    violations = violations or {(group[0].path, 1, result.stdout + result.stderr)}
    if not broken or len(group) == 1:
        return violations, []
    # What a group that does not compile says is nothing to go by.
    apart = [source for source in group if source.path in broken]
    if not apart or len(apart) == len(group):
        apart = group[:len(group) // 2]
    return set(), [apart, [source for source in group if source not in apart]]


def check(program, root, work, groups, jobs):
    """Yields (group, its violations); groups that do not compile come in parts."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(tidy, program, root, work, group): group
                   for group in sorted(groups, key=len, reverse=True)}
        while running:
            done, _ = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            for future in done:
                violations, parts = future.result()
                group = running.pop(future)
                running |= {pool.submit(tidy, program, root, work, part): part for part in parts}
                if not parts:
                    yield group, violations


def main():
    arguments = project.parse_arguments(
        __doc__,
        ("--build", {"type": pathlib.Path, "required": True, "help": "has compile_commands.json"}),
        ("--jobs", {"type": int, "default": os.cpu_count()}))
    root, build = arguments.root, arguments.build.resolve()
    program = checker()
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    flags = flags_by_source(json.loads((build / "compile_commands.json").read_text()))
    sources, left_out = [], []
    for path in project.files(root, project.CXX_SOURCES):
        if path.parts[0] not in project.FOLDERS:
            continue
        if path.suffix == ".cu" or (root / path).resolve() not in flags:
            left_out.append(path)
        else:
            sources.append(read_source(root, build, path, flags[(root / path).resolve()]))

    def stamp(source):
        return stamps / source.path.as_posix().replace("/", "__")

    changed = [source for source in sources
               if not (stamp(source).is_file() and stamp(source).read_text() == source.key)]
    report = project.Report("tidy")
    violations = set()
    for group, found in check(program, root, stamps, grouped(changed), arguments.jobs):
        violations |= found
        for source in group if not found else []:
            stamp(source).write_text(source.key)
    for violation in violations:
        report.add(*violation)
    if left_out:
        print(f"not compiled here, or a kernel, so not checked: {', '.join(map(str, left_out))}")
    print(f"{len(changed)} checked now, {len(sources) - len(changed)} unchanged since they passed")
    report.finish(len(sources))


if __name__ == "__main__":
    main()
