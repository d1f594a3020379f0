#!/usr/bin/env python3
"""Rebuilds the K40, K80, P100 and V100 files of this folder from public measurements.

    rebuild.py TABLES [--check]     TABLES: folder of the tables that figures.csv names
                                    (tests/models/data/tables has their rows)

figures.csv has a row a published figure: what it is, and either its value (papers and pages that
are in no table) or where it stands: a table, what its row says ("ngpus=1;..." must hold for exactly
one row) and the column. Rates in steps/s are multiplied by the batch. notes.csv has what people
should know of a file. With --check nothing is written: exit 1 when a file differs.
"""
import csv
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Tables:
    def __init__(self, folder):
        self.folder, self.read = folder, {}

    def value(self, figure):
        """The number as its table prints it."""
        if figure["value"]:
            return json.loads(figure["value"])
        name = figure["table"]
        if name not in self.read:
            self.read[name] = rows(self.folder / name)
        wanted = [pair.split("=", 1) for pair in figure["select"].split(";")]
        found = [row for row in self.read[name] if all(row[key] == text for key, text in wanted)]
        if len(found) != 1:
            sys.exit(f"{name}: {figure['select']}: {len(found)} rows, must be one")
        value = float(found[0][figure["column"]])
        if found[0].get("unit") == "steps/s":
            value = round(value * int(figure["batch"]), 2)
        return value


def measurement(figure, value):
    entry = {"framework": figure["framework"], "batch": int(figure["batch"]),
             figure["unit"]: {"value": value, "source": figure["source"]},
             "passes": figure["passes"], "library": figure["library"]}
    if figure["structure"]:
        entry["structure"] = figure["structure"]
    return entry | {"use": figure["use"] == "true"}


def plain(value):
    """656.0 as 656: what a table prints without a fraction has none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def text(gpu, network, note, figures, tables):
    lines = ["{", f'  "gpu": {json.dumps(gpu)},', f'  "network": {json.dumps(network)},']
    if note:
        lines.append(f'  "note": {json.dumps(note)},')
    entries = [json.dumps(measurement(figure, plain(tables.value(figure)))) for figure in figures]
    lines += ['  "measurements": [', ",\n".join("    " + entry for entry in entries), "  ]", "}"]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tables, is_check = Tables(pathlib.Path(sys.argv[1])), "--check" in sys.argv[2:]
    figures = rows(HERE / "figures.csv")
    differ = []
    for note in rows(HERE / "notes.csv"):
        gpu, network = note["gpu"], note["network"]
        of = [each for each in figures if (each["gpu"], each["network"]) == (gpu, network)]
        file, new = HERE / f"{gpu}-{network}.json", text(gpu, network, note["note"], of, tables)
        if not is_check:
            file.write_text(new, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != new:
            differ.append(file.name)
    if differ:
        sys.exit("differ from the tables: " + ", ".join(differ))


if __name__ == "__main__":
    main()
