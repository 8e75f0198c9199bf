#!/usr/bin/env python3
"""Unpacks the corpus of a target, one file an input, where cargo-fuzz reads it: tests/fuzz/unpack.py TARGET."""

import ast
import sys
from pathlib import Path

corpus = Path(__file__).parent / "corpus"
folder = corpus / sys.argv[1]
folder.mkdir(exist_ok=True)
for number, line in enumerate((corpus / f"{sys.argv[1]}.txt").read_text().splitlines()):
    (folder / str(number)).write_bytes(ast.literal_eval(f'b"{line}"'))
