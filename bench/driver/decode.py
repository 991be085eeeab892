# SPDX-License-Identifier: Apache-2.0
"""Measures how fast three programs ("sides") convert a JPEG to a normalised 224x224 input on one core: our code, TurboJPEG with
OpenCV, and Pillow with numpy. The sides run in turn. Also measures images of 12 megapixels, decoded at full and at reduced
size.
"""
import array
import operator
import pathlib
import subprocess
import sys

from driver import setup as setups
from driver import workers
from driver.report import Row

ROUNDS = 9
SECONDS = 0.5
VALUES = 3 * 224 * 224
OURS, TURBOJPEG, PILLOW, STEPS = "ours", "TurboJPEG + OpenCV", "Pillow + numpy", "Pillow + numpy, step by step"
PROGRAMS = {OURS: "bench_decode_worker", TURBOJPEG: "bench_turbojpeg_worker"}
# {peer: (minimum, target)} of the ratio of our rate to the peer's rate
GOALS = {TURBOJPEG: (1.15, 1.3), PILLOW: (3, 4), STEPS: (None, None)}
REDUCED_GOAL = 1.4
LARGE = ("smooth", "grain")  # names of the large images that bench/peers/photographs.py makes
# Allowed absolute difference, in grey levels, between the inputs of a side and our inputs decoded at full size: {side: (mean
# over all images, mean of the worst image)}. OpenCV differs because it averages areas of whole pixels, while our code and Pillow
# use a triangle filter of twice the width. Pillow differs because it rounds to 8 bits after each pass of its resize.
TOLERANCES = {OURS: (0.5, 1), TURBOJPEG: (3, 10), PILLOW: (0.5, 1), STEPS: (0.5, 1)}
GREY_LEVEL = 1 / (255 * 0.226)  # one grey level in normalised units; 0.226 is the mean of the channels' standard deviations


def command_of(setup, who):
    """Returns the command of a side; None for a peer that was not built."""
    if who in (PILLOW, STEPS):
        return [setup.python, setups.ROOT / "bench/peers/pillow_worker.py", *(["--steps"] if who == STEPS else [])]
    program = setup.program(PROGRAMS[who])
    return [program] if who != TURBOJPEG or pathlib.Path(program).exists() else None


def differences(ours, theirs):
    """Returns the mean difference of each image, in grey levels."""
    return [sum(map(abs, map(operator.sub, ours[at:at + VALUES], theirs[at:at + VALUES]))) / VALUES / GREY_LEVEL
            for at in range(0, len(ours), VALUES)]


class Sides:
    """A worker for each pair (program, True if it decodes at reduced size). All workers read one folder of images and are pinned
    to one core.

    Raises if the inputs that a worker makes from the images differ by more than TOLERANCES from the inputs that the worker
    (OURS, False) makes.
    """

    def __init__(self, setup, pictures, kinds):
        self.setup, self.pictures = setup, pictures
        self.teams, self.inputs, self.agreements = {}, {}, {}
        for who, reduced in kinds:
            if command := command_of(setup, who):
                self._start(who, reduced, command)
        for side in self.teams:
            self.agreements[side] = self._check(side)

    def _start(self, who, reduced, command):
        outputs = self.setup.scratch / "inputs"
        more = ["--pictures", self.pictures, "--outputs", outputs, *(["--reduced"] if reduced else [])]
        self.teams[who, reduced] = workers.Team([workers.Worker([*command, *more], self.setup.core).wait_until_ready()])
        self.inputs[who, reduced] = array.array("f", outputs.read_bytes())

    def _check(self, side):
        """Returns a sentence about the difference between a side's inputs and our inputs, which are decoded at full size."""
        ours, theirs = self.inputs[OURS, False], self.inputs[side]
        if len(ours) != len(theirs):
            raise RuntimeError(f"{side[0]} made {len(theirs):,} values of {self.pictures.name}, ours are {len(ours):,}")
        each = differences(ours, theirs)
        mean, worst = sum(each) / len(each), max(each)
        if not (mean <= TOLERANCES[side[0]][0] and worst <= TOLERANCES[side[0]][1]):
            raise RuntimeError(f"inputs of {side[0]} differ by {mean:.2f} grey levels in the mean, by {worst:.2f} in the worst "
                               f"picture; allowed are {TOLERANCES[side[0]]}")
        return f"{mean:.2f} grey levels apart" + (f", {worst:.2f} the worst" if len(each) > 1 else "")

    def measure(self):
        """Returns {side: [images/s of each round]} and ends the workers."""
        runs = {}
        for side, team in self.teams.items():
            repetitions = workers.repetitions_for(team, self.setup.seconds(SECONDS))
            runs[side] = lambda team=team, n=repetitions: n * team.images / team.run(n)
        rates = workers.interleave(runs, self.setup.rounds(ROUNDS))
        for team in self.teams.values():
            team.workers[0].close()
        return rates

    def description(self, who):
        return self.teams[who, False].workers[0].description


def ratio_row(what, rates, ours, theirs, goal, *notes):
    against = f"{workers.spread(rates[ours])[0]:,.0f} against {workers.spread(rates[theirs])[0]:,.0f} images/s"
    return Row(what, "times as fast", workers.spread([a / b for a, b in zip(rates[ours], rates[theirs])]), goal,
               note="; ".join([against, *filter(None, notes)]))


def measure_photographs(setup, pictures):
    print("  photographs", file=sys.stderr)
    sides = Sides(setup, pictures, [(OURS, False), *((who, False) for who in GOALS)])
    rates = sides.measure()
    left_out = [f"LEFT OUT: {who}, since CMake found no libturbojpeg" for who in GOALS if (who, False) not in sides.teams]
    print(*(f"  {reason}\n" for reason in left_out), sep="", end="", file=sys.stderr)
    rows = [Row("photographs, ours", "images/s", workers.spread(rates[OURS, False]),
                note="; ".join([f"{sides.teams[OURS, False].images} pictures", *left_out]))]
    for who, (goal, aim) in GOALS.items():
        if (who, False) in sides.teams:
            rows.append(ratio_row(f"photographs, against {who}", rates, (OURS, False), (who, False), goal, aim and f"aim {aim}",
                                  sides.agreements[who, False], sides.description(who)))
    return rows


def measure_large(setup, pictures):
    what = f"12 MP, {pictures.name}"
    print(f"  {what}", file=sys.stderr)
    sides = Sides(setup, pictures, [(who, reduced) for who in (OURS, TURBOJPEG, PILLOW) for reduced in (False, True)])
    rates = sides.measure()
    megabytes = sum(path.stat().st_size for path in pictures.iterdir()) / 1e6
    rows = [ratio_row(f"{what}: reduced against full, ours", rates, (OURS, True), (OURS, False), REDUCED_GOAL,
                      sides.agreements[OURS, True], f"{megabytes:.1f} MB")]
    for who, reduced in sides.teams:
        if who != OURS:
            rows.append(ratio_row(f"{what}: {'reduced' if reduced else 'full'}, against {who}", rates, (OURS, reduced),
                                  (who, reduced), None, sides.agreements[who, reduced]))
    return rows


def measure(setup):
    pictures = setup.scratch / "pictures"
    subprocess.run([setup.python, setups.ROOT / "bench/peers/photographs.py", setup.photographs()[0], pictures], check=True)
    rows = measure_photographs(setup, pictures / "photographs")
    for name in LARGE:
        rows += measure_large(setup, pictures / name)
    return rows
