"""Markdown that says what was put in: text of data files is text, whatever characters it has."""
import re

PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&^:-])")


def text(value):
  """Every mark that could mean something is escaped (CommonMark 0.30, section 2.4)."""
  return PUNCTUATION.sub(r"\\\1", " ".join(str(value).split()))


def code(value):
  return f"`{value}`".replace("|", r"\|")


def link(name, page):
  return f"[{text(name)}]({page})"


def table(header, rows):
  lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
  lines += [f"| {' | '.join(row)} |" for row in rows]
  return "\n".join(lines) + "\n"


def block(words, language="text"):
  fence = "````"
  return f"{fence}{language}\n{words.rstrip()}\n{fence}\n"


# --- numbers with their units ------------------------------------------------------------------

SCALES = {
  "_bytes_per_s": ("B/s", 1000, ["", "k", "M", "G", "T", "P"]),
  "_flops_per_s": ("FLOP/s", 1000, ["", "k", "M", "G", "T", "P"]),
  "_bytes": ("B", 1024, ["", "Ki", "Mi", "Gi", "Ti"]),
}


def quantity(key, value):
  """`key` ends in its unit: latency_s = 4e-7 is 400 ns."""
  if value is None:
    return ""
  for ending, (unit, base, prefixes) in SCALES.items():
    if key.endswith(ending):
      step = 0
      while abs(value) >= base and step + 1 < len(prefixes):
        value, step = value / base, step + 1
      return f"{value:.4g} {prefixes[step]}{unit}"
  if key.endswith("_per_s"):
    return f"{value:.4g} 1/s"
  if key.endswith("_s"):
    for prefix, factor in (("", 1), ("m", 1e-3), ("u", 1e-6), ("n", 1e-9)):
      if abs(value) >= factor * 0.9995 or factor == 1e-9:
        return "0 s" if value == 0 else f"{value / factor:.4g} {prefix}s"
  return f"{value:.6g}"
