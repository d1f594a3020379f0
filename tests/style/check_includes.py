#!/usr/bin/env python3
"""Who includes whom: the direction of DESIGN's folders, and the one folder of each big library.

"..." is rooted at the repository and names the includer's own folder or an earlier one; tests/X
may include what X may, and tests' own helpers. <...> is for everything that is not ours.
"""

import pathlib
import re

import project

# Library headers with one home: a pattern of the name, the folder or the file that may include it. All
# tests of a folder's first folder may: they compare with bare SimGrid and with SMPI.
HOMES = [
    (re.compile(r"(simgrid|xbt|smpi)/"), "sim/engine/simgrid"),
    (re.compile(r"boost/"), "topologies"),
    (re.compile(r"(pugixml\.hpp|hwloc\.h)$"), "topologies/import"),
    (re.compile(r"(Eigen|unsupported/Eigen)/"), "calibrate"),
    (re.compile(r"mpi\.h$"), "calibrate/bench"),
    (re.compile(r"sqlite3(ext)?\.h$"), "base"),
    # Slow to compile: everything else says cli/command_line.hpp.
    (re.compile(r"CLI/"), "cli/command_line.cpp"),
    (re.compile(r"(cuda|cublas|cudnn|curand|cufft|cusparse|nccl|nvml|nvtx|nvToolsExt|driver_types|"
                r"device_launch_parameters|cooperative_groups|thrust/|cub/)[\w./]*$"),
     "calibrate/bench"),
]
# Threads of a rank never run at the same time (algorithms/worker.hpp): nothing there is locked.
NOT_IN = [
    (re.compile(r"(mutex|shared_mutex|atomic|thread|condition_variable|semaphore|latch|barrier|"
                r"future)$"), "algorithms", "threads of a rank take turns: no locks in schedules"),
]
# protoc writes X.pb.h for X.proto out of the source tree; these are found by their bare name too.
GENERATED = {"caffe.pb.h": "models"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)', re.MULTILINE)


def reached(root, path, seen):
    """`path` and the project's headers that it includes, directly or not."""
    if path in seen or not (root / path).is_file():
        return
    seen.add(path)
    code = project.code_only(project.text_of(root / path) or "")
    for match in INCLUDE.finditer(code):
        if match.group(1):
            reached(root, pathlib.Path(match.group(1)), seen)


def is_inside(path, folder):
    return path == folder or path.startswith(folder + "/")


def place_of(path):
    """Whose rules hold for `path` (tests/sim/x.cpp: those of sim/x.cpp); None: nobody's."""
    parts = path.parts[1:] if path.parts[0] == "tests" else path.parts
    if parts[0] in project.FOLDERS:
        return "/".join(parts)
    if path.parts[:2] == ("tests", "benchmarks"):
        return "sim"  # measured against bare SimGrid
    # A helper at the top of tests/ or a folder that mirrors nothing may use all of the project.
    return project.FOLDERS[-1] if path.parts[0] == "tests" else None


def complaint_about_project_header(root, path, place, name):
    if name in GENERATED:
        home = GENERATED[name]
        return None if is_inside(place, home) else f'"{name}" is for {home}/ only'
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "." in parts:
        return f'"{name}": includes are relative to the repository root'
    in_tests = parts[0] == "tests"
    if in_tests and path.parts[0] != "tests":
        return f'"{name}": only tests include tests'
    target = parts[1] if in_tests and len(parts) > 2 else parts[0]
    proto = re.sub(r"\.pb\.h$", ".proto", name)
    if not (root / name).is_file() and not (root / proto).is_file():
        return f'"{name}": no such file from the repository root (use <...> for libraries)'
    if target not in project.FOLDERS:
        return None if in_tests else f'"{name}": {target} is no folder of the project'
    own = place.split("/")[0]
    if project.FOLDERS.index(target) > project.FOLDERS.index(own):
        return f'"{name}": {own}/ comes before {target}/ and may not include it'
    return None


def complaint_about_library(root, path, place, name):
    first = name.split("/")[0]
    if first in project.FOLDERS + ["tests"] and (root / name).is_file():
        return f"<{name}>: the project's own headers are included in quotes"
    for pattern, home in HOMES:
        of_tests = path.parts[0] == "tests" and not home.endswith(".cpp")
        allowed = home.split("/")[0] if of_tests else home
        if pattern.match(name) and not is_inside(place, allowed):
            return f"<{name}> is for {home}{'' if home.endswith('.cpp') else '/'} only"
    for pattern, folder, reason in NOT_IN:
        if pattern.match(name) and is_inside(place, folder):
            return f"<{name}> is not for {folder}/: {reason}"
    return None


def main():
    root = project.parse_arguments(__doc__).root
    report = project.Report("includes")
    sources = project.files(root, project.CXX)
    for path in sources:
        text = project.text_of(root / path) or ""
        place = place_of(path)
        if path.parts[0] == "cmake":
            continue  # what the build precompiles
        if place is None:
            report.add(path, 1, f"C++ outside the folders {', '.join(project.FOLDERS)}, tests")
            continue
        code = project.code_only(text)
        for match in INCLUDE.finditer(code):
            quoted, angled = match.groups()
            if quoted is not None:
                message = complaint_about_project_header(root, path, place, quoted)
            else:
                message = complaint_about_library(root, path, place, angled)
            if message:
                report.add(path, project.line_of(code, match.end()), message)
    report.finish(len(sources))


if __name__ == "__main__":
    main()
