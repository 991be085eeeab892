# SPDX-License-Identifier: Apache-2.0
"""Reads the work folder of a finished or unfinished sweep, and writes its results to data/runs/NAME.csv and NAME.toml."""
import csv
import dataclasses
import datetime
import hashlib
import io
import json
import math
import re

import runs
import sweeps
from records import Broken

CORES = 2  # experiments state their hours on two cores
LONGEST_REASON = 200
AREA = "loss area"  # a column of the csv


@dataclasses.dataclass(frozen=True)
class Work:
    """The results of an experiment in a sweep's work folder."""

    content: bytes  # the csv of the runs
    runs: runs.Runs


def folder_of(work, name):
    """Returns the folder of a run. If a name has special characters, the trainer replaces them and appends a hash."""
    plain = re.sub(r"[^A-Za-z0-9._=,+-]", "_", name)
    found = [work / "cells" / plain] if plain == name else sorted((work / "cells").glob(f"{plain}-????????"))
    if not found or not (found[0] / "experiment.textproto").is_file():
        raise Broken(f"{work} has no run {name}; is it the work folder of another sweep?")
    return found[0]


def conditions(folder):
    """Returns the conditions that the sweep recorded for a run, as strings: data, flags, program, threads, epochs."""
    text = (folder / "experiment.textproto").read_text()
    found = dict(re.findall(r"^# (\w+): ?(.*)$", text, re.MULTILINE)) | dict(re.findall(r"^(epochs): (.*)$", text, re.MULTILINE))
    if not found.keys() >= {"data", "flags", "program", "threads", "epochs"}:
        raise Broken(f"{folder}/experiment.textproto does not name data, flags, program, threads and epochs")
    return found


def common_conditions(experiment, folders):
    """Returns the conditions that all runs share. Raises Broken if they differ from the experiment's conditions."""
    found = conditions(folders[0])
    for folder in folders:
        if conditions(folder) != found:
            raise Broken(f"{folder.name} and {folders[0].name} ran under other conditions; compare their experiment.textproto")
    if float(found["epochs"]) != experiment.epochs:
        raise Broken(f"{folders[0].name} has {found['epochs']} epochs, {experiment.name} has {experiment.epochs:g}")
    if found["flags"]:
        raise Broken(f"{folders[0].name} ran with {found['flags']}, which the command of {experiment.name} does not have")
    return found


def result_of(folder):
    """Returns the result of a finished run, or None."""
    path = folder / "result.json"
    found = json.loads(path.read_text()) if path.is_file() else {}
    return found if found.get("finished") else None


def failure(name, folder):
    """Returns the record of a run that ended without a result. Its reason is the last line of the log."""
    log = folder / "log.txt"
    lines = [line.strip() for line in re.split(r"[\r\n]", log.read_text(errors="replace"))] if log.is_file() else []
    lines = [line for line in lines if line]
    if not lines:
        raise Broken(f"{name} has not started, so it has not failed")
    if len(lines) > 1 and lines[-2].endswith("continue with:"):
        raise Broken(f"{name} was stopped and can continue, so it has not failed")
    reason = lines[-1].removeprefix("vitrine-train: ")
    for folder_name in (str(folder.resolve()), str(folder)):
        reason = reason.replace(folder_name, "$WORK/" + name)
    return {"cell": name, "reason": reason[:LONGEST_REASON]}


def loss_area(folder):
    """Returns the area under the training loss of a run for each step, which is the mean of the column `loss` of steps.csv. Returns an
    empty text if the run has no such file."""
    path = folder / "steps.csv"
    losses = [float(step["loss"]) for step in runs.rows_of(path.read_bytes())] if path.is_file() else []
    return repr(math.fsum(losses) / len(losses)) if losses else ""


def as_csv(rows):
    """Returns rows as csv. Its columns are all columns of all rows; the field of a column that a row lacks is empty."""
    text = io.StringIO()
    lines = csv.DictWriter(text, list(dict.fromkeys(column for row in rows for column in row)), restval="", lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue().encode()


def hours(rows, threads):
    """Returns the hours that the runs would need on two cores."""
    return round(sum(float(row["seconds"]) for row in rows) * threads / CORES / 3600, 3)


def report_of(experiment, work):
    """Returns the rows of the report in a work folder. Raises Broken if they are not cells of the experiment."""
    report, grid = work / "report" / "runs.csv", work / "report" / "grid.textproto"
    if not report.is_file():
        raise Broken(f"{report} is not there; a sweep writes it when it ends or is stopped with SIGTERM or Ctrl-C")
    if not grid.is_file() or grid.read_text() != sweeps.grid(experiment):
        raise Broken(f"{grid} is not the grid of {experiment.name}, so these are the runs of another one")
    rows = runs.rows_of(report.read_bytes())
    wrong = runs.misplaced(experiment, [runs.row_name(experiment, row) for row in rows])
    if wrong:
        raise Broken(wrong[0])
    return rows


def read(experiment, work, failed=False, taken=frozenset()):
    """Returns the runs in the report of a work folder. If `failed`, runs without a result count as failed, except the runs in `taken`.

    A running sweep may have results that are not yet in its report. They are left out, or are an error if `failed`.
    """
    rows, report = report_of(experiment, work), work / "report" / "runs.csv"
    names = [runs.cell_name(experiment, cell) for cell in runs.cells(experiment)]
    folders = {name: folder_of(work, name) for name in names}
    known = common_conditions(experiment, list(folders.values()))
    results = {name: result_of(folders[name]) for name in (runs.row_name(experiment, row) for row in rows)}
    absent = [name for name in names if name not in results]
    for name, result in results.items():
        if not result:
            raise Broken(f"{report} has a result of {name}, its folder has none")
    rows = [row | {AREA: loss_area(folders[name]), "cpu": result["cpu"], "kernels": result["kernels"]}
            for row, (name, result) in zip(rows, results.items())]
    for name in absent if failed else []:
        if result_of(folders[name]):
            raise Broken(f"{report} is older than the result of {name}; continue the sweep, so that it writes it again")
    failures = [failure(name, folders[name]) for name in absent if name not in taken] if failed else []
    times = [(folders[name] / "result.json").stat().st_mtime for name in results]
    if not times and not failures:
        raise Broken(f"no run in {work} has finished")
    made, content = results.values(), as_csv(rows)
    threads = int(known["threads"])
    origin = runs.Origin(
        sha256=hashlib.sha256(content).hexdigest(),
        date=datetime.datetime.fromtimestamp(max(times, default=report.stat().st_mtime), datetime.timezone.utc).date().isoformat(),
        command=sweeps.command(experiment), program=known["program"],
        cpu="; ".join(sorted({runs.machine(None, row) for row in rows})), threads=threads,
        hours=hours(rows, threads), revision=min((result["revision"] for result in made), default=""),
        data_digest=known["data"] if experiment.data else "", failures=failures)
    return Work(content, runs.Runs(origin, rows))


def same_results(experiment, before, now):
    """Raises Broken if results that were taken before have changed, because each cell must be run only once."""
    later = {runs.row_name(experiment, row): row for row in now.rows}
    for failure in before.origin.failures:
        if failure["cell"] in later:
            raise Broken(f"data/runs/{experiment.name}.toml has the failure of {failure['cell']}: a failure that was taken stays")
    for name, column in runs.changes(experiment, before, now):
        if name in later:
            raise Broken(f"data/runs/{experiment.name}.csv has another {column} of {name}: results that were taken do not change")


def joined(experiment, before, work):
    """Returns the runs of a work folder, and the runs that were taken before from other parts of the grid. All must be from the same
    program."""
    same_results(experiment, before, work.runs)
    kept = before.origin
    now = dataclasses.replace(work.runs.origin, revision=kept.revision or work.runs.origin.revision)
    present = set(runs.accounted(experiment, work.runs))
    rows = [row for row in before.rows if runs.row_name(experiment, row) not in present]
    failures = [failure for failure in kept.failures if failure["cell"] not in present]
    if not rows and not failures:
        return Work(work.content, runs.Runs(now, work.runs.rows))
    for field in ("program", "threads", "data_digest"):
        if getattr(kept, field) != getattr(now, field):
            raise Broken(f"data/runs/{experiment.name}.toml has {field} {getattr(kept, field)}, {experiment.name} ran here with "
                         f"{getattr(now, field)}: parts of a grid must be of the same")
    order = {runs.cell_name(experiment, cell): number for number, cell in enumerate(runs.cells(experiment))}
    rows = sorted(rows + work.runs.rows, key=lambda row: order[runs.row_name(experiment, row)])
    failures = sorted(failures + now.failures, key=lambda failure: order[failure["cell"]])
    content = as_csv(rows)
    cpu = "; ".join(sorted({*kept.cpu.split("; "), *now.cpu.split("; ")}))
    origin = dataclasses.replace(now, sha256=hashlib.sha256(content).hexdigest(), date=max(kept.date, now.date), cpu=cpu,
                                 hours=hours(rows, now.threads), failures=failures)
    return Work(content, runs.Runs(origin, rows))


def toml(origin):
    """Returns an origin as TOML. Strings are written as JSON, which is also valid in TOML."""
    def text(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{name} = {text(part)}" for name, part in value.items()) + "}"
        if isinstance(value, list):
            return "[" + "".join(f"\n  {text(part)}," for part in value) + "\n]"
        return json.dumps(value, ensure_ascii=False)
    return "".join(f"{name} = {text(value)}\n" for name, value in vars(origin).items() if value or name not in ("revision", "data_digest", "failures"))


def write(folder, experiment, work):
    """Writes the runs. Returns the missing cells."""
    path = folder / "data" / "runs" / f"{experiment.name}.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(work.content)
    path.with_suffix(".toml").write_text(toml(work.runs.origin))
    return runs.missing(experiment, work.runs)
