# SPDX-License-Identifier: Apache-2.0
"""Code shared by script/bench and script/prove: options, the measurement of a part, and the writing of a result."""
import argparse
import pathlib
import sys
import tempfile

from driver import report
from driver.setup import ROOT


def parser(program, description, quick):
    made = argparse.ArgumentParser(prog=program, description=description)
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    return made


def check_names(made, what, names, table):
    if unknown := set(names) - set(table):
        made.error(f"no such {what}: {', '.join(sorted(unknown))}; there are {', '.join(table)}")


def section(part, rows):
    return f"## {part[0]}\n\n{report.table(rows)}\n"


def measure(part, make_setup):
    """Measures `part` (title, function of a Setup), prints its rows and returns them. `make_setup(folder)` makes the Setup, with
    `folder` for temporary files."""
    print(part[0], file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        rows = part[1](make_setup(pathlib.Path(scratch)))
    print(section(part, rows), flush=True)
    return rows


def page(title, origin, facts, body):
    """Returns the text of a page of results: `origin` says what was run and when, `facts` are the machine and the revision."""
    head = [f"# {title}", "", origin, "", *(f"- {fact}" for fact in facts), ""]
    return "\n".join([*head, body.rstrip("\n")]) + "\n"


def write(path, title, origin, facts, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(title, origin, facts, body))
    print(f"written to {path}", file=sys.stderr)
