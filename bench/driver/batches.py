# SPDX-License-Identifier: Apache-2.0
"""Compares batches of a part of the queue, as executors of a CPU take them, with batches of maximum size."""
import contextlib
import sys

from driver import precisions, servers, workers
from driver.report import Row
from driver.service import Server, bench
from driver.setup import ROOT

SHARE = 0.7  # share of the closed loop's rate
SOONER, RATE = 1.2, 0.97
# Numbers of closed-loop clients for which both sides differ. With fewer clients or many more, their batches are equal.
CALLERS, SMALL_CALLERS = (8, 24), (32, 64)
SMALL, SMALL_PICTURES = "kv-pos-mnist", ROOT / "samples" / "digits"  # 17 tokens per image
# Any --max-wait, however short, makes the server form batches of maximum size.
FLAGS = {"parts": (), "whole": ("--max-wait", "1us")}


def narrowest():
    return next(precision for precision in ("int8", "bf16", "fp32") if precisions.multiplied(precision))


def p99(point):
    return point["latency_ms"]["p99"]


def answered(point):
    return point["answered_per_second"]


def images(point):
    return point["server"]["batch_images"]["mean"]


def median(points, figure):
    return workers.spread([figure(point) for point in points])[0]


class Pair:
    """Context manager: a server of each kind, both with the same repository."""

    def __init__(self, setup, repository, model, pictures, *flags):
        self.setup, self.model, self.pictures = setup, model, pictures
        self.servers = {kind: Server(setup, repository, setup.both(), [f"model/{model}"], (*flags, *own))
                        for kind, own in FLAGS.items()}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for server in self.servers.values():
                stack.enter_context(server)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def compare(self, *loop):
        seconds = self.setup.seconds(8)

        def measure(server):
            return bench(self.setup, server, self.setup.core_list(), self.pictures, "--model", self.model, "--deadline",
                         "10s", "--warmup", f"{seconds / 5}s", "--duration", f"{seconds}s", *loop)

        sides = {kind: lambda server=server: measure(server) for kind, server in self.servers.items()}
        return workers.interleave(sides, self.setup.rounds(5))


def note(points, figure, unit):
    return "; ".join(f"{kind} {median(points[kind], figure):,.1f} {unit} in batches of {median(points[kind], images):.1f}"
                     for kind in FLAGS)


def ratios(points, figure, over, under):
    return workers.spread([figure(a) / figure(b) for a, b in zip(points[over], points[under], strict=True)])


def rate_row(case, points, callers):
    if median(points["parts"], images) > 0.95 * median(points["whole"], images):
        raise RuntimeError(f"{case}, {callers} callers: both sides have the same batches; nothing is compared")
    return Row(f"{case}, {callers} callers who wait: rate with parts over that with whole batches", "times",
               ratios(points, answered, "parts", "whole"), RATE, note=note(points, answered, "requests/s"))


def measure(setup):
    repository, folder, precision = setup.scratch / "batches", setup.photographs()[0], narrowest()
    servers.publish(setup, repository, servers.jpegs(folder))
    cores, rows = f"{setup.cores()} cores", []
    case = f"{servers.what(precision)}, {cores}"
    with Pair(setup, repository, servers.NAME, folder, "--precision", precision) as pair:
        for callers in CALLERS:
            print(f"  {servers.NAME}: {callers} callers", file=sys.stderr)
            closed = pair.compare("--concurrency", callers)
            rows.append(rate_row(case, closed, callers))
        rate = SHARE * median(closed["whole"], answered)
        print(f"  {servers.NAME}: open loop", file=sys.stderr)
        opened = pair.compare("--rate", rate)
        rows.append(Row(f"{case}, {rate:.0f}/s in an open loop: p99 with whole batches over that with parts", "times",
                        ratios(opened, p99, "whole", "parts"), SOONER, note=note(opened, p99, "ms")))
    with Pair(setup, setup.repository, SMALL, SMALL_PICTURES) as pair:
        for callers in SMALL_CALLERS:
            print(f"  {SMALL}: {callers} callers", file=sys.stderr)
            rows.append(rate_row(f"{SMALL}, fp32, {cores}", pair.compare("--concurrency", callers), callers))
    return rows
