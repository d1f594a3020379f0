#!/usr/bin/env python3
"""Installs the build into a folder, builds a project that finds it there, and compares what it is told
with what the command line says: library_test.py BUILD_FOLDER CMAKE"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD, CMAKE = sys.argv[1:]
HERE = pathlib.Path(__file__).parent


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def close(name, one, other):
    if abs(one - other) > 1e-12 * abs(other):
        sys.exit(f"{name}: the library says {one!r}, the program {other!r}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        prefix = scratch / "prefix"
        run(CMAKE, "--install", BUILD, "--prefix", prefix)
        run(CMAKE, "-S", HERE, "-B", scratch / "consumer", f"-DCMAKE_PREFIX_PATH={prefix}")
        run(CMAKE, "--build", scratch / "consumer")
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("FORESCALE_")}
        said = {}
        for line in run(scratch / "consumer/consumer", env=environment).splitlines():
            for name in ("iteration", "low", "high", "bound", "command", "collective", "closed form",
                         "layout", "unknown field", "lost", "no platform", "fields", "goodput",
                         "left out"):
                if line.startswith(name + " "):
                    said.setdefault(name, []).append(line[len(name) + 1:])
                    break
            else:
                sys.exit(f"the library printed something of its own: {line}")
        program = prefix / "bin/forescale"
        words = said["command"][0].split()
        points = json.loads(run(program, *words[1:], "--json"))["points"]
        assert len(points) == 2
        for i, point in enumerate(points):
            close("iteration", float(said["iteration"][i]), point["iteration_s"])
            close("low", float(said["low"][i]), point["iteration_fast_s"])
            close("high", float(said["high"][i]), point["iteration_slow_s"])
            close("bound", float(said["bound"][i]), point["bound_s"])
        # 2 (p - 1) steps of a p-th each.
        expected = [2 * (p - 1) * (1e-6 + b / p / 10e9) for p in (4, 8) for b in (65536, 1 << 20)]
        for i, time_s in enumerate(expected):
            assert abs(float(said["collective"][i]) / time_s - 1) < 1e-9, (said["collective"], expected)
            assert abs(float(said["closed form"][i]) / time_s - 1) < 1e-9
        layout = json.loads(run(program, "predict", "--platform", "dgx-h100", "--model", "llama-3-8b", "--seq",
                                4096, "--gpus", 16, "--layout", "tp=2,micro=1,global=64,zero=optimizer",
                                "--no-range", "--json"))
        close("layout", float(said["layout"][0]), layout["predictions"][0]["iteration_s"])
        assert 'did you mean "platform"?' in said["unknown field"][0], said
        assert "are lost on" in said["lost"][0], said
        assert "question:/platform" in said["no platform"][0], said
        assert float(said["fields"][0]) > 20
        assert "does not go with --layout" in said["left out"][0], said
        # Two nodes: one failure in 50 hours (Daly 2006, equation 13).
        mtbf_s = 180000
        close("goodput", float(said["goodput"][0]),
              1800 / (mtbf_s * math.exp(600 / mtbf_s) * math.expm1(1860 / mtbf_s)))
        symbols = run("nm", "-D", "--defined-only", "-C", prefix / "lib/libforescale.so")
        foreign = [line for line in symbols.splitlines() if "forescale::library::" not in line]
        assert not foreign, foreign[:5]


if __name__ == "__main__":
    main()
