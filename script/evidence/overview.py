# SPDX-License-Identifier: Apache-2.0
"""Makes the index of all papers' claims and the page of experiments."""
import collections

import sweeps
import words
from pages import cell, run_of, table
from records import PAPERS
from runs import labels, missing

INTRODUCTION = """# What the papers' claims are worth

This page is made by `script/claims build`; change the data instead.

The five papers that this project implements make {count} claims. Each has a row on its paper's page, with its place, the printed figures,
the evidence, and a verdict in one word. {decided} are decided by arithmetic on the papers' own figures, or by files of their authors; {tested} rest on
measurements or runs of this project; {none} have no evidence yet. For {ruled} claims, rules that judge the runs were written before the runs.
"""
READING = """## How to read a word

| evidence | words | meaning |
|---|---|---|
| arithmetic on print, exact counts | consistent, contradicted by its own table | The claim agrees, or does not, with the papers' printed figures, or with parameters and operations counted from the shapes of the model's layers. "Consistent" does not mean that the claim is true: if a text repeats a difference that its table shows, only runs can show whether the difference exists. Some claims with the word "contradicted by its own table" contradict an equation of the paper, not a table |
| the authors' stored outputs and code | confirmed, contradicted | Printed outputs of the authors' notebooks, and settings in their source, agree with the paper or do not |
| same model, data and length | reproduced, refuted, equivalent within m, undecided | Runs of this project under the paper's conditions |
| shorter, smaller or other data | holds here, does not hold here, undecided here | Runs or measurements of this project at another scale, which cannot refute a claim |
| none | not yet run, out of reach | The claim's section says what is missing, and its cost on two cores |

A claim of several parts gets a positive word (consistent, confirmed, ...) only if every part holds. If a sentence can be read in several
ways, the reading that is best for the paper counts, and the finding names it. If the paper's text is vague ("much faster"), a numeric bound
replaces the vague expression, and the finding names the bound.

## Rules of runs

A rule is part of the data and is committed before the results that it judges. `script/claims audit` checks this: the commit before the
first results must have the same rule, and the same grid of the experiment, as HEAD. A rule names an experiment, two sides, a bound and a
number of pairs.

- Runs are paired by setting and seed. The interval is Student's t over the pairs. With fewer than six pairs, a rule (other than `equal` and
  `correlation`) is decided only if all differences are on the same side of the bound; the p value of the sign test is shown too. If all
  values are equal, the t test has no spread to judge by, and p is that of the sign test: three equal values decide nothing. Fewer than
  three pairs decide nothing either.
- `above`: the mean difference is above a bound. `equal`: it is within a margin on both sides (two one-sided tests). `level`: a mean is above
  or below a bound. `exponent`: the slope of logarithms. `order`: every step is above the one before. `correlation`: Spearman's rank
  correlation over models, by permutations.
- The level is 5 %, for both sides of a bound together, with Holm's correction over those rules of one table or figure that have runs.
  The formulas are those of `vitrine-train sweep` (common/statistics/paired.cc), but its table of effects corrects over all comparisons of
  a sweep and compares differences with 0, so it prints other p values. For an undecided rule, the page gives the number of pairs with
  which the corrected test would detect the observed distance from the bound with a probability of 80 %.
- The number of pairs is fixed before a run and does not grow after looking at results.
- Results of part of a grid are called a piece. A piece is shown with the number of its cells and decides nothing until its grid is
  complete.
- A failed or diverged run counts as the worst run, and is listed.
- If it turns out that the runs of a rule cannot test its claim, for example because no setting learns, `cannot_decide` names the rule and
  the reason. The rule is then undecided, and its figures stay on the page. Nothing makes an undecided rule a decided one.

## How to check this

| command | result |
|---|---|
| `script/claims build` | makes these pages; `git diff` then shows nothing |
| `script/claims arithmetic` | recomputes every claim that arithmetic decides |
| `script/claims outputs --notebooks DIR` | reads the authors' figures again from a clone of their repository at the named commit, and compares them |
| `script/claims audit` | checks that figures are the same in claims, tables and the zoo, that digests match, that words follow from findings and pages from data, that runs are cells of their grids, that rules are older than results, that committed results have not changed (seconds may, where they are no score), and that the recorded program is that of the recorded commit |
| `script/claims audit --mutate 20 --seed N` | changes 20 digits of data, pages and results in a temporary copy, one at a time, and expects the audit to complain about each |
| `script/claims rerun --pick SEED` | draws a committed run by your seed, runs it again and compares all scores: the bits must be equal on a CPU of the same kind with the same program, threads and data; otherwise the metric must be within the 99.7 % prediction interval of the other seeds of its setting. Some settings have no such interval (too few seeds, or too much scatter); then the result is not decided (exit code 3) unless you build the recorded commit and use the recorded kind of CPU. `--dry-run` only prints the cell, its interval, commit and CPU, the hours and the command |

## Where the printed figures come from

They were transcribed from the papers into [data/printed](data/printed/000.toml) and its neighbours; this repository does not contain the
papers. Figures on which claims rest are stored twice, in the table and in the claim. The zoo's models have their printed figures also in
`models/zoo/published.cc`, and their parameter counts in the other files of `models/zoo/`; the audit compares all copies. A claim that needs
a figure that was not transcribed says so.

## The data

| file | fields |
|---|---|
| data/PAPER.toml | `id`, `place`, `says`: the claim in our words; `evidence`: arithmetic, outputs, run, reduced or none; `word`; `printed`: figures with table, row and column; `source`: a file of this repository that decides; `note`; `missing`: what a test lacks, beginning with "not yet run" if only the run is missing; `cost`: what the test would cost on two cores, except that claims without evidence that have rules get it from the hours of their experiments; `rule`; `cannot_decide`: rules, counted from 1, whose runs cannot test the claim, each with the reason |
| a rule | `experiment`; `says`: the result that the claim requires; `compare`, `metric`; `of`, `to`: labels of the two sides; `per`: an axis of numbers or models; `steps`; `margin`, `low`, `high`: bounds; `pairs`; `scale`: same, or reduced (always, if the experiment has `deviates`) |
| data/printed/PAPER.toml | the printed tables |
| data/outputs/NAME.json | contents of an author's file; `script/claims outputs --notebooks DIR --record` writes it |
| data/experiments/NAME.toml | a grid: `recipe`, `epochs`, `set`, `axes`, `seeds`, `metric`, `data`, `hours`; or another program's `command`; `prepare`: commands that make its data; `needs`: what is missing before it can run; `deviates`: how it differs from the paper |
| data/runs/NAME.csv, NAME.toml | results of an experiment, and their origin; `script/claims take NAME WORK` writes both. `program` is the digest of the sources that decide results, and `revision` a commit with these sources; for a command that is not a sweep, `program` is the commit; a row's `loss area` the mean of its training loss over all steps, and its `cpu` and `kernels` those of its run |
| script/evidence/arithmetic, outputs.py, bundled.py | the functions that decide claims, each named after its claim's id |
"""


def counts_by_word(library):
    rows = []
    order = [word for kind in words.WORDS.values() for word in kind if word != "none"] + [words.NOT_YET, words.OUT_OF_REACH]
    counted = {paper: collections.Counter(words.counted(shown.claim) for shown in library.claims[paper]) for paper in PAPERS}
    for word in order:
        numbers = [counted[paper][word] for paper in PAPERS]
        if sum(numbers):
            rows.append([word, *map(str, numbers), str(sum(numbers))])
    rows.append(["all", *(str(len(library.claims[paper])) for paper in PAPERS), str(sum(map(len, library.claims.values())))])
    heads = [f"[{paper}]({paper}.md)" for paper in PAPERS]
    return table(["word", *heads, "all"], rows)


def counts_by_run(library):
    """Returns the numbers of claims that runs have tested, will test, and cannot test."""
    states = ("rule, not yet run", "not yet run", "out of reach", "nothing to run")
    counted = {paper: collections.Counter(state if state in states else "rule, with results"
                                          for state in map(run_of, library.claims[paper])) for paper in PAPERS}
    rows = []
    for state in ("rule, with results", *states):
        numbers = [counted[paper][state] for paper in PAPERS]
        rows.append([state, *map(str, numbers), str(sum(numbers))])
    return table(["by runs", *PAPERS, "all"], rows)


def index(library):
    claims = [shown.claim for paper in PAPERS for shown in library.claims[paper]]
    kinds = collections.Counter(claim.evidence for claim in claims)
    lines = [INTRODUCTION.format(count=len(claims), decided=kinds["arithmetic"] + kinds["outputs"], tested=kinds["run"] + kinds["reduced"],
                                 none=kinds["none"], ruled=sum(bool(claim.rules) for claim in claims))]
    lines += [*counts_by_word(library), "", "A word that rests on print does not replace a test. The next table counts all claims by the state of their runs:", ""]
    lines += [*counts_by_run(library), "", *table(["page", "claims of"], [[f"[{paper}]({paper}.md)", library.printed[paper].title] for paper in PAPERS]), "",
              "[Experiments](experiments.md) lists the runs that the rules need, with commands and hours.", "", READING]
    return "\n".join(lines).rstrip("\n") + "\n"


def experiment_section(experiment, library):
    runs = library.runs.get(experiment.name)
    measured = f", by the results at hand; {experiment.hours:g} were planned" if runs and runs.rows else ""
    lines = [f"## {experiment.name}", "", f"Block {experiment.block}: {experiment.title}. {sweeps.size(experiment)} runs take about "
             f"{sweeps.total_hours(experiment, runs):.2g} hours on two cores{measured}. The score is `{experiment.metric}`"
             f"{' (lower is better)' if experiment.lower_is_better else ''}.", ""]
    if experiment.needs:
        lines += [f"**Needs first:** {experiment.needs}.", ""]
    lines += ["```", *experiment.prepare, sweeps.command(experiment), "```", ""]
    axes = [[cell(axis["name"]), cell(axis.get("path", "")), cell(", ".join(labels(axis)))] for axis in experiment.axes]
    lines += table(["axis", "field", "values"], [*axes, ["seed", "seed", ", ".join(map(str, experiment.seeds))]])
    facts = []
    if experiment.recipe:
        facts.append(f"Recipe `{experiment.recipe}`, {experiment.epochs:g} epochs"
                     + "".join(f", `{change}`" for change in experiment.set) + f"; [grid](sweeps/{experiment.name}.textproto).")
        whole = " or ".join(map(str, sweeps.shards(experiment)))
        facts.append(f"Shards: with N = {whole}, no pair is split." if whole else "Shards: every N splits pairs, because there is one seed.")
    facts += [f"Deviates: {text}." for text in experiment.deviates]
    if runs:
        origin = runs.origin
        commit = f" (commit {origin.revision})" if origin.revision else ""
        lacking = len(missing(experiment, runs))
        if lacking:
            facts.append(f"A piece: {lacking} of {sweeps.size(experiment)} runs are missing, so it decides nothing yet.")
        facts.append(f"Run on {origin.date}: {len(runs.rows)} results, {len(origin.failures)} failures, {origin.hours:g} hours {'of training ' * bool(experiment.recipe)}on two cores, "
                     f"on {origin.cpu} with {origin.threads} threads a run, {'program' if experiment.recipe else 'commit'} {origin.program}{commit}, "
                     f"data {origin.data_digest or 'generated'}; "
                     f"[results](data/runs/{experiment.name}.csv).")
        facts += [f"Failed: {failure['cell']}: {failure['reason']}." for failure in origin.failures]
    else:
        facts.append("Not yet run.")
    asked = [f"[{shown.claim.id}]({paper}.md#{shown.claim.id.lower()})" for paper in PAPERS for shown in library.claims[paper]
             if any(rule.experiment == experiment.name for rule in shown.claim.rules)]
    facts.append(f"Decides: {', '.join(asked)}." if asked else "Decides no claim by itself.")
    return lines + [""] + [f"- {fact}" for fact in facts] + [""]


def experiments(library):
    total = sum(sweeps.missing_hours(experiment, library.runs.get(name)) for name, experiment in library.experiments.items())
    lines = ["# Experiments of the claims", "", "This page is made by `script/claims build` from data/experiments/.", "",
             "Repeat a command that begins with `timeout` while it exits with 124; the sweep then continues. `$WORK` is a folder of yours, "
             "and `$VITRINE_DATA` the folder of the data sets. `$VITRINE_DATA/cifar10` has `train/CLASS/*` and `test/CLASS/*`; if you have "
             "only `cifar10.tar.xz`, unpack it into a folder of yours and set `$VITRINE_DATA` to that folder, with links to the other data sets "
             "there (`ln -s`). With `--list` a sweep only checks its grid.", "",
             "| exit code | then |", "|---|---|",
             "| 0 | `script/claims take NAME $WORK/NAME` |",
             "| 124 | the same command again; or `script/claims take NAME $WORK/NAME` for a piece, which decides nothing |",
             "| 1 | runs failed. The same command tries them again; `script/claims take NAME $WORK/NAME --failed` records them as failed |", "",
             "A grid that is too long for one machine or one day is run in shards: add `--shard I/N`, and take each shard. `script/claims take` "
             "joins the parts, if program, data and threads are equal. With a divisor of the number of seeds as N, all runs of a seed are in one "
             "shard, so the two runs of a pair have the same kind of CPU. Any other N splits pairs: run its shards on machines of one kind.", "",
             "Results of a command that is not a sweep are written by hand in the form that `script/claims take` writes: a row for each run with "
             "its axes, seed and scores, and the origin of the results. `script/claims take 07-distances $WORK/07-distances --commit COMMIT --cpu "
             "TEXT` writes those of 07-distances, with the accuracies of 06-eit, and with the commit, processor and kernels of `vitrine-server`.", "",
             f"The missing runs need about {total:.3g} hours on two cores. Blocks 0 to 4 (block 0 is arithmetic) decide the most claims per hour.", ""]
    for experiment in sorted(library.experiments.values(), key=lambda found: (found.block, found.name)):
        lines += experiment_section(experiment, library)
    return "\n".join(lines).rstrip("\n") + "\n"
