# SPDX-License-Identifier: Apache-2.0
"""Measures an idle server with the bundled models: time to READY, and memory."""
import os
import subprocess
import sys
import time

from driver import service
from driver import workers
from driver.report import Row

START_GOAL = 0.1
REST_GOAL = 55

# Models of every paper, small to large. They are untrained, because training does not change the memory.
VARIANTS = ("vit-ti16", "vit-s16", "vit-b16", "xcit-n12", "xcit-t12", "xcit-n12-f-sne-16", "eit34-mini-cifar10",
            "eit34-base-cifar10", "kv-pos-cifar10-p4-d256-l4", "xvit-t")
WEIGHTS_FACTOR, BESIDE_WEIGHTS = 1.6, 60  # maximum memory in MB: WEIGHTS_FACTOR * weights + BESIDE_WEIGHTS


def measure_many(setup):
    """Measures peak memory with ten models, all loaded and all used, relative to the size of their weights on disk."""
    cores = sorted(os.sched_getaffinity(0))
    repository = setup.scratch / "ten"
    for variant in VARIANTS:
        command = [setup.program("vitrine-repo"), "create", repository, variant, "--variant", variant]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    weights = sum(path.stat().st_size for path in repository.rglob("*.safetensors")) / 1e6
    after_start, peaks = [], []
    for _ in range(setup.rounds(3)):
        with service.Server(setup, repository, cores) as server:
            after_start.append(server.peak_megabytes())
            for model in VARIANTS:
                service.load(server, model, setup.photographs()[0], setup.seconds(3), setup.other_core)
            peaks.append(server.peak_megabytes())
    goal = round(WEIGHTS_FACTOR * weights + BESIDE_WEIGHTS)
    note = f"weights of {weights:.0f} MB; {len(cores)} executors"
    return [Row("peak resident memory of ten models, loaded", "MB", workers.spread(after_start), goal, False, note=note),
            Row("the same after load on each", "MB", workers.spread(peaks), goal, False)]


def measure(setup):
    print("  start and memory", file=sys.stderr)
    models = list(setup.models())
    cores = sorted(os.sched_getaffinity(0))
    starts, resting, loaded = [], [], []
    for _ in range(setup.rounds(5)):
        with service.Server(setup, setup.repository, cores) as server:
            starts.append(server.start_seconds)
            time.sleep(0.5)
            resting.append(server.megabytes("VmRSS"))
            for model in models:
                service.load(server, model, setup.photographs()[0], setup.seconds(5), setup.other_core)
            loaded.append(server.peak_megabytes())
    return [
        Row(f"start to READY, {len(models)} models, files in the page cache", "s", workers.spread(starts), START_GOAL, False),
        Row("resident memory at rest", "MB", workers.spread(resting), REST_GOAL, False),
        Row("peak resident memory after load on every model", "MB", workers.spread(loaded),
            note=f"{len(cores)} executors"),
    ] + measure_many(setup)
