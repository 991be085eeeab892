# SPDX-License-Identifier: Apache-2.0
"""Measures the rate for images of four sizes. Our engine packs images of different sizes into a batch; the other sides pad the
images, compute each image alone, or batch only images of equal size.

The measurement uses no server; each side is one thread on one core. All sides compute the same sequence of images; a seed
determines the order of sizes.
"""
import random
import sys

from driver import precisions, published, workers
from driver import setup as setups
from driver.report import Row

ROUNDS = 5
SECONDS = 1
NAME, ARCHITECTURE = "xcit-n12", published.PEERS["xcit-n12"]
LIMITS = "36-1024"  # tokens; 512x512 must be accepted
CELL = 16
SHARES = {(224, 224): 12, (384, 288): 4, (384, 384): 3, (512, 512): 1}  # images out of twenty
PICTURES, PICTURES_QUICK = 160, 40
SEED = 1
# The server's default of --max-batch-tokens.
MOST_TOKENS = 8 * 197
EIGHT = 8
WINDOW = 32  # pending images; OpenVINO may choose images of one size among them
# Allowed difference of logits, relative to the largest logit, as in driver/engine.py.
TOLERANCES = {"fp32": workers.TOLERANCE, "bf16": 0.1}
GOALS = {
    "every picture padded to 512x512": 2.7,
    "each batch of 8 padded to its largest": 1.8,
    "OpenVINO, dynamic shapes": 1.5,
    "OpenVINO, a compiled model for each shape": 1.2,
}


def draw_sizes(count):
    """Returns the sizes of the images. The shares of the sizes are exact; only their order is random."""
    sizes = [size for size, share in SHARES.items() for _ in range(count * share // sum(SHARES.values()))]
    random.Random(SEED).shuffle(sizes)
    return sizes


def tokens(size):
    return size[0] // CELL * (size[1] // CELL) + 1


def packed(sizes):
    """Returns batches as the server makes them from a long queue: an image that does not fit ends the batch. Sorts the images
    of each batch by grid."""
    batches, room = [], 0
    for i, size in enumerate(sizes):
        if tokens(size) > room:
            batches.append([])
            room = MOST_TOKENS
        batches[-1].append(i)
        room -= tokens(size)
    return [sorted(batch, key=lambda i: sizes[i]) for batch in batches]


def in_eights(sizes):
    return [list(range(at, min(at + EIGHT, len(sizes)))) for at in range(0, len(sizes), EIGHT)]


def of_one_size(sizes):
    """Returns batches of up to eight waiting images. All images of a batch have the size of the image that waits longest."""
    waiting, batches = list(range(len(sizes))), []
    while waiting:
        batch = [i for i in waiting[:WINDOW] if sizes[i] == sizes[waiting[0]]][:EIGHT]
        batches.append(batch)
        waiting = [i for i in waiting if i not in batch]
    return batches


def to_largest(sizes, batches):
    """Returns the size of each image after padding to the largest height and width in its batch."""
    padded = list(sizes)
    for batch in batches:
        largest = tuple(max(sizes[i][side] for i in batch) for side in (0, 1))
        for i in batch:
            padded[i] = largest
    return padded


class Sides:
    """Context manager that gives {name: team} for all sides in one precision. Our engine is first."""

    def __init__(self, setup, repository, weights, precision, sizes):
        self.setup, self.repository, self.weights, self.precision = setup, repository, weights, precision
        self.inputs = setup.scratch / "inputs.safetensors"
        largest = [max(SHARES)] * len(sizes)
        eights = in_eights(sizes)
        ours = self.ours(sizes, packed(sizes), "--save-inputs", self.inputs)
        sides = {"ours": ours, **dict(zip(GOALS, [
            self.ours(largest, eights), self.ours(to_largest(sizes, eights), eights),
            self.openvino(), self.openvino("--batches", *written(of_one_size(sizes)))]))}
        self.teams = {name: workers.Team([worker]) for name, worker in sides.items()}
        for name in list(GOALS)[2:]:
            workers.check_agreement(ours.results(), sides[name].results(), TOLERANCES[precision])

    def ours(self, sizes, batches, *more):
        command = [self.setup.program("bench_worker"), "forward", "--repository", self.repository, "--model",
                   NAME, "--precision", self.precision, "--sizes", *(f"{height}x{width}" for height, width in sizes),
                   "--batches", *written(batches), *more]
        return workers.Worker(command, self.setup.core).wait_until_ready()

    def openvino(self, *more):
        command = [self.setup.python, setups.ROOT / "bench/peers/openvino_mix_worker.py", "--timm", ARCHITECTURE,
                   "--weights", self.weights, "--inputs", self.inputs, "--precision", self.precision, *more]
        return workers.Worker(command, self.setup.core).wait_until_ready()

    def __enter__(self):
        return self.teams

    def __exit__(self, *_):
        for team in self.teams.values():
            team.workers[0].close()


def written(batches):
    return [",".join(map(str, batch)) for batch in batches]


def measure_precision(setup, repository, weights, precision, sizes):
    print(f"  {precision}: {len(sizes)} pictures of {len(SHARES)} sizes", file=sys.stderr)
    with Sides(setup, repository, weights, precision, sizes) as teams:
        runs = {}
        for name, team in teams.items():
            repetitions = workers.repetitions_for(team, setup.seconds(SECONDS))
            runs[name] = lambda team=team, n=repetitions: n * team.images / team.run(n)
        rates = workers.interleave(runs, setup.rounds(ROUNDS))
    medians = {name: workers.spread(values)[0] for name, values in rates.items()}
    return [Row(f"{NAME}, {precision}, mixed sizes packed, against {peer}", "times as fast",
                workers.spread([a / b for a, b in zip(rates["ours"], rates[peer])]), goal,
                note=f"{medians['ours']:,.1f} against {medians[peer]:,.1f} images/s")
            for peer, goal in GOALS.items()]


def measure(setup):
    repository = setup.scratch / "models"
    weights = published.import_from_timm(setup, repository, NAME, ARCHITECTURE, flags=["--native", LIMITS])
    sizes = draw_sizes(PICTURES_QUICK if setup.quick else PICTURES)
    most = sum(map(tokens, sizes)) / len(sizes)
    print(f"  {most:,.0f} tokens a picture in the mean, {len(packed(sizes))} batches packed", file=sys.stderr)
    rows = []
    for precision in TOLERANCES:
        rows += (measure_precision(setup, repository, weights, precision, sizes) if precisions.multiplied(precision)
                 else [precisions.left_out(NAME, precision)])
    return rows
