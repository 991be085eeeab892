# SPDX-License-Identifier: Apache-2.0
"""What the server with the bundled models costs before it earns anything: time to READY, and memory."""
import os
import sys

from driver import service
from driver import workers
from driver.report import Row

START_GOAL = 2
MEMORY_GOAL = 450


def measure(setup):
    print("  start and memory", file=sys.stderr)
    models = list(setup.models())
    cores = sorted(os.sched_getaffinity(0))
    starts, idle, loaded = [], [], []
    for _ in range(setup.rounds(3)):
        with service.Server(setup, setup.repository, cores, [f"model/{model}" for model in models]) as server:
            starts.append(server.start_seconds)
            idle.append(server.peak_megabytes())
            for model in models:
                service.load(server, model, setup.photographs()[0], setup.seconds(5), setup.other_core)
            loaded.append(server.peak_megabytes())
    return [
        Row(f"start to READY, {len(models)} models, files in the page cache", "s", workers.spread(starts), START_GOAL, False),
        Row("peak resident memory after load on every model", "MB", workers.spread(loaded), MEMORY_GOAL, False,
            note=f"{workers.spread(idle)[0]:.0f} MB before the first request; {len(cores)} executors"),
    ]
