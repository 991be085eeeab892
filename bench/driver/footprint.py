# SPDX-License-Identifier: Apache-2.0
"""What the server with the bundled models costs before it earns anything: time to READY, and memory."""
import os
import sys
import time

from driver import service
from driver import workers
from driver.report import Row

START_GOAL = 0.15
REST_GOAL = 90


def measure(setup):
    print("  start and memory", file=sys.stderr)
    models = list(setup.models())
    cores = sorted(os.sched_getaffinity(0))
    starts, resting, loaded = [], [], []
    for _ in range(setup.rounds(5)):
        with service.Server(setup, setup.repository, cores, [f"model/{model}" for model in models]) as server:
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
    ]
