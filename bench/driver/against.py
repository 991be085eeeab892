# SPDX-License-Identifier: Apache-2.0
"""Compares the speed and memory of two builds of Vitrine, which run in turn on the same cores."""
import pathlib
import re
import sys

from driver import setup as setups
from driver import report, workers
from driver.report import Row

LEAST_SPEED = 0.98
MOST_MEMORY = 1.02
TOLERANCE = 5e-3  # maximum of |a - b| / max(1, |b|), where a and b are the results of the two builds
ROUNDS = 25
SECONDS = 1
STARTS = 5  # starts of the program for the memory figure, because an allocator's memory differs from start to start

TRAINED = {  # {model of the zoo: "HEIGHTxWIDTH:COUNT" of a batch's images}
    "eit34-mini-cifar10": "32x32:128",
    "xcit-n12-10-classes": "112x112:64",
    "vit-ti16": "224x224:16",
}


def peak_megabytes(worker):
    status = pathlib.Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def started(build, arguments, cores):
    program, kind = build / "bin" / arguments[0], arguments[1]
    # Older revisions of bench_worker need the flag --compiled; without it, they run the reference model.
    older = kind == "forward" and "--compiled" in report.output(program, kind, "--help")
    return workers.Worker([program, *arguments[1:], *["--compiled"] * older], cores).wait_until_ready()


def compare(setup, arguments, cores):
    """Runs the same command with both builds. Returns ([ratio of speeds per round], [images/s of this build], [ratio of peak
    memory per start])."""
    builds = {"now": setup.build, "before": setup.against}
    running = {name: started(build, arguments, cores) for name, build in builds.items()}
    repetitions = workers.repetitions_for(workers.Team([running["now"]]), setup.seconds(SECONDS))
    workers.repetitions_for(workers.Team([running["before"]]), setup.seconds(SECONDS))
    sides = {name: lambda team=workers.Team([worker]): repetitions * team.images / team.run(repetitions)
             for name, worker in running.items()}
    speeds = workers.interleave(sides, setup.rounds(ROUNDS))
    check_agreement(*(running[name].results() for name in ("now", "before")))
    for worker in running.values():
        worker.close()
    peaks = workers.interleave({name: lambda build=build: peak_of(started(build, arguments, cores), repetitions)
                                for name, build in builds.items()}, setup.rounds(STARTS))
    return ratios(speeds), speeds["now"], ratios(peaks)


def peak_of(worker, repetitions):
    """Lets a new worker process work for three rounds, and returns its peak memory in MB."""
    workers.Team([worker]).run(3 * repetitions)
    peak = peak_megabytes(worker)
    worker.close()
    return peak


def ratios(results):
    return [now / before for now, before in zip(results["now"], results["before"], strict=True)]


def check_agreement(now, before):
    """Raises if the results of the two builds differ by more than TOLERANCE."""
    for ours, theirs in zip(now, before, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            if abs(a - b) > TOLERANCE * max(1, abs(b)):
                raise RuntimeError(f"one build computes {a}, the other {b}")


def rows_of(setup, what, arguments, cores):
    print(f"  {what}", file=sys.stderr)
    speeds, rates, memory = compare(setup, arguments, cores)
    return [Row(f"{what}, speed", "times as fast", workers.spread(speeds), LEAST_SPEED,
                note=f"{workers.spread(rates)[0]:,.0f} images/s"),
            Row(f"{what}, peak memory", "times as much", workers.spread(memory), MOST_MEMORY, False)]


def measure(setup):
    rows = []
    for model, version in setup.models().items():
        for case, sizes in setups.sizes_of(version).items():
            rows += rows_of(setup, f"{model}, {case}",
                            ["bench_worker", "forward", "--repository", setup.repository, "--model", model, "--sizes",
                             *sizes], setup.core)
    return rows


def measure_training(setup):
    rows = []
    for model, size in TRAINED.items():
        for precision, flags in (("fp32", []), ("bf16", ["--bf16"])):
            rows += rows_of(setup, f"training {model}, {size.replace(':', ', batch ')}, {precision}",
                            ["bench_training_worker", "--model", model, "--threads", setup.cores(), "--sizes", size,
                             *flags], setup.core_list())
    return rows
