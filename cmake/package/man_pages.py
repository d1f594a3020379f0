#!/usr/bin/env python3
"""Writes the manual's pages of the program and of each of its commands: man_pages.py PROGRAM HELP2MAN FOLDER."""
import gzip
import pathlib
import re
import subprocess
import sys

program, help2man, folder = sys.argv[1:]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_page(words, summary):
    """The page `forescale-predict` of the words ["predict"]; of none the program's own."""
    name = "-".join(["forescale", *words])
    page = output_of(help2man, "--no-info", "--section=1", f"--name={summary}",
                     "--version-string=" + output_of(program, "--version").split()[-1],
                     " ".join([program, *words]))
    # help2man takes the words for a version of the program; a page is found by its name.
    page = re.sub(r'^\.TH .*? "1"', f'.TH {name.upper()} "1"', page, count=1, flags=re.MULTILINE)
    page = page.replace(f"\n{' '.join(['forescale', *words])} \\- ", f"\n{name} \\- ", 1)
    with open(pathlib.Path(folder) / f"{name}.1.gz", "wb") as file:
        file.write(gzip.compress(page.encode(), mtime=0))


def commands_below(words):
    """[(words, summary)] of the commands that `complete` knows behind the words."""
    lines = [line.split("\t") for line in output_of(program, "complete", "--", *words).splitlines()]
    return [([*words, line[0]], line[1]) for line in lines
            if len(line) == 2 and re.match("[a-z]", line[0])]


pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
write_page([], "predicts how distributed DNN training scales")
for words, summary in commands_below([]):
    write_page(words, summary)
    for verb, verb_summary in commands_below(words):
        write_page(verb, verb_summary)
