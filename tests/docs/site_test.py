#!/usr/bin/env python3
"""The documentation's site (docs/site/build.py) is whole: site_test.py PROGRAM [OUTPUT]

Built without a warning, in OUTPUT or a folder that goes away: every link and anchor inside it resolves, nothing is
loaded from elsewhere, everything in the catalogue has a page on which each number has its source or the mark `assumed`
(or says that its file gives it alone), and a search knows it. Of what `validate` writes a made-up file is read.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs/site"))

import catalogue  # noqa: E402

KINDS = {"stacks": "models/stacks", "platforms": "topologies/presets", "gpus": "models/hardware/gpus",
         "kernels": "models/hardware/gpu_models", "systems": "algorithms/systems"}
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}
SOURCE = "source, or why it is assumed"


class Page(HTMLParser):
  """Ids, links, what is loaded, and tables as rows of text."""

  def __init__(self, file):
    super().__init__()
    self.ids, self.links, self.loaded, self.tables = set(), [], [], []
    self.cell = None
    self.feed(file.read_text(encoding="utf-8"))

  def handle_starttag(self, tag, attrs):
    values = dict(attrs)
    self.ids |= {values[key] for key in ("id", "name") if values.get(key)}
    if tag == "a" and values.get("href"):
      self.links.append(values["href"])
    self.loaded += [values[key] for of, key in LOADED if of == tag and values.get(key)]
    if tag == "table":
      self.tables.append([])
    elif tag == "tr":
      self.tables[-1].append([])
    elif tag in ("td", "th"):
      self.cell = ""

  def handle_endtag(self, tag):
    if tag in ("td", "th"):
      self.tables[-1][-1].append(" ".join(self.cell.split()))
      self.cell = None

  def handle_data(self, data):
    if self.cell is not None:
      self.cell += data


def is_elsewhere(address):
  return bool(urlsplit(address).scheme) or address.startswith("//")


def check_links(site, pages):
  for file, page in pages.items():
    for address in page.links:
      if is_elsewhere(address):
        continue
      parts = urlsplit(address)
      target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
      if target not in pages:
        if not target.is_file():
          yield f"{file.relative_to(site)}: links to {address}, which is not there"
      elif parts.fragment and unquote(parts.fragment) not in pages[target].ids:
        yield f"{file.relative_to(site)}: links to {address}, where there is no such anchor"


def check_loaded(site, pages):
  for file, page in pages.items():
    for address in page.loaded:
      if is_elsewhere(address):
        yield f"{file.relative_to(site)}: loads {address}"
      elif not (file.parent / unquote(urlsplit(address).path)).exists():
        yield f"{file.relative_to(site)}: loads {address}, which is not there"
  for file in site.rglob("*.css"):
    for address in re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", file.read_text(encoding="utf-8")):
      if re.match(r"https?:|//", address[0] or address[1]):
        yield f"{file.relative_to(site)}: loads {address[0] or address[1]}"


def check_rendered(site):
  """Marks of Markdown that a reader would see: links and rows of tables that are none."""
  for file in sorted(site.rglob("*.html")):
    for mark in re.findall(r"\[[^\]<>]*\]\([\w/.-]+\.md[^)<]*\)|<p>\| [^<]*", file.read_text(encoding="utf-8")):
      yield f"{file.relative_to(site)}: shows {mark[:60]}"


def numbers_of(page):
  return [row for table in page.tables if SOURCE in table[0] for row in table[1:]]


def count_of(cell):
  """Of "FILE /paths/0,2/latency_s, /paths/1/o_send_s" 3."""
  return sum(path.count(",") + 1 for path in cell.split(" ", 1)[1].split(", "))


def check_catalogue(site, pages, program):
  for kind, folder in KINDS.items():
    index = pages.get(site / f"catalogue/{kind}.html")
    for name in sorted(file.stem for file in (ROOT / folder).glob("*.json")):
      page = pages.get(site / f"catalogue/{kind}/{name}.html")
      if page is None or index is None or f"{kind}/{name}.html" not in index.links:
        yield f"{folder}/{name}.json has no page, or none that catalogue/{kind}.html links to"
        continue
      rows = numbers_of(page)
      for what, value, _, mark, why in rows:
        if not value or not why or mark not in ("assumed", "source", "no source") or \
           (mark == "no source") != (why == f"given in {what.split(' ')[0]}"):
          yield f"catalogue/{kind}/{name}.html: {what} has no value, no source or no mark"
      if kind in ("stacks", "platforms"):
        known = program.json(kind[:-1], "show", name)["numbers"]
        shown = sum(count_of(row[0]) for row in rows)
        if shown != len(known):
          yield f"catalogue/{kind}/{name}.html: {shown} numbers, the program has {len(known)}"


def check_search(site):
  text = (site / "searchindex.js").read_text(encoding="utf-8")
  index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)\s*;?\s*", text, re.DOTALL).group(1))
  names = index["docnames"]
  for wanted in ("catalogue/stacks/nccl-2.23-h100", "tutorials/buy", "glossary", "architecture"):
    if wanted not in names:
      yield f"searchindex.js does not know {wanted}"
  of_word = [index[part].get("mvapich2", []) for part in ("terms", "titleterms")]
  found = {names[number] for each in of_word for number in ([each] if isinstance(each, int) else each)}
  if not any(name.startswith("catalogue/stacks/mvapich2") for name in found):
    yield "searchindex.js: mvapich2 is on no page of a stack"


ROW = {"commands": ["forescale collective --platform aws-p5 --stack nccl-2.23-h100 --ranks 8 --bytes 8"],
       "role": "prediction", "error": -0.25, "trivial_error": -0.5, "right": None, "paper": "made-up",
       "claim": "a | claim", "id": "made-up-1", "unit": "s"}


def check_errors(program, folder):
  """What a page says of made-up rows."""
  file = Path(folder) / "validation.json"
  layout = "forescale predict --platform dgx-h100 --model llama-3-8b --gpus 8 --layout tp=8"
  rows = [ROW, {**ROW, "error": 0.05, "trivial_error": None, "id": "made-up-2"},
          {**ROW, "role": "adjusted", "error": 0.01}, {**ROW, "role": "arithmetic"},
          {**ROW, "commands": [layout], "error": None, "right": True}]
  document = {"format": "forescale-validation-1", "command": "forescale validate -o x", "rows": rows}
  file.write_text(json.dumps(document), encoding="utf-8")
  made = catalogue.Catalogue(program, file)
  stack, none = made.stack("nccl-2.23-h100"), made.stack("ideal")
  for text, where in (("| training | prediction | 1 | 0 |  |  | 1 of 1 |", stack),
                      ("| collectives | adjusted | 1 | 1 | 1.0 % |", stack),
                      ("| collectives | prediction | 2 | 2 | 15.0 % | 50.0 % |  | -25 %: a \\| claim", stack),
                      ("| training | prediction | 1 |", made.gpu("h100")),
                      ("| collectives | prediction | 2 |", made.platform("aws-p5")),
                      ("| training | prediction | 1 |", made.platform("dgx-h100")), (catalogue.NOTHING, none),
                      (catalogue.NOTHING, made.gpu("a100")), (catalogue.NOTHING, made.system("ddp-nccl"))):
    if text not in where.replace("\\-", "-"):
      yield f'of made-up claims the page "{where.split(chr(10), 1)[0]}" does not say: {text}'


def main():
  program = catalogue.Program(Path(sys.argv[1]).resolve(), ROOT)
  folder = tempfile.mkdtemp(prefix="forescale-site-test-")
  site = Path(sys.argv[2] if len(sys.argv) > 2 else folder + "/html").resolve()
  try:
    made = subprocess.run([sys.executable, "-B", ROOT / "docs/site/build.py", program.path, site], check=False)
    if made.returncode != 0:
      return 1
    pages = {file: Page(file) for file in site.rglob("*.html")}
    problems = [*check_links(site, pages), *check_rendered(site), *check_loaded(site, pages), *check_catalogue(site, pages, program),
                *check_search(site), *check_errors(program, folder)]
  finally:
    shutil.rmtree(folder)
  print("\n".join(problems))
  print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(problems)} problems")
  return 1 if problems else 0


if __name__ == "__main__":
  sys.exit(main())
