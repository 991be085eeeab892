# SPDX-License-Identifier: Apache-2.0
"""Runs `vitrine score` over a list of a million images, once without an interruption and once killed twenty times. Measures the
rate of `vitrine score` with the model in its own process and with a server. Compares both rates with the rates of decoding alone
and of the engine alone.

The lists have few different images. Symbolic links give each image many paths.
"""
import filecmp
import os
import random
import shutil
import subprocess
import time

from driver import workers
from driver.report import Row
from driver.service import Server
from driver.setup import ROOT

IMAGES, KILLS = 1_000_000, 20
MODEL = "kv-pos-mnist"
MOST_MEGABYTES = 300
# {model: (samples, images)}. With the first model, the computation of an image takes longer than the overhead of a call; with
# the second model, it takes less time.
SHARED = {"eit-mini-cifar10": ("cifar", 3_000), MODEL: ("digits", 60_000)}
SHARE_OF_ENGINE = 0.95


def make_list(folder, pictures, images):
    """Writes a list with `images` paths to the files in `pictures`, and returns the list's path."""
    folder.mkdir()
    shutil.copytree(pictures, folder / "pictures")
    names = sorted(path.name for path in pictures.iterdir())
    for i in range(100):
        (folder / "pictures" / f"copy-{i:02}").symlink_to(".")
    for i in range(1000):
        (folder / f"folder-{i:03}").symlink_to("pictures")
    path, count = folder / "list.txt", len(names)
    path.write_text("".join(f"folder-{i // (100 * count) % 1000:03}/copy-{i // count % 100:02}/{names[i % count]}\n"
                            for i in range(images)))
    return path


def score(setup, where, model, source, out, seconds=None):
    """Scores the list. If `seconds` is given, kills the program after this time. `where`: --server ADDRESS or --repository
    FOLDER.

    Returns (exit code, seconds, peak memory in MB).
    """
    started = time.monotonic()
    command = [setup.program("vitrine"), "score", source, "--model", model, *where, "--out", out]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if seconds is not None:
        try:
            process.wait(seconds)
            raise RuntimeError("the program ended before it was killed")
        except subprocess.TimeoutExpired:
            process.kill()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.monotonic() - started, usage.ru_maxrss * 1024 / 1e6


def different_files(whole, killed):
    names = {path.name for folder in (whole, killed) for path in folder.iterdir()} - {"lock"}
    _, mismatch, errors = filecmp.cmpfiles(whole, killed, names, shallow=False)
    return len(mismatch) + len(errors), len(names)


def measure_kills(setup):
    images, kills = (20_000, 4) if setup.quick else (IMAGES, KILLS)
    source = make_list(setup.scratch / "many", ROOT / "samples" / "digits", images)
    whole, killed = setup.scratch / "whole", setup.scratch / "killed"
    # Each image has its own batch, so that its logits are bit-identical in every run.
    with Server(setup, setup.repository, setup.both(), ["--max-batch-tokens", 1]) as server:
        where = ["--server", server.address]
        code, seconds, peak = score(setup, where, MODEL, source, whole)
        chance = random.Random(1)
        peaks = [peak]
        for _ in range(kills):
            peaks.append(score(setup, where, MODEL, source, killed, chance.uniform(0, seconds / kills))[2])
        last, _, peak = score(setup, where, MODEL, source, killed)
    different, files = different_files(whole, killed)
    lines = sum(path.read_bytes().count(b"\n") for path in killed.glob("chunk-*.jsonl"))
    return [
        Row(f"rows of {images:,} images after {kills} kills", "rows", (lines,) * 3, images, note=f"exit codes {code} and {last}"),
        Row("files that differ from those of a run without a kill", "files", (different,) * 3, 0, at_least=False,
            note=f"of {files}, index.json included"),
        Row(f"images a second of that run, {MODEL}", "1/s", (images / seconds,) * 3, note="server and client on the same cores"),
        Row("peak memory of the program, of all runs", "MB", (max(*peaks, peak),) * 3, MOST_MEGABYTES, at_least=False),
    ]


def measure_share(setup, model, samples, images):
    """Compares two rates of `vitrine score` (model in its process, server on the same cores) with the rate of an engine on each
    core."""
    images = images // 10 if setup.quick else images
    pictures = ROOT / "samples" / samples
    source = make_list(setup.scratch / samples, pictures, images)
    teams = {}
    for work in ("decode", "model"):
        command = [setup.program("bench_worker"), work, "--repository", setup.repository, "--model", model,
                   "--pictures", pictures]
        teams[work] = workers.Team([workers.Worker(command, core).wait_until_ready() for core in setup.both()])

    def rate_of(work):
        repetitions = workers.repetitions_for(teams[work], setup.seconds(5))
        return repetitions * teams[work].images / teams[work].run(repetitions)

    with Server(setup, setup.repository, setup.both()) as server:
        peaks = []

        def scored(*where):
            out = setup.scratch / "scores"
            code, seconds, peak = score(setup, where, model, source, out)
            shutil.rmtree(out)
            if code != 0:
                raise RuntimeError(f"vitrine score ended with {code}")
            peaks.append(peak)
            return images / seconds

        results = workers.interleave({"decode": lambda: rate_of("decode"), "model": lambda: rate_of("model"),
                                      "process": lambda: scored("--repository", setup.repository),
                                      "server": lambda: scored("--server", server.address)}, setup.rounds(5))
    for team in teams.values():
        for worker in team.workers:
            worker.close()
    engine = results["model"]
    both = [1 / (1 / decoding + 1 / computing) for decoding, computing in zip(results["decode"], engine)]
    rows = []
    for side, how in (("process", "in the process"), ("server", "through a server on the same cores")):
        rows.append(Row(f"images a second, {model}, {how}", "1/s", workers.spread(results[side]), note=f"{images:,} images"))
        for what, bounds in (("decoding and computing", both), ("computing alone", engine)):
            shares = [mine / alone for mine, alone in zip(results[side], bounds)]
            rows.append(Row(f"its share of the rate of {what} on each core", "", workers.spread(shares), SHARE_OF_ENGINE,
                            note=f"{workers.spread(bounds)[0]:,.0f} images/s"))
    rows.append(Row("peak memory of the program", "MB", (max(peaks),) * 3, MOST_MEGABYTES, at_least=False))
    return rows


def measure(setup):
    shares = [row for model, (samples, images) in SHARED.items() for row in measure_share(setup, model, samples, images)]
    return measure_kills(setup) + shares
