# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the load generator: `vitrine bench` with a server that answers at once without computing."""
import subprocess
import sys

from driver import workers
from driver.report import Row
from driver.service import bench

GOALS = {100: 30_000, 110_000: 25_000}  # request bytes: requests/s on one core
SLIP_GOAL = 1.0  # ms at p99; above it a point is void
OPEN_SHARE = 0.6  # share of the closed loop's rate
FULL_SHARE = 0.9


class NullServer:
    """Context manager: bench_null_server on one core."""

    def __init__(self, setup):
        self.command = ["taskset", "-c", str(setup.core), setup.program("bench_null_server")]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


def measure_size(setup, server, size):
    def run(seconds, *more):
        return bench(setup, server, setup.other_core, "--model", "null", "--allow-empty", "--bytes", size, "--warmup",
                     f"{seconds / 5}s", "--duration", f"{seconds}s", *more, complete="--rate" not in more)

    closed = [run(setup.seconds(4), "--concurrency", 64) for _ in range(setup.rounds(5))]
    rate = workers.spread([point["answered_per_second"] for point in closed])
    cpu = workers.spread([point["generator"]["requests_per_cpu_second"] for point in closed])
    busy = [100 * workers.spread([share(point) for point in closed])[0]
            for share in (lambda point: point["generator"]["core_share"], lambda point: point["server_core_share"])]
    open_rate = round(OPEN_SHARE * rate[0])
    opened = [run(setup.seconds(4), "--rate", open_rate) for _ in range(setup.rounds(5))]
    full_rate = round(FULL_SHARE * rate[0])
    full = [run(setup.seconds(4), "--rate", full_rate) for _ in range(setup.rounds(5))]
    full_cpu = workers.spread([point["generator"]["requests_per_cpu_second"] for point in full])
    full_answered = workers.spread([point["answered_per_second"] for point in full])
    unanswered = sum(point["due"] - point["answered"] for point in full)
    full_busy = workers.spread([100 * point["generator"]["core_share"] for point in full])[0]
    goal_rate = round(1.05 * GOALS[size])
    at_goal = [run(setup.seconds(4), "--rate", goal_rate) for _ in range(setup.rounds(5))]
    goal_answered = workers.spread([point["answered_per_second"] for point in at_goal])
    goal_slip = workers.spread([point["generator"]["slip_ms"]["p99"] for point in at_goal])[0]
    slip = workers.spread([point["generator"]["slip_ms"]["p99"] for point in opened])
    cost = workers.spread([point["generator"]["cpu_us_per_request"] for point in opened])[0]
    p99 = workers.spread([point["latency_ms"]["p99"] for point in opened])[0]
    name = f"{size:,} bytes"
    return [
        Row(f"{name}: requests a second of the generator's processor time, closed loop", "requests/s", cpu, GOALS[size],
            note=f"{1e6 / cpu[0]:.1f} us a request"),
        Row(f"{name}: rate on one core, the server on the other", "requests/s", rate, GOALS[size],
            note=f"generator's core {busy[0]:.0f} % busy, server's {busy[1]:.0f} %"),
        Row(f"{name}: requests a second of the generator's processor time, open loop", "requests/s", full_cpu, GOALS[size],
            note=f"{1e6 / full_cpu[0]:.1f} us a request, {full_rate:,} requests/s offered"),
        Row(f"{name}: rate on one core in an open loop, the server on the other", "requests/s", full_answered, GOALS[size],
            note=f"of {full_rate:,} offered, {unanswered:,} never answered; generator's core {full_busy:.0f} % busy"),
        Row(f"{name}: rate on one core in an open loop that offers {goal_rate:,}", "requests/s", goal_answered, GOALS[size],
            note=f"slip p99 {goal_slip:.2f} ms"),
        Row(f"{name}: slip at p99, open loop at {open_rate:,} requests/s", "ms", slip, SLIP_GOAL, at_least=False,
            note=f"{cost:.1f} us processor time a request; latency p99 {p99:.2f} ms"),
    ]


def measure(setup):
    rows = []
    with NullServer(setup) as server:
        for size in GOALS:
            print(f"  generator: {size:,} bytes", file=sys.stderr)
            rows += measure_size(setup, server, size)
    return rows
