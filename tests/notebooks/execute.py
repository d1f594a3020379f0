#!/usr/bin/python3
"""Executes a notebook on a file that the program wrote: execute.py NOTEBOOK VALIDATION OUTPUT_FOLDER.

Fails when a cell raises; the executed page (HTML) stays in OUTPUT_FOLDER."""
import os
import subprocess
import sys

notebook, validation, folder = sys.argv[1:]
environment = dict(os.environ, FORESCALE_VALIDATION=os.path.abspath(validation))
sys.exit(
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--output-dir", folder,
         notebook],
        env=environment,
        check=False,
    ).returncode
)
