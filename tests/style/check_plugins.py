#!/usr/bin/env python3
"""Plug-ins: one file that registers itself and has no header, so that nobody can couple to it."""

import re

import project

PLUGIN_FOLDERS = ["algorithms/collectives", "algorithms/schedules", "models/workload/operators"]
PLUGIN_FILES = re.compile(r"topologies/(fabrics/generator_|import/format_)[^/]+$")

# At namespace scope, filled before main():  const bool kRegistered = Registry<T>::add({...});
# or, for several, const bool kRegistered = [] { ... }();
CONSTANT = re.compile(r"^[ \t]*(?:\[\[maybe_unused\]\]\s*)?(?:static\s+|inline\s+)?const\s+bool\s+"
                      r"k\w+\s*[={]", re.MULTILINE)
CALL = re.compile(r"\bRegistry\s*<[^;]*?>\s*::\s*add\s*\(|\b(?:register|add)_\w+\s*\(")


def is_plugin(path):
    name = path.as_posix()
    return any(name.startswith(folder + "/") for folder in PLUGIN_FOLDERS) or bool(
        PLUGIN_FILES.match(name))


def main():
    root = project.parse_arguments(__doc__).root
    report = project.Report("plug-ins")
    plugins = [path for path in project.files(root, project.CXX) if is_plugin(path)]
    for path in plugins:
        if path.name.endswith(project.CXX_HEADERS):
            report.add(path, 1, "a plug-in has no header")
            continue
        code = project.code_only(project.text_of(root / path) or "")
        constant = CONSTANT.search(code)
        if not constant or not CALL.search(code, constant.start()):
            report.add(path, 1, "does not register itself: const bool kRegistered = register_...(")
    report.finish(len(plugins))


if __name__ == "__main__":
    main()
