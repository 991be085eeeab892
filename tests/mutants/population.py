# SPDX-License-Identifier: Apache-2.0
"""All possible faults, the faults that are known to be equivalent, and the random draw."""

import dataclasses
import hashlib
import pathlib

import faults

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = {".cc", ".cuh"}  # .cuh: a header with whole kernels
ROOMS = ["server", "models", "client", "common/drawing", "common/charts", "common/statistics"]


def files(wanted=()):
    """Returns the C++ sources and the kernels in these files and folders (default ROOMS), as paths from the root."""
    found = set()
    for path in [ROOT / name for name in (wanted or ROOMS)]:
        if not path.exists():
            raise ValueError(f"there is no {path}")
        found.update([path] if path.is_file() else (each for each in path.rglob("*") if each.suffix in SOURCES))
    return sorted(str(path.resolve().relative_to(ROOT)) for path in found)


def all_mutants(wanted=()):
    return [mutant for file in files(wanted) for mutant in faults.mutants_of(file, (ROOT / file).read_text())]


@dataclasses.dataclass(frozen=True)
class Equivalent:
    """A change that no test can detect, and the reason."""
    file: str
    before: str
    after: str
    why: str

    def names(self, mutant):
        return (self.file, self.before, self.after) == (mutant.file, mutant.before.strip(), mutant.after.strip())


def read_equivalents(text):
    """Parses entries with the four lines PATH, "- BEFORE", "+ AFTER" and "why: REASON". Ignores empty lines and # lines."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    entries = []
    for start in range(0, len(lines), 4):
        entry = lines[start:start + 4]
        if len(entry) < 4 or entry[1][:1] != "-" or entry[2][:1] != "+" or not entry[3].startswith("why: "):
            raise ValueError("an entry of equivalent.txt is not a path, '- before', '+ after' and 'why: reason': "
                             + " | ".join(entry))
        entries.append(Equivalent(entry[0].strip(), entry[1][1:].strip(), entry[2][1:].strip(), entry[3][5:].strip()))
    return entries


def equivalents():
    return read_equivalents((HERE / "equivalent.txt").read_text())


def without(mutants, known):
    """Returns the mutants that are not known to be equivalent. Raises ValueError if an entry of `known` is obsolete:
    its file does not exist, or has mutants but none that the entry names."""
    files_here = {mutant.file for mutant in mutants}
    stale = [entry for entry in known if not any(entry.names(mutant) for mutant in mutants)
             and (entry.file in files_here or not (ROOT / entry.file).exists())]
    if stale:
        raise ValueError("equivalent.txt lists what no longer applies: "
                         + "; ".join(f"{entry.file}: {entry.before}" for entry in stale))
    return [mutant for mutant in mutants if not any(entry.names(mutant) for entry in known)]


def drawn(mutants, seed):
    """Yields all mutants in the random order of this seed, one of each class in turn. A change of one file does not
    change the order of the mutants of other files."""
    def place(mutant):
        return hashlib.sha256(f"{seed}\0{mutant.id}".encode()).digest()
    queues = [sorted((mutant for mutant in mutants if mutant.kind == kind), key=place) for kind in faults.CLASSES]
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn < len(queue):
                yield queue[turn]
