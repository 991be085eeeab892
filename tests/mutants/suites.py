# SPDX-License-Identifier: Apache-2.0
"""Reads suites.txt, which lists the test suites of each file."""

import pathlib

TABLE = pathlib.Path(__file__).resolve().parent / "suites.txt"


def read(text):
    """Parses lines "path: suite suite" into {path: [suite]}."""
    table = {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        path, colon, suites = line.partition(":")
        if not colon or not suites.split() or path in table:
            raise ValueError(f"suites.txt: '{line}' is not one path, a colon and suites, or its path is there twice")
        table[path] = suites.split()
    return table


def suites_of(file, table):
    """Returns the suites of the file, then the suites of its folder, then the suites of the folders above it, each
    suite once."""
    path = pathlib.PurePosixPath(file)
    suites = []
    for place in [path, *path.parents]:
        suites += [suite for suite in table.get(str(place), []) if suite not in suites]
    return suites
