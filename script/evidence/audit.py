# SPDX-License-Identifier: Apache-2.0
"""Looks for figures, words, rules and pages that contradict each other."""
import re

import build
import history
import judge
import library
import notebooks
import runs
import sweeps
import take
import transcription
import words
from records import ROOT, Broken

# Number of claims of each paper, and the letter of their ids.
CLAIMS_OF = {"000": ("Q", 24), "001": ("E", 26), "002": ("X", 17), "003": ("V", 16), "004": ("K", 28)}


def identities(found):
    complaints = []
    for paper, (letter, count) in CLAIMS_OF.items():
        ids = [shown.claim.id for shown in found.claims[paper]]
        if ids != [f"{letter}{number}" for number in range(1, count + 1)]:
            complaints.append(f"{paper}: the claims are not {letter}1 to {letter}{count} in order")
    return complaints


def word_of(shown):
    """Returns complaints about a claim's evidence and its verdict word."""
    claim, complaints = shown.claim, []
    if not words.allowed(claim.evidence, claim.word):
        complaints.append(f"{claim.id}: {claim.word!r} is no word of {claim.evidence!r}")
    if claim.word != shown.word:
        complaints.append(f"{claim.id}: its word is {claim.word!r}, its finding says {shown.word!r}")
    if claim.evidence == "none" and not (claim.missing and shown.cost):
        complaints.append(f"{claim.id}: without evidence, and what is missing or its cost is not said")
    if claim.evidence == "none" and claim.rules and claim.cost:
        complaints.append(f"{claim.id}: its cost follows from its experiments, so it has no other")
    complaints += [f"{claim.id}: it has no rule {entry['rule']} that cannot decide" for entry in claim.cannot_decide
                   if not 1 <= entry["rule"] <= len(claim.rules)]
    if claim.rules and claim.evidence == "none" and shown.verdicts:
        complaints.append(f"{claim.id}: there are runs, but its evidence is none")
    return complaints


def quotes(shown, printed):
    """Returns complaints about figures in a claim that differ from the same figures in the tables."""
    found = []
    for quote in shown.claim.printed:
        stands = printed.text(quote.table, quote.row, quote.column)
        if stands != quote.figure:
            found.append(f"{shown.claim.id} rests on {quote.figure}, but {quote.table}, {quote.row}, {quote.column} is {stands}")
    return found


def model_names():
    """Returns the names of all models of the zoos."""
    files = [*(ROOT / "models/zoo").glob("*.cc"), ROOT / "trainer/lab/zoo.cc"]
    return {name for path in files for name in re.findall(r'\{"([\w-]+)"', path.read_text())}


def recipes():
    return {path.stem for path in (ROOT / "trainer/recipes").rglob("*.textproto")}


def averages(name):
    """Returns True if a recipe evaluates a moving average of the weights, by its own `ema_decay` or its base's."""
    while name:
        (path,) = (ROOT / "trainer/recipes").rglob(f"{name}.textproto")
        text = path.read_text()
        decay = re.search(r"^ema_decay: (\S+)", text, re.MULTILINE)
        if decay:
            return float(decay[1]) > 0
        name = (re.search(r'^base: "(.*)"', text, re.MULTILINE) or [None, None])[1]
    return False


def experiment(entry, models, known):
    """Returns complaints about an experiment that cannot run."""
    complaints = []
    if entry.recipe and entry.recipe not in known:
        complaints.append(f"{entry.name}: there is no recipe {entry.recipe}")
    for axis in entry.axes:
        if axis.get("path", "").split(".")[-1] == "model":
            complaints += [f"{entry.name}: there is no model {name}" for name in axis["values"] if name not in models]
    if not entry.recipe and not entry.command:
        complaints.append(f"{entry.name}: has neither a recipe nor a command")
    return complaints


def rule(identity, entry, experiments):
    """Returns complaints about a rule that runs could never decide."""
    if entry.experiment not in experiments:
        return [f"{identity}: there is no experiment {entry.experiment}"]
    if entry.compare not in judge.COMPARISONS:
        return [f"{identity}: there is no comparison {entry.compare}"]
    grid = experiments[entry.experiment]
    axes = {axis["name"]: runs.labels(axis) for axis in grid.axes}
    complaints = []
    selectors = [entry.of, *entry.steps] if entry.compare == "correlation" else [entry.of, entry.to, *entry.steps]
    for selector in selectors:
        complaints += [f"{identity}: {grid.name} has no {name} {label}" for name, label in selector.items()
                       if label not in axes.get(name, [])]
    if entry.per and entry.per not in axes:
        complaints.append(f"{identity}: {grid.name} has no axis {entry.per}")
    wanted = pairs(entry, grid, axes)
    if wanted != entry.pairs:
        complaints.append(f"{identity}: {entry.says!r} counts on {entry.pairs} pairs, its experiment gives {wanted}")
    if grid.recipe in recipes() and averages(grid.recipe):
        complaints += [f"{identity}: {metric} is a score of averaged weights, because {grid.recipe} has ema_decay; "
                       f"the papers report the last weights: {metric.replace('/', '-raw/', 1)}"
                       for metric in (entry.metric, entry.to.get("metric", "")) if metric.startswith("test/")]
    if entry.scale not in ("same", "reduced"):
        complaints.append(f"{identity}: {entry.scale!r} is no scale")
    return complaints


def pairs(entry, grid, axes):
    """Returns the number of independent values that an experiment gives for a rule."""
    if entry.compare == "correlation":
        return len(axes.get(entry.per, []))
    fixed = set(entry.of) | set(entry.steps[0] if entry.steps else ()) | {entry.per}
    count = len(grid.seeds)
    for name, labels in axes.items():
        count *= 1 if name in fixed else len(labels)
    return count


def origin(experiment, entry):
    """Returns complaints about the digests of an origin, and about hours and CPUs that do not match the rows."""
    if not experiment.recipe:
        return []
    fields = {"program": entry.origin.program} | ({"data_digest": entry.origin.data_digest} if experiment.data else {})
    complaints = [f"{experiment.name}: its {field} is no SHA-256" for field, text in fields.items() if not re.fullmatch("[0-9a-f]{64}", text)]
    hours = take.hours(entry.rows, entry.origin.threads)
    if hours != entry.origin.hours:
        complaints.append(f"{experiment.name}: its hours are {entry.origin.hours}, its rows give {hours}")
    others = {runs.machine(entry.origin, row) for row in entry.rows} - set(entry.origin.cpu.split("; "))
    return complaints + [f"{experiment.name}: a row has no CPU, but the origin has several" if cpu == entry.origin.cpu else
                         f"{experiment.name}: a row has the CPU {cpu}, which its origin does not have" for cpu in sorted(others)]


def results(found):
    complaints = []
    for name, entry in found.runs.items():
        complaints += runs.misplaced(found.experiments[name], runs.accounted(found.experiments[name], entry))
        if entry.origin.command != sweeps.command(found.experiments[name]):
            complaints.append(f"{name}: its command is not the experiment's")
        complaints += origin(found.experiments[name], entry)
        complaints += [f"{name}: the failure of {failure['cell']} has no reason" for failure in entry.origin.failures
                       if not failure.get("reason")]
        if not runs.missing(found.experiments[name], entry):
            complaints += [f"{shown.claim.id}: the results of {name} have no {metric}, so its rule decides nothing"
                           for claims in found.claims.values() for shown in claims for rule in shown.claim.rules
                           if rule.experiment == name for metric in judge.lacking(rule, entry)]
    return complaints


def records_of(found):
    """Returns complaints about the records of the authors' files."""
    complaints = [f"outputs/{name}.json is not there" for name in notebooks.RECORDS.keys() - found.outputs.keys()]
    for name, entry in found.outputs.items():
        path, index, read = notebooks.RECORDS.get(name, ("", "", None))
        expected = {"repository": notebooks.REPOSITORY, "commit": notebooks.COMMIT, "path": path, "cell": index,
                    "reads": read.__doc__ if read else ""}
        complaints += [f"outputs/{name}.json: {field} is {entry.get(field)!r}" for field, value in expected.items()
                       if entry.get(field) != value]
        if not re.fullmatch(r"[0-9a-f]{64}", entry.get("sha256", "")):
            complaints.append(f"outputs/{name}.json: sha256 is no digest")
    return complaints


# End of a complaint about a page that differs from the data.
OTHER_PAGE = "is not what the data make; run script/claims build, or undo a change of the page"


def generated(folder, found):
    """Returns complaints about pages that differ from the pages that the data give."""
    made = build.files(found)
    complaints = [f"{name} is there, but nothing makes it" for name in sorted(build.generated(folder) - made.keys())]
    for name, text in made.items():
        path = folder / name
        if not path.exists():
            complaints.append(f"{name} is not there; run script/claims build")
        elif path.read_text() != text:
            complaints.append(f"{name} {OTHER_PAGE}")
    return complaints


def check(folder, with_history=True):
    """Returns all complaints about a folder of claims."""
    try:
        found = library.read(folder)
        complaints = identities(found)
        for paper, claims in found.claims.items():
            for shown in claims:
                complaints += word_of(shown) + quotes(shown, found.printed[paper])
                for entry in shown.claim.rules:
                    complaints += rule(shown.claim.id, entry, found.experiments)
        models, known = model_names(), recipes()
        for entry in found.experiments.values():
            complaints += experiment(entry, models, known)
        complaints += transcription.compare(found.printed)[1] + records_of(found) + results(found) + generated(folder, found)
        return complaints + (history.check(ROOT, found.experiments, found.runs) if with_history else [])
    except Broken as error:
        return [str(error)]
    except (ValueError, ArithmeticError, KeyError, AttributeError, TypeError, IndexError, StopIteration, OSError) as error:
        return [f"the data cannot be read: {error!r}"]
