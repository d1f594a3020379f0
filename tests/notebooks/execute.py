#!/usr/bin/python3
"""Executes a notebook: execute.py NOTEBOOK OUTPUT_FOLDER [VALIDATION], the last a file that the program wrote.

Fails when a cell raises; the executed page (HTML) stays in OUTPUT_FOLDER."""
import os
import subprocess
import sys

notebook, folder, *validation = sys.argv[1:]
environment = dict(os.environ)
if validation:
    environment["FORESCALE_VALIDATION"] = os.path.abspath(validation[0])
sys.exit(
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--output-dir", folder,
         notebook],
        env=environment,
        check=False,
    ).returncode
)
