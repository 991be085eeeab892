# SPDX-License-Identifier: Apache-2.0
"""Compares two sides that compute the same forward pass."""
from driver import workers

# Relative to the largest logit; both sides sum in fp32 in their own order.
TOLERANCE = 1e-4


def check_agreement(ours, theirs, tolerance=TOLERANCE):
    """Raises if the logits of the two sides differ."""
    if len(ours) != len(theirs):
        raise RuntimeError(f"{len(ours)} rows of logits against {len(theirs)}")
    for i, (a, b) in enumerate(zip(ours, theirs)):
        worst = max(abs(x - y) for x, y in zip(a, b)) / max(1, *map(abs, b))
        if worst > tolerance:
            raise RuntimeError(f"logits of image {i} differ by {worst:.2e}; the tolerance is {tolerance}")


def compare(ours, theirs, rounds, seconds):
    """Returns [images/s of ours, images/s of theirs, ratio] of two teams, for each round."""
    sides = {}
    for name, team in (("ours", ours), ("theirs", theirs)):
        repetitions = workers.repetitions_for(team, seconds)
        sides[name] = lambda team=team, n=repetitions: n * team.images / team.run(n)
    results = workers.interleave(sides, rounds)
    return [(a, b, a / b) for a, b in zip(results["ours"], results["theirs"])]
