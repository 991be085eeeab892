# SPDX-License-Identifier: Apache-2.0
"""Makes all generated files of docs/research/claims/ from its data."""
import overview
import pages
import sweeps
from drawing import dots
from records import PAPERS


def characters(figures):
    return dots("Characters at 1,000 steps", "validation loss",
                [(kind, [float(run["1000"]) for run in figures[kind]]) for kind in ("QKV", "KV+Pos", "KV")])


def numbers(figures):
    keys = sorted({(row[0], row[1]) for row in figures}, key=lambda key: (-float(key[0]), int(key[1])))
    return dots("Number words after 15 epochs", "validation loss",
                [(f"{rate}, {length} words, {kind}", [float(row[5]) for row in figures if row[:3] == [rate, length, kind]])
                 for rate, length in keys for kind in ("QKV", "KV+Pos", "KV")])


def translation(figures):
    keys = list(dict.fromkeys((row[0], row[1]) for row in figures))
    groups = [(f"width {width}, {heads} heads, {kind}", [float(row[4]) for row in figures if row[:3] == [width, heads, kind]])
              for width, heads in keys for kind in ("QKV", "KV", "KV+Pos")]
    return dots("Translation after 20 epochs", "validation loss", [(label, values) for label, values in groups if values])


def figures(library):
    """Returns the drawings by file name."""
    stored = {name: entry["figures"] for name, entry in library.outputs.items()}
    drawn = {"figures/004-K21.svg": characters(stored["004-characters"]), "figures/004-K23.svg": numbers(stored["004-numbers"]),
             "figures/004-K26.svg": translation(stored["004-translation"])}
    for paper in PAPERS:
        for shown in library.claims[paper]:
            groups = [(f"rule {number + 1}", verdict.values) for number, verdict in shown.verdicts.items() if verdict.values]
            if groups and shown.claim.id not in pages.FIGURES:
                drawn[f"figures/{paper}-{shown.claim.id}.svg"] = dots(f"{shown.claim.id}: every pair", "difference or score", groups)
    return drawn


def files(library):
    """Returns the content of every generated file by its name within docs/research/claims/."""
    made = {"index.md": overview.index(library), "experiments.md": overview.experiments(library)}
    made |= {f"{paper}.md": pages.page(paper, library) for paper in PAPERS}
    made |= {f"sweeps/{name}.textproto": sweeps.grid(experiment) for name, experiment in library.experiments.items() if experiment.recipe}
    return made | figures(library)


def generated(folder):
    """Returns the names of the generated files that exist."""
    found = [path for pattern in ("*.md", "sweeps/*", "figures/*") for path in folder.glob(pattern)]
    return {path.relative_to(folder).as_posix() for path in found}


def write(folder, library):
    made = files(library)
    for name in generated(folder) - made.keys():
        (folder / name).unlink()
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return made
