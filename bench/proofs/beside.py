# SPDX-License-Identifier: Apache-2.0
"""Measures how a trainer that publishes into the server's repository affects latency. Trainer and server have a core each."""
import os
import shutil
import signal
import subprocess
import sys

from driver import workers
from driver.report import Row
from driver.service import Server, bench, load
from driver.setup import ROOT

MODEL = "eit-mini-cifar10"
GOAL = 1.15
PUBLISHED = "version ready model=trained"  # text in the server's log
COPIES = 50  # per digit, as training images
RATE = 60  # requests/s, if the core that server and generator share can serve that
LOAD = 0.7  # maximum rate, as a share of the closed loop's rate; at a higher rate, p99 measures only the queue
ROUNDS = 5


class Trainer:
    """vitrine-train on one core. It does one training run after another and publishes a version after each run. It is paused
    except during the measurements beside the trainer."""

    def __init__(self, setup, repository):
        self.log = open(setup.scratch / "trainer.log", "w")
        data = setup.scratch / "digits"
        for path in sorted((ROOT / "samples" / "digits").glob("*.png")):
            folder = data / path.stem
            folder.mkdir(parents=True)
            for copy in range(COPIES):
                shutil.copy(path, folder / f"{copy}.png")
        # Each run takes a few seconds and publishes a version.
        loop = ('while :; do "$0" run eit-mini-cifar10 --data "imagefolder:$3" --publish "$1" --name trained '
                '--work "$2/run" --threads 1 --loader-threads 1 --epochs 1 --no-report; rm -rf "$2/run"; done')
        self.process = subprocess.Popen(
            ["taskset", "-c", str(setup.other_core), "bash", "-c", loop, setup.program("vitrine-train"), repository,
             setup.scratch, data], stdout=self.log, stderr=self.log, start_new_session=True)
        self.signal(signal.SIGSTOP)

    def signal(self, which):
        os.killpg(self.process.pid, which)

    def close(self):
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


def bearable_rate(setup, server, pictures, seconds):
    """Returns (requests per second, reason if this rate is below RATE)."""
    served = load(server, MODEL, pictures, seconds / 8, setup.core)["answered_per_second"]
    rate = min(RATE, int(LOAD * served))
    return rate, "" if rate == RATE else f" ({LOAD:.0%} of the {served:.0f} that this core serves; {RATE} are too many for it)"


def p99(setup, server, picture, rate, seconds):
    """Returns (p99 in ms, the server's share of a core) of an open loop. The generator shares the server's core, so that the
    trainer has the other core alone."""
    point = bench(setup, server, setup.core, picture, "--model", MODEL, "--rate", rate, "--warmup", f"{seconds / 5}s",
                  "--duration", f"{seconds}s")
    return point["latency_ms"]["p99"], point["server_core_share"]


def measure(setup):
    repository = setup.scratch / "shared"
    shutil.copytree(setup.repository / MODEL, repository / MODEL)
    pictures, _ = setup.photographs()
    seconds = setup.seconds(40)
    published = []  # versions that became ready during each measurement beside the trainer
    with Server(setup, repository, [setup.core]) as server:
        rate, reason = bearable_rate(setup, server, pictures, seconds)
        trainer = Trainer(setup, repository)

        def measure_beside():
            before = server.log().count(PUBLISHED)
            trainer.signal(signal.SIGCONT)
            figure = p99(setup, server, pictures, rate, seconds)
            trainer.signal(signal.SIGSTOP)
            published.append(server.log().count(PUBLISHED) - before)
            return figure

        try:
            sides = workers.interleave({"alone": lambda: p99(setup, server, pictures, rate, seconds),
                                        "beside": measure_beside}, setup.rounds(ROUNDS))
        finally:
            trainer.close()
    busy = {side: workers.spread([100 * share for _, share in sides[side]])[0] for side in sides}
    sides = {side: [figure for figure, _ in points] for side, points in sides.items()}
    ratios = [beside / alone for alone, beside in zip(sides["alone"], sides["beside"])]
    if min(published) == 0:
        print("  the trainer published nothing in one of them:\n" + (setup.scratch / "trainer.log").read_text()[-2000:],
              file=sys.stderr)
    alone, beside = (workers.spread(sides[side])[0] for side in ("alone", "beside"))
    return [
        Row("p99 of a served model, trainer at work over trainer stopped, in turn", "times", workers.spread(ratios), GOAL,
            at_least=False, note=f"{MODEL}, {rate} requests/s{reason}, {alone:.1f} ms and {beside:.1f} ms, the server takes "
                                 f"{busy['alone']:.0f} % and {busy['beside']:.0f} % of a core; server and generator on one core, "
                                 "trainer on the other, one repository"),
        Row("versions that the trainer published in each measurement, at least", "versions", (min(published),) * 3, 1,
            note=f"{sum(published)} in all"),
    ]
