"""forescale from Python: questions as keyword arguments, answers as pandas frames.

    import forescale
    answer = forescale.predict("kesch", "googlenet", gpus=[16, 32, 64], batch=1024, system="s-caffe-obr-hr")
    answer.frame[["gpus", "iteration_s", "iteration_fast_s", "iteration_slow_s"]]

Every function runs the program `forescale` (FORESCALE_PROGRAM names another than PATH's) with --json.
Keyword arguments are the options of its --help with underscores for dashes:

    True, False   --json, nothing;  interval=False is --no-range
    a list        16,32,64; of an option that may be repeated, once for each value
    a mapping     the option once for each NAME=VALUE: option={"fusion_threshold": 0}
    None          nothing: the program's default

Columns are named as in the JSON, their unit last: iteration_s, memory_bytes. What the program refuses is
an exception with its message; a point of a sweep that fails keeps its error in its row.
"""
from __future__ import annotations

import io
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence, Union

import pandas as pd

__all__ = ["Answer", "CheckFailed", "Error", "InputError", "SimulationStuck", "ask", "calibrate_fit",
           "calibrate_show", "collective", "compare", "crossover", "predict", "replay", "sweep", "tune_collective",
           "tune_layout", "tune_schedule"]

Words = Union[str, Sequence[str]]
Numbers = Union[int, str, Sequence[int]]
Sizes = Union[int, str, Sequence[Union[int, str]]]

# Options that take one value each time that they are given.
_REPEATED = {"among", "group", "link", "option", "plan", "plans", "scale_number", "size", "split", "what_if"}


class Error(Exception):
    """The program gave no answer; the text is what it said."""

    exit_code = 1


class InputError(Error):
    """Bad input: option or file, path in it, value and constraint."""

    exit_code = 2


class SimulationStuck(Error):
    """The simulation could not finish."""

    exit_code = 3


class CheckFailed(Error):
    """A check of the answer failed, such as a time below its physical floor."""

    exit_code = 4


@dataclass(frozen=True)
class Answer:
    """`frame`: one row a point; `document`: the program's JSON, all of it."""

    frame: pd.DataFrame
    document: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """What the program says about how far to trust the answer."""
        return self.document.get("warnings", [])

    @property
    def numbers(self) -> pd.DataFrame:
        """Every number that the answer rests on, with its source and whether it is assumed."""
        return pd.DataFrame(self.document.get("numbers", []))


def _arguments(options: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or (value is False and name != "interval"):
            continue
        if value is False:
            words.append("--no-range")
        elif value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                words += [option, f"{key}={each}"]
        elif isinstance(value, (list, tuple, range, pd.Series)):
            texts = [str(each) for each in value]
            for text in texts if name in _REPEATED else [",".join(texts)]:
                words += [option, text]
        else:
            words += [option, str(value)]
    return words


def _run(words: Sequence[str], options: Mapping[str, Any]) -> str:
    command = [os.environ.get("FORESCALE_PROGRAM", "forescale"), *words, *_arguments(options)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Error(f"no program {command[0]}: install forescale, or name it in FORESCALE_PROGRAM") from error
    if done.returncode != 0:
        kinds = {kind.exit_code: kind for kind in (InputError, SimulationStuck, CheckFailed)}
        said = done.stderr.strip() or f"{command[0]} ended with {done.returncode}"
        raise kinds.get(done.returncode, Error)(said)
    return done.stdout


def ask(*words: str, **options: Any) -> Any:
    """The JSON that `forescale WORD... OPTIONS --json` prints: ask("platform", "show", "kesch")."""
    return json.loads(_run(words, {**options, "json": True}))


def _rows(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.json_normalize(list(rows))  # {"root_s": {"waiting": 0}} is a column root_s.waiting


def predict(platform: str, model: str, *, gpus: Numbers | None = None, batch: int | None = None,
            system: str | None = None, **options: Any) -> Answer:
    """How training scales, a row a GPU count; with layout="tp=8,..." that of a transformer.

    Images (or sequences) a second are images_per_s, the 90 % interval of an iteration is
    iteration_fast_s to iteration_slow_s (of a layout iteration_low_s to iteration_high_s)."""
    document = ask("predict", platform=platform, model=model, gpus=gpus, batch=batch, system=system, **options)
    return Answer(_rows(document["predictions" if "predictions" in document else "points"]), document)


def collective(platform: str, op: str, *, ranks: Numbers | None = None, bytes: Sizes | None = None,
               stack: str | None = None, **options: Any) -> Answer:
    """Time of one collective, a row a rank count and size: time_s, with its floor bound_s."""
    document = ask("collective", platform=platform, op=op, ranks=ranks, bytes=bytes, stack=stack, **options)
    return Answer(_rows(document.get("points", [document])), document)  # one point alone is the document


def compare(platform: Words, *, system: Words | None = None, model: str, batch: int,
            gpus: Numbers | None = None, **options: Any) -> Answer:
    """Platforms and systems side by side: a row a contender and GPU count."""
    document = ask("compare", platform=platform, system=system, model=model, batch=batch, gpus=gpus, **options)
    frames = []
    for contender in document["contenders"]:
        frame = _rows(contender["prediction"]["points"])
        frame.insert(0, "system", contender["prediction"]["system"])
        frame.insert(0, "platform", contender["prediction"]["platform"])
        frames.append(frame)
    return Answer(pd.concat(frames, ignore_index=True), document)


def crossover(platform: str, *, ranks: Numbers | None = None, **options: Any) -> Answer:
    """From which size one algorithm beats another: a row a rank count and chunk size."""
    document = ask("crossover", platform=platform, ranks=ranks, **options)
    return Answer(_rows(document["points"]), document)


def tune_collective(platform: str, *, op: str | None = None, ranks: Numbers | None = None,
                    bytes: Sizes | None = None, stack: str | None = None, **options: Any) -> Answer:
    """The best plan by size, a row a rank count and size (known.best.plan, known.best.time_s);
    document["regions"] are the intervals of sizes with one plan."""
    document = ask("tune", "collective", platform=platform, op=op, ranks=ranks, bytes=bytes, stack=stack,
                   **options)
    return Answer(_rows(document["points"]), document)


def tune_layout(platform: str, model: str, *, gpus: Numbers, layout: str, **options: Any) -> Answer:
    """The fastest layouts of a transformer that fit in memory, a row a layout, fastest first; layout="global=128"
    says what stays. document["tunings"] has what was tried, left out and refused, by GPU count."""
    document = ask("tune", "layout", platform=platform, model=model, gpus=gpus, layout=layout, **options)
    return Answer(_rows(document["predictions"]), document)


def tune_schedule(platform: str, model: str, *, system: str, batch: int, gpus: Numbers,
                  **options: Any) -> Answer:
    """The best options of a system's schedule, a row a GPU count: begun.NAME, chosen.NAME, before.time_s and
    after.time_s."""
    document = ask("tune", "schedule", platform=platform, model=model, system=system, batch=batch, gpus=gpus,
                   **options)
    return Answer(_rows(document["rows"]), document)


def replay(traces: Words, *, platform: str | None = None, **options: Any) -> Answer:
    """What a recorded or traced run would take: one row; document["critical_path"] and more beside it.

    With what_if=["ranks=16", ...] document["what_if"] compares them."""
    words = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    document = ask("replay", *map(str, words), platform=platform, **options)
    return Answer(_rows([{key: value for key, value in document.items() if not isinstance(value, list)}]),
                  document)


def calibrate_show(measurement: str) -> Answer:
    """What a measurement of a cluster holds: a row a point, pattern and ranks beside bytes and time_s."""
    document = ask("calibrate", "show", str(measurement))
    rows = [{**{key: value for key, value in series.items() if key != "points"}, **point}
            for series in document["series"] for point in series["points"]]
    return Answer(_rows(rows), document)


def calibrate_fit(measurements: Words, **options: Any) -> Answer:
    """Platform and stack out of measurements of a cluster: a row a fitted number, low to high its interval.

    The files are document["platform"] and document["stack"] (name=, platform_file=, stack_file=); with
    hold_out=True document["held_out"] are the collectives that were measured, each plan predicted."""
    words = [measurements] if isinstance(measurements, (str, os.PathLike)) else list(measurements)
    document = ask("calibrate", "fit", *map(str, words), **options)
    return Answer(_rows(document["numbers"]), document)


def sweep(study: Mapping[str, Any] | str, *, output: str | None = None, **options: Any) -> pd.DataFrame:
    """The table of a study's answers (docs/sweep.md); the study is a file, or what such a file holds.

    With `output`, a SQLite file, a sweep that was interrupted goes on where it was."""
    with tempfile.TemporaryDirectory(prefix="forescale-") as folder:
        file = Path(folder) / "study.json"
        if isinstance(study, Mapping):
            file.write_text(json.dumps({"format": "forescale-study-1", **study}), encoding="utf-8")
        else:
            file = Path(study)
        table = _run(["sweep", str(file)],
                     {**options, "output": output or str(Path(folder) / "answers.sqlite"), "csv": True})
    return pd.read_csv(io.StringIO(table))
