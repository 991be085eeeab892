# SPDX-License-Identifier: Apache-2.0
"""Draws a committed run of an experiment with a seed, repeats it and compares the results."""
import dataclasses
import math
import os
import pathlib
import random
import re
import shlex
import subprocess
import tempfile

import intervals
import runs
import sweeps
import take
from records import Broken

# Exit codes of `vitrine-train sweep` if no run is left: 0 if all runs finished, 1 if some failed.
ENDED = (0, 1)
UNDECIDED = 3  # exit code if the bits differ, under other conditions, and no interval can judge the metric


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A committed run: its experiment reduced to one cell, the recorded results, and the scores of the other seeds of its setting."""

    name: str
    experiment: object
    origin: runs.Origin
    row: dict  # empty if the run failed
    reason: str  # reason of the failure
    siblings: list  # metric values of the same setting's other seeds
    spread: float  # difference between the experiment's best and worst metric

    @property
    def hours(self):
        """Returns the hours that the recorded run took. For a failed run, returns an equal share of the experiment's hours."""
        return float(self.row["seconds"]) / 3600 if self.row else self.experiment.hours

    @property
    def cpu(self):
        return runs.machine(self.origin, self.row)

    def interval(self):
        """Returns the 99.7 % prediction interval of the metric from the other seeds of the setting, and the reason why it cannot judge a
        run whose bits differ. The reason is empty if it can."""
        metric = self.experiment.metric
        if not self.row or len(self.siblings) < 2:
            return (-math.inf, math.inf), f"{len(self.siblings)} other seeds of this setting make no interval"
        low, high = intervals.prediction(self.siblings)
        said = f"the 99.7 % prediction interval of {metric} from {len(self.siblings)} other seeds, {low:.6g} to {high:.6g}, "
        if high - low > self.spread:
            return (low, high), said + "is wider than all scores of the experiment"
        if not low <= float(self.row[metric]) <= high:
            return (low, high), said + "does not even have the recorded value"
        return (low, high), ""

    @property
    def equal_bits(self):
        """Returns text that says where the bits of a repetition must be equal."""
        commit = f"commit {self.origin.revision}" if self.origin.revision else f"a commit with program {self.origin.program[:12]}"
        cpu = f"the CPU of this run, which is not recorded; it is one of {self.cpu}" if "; " in self.cpu else self.cpu
        return f"with vitrine-train built at {commit}, the bits must be equal on {cpu}"


def narrowed(axis, label):
    """Returns an axis with only one of its labels."""
    if "settings" in axis:
        return axis | {"settings": [setting for setting in axis["settings"] if setting["label"] == label]}
    index = runs.labels(axis).index(label)
    return axis | {"values": [axis["values"][index]]} | ({"labels": [label]} if axis.get("labels") else {})


def one_cell(experiment, cell):
    axes = [narrowed(axis, label) for axis, label in zip(experiment.axes, cell[0])]
    share = experiment.hours * take.CORES / sweeps.size(experiment)
    return dataclasses.replace(experiment, axes=axes, seeds=[cell[1]], hours=share)


def drawn(experiment, found, cell):
    by_name = {runs.row_name(experiment, row): row for row in found.rows}
    failures = {failure["cell"]: failure["reason"] for failure in found.origin.failures}
    name = runs.cell_name(experiment, cell)
    others = [by_name.get(runs.cell_name(experiment, (cell[0], seed))) for seed in experiment.seeds if seed != cell[1]]
    values = [float(row[experiment.metric]) for row in found.rows]
    return Drawn(name, one_cell(experiment, cell), found.origin, by_name.get(name, {}), failures.get(name, ""),
                 [float(row[experiment.metric]) for row in others if row], max(values, default=0) - min(values, default=0))


def pick(experiments, found, seed):
    """Draws a run from all committed runs of sweeps, including failed runs."""
    cells = []
    for name in sorted(found):
        experiment = experiments[name]
        if experiment.recipe:
            there = set(runs.accounted(experiment, found[name]))
            cells += [(name, cell) for cell in runs.cells(experiment) if runs.cell_name(experiment, cell) in there]
    if not cells:
        raise Broken("no run of a sweep is committed yet in data/runs/, so there is none to repeat")
    name, cell = random.Random(seed).choice(cells)
    return drawn(experiments[name], found[name], cell)


def data_at_hand(spec):
    """Raises Broken if the data of an experiment are missing. The message names the variable to set, and what can be unpacked."""
    names = re.findall(r"\$(\w+)", spec)
    for name in names:
        if not os.environ.get(name):
            raise Broken(f"the data {spec} are not at hand: set {name} to their folder")
    path = pathlib.Path(os.path.expandvars(spec).split(":", 1)[-1])
    if spec and not path.exists():
        packed = [str(found) for found in sorted(path.parent.glob(f"{path.name}.t*"))]
        hint = f". Unpack {packed[0]} into a folder DIR of yours and set {' and '.join(names)} to DIR" if packed and names else ""
        raise Broken(f"the data {spec} are not at hand: there is no {path}" + "".join(f"; {name} names their folder" for name in names) + hint)


def command(train, entry, work):
    """Returns the command that runs the drawn cell, as a list."""
    data = ["--data", os.path.expandvars(entry.experiment.data)] if entry.experiment.data else []
    return [train, "sweep", str(work / "cell.textproto"), "--jobs", "1", "--threads", str(entry.origin.threads), *data,
            "--work", str(work)]


def run(train, entry, work):
    """Runs the cell in a folder and returns the result. A stopped run is continued in the same folder."""
    work.mkdir(parents=True, exist_ok=True)
    if any(map(take.result_of, (work / "cells").glob("*"))):
        raise Broken(f"{work} has a result already; it would not be made again")
    (work / "cell.textproto").write_text(sweeps.grid(entry.experiment))
    try:
        status = subprocess.run(command(train, entry, work), check=False).returncode
    except OSError as error:
        raise Broken(f"{train}: {error.strerror}; --train names the program vitrine-train") from None
    if status not in ENDED:
        raise Broken(f"{train} ended with {status}; the same command with --work {work} continues")
    return take.read(entry.experiment, work, failed=status != 0).runs


def differences(entry, again):
    """Returns the differences between the conditions of two runs. If there are differences, the bits of the results may differ."""
    kinds = {"program": "program", "threads": "threads", "data": "data_digest"}
    pairs = {kind: (getattr(entry.origin, field), getattr(again.origin, field)) for kind, field in kinds.items()}
    pairs["CPU"] = entry.cpu, again.origin.cpu
    return [f"other {kind} ({before}, now {now})" for kind, (before, now) in pairs.items() if before != now]


def scores(row):
    """Returns the scores of a row by name. Their names are SPLIT/SCORE, except for the area under the training loss."""
    return {name: float(text) for name, text in row.items() if ("/" in name or name == take.AREA) and text != ""}


def judged(entry, again):
    """Returns an exit code, and a sentence that compares a repetition with a recorded run."""
    other = differences(entry, again)
    setting = "; ".join(other) or "the same CPU, program, threads and data"
    failed = again.origin.failures[0]["reason"] if again.origin.failures else ""
    if not entry.row or failed:
        words = [f"failed ({reason})" if reason else "has scores" for reason in (entry.reason, failed)]
        agree = not entry.row and bool(failed)
        return int(not agree), f"recorded: {words[0]}; again: {words[1]}; {setting}"
    before, now, metric = scores(entry.row), scores(again.rows[0]), entry.experiment.metric
    shown = "\n".join(f"  {name}: recorded {before.get(name, 'nothing')}, again {now.get(name, 'nothing')}"
                      for name in sorted(before.keys() | now.keys()))
    if before == {name: now.get(name) for name in before}:
        return 0, f"{shown}\nequal bits in {len(before)} scores, with {setting}"
    if not other:
        return 1, f"{shown}\nOTHER BITS, with {setting}"
    (low, high), reason = entry.interval()
    if reason:
        return UNDECIDED, f"{shown}\nNOT DECIDED: other bits, with {setting}, and {reason}; {entry.equal_bits}"
    inside = low <= now[metric] <= high
    return int(not inside), (f"{shown}\n{'inside' if inside else 'OUTSIDE'} the 99.7 % prediction interval of {metric} from "
                             f"{len(entry.siblings)} other seeds, {low:.6g} to {high:.6g}; bits need not be equal: {setting}")


def expectation(entry):
    """Returns text that says before the run how its result can be judged."""
    (low, high), reason = entry.interval()
    judged_by = (f"{reason}, so the result is then not decided" if reason else
                 f"{entry.experiment.metric} must be from {low:.6g} to {high:.6g}, by {len(entry.siblings)} other seeds")
    return f"{entry.equal_bits}; if they differ under other conditions, {judged_by}"


def perform(found, arguments):
    """Draws a run, prints its description and expected time, runs it again and prints the judgement. Returns the exit code."""
    entry = pick(found.experiments, found.runs, arguments.pick)
    recorded = ", ".join(f"{name} {text}" for name, text in entry.row.items() if "/" in name) or f"failed ({entry.reason})"
    print(f"{entry.experiment.name}, {entry.name}: {recorded}\nrecorded with {entry.cpu}, program {entry.origin.program[:12]}; "
          f"{len(entry.siblings)} other seeds of the setting\n{expectation(entry)}\n"
          f"expected: {entry.hours:.2g} hours of training with {entry.origin.threads} threads",
          flush=True)
    if arguments.dry_run:
        work = arguments.work or pathlib.Path("WORK")
        print(f"grid, {work}/cell.textproto:\n\n{sweeps.grid(entry.experiment)}\n{shlex.join(command(arguments.train, entry, work))}")
        return 0
    data_at_hand(entry.experiment.data)
    work = arguments.work or pathlib.Path(tempfile.mkdtemp(prefix="vitrine-rerun-"))
    print(f"work folder: {work}", flush=True)
    status, text = judged(entry, run(arguments.train, entry, work))
    print(text)
    return status
