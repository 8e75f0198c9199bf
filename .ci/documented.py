"""Fails if a `cargo test` line of a document runs no test, or if GUARANTEES names a test that does not exist.

The list of tests comes from the programs built with PETSTORE_TEST_ALL=1, which `.ci/run` sets. A line without this
variable skips the tests that need `time`: this script finds them by their attributes in the sources.
"""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

SOURCES = [path for root in ("tests", "crates") for path in Path(root).rglob("*.rs")]
DOCUMENTS = [Path("README.md"), *sorted(Path("docs").rglob("*.md"))]
ALL = "PETSTORE_TEST_ALL=1"
# Lines with these flags need a build of their own, so cargo lists their tests.
ELSEWHERE = ("--features", "--manifest-path")
# Words of a line that stand for any name.
PLACEHOLDERS = ("A::B", "A", "B")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def names(listing):
    return [line.removesuffix(": test") for line in listing.splitlines() if line.endswith(": test")]


def long_tests():
    """Returns names of tests and of their modules. A test takes long if its path contains one of these names."""
    found = set()
    for path in SOURCES:
        text = path.read_text()
        found |= set(re.findall(r"needs\([^)]*\btime\b[^)]*\)\](?:\s*#\[[^\]]*\])*\s*(?:fn\s+)?(\w+)", text))
        # The combinations of two stores, in the macro `on_stores`.
        found |= set(re.findall(r"\((\w+) \w+ \w+,[^)]*\btime\)", text))
    return found


def built():
    """Returns each test program of the workspace: package, kind, name, tests and ignored tests."""
    programs = []
    messages = run("cargo", "test", "--workspace", "--locked", "--no-run", "--message-format", "json")
    for message in map(json.loads, messages.splitlines()):
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            target, program = message["target"], message["executable"]
            if "proc-macro" in target["kind"]:
                continue  # a macro crate has no tests, and only the compiler runs it
            package = json.loads(run("cargo", "read-manifest", "--manifest-path", message["manifest_path"]))["name"]
            listed = names(run(program, "--list"))
            ignored = set(names(run(program, "--list", "--ignored")))
            programs.append((package, target["kind"][0], target["name"], listed, ignored))
    return programs


def parted(words):
    """Splits the words of a line at `--`: words for cargo, and words for the test programs."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def matches(variables, words, programs, long):
    """Returns the tests that a line runs. `variables` precede `cargo`, `words` follow `cargo test`."""
    before, after = parted(words)
    packages, tests, filters, library = [], [], [word for word in after if not word.startswith("-")], False
    everything = "--tests" in before
    rest = iter(before)
    for word in rest:
        if word in ("-p", "--package"):
            packages.append(next(rest))
        elif word == "--test":
            tests.append(next(rest))
        elif word == "--lib":
            library = True
        elif not word.startswith("-"):
            filters.append(word)
    found = []
    for package, kind, name, listed, ignored in programs:
        if packages and package not in packages:
            continue
        if (tests or library) and not everything and not (kind == "test" and name in tests or library and kind != "test"):
            continue
        for test in listed:
            skipped = test in ignored or (ALL not in variables and any(part in long for part in test.split("::")))
            runs = "--include-ignored" in after or skipped == ("--ignored" in after)
            if runs and (not filters or any(word in test for word in filters)):
                found.append(test)
    return found


def lines(document):
    """Yields the test commands of a document, from its blocks, tables and sentences."""
    text = document.read_text()
    candidates = re.findall(r"`([^`\n]+)`", text) + text.splitlines()
    for line in candidates:
        found = re.match(r"\|?\s*((?:[A-Z_]+=\S+ )*)cargo (test .*)", line.strip("`"))
        if found and "|" not in found[2] and "`" not in found[2]:
            yield found[1].split(), shlex.split(found[2], comments=True)[1:]


def elsewhere(words):
    """Returns the tests of a line that needs a build of its own."""
    before, after = parted(words)
    return names(run("cargo", "test", *before, "--", "--list", *[word for word in after if word[0] != "-"]))


def main():
    programs, long, faults, count = built(), long_tests(), [], 0
    for document in DOCUMENTS:
        seen = set()
        for variables, words in lines(document):
            line = " ".join([*variables, "cargo test", *words])
            if line in seen or (not words and not variables):
                continue
            seen.add(line)
            words = [word for word in words if word not in PLACEHOLDERS]
            own = any(word.startswith(ELSEWHERE) for word in words)
            found = elsewhere(words) if own else matches(variables, words, programs, long)
            print(f"{len(found):5} tests: {document}: {line}")
            count += 1
            if not found:
                faults.append(f"{document}: '{line}' runs no test")
    suites = [test for *_, name, listed, _ in programs if name == "black_box" for test in listed]
    promises = [test.split("::")[-1] for package, *_, listed, _ in programs if package == "petstore-sqlite" for test in listed]
    suites += names(run("cargo", "test", "--locked", "--manifest-path", "tests/browser/Cargo.toml", "--target-dir",
                        os.environ.get("CARGO_TARGET_DIR", "target"), "--", "--list"))
    named = set(re.findall(r"`((?:[a-z_0-9]+::)+[a-z_0-9]+)`", Path("docs/GUARANTEES.md").read_text()))
    for name in sorted(named):
        is_promise = name.split("::")[-1] in promises
        if not is_promise and not any(name.removeprefix("browser::") in test for test in suites):
            faults.append(f"docs/GUARANTEES.md: '{name}' is no test")
    print(f"{len(named):5} names of tests: docs/GUARANTEES.md")
    if count < 5 or len(named) < 20:
        faults.append("too few commands or names were found: this script reads the documents wrongly")
    for fault in faults:
        print(f"FAILED: {fault}")
    raise SystemExit(bool(faults))


main()
