# SPDX-License-Identifier: Apache-2.0
"""Reads all data of a folder: claims, and the findings that decide them."""
import dataclasses

import arithmetic
import bundled
import judge
import outputs
import records
import runs
import sweeps
import words
from records import Broken

@dataclasses.dataclass(frozen=True)
class Shown:
    """A claim with its finding, findings from other kinds of evidence, and the verdicts of its rules that have runs."""

    claim: records.Claim
    finding: str
    word: str  # follows from the finding; the audit compares it with the recorded word
    also: list
    verdicts: dict  # by the number of the rule
    cost: str  # what a test would cost


@dataclasses.dataclass(frozen=True)
class Library:
    printed: dict
    claims: dict  # lists of Shown, by paper
    experiments: dict
    outputs: dict
    runs: dict


def shown(paper, claim, printed, stored, verdicts, cost):
    """Returns a claim with the finding that the claim's kind of evidence gives. `cost`: what its rules cost, or empty."""
    by_kind = {"arithmetic": arithmetic.decide(paper, claim.id, printed), "outputs": outputs.decide(claim.id, printed, stored)}
    also = [finding.text for kind, finding in by_kind.items() if finding and kind != claim.evidence]
    if claim.evidence in by_kind:
        finding = by_kind[claim.evidence]
        if finding is None:
            raise Broken(f"{claim.id}: no function decides it by {claim.evidence}")
        return Shown(claim, finding.text, words.of_finding(claim.evidence, finding.agrees), also, verdicts, claim.cost)
    if claim.evidence == "reduced" and claim.source:
        word, text = getattr(bundled, claim.id.lower())(printed)
        return Shown(claim, text, word, also, verdicts, claim.cost)
    if claim.evidence in ("run", "reduced"):
        if len(verdicts) != len(claim.rules) or not verdicts:
            raise Broken(f"{claim.id}: its evidence is runs, but {len(claim.rules) - len(verdicts)} of its rules have none")
        text = "; ".join(verdict.text for verdict in verdicts.values()) + "."
        return Shown(claim, text, words.of_verdicts(verdicts.values()), also, verdicts, claim.cost)
    return Shown(claim, "", "none", also, verdicts, claim.cost or cost)


def cost(claim, experiments, found):
    """Returns text with the hours that the experiments of a claim's rules still need."""
    names = sorted({rule.experiment for rule in claim.rules} & experiments.keys())
    return "; ".join(f"{sweeps.missing_hours(experiments[name], found.get(name)):.2g} hours of two cores for the missing runs of {name}"
                     + (f", which needs {experiments[name].needs}" if experiments[name].needs else "") for name in names)


def effective(rule, experiments):
    """Returns the rule with the scale "reduced" if its experiment deviates from the paper. The text of a
    rule may not change once there are results, so this function corrects the scale."""
    experiment = experiments.get(rule.experiment)
    return dataclasses.replace(rule, scale="reduced") if experiment and experiment.deviates else rule


def read(folder):
    """Returns all data. Raises Broken if contradictions in the data make it impossible to show the claims."""
    experiments = records.read_experiments(folder)
    stored, found = outputs.read(folder), runs.read(folder, experiments)
    complete = {name: entry for name, entry in found.items() if not runs.missing(experiments[name], entry)}
    printed, claims = {}, {}
    for paper in records.PAPERS:
        printed[paper] = records.read_printed(folder, paper)
        listed = [dataclasses.replace(claim, rules=[effective(rule, experiments) for rule in claim.rules])
                  for claim in records.read_claims(folder, paper)]
        verdicts = judge.decide(listed, experiments, complete)
        claims[paper] = [shown(paper, claim, printed[paper], stored, verdicts.get(claim.id, {}), cost(claim, experiments, found))
                         for claim in listed]
    return Library(printed, claims, experiments, stored, found)
