# SPDX-License-Identifier: Apache-2.0
"""The Helm chart of deploy/helm, rendered by the first helm in PATH, and its values as a table."""
import json
import pathlib
import re
import subprocess
from typing import Any, Iterator

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "helm" / "vitrine"
EXAMPLES = ROOT / "deploy" / "helm" / "examples"
PAGE = ROOT / "docs" / "operations" / "helm.md"
KUBERNETES = "--kube-version=1.35"  # helm template contacts no cluster, so it needs the version
HEAD = "| value | type | default | meaning |\n|---|---|---|---|\n"


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["helm", *arguments], capture_output=True, text=True)


def template(*arguments: str, release: str = "vitrine", chart: pathlib.Path = CHART) -> list[dict[str, Any]]:
    """Returns the objects of a release in the namespace vitrine."""
    said = helm("template", release, str(chart), "--namespace=vitrine", KUBERNETES, *arguments)
    # On stderr, Helm names the symbolic links that it follows.
    other = [line for line in said.stderr.splitlines() if "found symbolic link in path" not in line]
    if said.returncode != 0 or other:
        raise AssertionError(f"helm template {' '.join(arguments)}: {said.stderr}")
    return [document for document in yaml.safe_load_all(said.stdout) if document]


def refusal(*arguments: str, chart: pathlib.Path = CHART, release: str = "vitrine") -> str:
    """Returns helm's error for values that the chart must refuse; empty if helm accepts them."""
    said = helm("template", release, str(chart), KUBERNETES, *arguments)
    return said.stderr if said.returncode else ""


def examples() -> dict[str, list[dict[str, Any]]]:
    """Returns the objects that the chart renders for each example file NAME.yaml. Their keys are "helm/NAME"."""
    found = {}
    for file in sorted(EXAMPLES.glob("*.yaml")):
        release = "vitrine-canary" if file.stem == "canary" else "vitrine"
        found[f"helm/{file.stem}"] = template(f"--values={file}", release=release)
    return found


def leaves(schema: dict[str, Any], values: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yields path, schema and default of every value. Objects that only group other values are left out."""
    for name, inner in schema["properties"].items():
        if "properties" in inner:
            yield from leaves(inner, values[name], f"{path}{name}.")
        elif name != "global":
            yield path + name, inner, values[name]


def meanings() -> dict[str, str]:
    """Returns the comment before each value of values.yaml, by the value's path."""
    found: dict[str, str] = {}
    path: list[str] = []
    comment: list[str] = []
    for line in (CHART / "values.yaml").read_text().splitlines():
        row = re.fullmatch(r"( *)(?:# (.*)|(\w+):.*)", line)
        if row is None:
            comment = []
        elif row[3] is None:
            comment.append(row[2])
        else:
            path = [*path[:len(row[1]) // 2], row[3]]
            found[".".join(path)] = " ".join(comment)
            comment = []
    return found


def type_of(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    return {"array": "list", "object": "map", "string": "text"}.get(schema["type"], schema["type"])


def table() -> str:
    """Returns the values as the rows of docs/operations/helm.md."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    said = meanings()
    rows = [f"| `{path}` | {type_of(inner)} | {'`' + json.dumps(default) + '`' if default != '' else ''} | {said[path]} |\n"
            for path, inner, default in leaves(schema, values)]
    return HEAD + "".join(rows)


def updated(page: str) -> str:
    """Returns the page with the current table in place of the old one."""
    begin = page.index(HEAD)
    end = page.index("\n\n", begin) + 1
    return page[:begin] + table() + page[end:]


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
    print(f"{PAGE.relative_to(ROOT)}: the values of {CHART.relative_to(ROOT)}")
