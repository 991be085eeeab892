# SPDX-License-Identifier: Apache-2.0
"""Makes the grid of an experiment for `vitrine-train sweep`, and the command that runs it."""
import json

from records import CLAIMS
from runs import cells, missing


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def axis_text(axis):
    lines = ["axes {", f"  name: {quoted(axis['name'])}"]
    if "settings" in axis:
        for setting in axis["settings"]:
            sets = "".join(f" set: {quoted(change)}" for change in setting["set"])
            lines.append(f"  settings {{ label: {quoted(setting['label'])}{sets} }}")
    else:
        lines.append(f"  path: {quoted(axis['path'])}")
        lines += [f"  values: {quoted(value)}" for value in axis["values"]]
        lines += [f"  labels: {quoted(label)}" for label in axis.get("labels", [])]
    return lines + ["}"]


def grid(experiment):
    """Returns the textproto of vitrine.v1.Sweep."""
    lines = [f"# Made by script/claims build from data/experiments/{experiment.name}.toml.",
             f"recipe: {quoted(experiment.recipe)}", f"description: {quoted(experiment.title)}"]
    lines += [f"set: {quoted(change)}" for change in experiment.set]
    lines.append(f"epochs: {experiment.epochs:g}")
    for axis in experiment.axes:
        lines += axis_text(axis)
    lines += [f"seeds: {seed}" for seed in experiment.seeds]
    lines.append(f"metric: {quoted(experiment.metric)}")
    if experiment.lower_is_better:
        lines.append("lower_is_better: true")
    return "\n".join(lines) + "\n"


def command(experiment):
    """Returns the command of an experiment. A sweep that takes longer than 95 minutes stops with exit code 124; repeat
    its command then."""
    if experiment.command:
        return experiment.command
    data = f" --data {experiment.data}" if experiment.data else ""
    return (f"timeout -s TERM 95m vitrine-train sweep {CLAIMS}/sweeps/{experiment.name}.textproto --jobs 2 --threads 1{data} "
            f"--work $WORK/{experiment.name}")


def shards(experiment):
    """Returns the numbers N above 1 for which `--shard I/N` puts all runs of a seed into one shard. A shard has every N-th run of the
    grid, in which seeds change fastest, so N must divide the number of seeds."""
    return [number for number in range(2, len(experiment.seeds) + 1) if len(experiment.seeds) % number == 0]


def size(experiment):
    return len(cells(experiment))


def total_hours(experiment, runs):
    """Returns the hours of an experiment on two cores: computed from `runs` if they have rows, otherwise as planned. `runs` may be None."""
    return runs.origin.hours * size(experiment) / len(runs.rows) if runs and runs.rows else experiment.hours


def missing_hours(experiment, runs):
    """Returns the hours on two cores that the missing runs of an experiment need."""
    return total_hours(experiment, runs) * (len(missing(experiment, runs)) / size(experiment) if runs else 1)
