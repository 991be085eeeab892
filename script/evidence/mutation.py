# SPDX-License-Identifier: Apache-2.0
"""Changes single digits in a copy of the claims, and expects the audit to complain about each change."""
import dataclasses
import pathlib
import random
import shutil
import tempfile

import audit
import history
from records import ROOT, Broken


@dataclasses.dataclass(frozen=True)
class Change:
    name: str  # name of the file
    line: int
    before: str
    after: str
    complaints: list


def digits(folder):
    """Returns the place of every digit: file and offset."""
    places = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text()
            places += [(path, offset) for offset, char in enumerate(text) if char in "0123456789"]
    return places


def change_one(path, offset, folder, draw):
    """Changes a digit, audits, and restores the file."""
    text = path.read_text()
    other = draw.choice([digit for digit in "0123456789" if digit != text[offset]])
    path.write_text(text[:offset] + other + text[offset + 1:])
    complaints = audit.check(folder, with_history=history.full(ROOT))
    path.write_text(text)
    start = text.rfind("\n", 0, offset) + 1
    around = slice(max(start, offset - 20), offset + 12)
    before = text[around].split("\n")[0]
    position = offset - around.start
    return Change(path.relative_to(folder).as_posix(), text.count("\n", 0, offset) + 1, before,
                  before[:position] + other + before[position + 1:], complaints)


def run(folder, count, seed):
    """Yields `count` changes of random digits. Each change is made alone, in a temporary copy.

    Draws from data, pages and results of runs alternately. Draws a file first, and then a digit in it, so that small files are also
    drawn. Raises Broken if the audit complains before the first change, because later complaints would then prove nothing.
    """
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "claims"
        shutil.copytree(folder, copy)
        before = audit.check(copy, with_history=history.full(ROOT))
        if before:
            raise Broken(f"nothing was changed, because the audit complains already: {before[0]}")
        places = digits(copy)
        files = sorted({path for path, _ in places})
        results = [path for path in files if path.relative_to(copy).parts[:2] == ("data", "runs")]
        data = [path for path in files if path.relative_to(copy).parts[0] == "data" and path not in results]
        pages = [path for path in files if path not in data + results]
        kinds = [kind for kind in (data, pages, results) if kind]
        for number in range(count):
            chosen = draw.choice(kinds[number % len(kinds)])
            path, offset = draw.choice([place for place in places if place[0] == chosen])
            yield change_one(path, offset, copy, draw)
