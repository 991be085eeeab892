# SPDX-License-Identifier: Apache-2.0
"""Compares the compiled CPU engine with the reference, interleaved on one core."""
import sys

from driver import forward
from driver import setup as setups
from driver import workers
from driver.report import Row


def measure_case(setup, model, what, sizes):
    print(f"  {model}: {what}", file=sys.stderr)
    command = [setup.program("bench_worker"), "forward", "--repository", setup.repository, "--model", model, "--sizes",
               *sizes]
    sides = [workers.Worker([*command, *flags], setup.core).wait_until_ready() for flags in (["--compiled"], [])]
    forward.check_agreement(*(side.results() for side in sides))
    rounds = forward.compare(*(workers.Team([side]) for side in sides), setup.rounds(9), setup.seconds(0.4))
    for side in sides:
        side.close()
    ours, theirs, ratio = (workers.spread([each[i] for each in rounds]) for i in range(3))
    return Row(f"{model}, {what}, engine against reference", "times as fast", ratio,
               note=f"{ours[0]:,.0f} against {theirs[0]:,.0f} images/s")


def measure(setup):
    return [measure_case(setup, model, what, sizes) for model, version in setup.models().items()
            for what, sizes in setups.sizes_of(version).items()]
