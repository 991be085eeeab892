# SPDX-License-Identifier: Apache-2.0
"""Tests whether `vitrine bench` detects a server that is stopped for 10 ms of every second.

An open loop detects all of it, a closed loop almost nothing.
"""
import os
import signal
import subprocess
import threading

from driver.report import Row
from driver.service import Server, bench

STALL = 0.010  # seconds
EVERY = 1.0
RATE = 1000


class Stalls:
    """Context manager: stops and continues a process once a second."""

    def __init__(self, process):
        self.process, self.over = process, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _run(self):
        while not self.over.wait(EVERY - STALL):
            os.kill(self.process.pid, signal.SIGSTOP)
            self.over.wait(STALL)
            os.kill(self.process.pid, signal.SIGCONT)


def measure(setup):
    repository = setup.scratch / "stalls"
    subprocess.run([setup.program("vitrine-repo"), "create", repository, "null", "--variant", "null"], check=True,
                   stdout=subprocess.DEVNULL)
    seconds = setup.seconds(20)
    loops = {"open loop, 1,000 requests/s": ("--rate", RATE, "--arrivals", "constant"),
             "closed loop, one caller": ("--concurrency", 1)}
    rows = []
    with Server(setup, repository, [setup.core], ["model/null"]) as server:
        for name, loop in loops.items():
            with Stalls(server.process):
                point = bench(setup, server, setup.other_core, "--model", "null", "--duration", f"{seconds}s", *loop)
            latency = point["latency_ms"]
            # One of a hundred requests of an even schedule falls into a stall; a tenth of these wait 9 ms or more.
            goal = {"goal": 8.0} if "--rate" in loop else {}
            rows.append(Row(f"server stopped 10 ms of every second, {name}: p99.9", "ms", (latency["p99.9"],) * 3,
                            **goal, note=f"p50 {latency['p50']:.2f} ms, p99 {latency['p99']:.2f} ms, longest "
                                         f"{latency['max']:.1f} ms of {point['answered']:,} requests"))
    return rows
