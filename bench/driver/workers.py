# SPDX-License-Identifier: Apache-2.0
"""Worker processes that compute on command, and a function that runs them in turn."""
import statistics
import subprocess

# Allowed difference of logits, relative to the image's largest logit, or to 1 if that is larger. Logits differ because the programs
# sum in fp32 in different orders.
TOLERANCE = 1e-4


class EndedEarly(RuntimeError):
    pass


class Worker:
    """A process that follows the protocol of bench/work.h, pinned to one core or several ("0,1")."""

    def __init__(self, command, cores, environment=None):
        self.command = ["taskset", "-c", str(cores), *map(str, command)]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        self.images = None

    def wait_until_ready(self):
        words = self._line().split()
        self.images, self.description = int(words[1]), " ".join(words[2:])
        return self

    def start(self, repetitions):
        self._tell(f"run {repetitions}")

    def seconds(self):
        return float(self._line())

    def results(self):
        self._tell("results")
        rows = []
        while line := self._line():
            rows.append([float(value) for value in line.split()])
        return rows

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)

    def _tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise EndedEarly("ended early: " + " ".join(self.command))
        return line.rstrip("\n")


class Team:
    """Workers that work at the same time, one per core."""

    def __init__(self, workers):
        self.workers = workers
        self.images = sum(worker.images for worker in workers)

    def run(self, repetitions):
        """Runs all workers and returns the seconds until the last worker is done."""
        for worker in self.workers:
            worker.start(repetitions)
        return max(worker.seconds() for worker in self.workers)


def repetitions_for(team, seconds):
    """Returns how often a team must repeat its work to fill some seconds. Also warms up the workers."""
    repetitions = 1
    while (spent := team.run(repetitions)) < min(0.1, seconds):
        repetitions *= 2
    return max(1, round(repetitions * seconds / spent))


def interleave(sides, rounds):
    """Calls each of `sides` (name -> function) once per round. The order is reversed in every other round. Returns {name:
    [results]}."""
    results = {name: [] for name in sides}
    for i in range(rounds):
        for name in list(sides)[:: 1 if i % 2 == 0 else -1]:
            results[name].append(sides[name]())
    return results


def spread(values):
    """Returns (median, lowest, highest)."""
    return statistics.median(values), min(values), max(values)


def check_agreement(ours, theirs, tolerance=TOLERANCE):
    """Raises if the logits of the two sides differ by more than the tolerance."""
    if len(ours) != len(theirs):
        raise RuntimeError(f"{len(ours)} rows of logits against {len(theirs)}")
    for i, (a, b) in enumerate(zip(ours, theirs)):
        worst = max(abs(x - y) for x, y in zip(a, b)) / max(1, *map(abs, b))
        if worst > tolerance:
            raise RuntimeError(f"logits of image {i} differ by {worst:.2e}; the tolerance is {tolerance}")
