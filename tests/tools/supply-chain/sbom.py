"""Prints the software bill of materials of the binary, as CycloneDX 1.5 in JSON: every crate that petstore is built
from, with its version, license, checksum and dependencies. The output for a commit is always the same."""

import json
import subprocess
import sys
import tomllib

TARGET = sys.argv[1]


def cargo(*arguments):
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))
# The metadata also has the crates of tests. The tree has only the crates of the binary: a name and a version per line.
edges = ["--edges", "normal,build", "--target", TARGET]
tree = cargo("tree", "--package", "petstore", *edges, "--prefix", "none", "--no-dedupe")
built = {tuple(line.replace(" v", " ").split()[:2]) for line in tree.splitlines()}
with open("Cargo.lock", "rb") as lock:
    locked = tomllib.load(lock)["package"]
sums = {(it["name"], it["version"]): it.get("checksum") for it in locked}
packages = {it["id"]: it for it in metadata["packages"]}


def is_built(package):
    return (packages[package]["name"], packages[package]["version"]) in built


def needed(node):
    """Returns the dependencies of a crate in the binary, without dev-dependencies."""
    kept = [it for it in node["deps"] if any(kind["kind"] != "dev" for kind in it["dep_kinds"])]
    return [it["pkg"] for it in kept if is_built(it["pkg"])]


nodes = metadata["resolve"]["nodes"]
needs = {node["id"]: needed(node) for node in nodes if is_built(node["id"])}
[root] = [it for it in needs if packages[it]["name"] == "petstore"]


def reference(package):
    return f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"


def component(package):
    name, version = packages[package]["name"], packages[package]["version"]
    described = {
        "type": "application" if package == root else "library",
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "purl": reference(package),
        "licenses": [{"expression": packages[package]["license"].replace("/", " OR ")}],
    }
    if checksum := sums[name, version]:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


others = sorted(needs.keys() - {root}, key=reference)
json.dump(
    {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root)},
        "components": [component(package) for package in others],
        "dependencies": [
            {"ref": reference(it), "dependsOn": sorted(map(reference, set(needs[it])))}
            for it in [root, *others]
        ],
    },
    sys.stdout,
    indent=1,
)
