# SPDX-License-Identifier: Apache-2.0
"""Reads results of experiments: data/runs/NAME.csv (the file runs.csv of `vitrine-train sweep`), and NAME.toml with their
origin."""
import csv
import dataclasses
import hashlib
import io
import itertools
import math

from records import Broken, load, made


@dataclasses.dataclass(frozen=True)
class Origin:
    """Origin of the runs."""

    sha256: str  # digest of the csv
    date: str
    command: str
    program: str  # digest of the sources that decide results; for a command that is not a sweep, the commit
    cpu: str  # processor, and the kernels that it selects
    threads: int
    hours: float  # hours on two cores, without start, tests and reports
    revision: str = ""  # a commit of the program
    data_digest: str = ""
    failures: list = dataclasses.field(default_factory=list)  # {cell = "lr=1,seed=2", reason = "..."}


@dataclasses.dataclass(frozen=True)
class Runs:
    origin: Origin
    rows: list  # dictionaries of labels, seed and scores


def labels(axis):
    """Returns the labels of an axis of an experiment."""
    if "settings" in axis:
        return [setting["label"] for setting in axis["settings"]]
    return axis.get("labels") or axis["values"]


def cells(experiment):
    """Returns the cells of a grid: a tuple of labels, and the seed."""
    return list(itertools.product(itertools.product(*(labels(axis) for axis in experiment.axes)), experiment.seeds))


def cell_name(experiment, cell):
    parts = [f"{axis['name']}={label}" for axis, label in zip(experiment.axes, cell[0])]
    return ",".join(parts + [f"seed={cell[1]}"])


def rows_of(content):
    """Returns the rows of a csv of runs."""
    return list(csv.DictReader(io.StringIO(content.decode())))


def read(folder, experiments):
    """Returns the runs of all experiments that have runs, by the experiment's name."""
    found = {}
    for path in sorted((folder / "data" / "runs").glob("*.csv")):
        if path.stem not in experiments:
            raise Broken(f"runs/{path.name} belongs to no experiment")
        origin = made(Origin, load(path.with_suffix(".toml")), f"runs/{path.stem}.toml")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != origin.sha256:
            raise Broken(f"runs/{path.name} does not have the digest of {path.stem}.toml")
        found[path.stem] = Runs(origin, rows_of(content))
    return found


def machine(origin, row):
    """Returns the processor and kernels of a run. If its row does not have them, returns those of all runs of the origin."""
    return f"{row['cpu']}, {row['kernels']}" if row.get("cpu") else origin.cpu


def row_name(experiment, row):
    return ",".join([f"{axis['name']}={row.get(axis['name'])}" for axis in experiment.axes] + [f"seed={row.get('seed')}"])


def accounted(experiment, runs):
    """Returns the names of the cells that have a result or a listed failure."""
    return [row_name(experiment, row) for row in runs.rows] + [failure["cell"] for failure in runs.origin.failures]


def changes(experiment, before, now):
    """Yields the cell and column of every recorded value that is not in `now`. For an absent row, yields "row". Seconds may differ, unless
    they are the score of the experiment."""
    free = {"seconds"} - {experiment.metric}
    later = {row_name(experiment, row): row for row in now.rows}
    for row in before.rows:
        name = row_name(experiment, row)
        if name not in later:
            yield name, "row"
            continue
        yield from ((name, column) for column, text in row.items()
                    if text and column not in free and later[name].get(column, "") != text)


def missing(experiment, runs):
    """Returns the names of cells that have neither a result nor a failure. Runs with missing cells decide no claim."""
    present = set(accounted(experiment, runs))
    return [name for name in (cell_name(experiment, cell) for cell in cells(experiment)) if name not in present]


def misplaced(experiment, present):
    """Returns complaints about names of cells that are unknown or repeated."""
    expected = {cell_name(experiment, cell) for cell in cells(experiment)}
    return ([f"{experiment.name}: {name} is no cell of the grid" for name in sorted(set(present) - expected)] +
            [f"{experiment.name}: {name} is there twice" for name in sorted({n for n in present if present.count(n) > 1})])


def select(experiment, runs, wanted, metric, lower_is_better=False):
    """Returns the scores of the runs that have the labels in `wanted`, by seed and by the labels of the axes not in `wanted`.

    A failed run gets the worst possible score, so that it is not ignored.
    """
    axes = [axis["name"] for axis in experiment.axes]
    rows = [(tuple(row[name] for name in axes), int(row["seed"]), row.get(metric)) for row in runs.rows]
    worst = math.inf if lower_is_better else -math.inf
    failed = {failure["cell"] for failure in runs.origin.failures}
    rows += [(*cell, worst) for cell in cells(experiment) if cell_name(experiment, cell) in failed]
    found = {}
    for row, seed, score in rows:
        if all(row[axes.index(name)] == label for name, label in wanted.items()):
            if score in (None, ""):
                raise Broken(f"{experiment.name} has no {metric}")
            key = tuple(label for name, label in zip(axes, row) if name not in wanted)
            found[(*key, seed)] = float(score)
    return found
