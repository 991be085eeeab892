# SPDX-License-Identifier: Apache-2.0
"""Decides claims by runs. Applies rules that were written before the runs, and applies Holm's correction to the p values of
each table of a paper. The formulas are those of common/statistics/paired.cc; the families of comparisons and the bounds differ."""
import dataclasses
import math
import re

import intervals
from records import Broken
from runs import select

LEVEL = 0.05
FEW = 6  # with fewer pairs, all differences must also be on one side of the bound


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of runs for one rule, before Holm's correction.

    A rule with one bound is a two-sided test of a difference: p_holds and p_fails are twice the one-sided p values. A rule
    with two bounds is a test of equivalence: p_holds is the larger of its two one-sided p values, and p_fails is the
    two-sided p of a mean outside the bounds.
    """

    estimate: intervals.Estimate
    p_holds: float
    p_fails: float
    values: list
    distance: float  # distance of the estimate from `bound`; below 0 if the rule does not hold
    bound: float  # the bound that decides
    equivalence: bool = False


@dataclasses.dataclass(frozen=True)
class Verdict:
    word: str
    text: str
    values: list


def differences(rule, experiment, runs):
    metric, lower = rule.metric, experiment.lower_is_better or rule.metric.endswith("loss")
    first = select(experiment, runs, rule.of, metric, lower)
    second = select(experiment, runs, rule.to, metric, lower)
    pairs = sorted(first.keys() & second.keys(), key=str)
    if not pairs:
        raise Broken(f"{experiment.name}: no pairs for {rule.says!r}")
    # Leaves out pairs whose runs both failed, because their difference is unknown.
    return finite([first[key] - second[key] for key in pairs if not (math.isinf(first[key]) and math.isinf(second[key]))])


def finite(values):
    """Replaces the infinite values of failed runs by the largest finite magnitude, or by 1 if there is no finite value. Keeps the
    signs."""
    largest = max((abs(value) for value in values if not math.isinf(value)), default=1.0)
    return [math.copysign(largest, value) if math.isinf(value) else value for value in values]


def above(rule, experiment, runs):
    found = differences(rule, experiment, runs)
    return of_values(found, rule.margin, None)


def two_sided(p):
    return min(1.0, 2 * p)


def of_values(values, low, high):
    """Returns the outcome for a mean that must be above `low` and below `high`. None means that there is no such bound."""
    found = intervals.estimate(values)
    holds, fails, distances = [], [], {}
    if low is not None:
        holds.append(intervals.chance_above(values, low))
        fails.append(intervals.chance_above([-value for value in values], -low))
        distances[low] = found.mean - low
    if high is not None:
        holds.append(intervals.chance_above([-value for value in values], -high))
        fails.append(intervals.chance_above(values, high))
        distances[high] = high - found.mean
    bound = min(distances, key=lambda bound: abs(distances[bound]))
    equivalence = len(distances) == 2
    return Outcome(found, max(holds) if equivalence else two_sided(*holds),
                   two_sided(min(fails)), values, distances[bound], bound, equivalence)


def equal(rule, experiment, runs):
    return of_values(differences(rule, experiment, runs), -rule.margin, rule.margin)


def level(rule, experiment, runs):
    lower = experiment.lower_is_better or rule.metric.endswith("loss")
    return of_values(finite(list(select(experiment, runs, rule.of, rule.metric, lower).values())), rule.low, rule.high)


def slope(points):
    """Returns the slope of the straight line that fits the points (log x, log y)."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    x_mean, y_mean = sum(x for x, _ in logs) / len(logs), sum(y for _, y in logs) / len(logs)
    return sum((x - x_mean) * (y - y_mean) for x, y in logs) / sum((x - x_mean) ** 2 for x, _ in logs)


def exponent(rule, experiment, runs):
    by_seed = {}
    for label in [label for axis in experiment.axes if axis["name"] == rule.per for label in axis["values"]]:
        for key, score in select(experiment, runs, rule.of | {rule.per: label}, rule.metric, True).items():
            if math.isinf(score):
                raise Broken(f"{experiment.name}: {rule.of} {rule.per} {label} failed, so there is no exponent")
            by_seed.setdefault(key, []).append((float(label), score))
    return of_values([slope(points) for points in by_seed.values()], rule.low, rule.high)


def correlation(rule, experiment, runs):
    means = {}
    for metric in (rule.metric, rule.to["metric"]):
        for label in [label for axis in experiment.axes if axis["name"] == rule.per for label in axis["values"]]:
            scores = list(select(experiment, runs, rule.of | {rule.per: label}, metric).values())
            means.setdefault(metric, []).append(sum(scores) / len(scores))
    xs, ys = means[rule.metric], means[rule.to["metric"]]
    sign = 1 if rule.low is not None else -1
    rho = intervals.rank_correlation(xs, ys)
    ups = intervals.rank_correlation_chance(xs, [sign * y for y in ys])
    downs = intervals.rank_correlation_chance(xs, [-sign * y for y in ys])
    return Outcome(intervals.Estimate(rho, math.nan, math.nan, math.inf, len(xs)), two_sided(ups), two_sided(downs), [], sign * rho, 0.0)


def order(rule, experiment, runs):
    """Judges every step of an `order` rule. Returns the estimate of the weakest step, with p values for all steps together."""
    steps = [above(dataclasses.replace(rule, of=later, to=earlier), experiment, runs)
             for earlier, later in zip(rule.steps, rule.steps[1:])]
    weakest = max(range(len(steps)), key=lambda i: steps[i].p_holds)
    corrected = intervals.holm([step.p_holds for step in steps])
    return dataclasses.replace(steps[weakest], p_holds=max(corrected),
                               p_fails=min(1.0, len(steps) * min(step.p_fails for step in steps)))


COMPARISONS = {"above": above, "equal": equal, "level": level, "exponent": exponent, "correlation": correlation, "order": order}


def corrected(outcomes):
    """Returns p_holds and p_fails of the rules of a table after Holm's correction. Differences and equivalences are two families, each
    with as many tests as the table has rules. common/statistics/paired.cc also corrects them as two families, but for all comparisons
    of a table of effects."""
    differences = intervals.holm([outcome.p_fails if outcome.equivalence else min(outcome.p_holds, outcome.p_fails)
                                  for outcome in outcomes])
    equivalences = intervals.holm([outcome.p_holds if outcome.equivalence else 1.0 for outcome in outcomes])
    return [(equivalence, difference) if outcome.equivalence else
            (difference, 1.0) if outcome.p_holds < outcome.p_fails else (1.0, difference)
            for outcome, difference, equivalence in zip(outcomes, differences, equivalences)]


def needed_text(rule, outcome, comparisons):
    """Returns how many pairs, or models of a correlation, would probably decide a rule of a table with `comparisons` rules."""
    found = outcome.estimate
    if rule.compare == "correlation":
        return f"n needed: more than {found.n} models"
    level = LEVEL / comparisons if outcome.equivalence and outcome.distance > 0 else LEVEL / 2 / comparisons
    if found.deviation == 0 and outcome.distance:  # equal values: each further pair halves p
        return f"n needed {max(intervals.FEWEST, math.floor(-math.log2(level)) + 1)}"
    needed = intervals.pairs_needed(found.deviation, abs(outcome.distance), level)
    if needed:
        return f"n needed {needed if sides_agree(rule, outcome) else max(needed, FEW)}"
    return "n needed: more than one pair" if math.isinf(found.deviation) else "n needed: more than a million"


def word_of(rule, outcome, p_holds, p_fails, comparisons):
    """Returns the word for a rule, from the corrected p values of the `comparisons` rules of its table."""
    agree = sides_agree(rule, outcome) and outcome.estimate.n >= intervals.FEWEST
    same = rule.scale == "same"
    if p_holds < LEVEL and agree:
        if rule.compare == "equal" and same:
            return f"equivalent within {rule.margin:g}"
        return "reproduced" if same else "holds here"
    if p_fails < LEVEL and agree:
        return "refuted" if same else "does not hold here"
    return f"{'undecided' if same else 'undecided here'}, {needed_text(rule, outcome, comparisons)}"


def sides_agree(rule, outcome):
    """Returns True if there are at least FEW values, if all are on one side of the bound, or if the comparison does not need this."""
    return outcome.estimate.n >= FEW or rule.compare in ("equal", "correlation") or same_side(rule, outcome)


def same_side(rule, outcome):
    """Returns True if all values meet the rule's bounds, or if no value does."""
    low = rule.margin if rule.compare in ("above", "order") else rule.low
    return len({(low is None or value > low) and (rule.high is None or value < rule.high) for value in outcome.values}) == 1


def sentence(rule, outcome, p):
    found = outcome.estimate
    interval = "" if math.isnan(found.low) or not found.deviation else f" (95 % interval {found.low:.4g} to {found.high:.4g})"
    sides = [value - outcome.bound for value in outcome.values]
    signs = f", sign test p {intervals.sign_test(sides):.3g}" if found.n < FEW and outcome.values else ""
    chance = f"p {p:.3g} by Holm over the rules of this table"
    if not found.deviation:
        chance = f"all values equal, so p is that of the sign test, {chance}"
    return f"{rule.says}: {found.mean:.4g}{interval}, n {found.n}, {chance}{signs}"


def table_of(place):
    """Returns the table or figure that `place` names; otherwise `place`. Holm's correction covers all rules of one table or figure."""
    named = re.findall(r"(?:Table|Figure)s? \d+", place)
    return named[-1] if named else place


def lacking(rule, runs):
    """Returns the metrics of a rule for which some result has no value. The rule is then not decided."""
    metrics = [rule.metric] + ([rule.to["metric"]] if rule.compare == "correlation" else [])
    return [metric for metric in metrics if any(row.get(metric) in (None, "") for row in runs.rows)]


def decide(claims, experiments, runs):
    """Returns the verdicts of all rules of a paper whose experiments have runs with the rules' metrics: {claim: {number of the rule:
    Verdict}}."""
    families = {}
    for claim in claims:
        for number, rule in enumerate(claim.rules):
            if rule.experiment in runs and not lacking(rule, runs[rule.experiment]):
                outcome = COMPARISONS[rule.compare](rule, experiments[rule.experiment], runs[rule.experiment])
                families.setdefault(table_of(claim.place), []).append((claim.id, number, rule, outcome))
    verdicts = {}
    reasons = {(claim.id, entry["rule"] - 1): entry["reason"] for claim in claims for entry in claim.cannot_decide}
    for family in families.values():
        chances = corrected([outcome for *_, outcome in family])
        for (identity, number, rule, outcome), (p_holds, p_fails) in zip(family, chances):
            text = sentence(rule, outcome, min(p_holds, p_fails))
            word = word_of(rule, outcome, p_holds, p_fails, len(family))
            if reason := reasons.get((identity, number)):
                word = f"{'undecided' if rule.scale == 'same' else 'undecided here'}, n needed: no number decides"
                text = f"{text}. This decides nothing: {reason}"
            verdicts.setdefault(identity, {})[number] = Verdict(word, text, outcome.values)
    return verdicts
