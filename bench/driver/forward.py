# SPDX-License-Identifier: Apache-2.0
"""Compares the reference form of each model with the same forward pass in eager PyTorch, interleaved on the same cores."""
import sys

from driver import setup as setups
from driver import workers
from driver.report import Row

GOAL = 1.2
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


class Sides:
    """Both sides of one case: the program and PyTorch, each with one process per core."""

    def __init__(self, setup, model, version, sizes, cores, form):
        inputs = setup.scratch / "inputs.safetensors"
        ours = [workers.Worker([setup.program("bench_worker"), "forward", "--repository", setup.repository, "--model",
                                model, "--save-inputs", inputs, "--sizes", *sizes], core).wait_until_ready()
                for core in cores]
        eager = [workers.Worker([setup.python, setups.ROOT / "bench/peers/eager_worker.py", "--version", version,
                                 "--inputs", inputs, "--form", form], core) for core in cores]
        theirs = [worker.wait_until_ready() for worker in eager]
        self.workers = ours + theirs
        self.ours, self.theirs = workers.Team(ours), workers.Team(theirs)
        check_agreement(ours[0].results(), theirs[0].results())

    def close(self):
        for worker in self.workers:
            worker.close()


def measure_case(setup, model, version, what, sizes, cores, form, goal):
    print(f"  {model}: {what}, {form}", file=sys.stderr)
    sides = Sides(setup, model, version, sizes, cores, form)
    rounds = compare(sides.ours, sides.theirs, setup.rounds(9), setup.seconds(0.4))
    sides.close()
    ours, theirs, ratio = (workers.spread([each[i] for each in rounds]) for i in range(3))
    against = "eager" if form == "fused" else "the paper's code, eager"
    return Row(f"{model}, {what}, against {against}", "times as fast", ratio, goal,
               note=f"{ours[0]:,.0f} against {theirs[0]:,.0f} images/s")


def measure(setup):
    rows = []
    for model, version in setup.models().items():
        cases = setups.sizes_of(version)
        for what, sizes in cases.items():
            rows.append(measure_case(setup, model, version, what, sizes, [setup.core], "fused", GOAL))
        if setup.core != setup.other_core:
            both = [setup.core, setup.other_core]
            rows.append(measure_case(setup, model, version, "batch 16 on each of two cores", cases["batch 16"], both,
                                     "fused", GOAL))
        rows.append(measure_case(setup, model, version, "batch 16", cases["batch 16"], [setup.core], "paper", None))
    return rows
