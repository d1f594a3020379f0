#!/usr/bin/env python3
"""The documentation as a site, to be opened from a folder: README, docs/, the catalogue, every command's --help.

  build.py PROGRAM OUTPUT [--validation FILE] [--sphinx SPHINX_BUILD]

OUTPUT/index.html is the front page. FILE is what `PROGRAM validate -o FILE` wrote: the errors on the catalogue's
pages; without it they say that they have none. Needs Sphinx and MyST (Debian: python3-sphinx, python3-myst-parser).
Pages are written into a folder that goes away; a warning of Sphinx is an error.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import catalogue  # noqa: E402
import markdown as md  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
# `docs/traces.md`, docs/traces.md or `traces.md`, but not what is a link or longer path already.
MENTION = re.compile(r"(?<![\w./\[`-])(?<!\]\()(`?)(?:docs/)((?:tutorials/)?[a-z_]+)\.md\1(?![\w/\]])"
                     r"|(?<![\w./(\[-])`((?:tutorials/)?[a-z_]+)\.md`(?![\]])")
CATALOGUE = "site's catalogue"  # where pages mention it, they link to it
HEADING = re.compile(r"#{1,6} ")


def with_links(words, page, pages):
  """Markdown in which a page that the text names is a link to it; code blocks and headings stay."""
  up = "../" * page.count("/")

  def link(found):
    name = f"{found.group(2) or found.group(3)}.md"
    return f"[{found.group(0)}]({up}{name})" if name in pages and name != page else found.group(0)

  lines, fence = [], ""
  for line in words.split("\n"):
    mark = FENCE.match(line)
    if mark and not fence:
      fence = mark.group(1)
    elif mark and line.strip().startswith(fence):
      fence = ""
    elif not fence and not HEADING.match(line):
      line = MENTION.sub(link, line).replace(CATALOGUE, f"[{CATALOGUE}]({up}catalogue/index.md)")
    lines.append(line)
  return "\n".join(lines)


def written_pages():
  """{file of the site: Markdown}, of what people wrote."""
  docs = ROOT / "docs"
  pages = {file.relative_to(docs).as_posix(): file.read_text(encoding="utf-8")
           for file in sorted(docs.rglob("*.md")) if "site" not in file.relative_to(docs).parts}
  front = (docs / "site/index.md").read_text(encoding="utf-8")
  pages["index.md"] = front.replace("](../../README.md)", "](readme.md)").replace("](../", "](")
  readme = (ROOT / "README.md").read_text(encoding="utf-8")
  pages["readme.md"] = re.sub(r"^# .*", "# On one page", readme, count=1)
  return {name: with_links(words, name, pages) for name, words in pages.items()}


def commands(program):
  """A page with the --help of every command and subcommand."""
  parts = ["# Commands\n", "What `--help` prints. `./run` in place of `forescale` in a folder of the sources.\n"]

  def below(words):
    for line in program.says("complete", "--", *words).splitlines():
      name, _, summary = line.partition("\t")
      if summary and re.match("[a-z]", name):
        parts.append(f"{'#' * (len(words) + 2)} {' '.join([*words, name])}\n")
        parts.append(md.block(program.says(*words, name, "--help")))
        if not words:
          below([name])

  below([])
  return "\n".join(parts)


def build(program, output, validation, sphinx):
  shown = catalogue.Program(Path(program).resolve(), ROOT)
  with tempfile.TemporaryDirectory(prefix="forescale-site-") as folder:
    source = Path(folder)
    pages = {**written_pages(), **catalogue.Catalogue(shown, validation).pages(), "commands.md": commands(shown)}
    for name, words in pages.items():
      (source / name).parent.mkdir(parents=True, exist_ok=True)
      (source / name).write_text(words, encoding="utf-8")
    shutil.copy(ROOT / "docs/site/conf.py", source)
    shutil.copytree(ROOT / "docs/site/static", source / "static")
    for picture in (ROOT / "docs").glob("*.svg"):
      shutil.copy(picture, source)
    made = Path(folder) / "html"
    done = subprocess.run([sphinx, "-W", "--keep-going", "-q", "-b", "html", "-d", source / ".doctrees", source, made],
                          check=False)
    if done.returncode != 0:
      raise SystemExit("the site was not made")
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(made, output, ignore=shutil.ignore_patterns(".buildinfo", "objects.inv"))
  return len(pages)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("program")
  parser.add_argument("output")
  parser.add_argument("--validation", metavar="FILE")
  parser.add_argument("--validation-if-made", metavar="FILE", help="the same, where there is such a file")
  parser.add_argument("--sphinx", default=shutil.which("sphinx-build"))
  arguments = parser.parse_args()
  if not arguments.sphinx:
    parser.error("no sphinx-build (Debian: python3-sphinx, python3-myst-parser)")
  validation = arguments.validation
  if not validation and arguments.validation_if_made and Path(arguments.validation_if_made).is_file():
    validation = arguments.validation_if_made
  count = build(arguments.program, arguments.output, validation, arguments.sphinx)
  print(f"{count} pages: {Path(arguments.output) / 'index.html'}")


if __name__ == "__main__":
  main()
