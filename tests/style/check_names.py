#!/usr/bin/env python3
"""A name means one thing.

Types: two headers that define different ones of the same name break the one-definition rule, which no
compiler and no linker reports.

Sources, and tests: those of a folder are compiled several as one (CMakeLists.txt), and which ones
changes with every file that comes or goes. So what a file hides in its unnamed namespace has a name
that no header declares which one of them includes, as the hidden one hides the header's, and that no
other file of the folder hides; but functions may share one whose first parameters are of different
classes. GoogleTest's names begin with ::, as forescale::testing may be there too.
"""

import re

import check_includes
import project

# At namespace scope, with its body; what is declared only may be declared often.
TYPE = re.compile(r"^(?:struct|class|enum(?:\s+class)?)\s+(\w+)\b(?!::)[^;{]*\{", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
# The same may be said again.
ALIAS = re.compile(r"^using (\w+) = [^;]+;", re.MULTILINE)
OF_TESTING = re.compile(r"(?<![\w:])testing::(\w+)")
OVERLOADED = {"PrintTo", "to_json"}  # by the type that GoogleTest or nlohmann shows with it


def check_types(report, root, headers):
    first = {}
    for path in headers:
        code = project.code_only(project.text_of(root / path) or "")
        for found in TYPE.finditer(code):
            line = project.line_of(code, found.start())
            other = first.setdefault(found.group(1), (path, line))
            if other[0] != path:
                report.add(path, line, f"{found.group(1)} is a type of {other[0]}:{other[1]} too")


def complaints_about_folder(root, sources):
    """{(file, line, message)} of files that may be compiled as one."""
    complaints = set()

    def note(names, key, name, path, line):
        other, other_line = names.setdefault(key, (path, line))
        if other != path and name not in OVERLOADED:
            complaints.add((path, line, f"{name} is a name of {other}:{other_line} too, and the "
                                        "files of a folder are compiled several as one: rename it, "
                                        "or share it in a header"))

    reached = set()
    for path in sources:
        check_includes.reached(root, path, reached)
    shown, helpers, names = {}, {}, {}
    for path in sorted(reached - set(sources)):
        text = project.text_of(root / path) or ""
        space = NAMESPACE.search(text)
        for found, line in project.declared(text):
            shown.setdefault(found.group(1), (path, line))
            if path.parts[0] == "tests" and space:
                note(helpers, (space.group(1), found.group(1)), found.group(1), path, line)
    aliases = set()
    for path in sources:
        text = project.text_of(root / path) or ""
        said = {found.group(1): found.group(0) for found in ALIAS.finditer(text)}
        for found, line in project.hidden(text):
            name = found.group(1)
            if name in shown:
                note(shown, name, name, path, line)
            elif said.get(name) not in aliases:
                note(names, found.groups(), name, path, line)
        aliases.update(said.values())
    return complaints


def check_rooted(report, root, tests):
    """`tests`: all files of C++ in tests/."""
    texts = {path: project.code_only(project.text_of(root / path) or "") for path in tests}
    ours = {found.group(1) for path, code in texts.items() if path.name.endswith(project.CXX_HEADERS)
            for found, _ in project.declared(code)}
    for path, code in texts.items():
        for found in OF_TESTING.finditer(code):
            if found.group(1) not in ours:
                report.add(path, project.line_of(code, found.start()),
                           f"{found.group(0)} is GoogleTest's: ::{found.group(0)}")


def main():
    root = project.parse_arguments(__doc__).root
    report = project.Report("names")
    files = project.files(root, project.CXX)
    check_types(report, root, [path for path in files if path.name.endswith(project.CXX_HEADERS)])
    tests = [path for path in files if path.parts[0] == "tests"]
    complaints = set()
    # Those in calibrate/bench/ are of programs.
    sources = [path for path in files if path.suffix == ".cpp" and "bench" not in path.parts]
    for folder in project.FOLDERS:
        complaints |= complaints_about_folder(root, [
            path for path in sources if path.parts[0] == folder])
        complaints |= complaints_about_folder(root, [
            path for path in sources if path.parts[:2] == ("tests", folder)])
    for complaint in complaints:
        report.add(*complaint)
    check_rooted(report, root, tests)
    report.finish(len(files))


if __name__ == "__main__":
    main()
