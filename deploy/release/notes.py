#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the notes of a release: the section of a version in a change log, without its heading.

  notes.py VERSION [CHANGELOG]

Exit code 1 if the change log has no section of that version, or one without a date or without text.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def notes(changelog: str, version: str) -> str:
    """Returns the notes. Raises ValueError with a message for a person."""
    found = re.search(rf"^## \[{re.escape(version)}\](.*)\n((?:(?!## \[).*\n?)*)", changelog, re.M)
    if not found:
        raise ValueError(f"there is no section [{version}]")
    heading, text = found.groups()
    if not re.fullmatch(r" - \d{4}-\d{2}-\d{2}", heading):
        raise ValueError(f"the section [{version}] has no date; its heading must be \"## [{version}] - YYYY-MM-DD\"")
    if not text.strip():
        raise ValueError(f"the section [{version}] is empty")
    return f"# Vitrine {version}, {heading[3:]}\n\n{text.strip()}\n"


def main() -> int:
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    changelog = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "CHANGELOG.md"
    try:
        print(notes(changelog.read_text(), sys.argv[1]), end="")
    except ValueError as error:
        print(f"release: {changelog.name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
