"""Writes the programs of docs/CLIENTS.md: `blocks.py CLIENTS.md FOLDER`.

The blocks of a language make one program, `clients.py` for Python. `clients.py.expected` has what it must
print: the lines behind the arrows.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"^(?:#|//) => (.*)$", re.MULTILINE)
LANGUAGES = {"sh": "sh", "python": "py", "ts": "ts", "rust": "rs"}
FRAMES = {
    "sh": "set -euo pipefail\n{}",
    "rust": "fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{}Ok(())\n}}\n",
}

page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
blocks = BLOCK.findall(page.read_text())
unknown = {language for language, _ in blocks} - LANGUAGES.keys()
if unknown:
    sys.exit(f"{page}: blocks of {sorted(unknown)}; each must be one of {sorted(LANGUAGES)}, so that it is run")

for language, ending in LANGUAGES.items():
    program = "\n".join(text for of, text in blocks if of == language)
    expected = ARROW.findall(program)
    if not expected:
        sys.exit(f"{page}: no block of {language} says with => what it prints")
    file = folder / f"clients.{ending}"
    file.write_text(FRAMES.get(language, "{}").format(program))
    file.with_name(f"{file.name}.expected").write_text("".join(f"{line}\n" for line in expected))
