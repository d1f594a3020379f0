"""The project's files, and how a checker reports: what the style checkers share.

A checker prints one line a violation, `path:line: message`, and exits with 1 if there is any.
"""

import argparse
import os
import pathlib
import re
import sys

# Folders in dependency order (docs: a file includes only its own folder or earlier ones).
FOLDERS = ["base", "models", "topologies", "algorithms", "traces", "sim", "calibrate", "studies", "library", "cli"]

CXX_HEADERS = (".hpp", ".h", ".hh", ".cuh")
CXX_SOURCES = (".cpp", ".cc", ".cxx", ".cu")
CXX = CXX_HEADERS + CXX_SOURCES

_OUTPUT_AT_ROOT = {"build", "out"}
_NEVER = {".git", ".cache", ".vscode", ".idea", ".venv", "__pycache__", ".ipynb_checkpoints"}


def default_root():
    return pathlib.Path(__file__).resolve().parents[2]


def parse_arguments(description, *extra):
    """--root, and the (flag, keyword arguments) pairs of `extra`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=default_root())
    for flag, options in extra:
        parser.add_argument(flag, **options)
    arguments = parser.parse_args()
    arguments.root = arguments.root.resolve()
    return arguments


def files(root, suffixes=None):
    """Paths relative to `root`, sorted; without what builds and runs leave behind."""
    found = []
    for folder, subfolders, names in os.walk(root):
        at_root = pathlib.Path(folder) == root
        subfolders[:] = [
            name for name in subfolders
            if name not in _NEVER and not (at_root and name in _OUTPUT_AT_ROOT)
        ]
        for name in names:
            path = pathlib.Path(folder, name)
            if (suffixes is None or name.endswith(suffixes)) and path.is_file():
                found.append(path.relative_to(root))
    return sorted(found)


def text_of(path):
    """The file's text, or None where it is binary."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)


def code_only(text):
    """C++ with comments and literals blanked, except for the names in #include; same lines."""

    def blank(match):
        kept = match.group(0)
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if kept[0] == '"' and re.fullmatch(r"\s*#\s*include\s*", line):
            return kept
        return re.sub(r"[^\n]", " ", kept)

    return _COMMENT_OR_LITERAL.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What is declared at namespace scope, where nothing is indented: the last word before its parameters,
# value or body; and the first parameter's type, where it is a class of the project.
DECLARED = re.compile(r"^(?!namespace\b|template\b|using [\w:]+;|static_assert\b|.*\boperator\b)"
                      r"(?:\[\[\w+\]\] )?[A-Za-z_][^\n;={(\[]*?(?<!::)\b(\w+)\s*(?:final\s*)?(?::[^:][^{\n]*)?[;={(\[]"
                      r"(?:(?<=\()(?:const )?([A-Z]\w*))?", re.MULTILINE)


def declared(text):
    """(match of DECLARED, line) of what a C++ file declares at namespace scope."""
    code = code_only(text)
    return [(found, line_of(code, found.start())) for found in DECLARED.finditer(code)]


def hidden(text, pattern=DECLARED):
    """(match, line) of what `pattern` finds in the unnamed namespaces of a C++ file."""
    for block in UNNAMED.finditer(text):
        code = code_only(block.group(1))
        for found in pattern.finditer(code):
            yield found, line_of(text, block.start(1)) + line_of(code, found.start()) - 1


class Report:
    """Collects violations; finish() prints them and ends the program."""

    def __init__(self, what):
        self._what = what
        self._lines = []

    def add(self, path, line, message):
        self._lines.append((str(path), line, message))

    def finish(self, checked_count):
        for path, line, message in sorted(self._lines):
            print(f"{path}:{line}: {message}")
        print(f"{self._what}: {checked_count} files, {len(self._lines)} violations")
        sys.exit(1 if self._lines else 0)
