# SPDX-License-Identifier: Apache-2.0
"""Reads the attention distances that `vitrine eval` measured on the models of 06-eit, as results of 07-distances."""
import dataclasses
import datetime
import hashlib
import json

import runs
import sweeps
import take
from records import Broken

NAME, MODELS = "07-distances", "06-eit"  # the experiment, and the experiment that trained its models
IMAGES = 2000
SPLIT = "test"
ACCURACY = "test/top1"
THREADS = 2  # --executors of the server in the experiment's command


@dataclasses.dataclass(frozen=True)
class Program:
    """The server that computed the distances. Options of `script/claims take` give the fields, which the evaluation's files lack."""

    commit: str  # commit of vitrine-server and vitrine
    cpu: str  # processor, and the kernels that it selects


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
    means, deviations = told["head_mean_pixels"], told["head_deviation_pixels"]
    if None in (*means, *deviations, told["diversity_pixels"]):
        raise Broken(f"{folder} has a layer without any attention distance, so its model has no score")
    *others, last = deviations
    return {"diversity": told["diversity_pixels"], "mean distance": mean(means), "last layer less the others": last - mean(others)}


def summary(folder, name, trained):
    """Returns summary.json of an --out folder. Raises Broken if its model, split or training is another. `trained` has the fields
    of the provenance that the training must have; a version without provenance is accepted."""
    told = json.loads((folder / "summary.json").read_text())
    if (told["model"]["model"], told["data"]["split"]) != (name, SPLIT):
        raise Broken(f"{folder} evaluated the {told['data']['split']} split with {told['model']['model']}; {NAME} needs the {SPLIT} split "
                     f"with {name}")
    provenance = told["model"].get("provenance") or {}
    if provenance:
        recipe, *changes = provenance.get("recipe", "").split()
        has = dict(change.split("=", 1) for change in changes if "=" in change)
        has |= {"recipe": recipe, "epochs": provenance.get("epochs"), "seed": provenance.get("seed")}
        wrong = [f"{field} {has.get(field)} instead of {text}" for field, text in trained.items() if has.get(field) != text]
        if wrong:
            raise Broken(f"the model of {folder} was trained with {', '.join(wrong)}")
    return told


def same_data(summaries):
    """Returns the digest of the evaluated data. Raises Broken if two folders have different data or the same weights."""
    (first, one), weights = next(iter(summaries.items())), {}
    for folder, told in summaries.items():
        if told["data"]["digest"] != one["data"]["digest"]:
            raise Broken(f"{folder} and {first} evaluated other data")
        other = weights.setdefault(told["model"]["weights_sha256"], folder)
        if other != folder:
            raise Broken(f"{folder} and {other} evaluated the same weights")
    return one["data"]["digest"]


def read(found, work, program):
    """Returns the distances in a work folder, and the accuracies of 06-eit. The origin describes the evaluation."""
    models, experiment, rows = found.runs.get(MODELS), found.experiments[NAME], []
    if not models:
        raise Broken(f"{NAME} also needs the accuracies of {MODELS}: take its results first")
    accuracies = {(row["model"], row["seed"]): row[ACCURACY] for row in models.rows}
    names, dates, summaries, training = values_of(found), [], {}, found.experiments[MODELS]
    for (label,), seed in runs.cells(experiment):
        folder = work / f"{names[label]}-{seed}"
        if not (folder / "attention_distance.json").is_file():
            continue
        if (label, str(seed)) not in accuracies:
            raise Broken(f"{MODELS} has no result of model={label},seed={seed}")
        trained = {"recipe": training.recipe, "epochs": training.epochs, "model": names[label], "seed": str(seed)}
        trained |= dict(change.split("=", 1) for change in training.set)
        summaries[folder] = summary(folder, folder.name, trained)
        told = {"seconds": summaries[folder]["run"]["busy_seconds"]} | scores(folder, folder.name)
        dates.append((folder / "attention_distance.json").stat().st_mtime)
        rows.append({"model": label, "seed": str(seed), "run": folder.name} | {name: repr(score) for name, score in told.items()} |
                    {ACCURACY: accuracies[label, str(seed)]})
    if not rows:
        raise Broken(f"{work} has no folder MODEL-SEED with an attention_distance.json")
    content = take.as_csv(rows)
    date = datetime.datetime.fromtimestamp(max(dates), datetime.timezone.utc).date().isoformat()
    origin = runs.Origin(sha256=hashlib.sha256(content).hexdigest(), date=date, command=sweeps.command(experiment), program=program.commit,
                         cpu=program.cpu, threads=THREADS, hours=take.hours(rows, THREADS), data_digest=same_data(summaries))
    return take.Work(content, runs.Runs(origin, rows))
