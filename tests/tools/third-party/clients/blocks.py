"""Extracts programs of docs/CLIENTS.md and their expected output: `blocks.py CLIENTS.md PROGRAMS FOLDER`.

Writes the sh blocks of CLIENTS.md as one program, `FOLDER/client.sh`. For this program and for each file in the folder
PROGRAMS, writes a file `.expected` with the text behind each arrow (`=>`) in a comment.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"^\s*(?:#|//) => (.*)$", re.MULTILINE)

page, programs, folder = map(pathlib.Path, sys.argv[1:])
blocks = BLOCK.findall(page.read_text())
if any(language != "sh" for language, _ in blocks):
    sys.exit(f"{page}: each block must be sh, so that it is run")
shell = folder / "client.sh"
shell.write_text("set -euo pipefail\n" + "\n".join(text for _, text in blocks))
for program in [shell, *programs.iterdir()]:
    expected = ARROW.findall(program.read_text())
    if not expected:
        sys.exit(f"{program}: no comment with => has its expected output")
    (folder / f"{program.name}.expected").write_text("".join(f"{line}\n" for line in expected))
