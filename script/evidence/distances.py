# SPDX-License-Identifier: Apache-2.0
"""Reads the attention distances that `vitrine eval` measured of the models of 06-eit, as results of 07-distances."""
import dataclasses
import datetime
import hashlib
import json

import runs
import sweeps
import take
from records import Broken

NAME, MODELS = "07-distances", "06-eit"  # the experiment, and that of its models
IMAGES = 2000
ACCURACY = "test/top1"


def values_of(found):
    """Returns the names of the models of 06-eit by their labels."""
    (axis,) = found.experiments[MODELS].axes
    return dict(zip(runs.labels(axis), axis["values"]))


def mean(values):
    return sum(values) / len(values)


def scores(folder, name):
    """Returns the scores of an --out folder of `vitrine eval`."""
    told = json.loads((folder / "attention_distance.json").read_text())
    if (told["model"], told["pictures"], told["failed"]) != (name, IMAGES, 0):
        raise Broken(f"{folder} has {told['pictures']} images of {told['model']} and {told['failed']} failed; {NAME} needs {IMAGES} of {name}")
    *others, last = told["head_deviation_pixels"]
    return {"seconds": json.loads((folder / "summary.json").read_text())["run"]["busy_seconds"], "diversity": told["diversity_pixels"],
            "mean distance": mean(told["head_mean_pixels"]), "last layer less the others": last - mean(others)}


def read(found, work):
    """Returns the distances in a work folder, and the accuracies of 06-eit. Program, CPU and data are those of the models' training."""
    models, experiment, rows = found.runs.get(MODELS), found.experiments[NAME], []
    if not models:
        raise Broken(f"{NAME} also needs the accuracies of {MODELS}: take its results first")
    accuracies = {(row["model"], row["seed"]): row[ACCURACY] for row in models.rows}
    names, dates = values_of(found), []
    for (label,), seed in runs.cells(experiment):
        folder = work / f"{names[label]}-{seed}"
        if not (folder / "attention_distance.json").is_file():
            continue
        if (label, str(seed)) not in accuracies:
            raise Broken(f"{MODELS} has no result of model={label},seed={seed}")
        told = scores(folder, folder.name)
        dates.append((folder / "attention_distance.json").stat().st_mtime)
        rows.append({"model": label, "seed": str(seed), "run": folder.name} | {name: repr(score) for name, score in told.items()} |
                    {ACCURACY: accuracies[label, str(seed)]})
    if not rows:
        raise Broken(f"{work} has no folder MODEL-SEED with an attention_distance.json")
    content = take.as_csv(rows)
    date = datetime.datetime.fromtimestamp(max(dates), datetime.timezone.utc).date().isoformat()
    origin = dataclasses.replace(models.origin, sha256=hashlib.sha256(content).hexdigest(), date=date, command=sweeps.command(experiment),
                                 hours=take.hours(rows, models.origin.threads), failures=[])
    return take.Work(content, runs.Runs(origin, rows))
