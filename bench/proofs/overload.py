# SPDX-License-Identifier: Apache-2.0
"""Measures goodput when the load exceeds the capacity: XCiT-N12, open loop, server and generator on one core each."""
import collections
import subprocess
import sys

from driver import workers
from driver.report import Row
from driver.service import Server, bench

MODEL = "xcit-n12"
SIZE = "224x224"
DEADLINE = "500ms"
CALLERS = (8, 16, 32, 48)  # numbers of closed-loop clients; the peak is the best rate with one of these numbers
GOALS = {2: 0.97, 5: 0.93, 10: 0.88}
ROUNDS = 5
REFUSAL_GOAL = 10.0  # maximum ms of a rejection at p99
PEAK_RANGE = (100, 800)  # requests/s; the comparison is meaningful only for a peak in this range


def generator(points):
    """Describes how busy and how late the load generator was. If some measurements are not valid, adds their number and a reason."""
    busy = workers.spread([100 * point["generator"]["core_share"] for point in points])[0]
    slip = workers.spread([point["generator"]["slip_ms"]["p99"] for point in points])[0]
    void = [point["generator"]["void"] for point in points if not point["generator"]["valid"]]
    said = f"; {len(void)} of {len(points)} VOID: {void[0]}" if void else ""
    return f"generator's core {busy:.0f} % busy, slip p99 {slip:.2f} ms{said}"


def goodput(point):
    """Returns the goodput of a closed loop in requests per second. Raises if the generator limited it."""
    if not point["generator"]["valid"]:
        raise RuntimeError(f"a point of the peak is void: {point['generator']['void']}")
    return point["good_per_second"]


def measure_overload(setup, offered, times, peak):
    rate = round(times * peak)
    points = [offered("--rate", rate) for _ in range(setup.rounds(ROUNDS))]
    valid = [point for point in points if point["generator"]["valid"]]
    if len(valid) <= len(points) / 2:
        return [Row(f"goodput at {times} times the peak", "of the peak", (0.0,) * 3, GOALS[times],
                    note=f"nothing is shown: too many points are void; {generator(points)}")]
    shares = workers.spread([point["good_per_second"] / peak for point in valid])
    refusals = [error for point in valid for error in point["errors"] if error["code"] == "RESOURCE_EXHAUSTED"]
    others = collections.Counter()
    for point in valid:
        others.update({error["code"]: error["count"] for error in point["errors"]})
    due = sum(point["due"] for point in valid)
    if not refusals:
        raise RuntimeError(f"nothing was refused at {rate} requests/s: {others}")
    told = ", ".join(f"{100 * count / due:.1f} % {code}" for code, count in others.most_common())
    return [
        Row(f"goodput at {times} times the peak", "of the peak", shares, GOALS[times],
            note=f"{rate:,} requests/s offered, deadline {DEADLINE}; {generator(points)}"),
        Row(f"refusals at {times} times the peak: latency at p99", "ms",
            workers.spread([error["latency_ms"]["p99"] for error in refusals]), REFUSAL_GOAL, at_least=False,
            note=f"of all requests due: {told}"),
    ]


def measure(setup):
    repository = setup.scratch / "overload"
    subprocess.run([setup.program("vitrine-repo"), "create", repository, MODEL, "--variant", MODEL], check=True,
                   stdout=subprocess.DEVNULL)
    pictures, _ = setup.photographs()
    seconds = setup.seconds(10)
    with Server(setup, repository, [setup.core]) as server:
        def offered(*load):
            return bench(setup, server, setup.other_core, pictures, "--model", MODEL, "--resolution", SIZE,
                         "--deadline", DEADLINE, "--connections", 8, "--warmup", f"{seconds / 5}s",
                         "--duration", f"{seconds}s", *load, complete=False)

        print("  peak", file=sys.stderr)
        closed = {callers: workers.spread([goodput(offered("--concurrency", callers)) for _ in range(setup.rounds(ROUNDS))])
                  for callers in CALLERS}
        callers, peak = max(closed.items(), key=lambda item: item[1][0])
        rows = [Row(f"{MODEL} at {SIZE}, peak of goodput, {callers} callers who wait", "requests/s", peak, PEAK_RANGE[0],
                    note=f"at most {PEAK_RANGE[1]} for the comparison to mean something; {setup.photographs()[1]}")]
        if peak[0] > PEAK_RANGE[1]:
            raise RuntimeError(f"the peak is {peak[0]:.0f} requests/s, above {PEAK_RANGE[1]}: the generator would be measured")
        for times in GOALS:
            print(f"  {times} times the peak", file=sys.stderr)
            rows += measure_overload(setup, offered, times, peak[0])
        rows.append(Row("peak of the server's memory, all of it", "MB", (server.peak_megabytes(),) * 3))
    return rows
