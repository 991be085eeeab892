# SPDX-License-Identifier: Apache-2.0
"""`vitrine score` over a list of a million images, once without an interruption and once killed twenty times.

The list names the same ten digits under a million names, through symbolic links.
"""
import filecmp
import os
import random
import shutil
import subprocess
import time

from driver import service, workers
from driver.report import Row
from driver.service import Server
from driver.setup import ROOT

IMAGES, KILLS = 1_000_000, 20
MODEL = "kv-pos-mnist"
IN_FLIGHT = 32  # the default of vitrine score
MOST_MEGABYTES = 300
SHARE_OF_BENCH = 0.95


def make_list(folder, images):
    """Writes a list of `images` names and returns its path."""
    digits = folder / "digits"
    digits.mkdir()
    for path in sorted((ROOT / "samples" / "digits").glob("*.png")):
        shutil.copy(path, digits)
    names = sorted(path.name for path in digits.iterdir())
    for i in range(100):
        (digits / f"copy-{i:02}").symlink_to(".")
    for i in range(1000):
        (folder / f"folder-{i:03}").symlink_to("digits")
    path = folder / "list.txt"
    path.write_text("".join(f"folder-{i // 1000 % 1000:03}/copy-{i // 10 % 100:02}/{names[i % 10]}\n" for i in range(images)))
    return path


def score(setup, server, source, out, seconds=None):
    """Scores the list, or kills the program after `seconds`. Returns (exit code, seconds, peak memory in MB)."""
    started = time.monotonic()
    process = subprocess.Popen([setup.program("vitrine"), "score", source, "--model", MODEL, "--server", server.address,
                                "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def measure(setup):
    images, kills = (20_000, 4) if setup.quick else (IMAGES, KILLS)
    source = make_list(setup.scratch, images)
    whole, killed = setup.scratch / "whole", setup.scratch / "killed"
    # Each image has its own batch, so that its logits are bit-identical in every run.
    with Server(setup, setup.repository, setup.both(), [f"model/{MODEL}"], ["--max-batch-tokens", 1]) as server:
        def bench():
            seconds = setup.seconds(20)
            point = service.bench(setup, server, setup.other_core, source.parent / "digits", "--model", MODEL, "--mode",
                                  "stream", "--concurrency", IN_FLIGHT, "--warmup", f"{seconds / 5}s", "--duration",
                                  f"{seconds}s")
            return point["answered_per_second"]

        before = bench()
        code, seconds, peak = score(setup, server, source, whole)
        rates = before, bench()
        chance = random.Random(1)
        peaks = [peak]
        for _ in range(kills):
            peaks.append(score(setup, server, source, killed, chance.uniform(0, seconds / kills))[2])
        last, _, peak = score(setup, server, source, killed)
    different, files = different_files(whole, killed)
    lines = sum(path.read_bytes().count(b"\n") for path in killed.glob("chunk-*.jsonl"))
    return [
        Row(f"rows of {images:,} images after {kills} kills", "rows", (lines,) * 3, images, note=f"exit codes {code} and {last}"),
        Row("files that differ from those of a run without a kill", "files", (different,) * 3, 0, at_least=False,
            note=f"of {files}, index.json included"),
        Row("images a second of that run", "1/s", (images / seconds,) * 3, note="server and client on the same cores"),
        Row("its share of the rate of `vitrine bench` before and after", "",
            workers.spread([images / seconds / rate for rate in rates]), SHARE_OF_BENCH,
            note=f"a stream of {IN_FLIGHT}, which reads and writes no file"),
        Row("peak memory of the program, of all runs", "MB", (max(*peaks, peak),) * 3, MOST_MEGABYTES, at_least=False),
    ]
