#!/usr/bin/env python3
"""Text: #pragma once, no `using namespace`, no tabs, no path of one machine or out of
the tree, links and names of files that resolve; JSON is parsed in one file, for those who compile."""

import fnmatch
import pathlib
import re
import urllib.parse

import project

# Fixtures (logs, tables) keep the tabs that their tools write.
NO_TABS = project.CXX + (".py", ".cmake", "CMakeLists.txt", ".json", ".md", ".sh", ".proto")
NO_TABS_NAMED = ("run", "test")
USING_NAMESPACE = re.compile(r"^[ \t]*using\s+namespace\b", re.MULTILINE)
PRAGMA_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
JSON_PARSE = re.compile(r"\bjson::parse\s*\(")
# Somebody's home or workplace; a URL's or a relative path's folder of that name is none.
MACHINE_PATH = re.compile(r"(?<![\w.~${}-])/(?:work|root|home/[\w.-]+|Users/[\w.-]+)/")
# What is appended to a folder of the tree, or as many steps up as a file is deep and one more.
UP_FROM_ROOT = re.compile(r"""(?:\w_SOURCE_DIR\b(?<!CURRENT_SOURCE_DIR)[}")]*\s*"?|")/\.\.(?:/|")""")
UP = re.compile(r"(?<![\w.])(?:\.\./)+")
INLINE_LINK = re.compile(r"\]\(\s*(<[^>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+[^)\n]*)?\)")
DEFINED_LINK = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*(<[^>\n]*>|\S+)", re.MULTILINE)
# `models/stack`, `sim/run/session.hpp`, `studies/settings/emit_*.cpp`: the tree's, by folder or suffix.
NAMED_PATH = re.compile(r"`([\w.*-]+(?:/[\w.*-]*)+|[\w*-]+\.(?:hpp|cpp|cu|py|proto))`")
OURS = (*project.FOLDERS, "tests", "docs", "notebooks", "cmake")
MARKDOWN_CODE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[^\n]*$|(?P<tick>`+)[^`].*?(?P=tick)",
                           re.MULTILINE | re.DOTALL)


def check_cxx(report, path, text):
    code = project.code_only(text)
    if path.name.endswith(project.CXX_HEADERS) and not PRAGMA_ONCE.search(code):
        report.add(path, 1, "a header without #pragma once")
    for match in USING_NAMESPACE.finditer(code):
        report.add(path, project.line_of(code, match.end()), "using namespace")
    if path.as_posix() != "base/json_text.cpp":
        for match in JSON_PARSE.finditer(code):
            report.add(path, project.line_of(code, match.end()),
                       "json::parse: each file with it takes two seconds more to compile; parse_json "
                       "(base/json_text.hpp)")


def check_links(report, root, path, text, known):
    prose = MARKDOWN_CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group(0)), text)
    for pattern in (INLINE_LINK, DEFINED_LINK):
        for match in pattern.finditer(prose):
            target = match.group(1).strip("<>")
            if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|$", target):
                continue  # elsewhere, or in this very page
            name = urllib.parse.unquote(re.split(r"[#?]", target)[0])
            base = root if name.startswith("/") else (root / path).parent
            if pathlib.Path(base, name.lstrip("/")).resolve() not in known:
                report.add(path, project.line_of(prose, match.start(1)),
                           f"links to {target}, which is not in the project")


def check_named_paths(report, path, text, names):
    for match in NAMED_PATH.finditer(text):
        name = match.group(1).rstrip("/")
        if name.split("/")[0] in OURS:
            places = (name, f"{name}.hpp", f"{name}.cpp")
        elif name.endswith((".hpp", ".cpp", ".cu", ".py", ".proto")):
            places = (name, f"*/{name}")
        else:
            continue
        if not any(fnmatch.filter(names, place) for place in places):
            report.add(path, project.line_of(text, match.start()),
                       f"names {name}, which is not in the project")


def leaves_the_tree(path, line):
    if UP_FROM_ROOT.search(line):
        return True
    return any(match.group(0).count("/") >= len(path.parts) for match in UP.finditer(line))


def main():
    root = project.parse_arguments(__doc__).root
    report = project.Report("text")
    every = project.files(root)
    known = {root}
    for path in every:
        known.update([(root / path).resolve(), *(root / path).parents])
    names = [place.relative_to(root).as_posix() for place in known if place.is_relative_to(root)]
    for path in every:
        text = project.text_of(root / path)
        if text is None:
            continue
        if path.name.endswith(project.CXX):
            check_cxx(report, path, text)
        if path.name.endswith(".md"):
            check_links(report, root, path, text, known)
        if path.name.endswith(".md") and path.parts[0] != "tests":
            check_named_paths(report, path, text, names)
        no_tabs = path.name.endswith(NO_TABS) or path.name in NO_TABS_NAMED
        for number, line in enumerate(text.split("\n"), start=1):
            if no_tabs and "\t" in line:
                report.add(path, number, "a tab")
            if MACHINE_PATH.search(line):
                report.add(path, number, "a path of one machine")
            if leaves_the_tree(path, line):
                report.add(path, number, "a path that leaves the tree")
    report.finish(len(every))


if __name__ == "__main__":
    main()
