#!/usr/bin/env python3
"""Types: a name means one type. Two headers that define different ones of the same name break the
one-definition rule, which no compiler and no linker reports."""

import re

import project

# At namespace scope, with its body; what is declared only may be declared often.
TYPE = re.compile(r"^(?:struct|class|enum(?:\s+class)?)\s+(\w+)\b(?!::)[^;{]*\{", re.MULTILINE)


def main():
    root = project.parse_arguments(__doc__).root
    report = project.Report("names")
    first = {}
    headers = [path for path in project.files(root, project.CXX)
               if path.name.endswith(project.CXX_HEADERS)]
    for path in headers:
        text = project.text_of(root / path) or ""
        code = project.code_only(text)
        for found in TYPE.finditer(code):
            line = code.count("\n", 0, found.start()) + 1
            other = first.setdefault(found.group(1), (path, line))
            if other[0] != path:
                report.add(path, line, f"{found.group(1)} is a type of {other[0]}:{other[1]} too")
    report.finish(len(headers))


if __name__ == "__main__":
    main()
