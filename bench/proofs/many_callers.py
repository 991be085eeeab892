# SPDX-License-Identifier: Apache-2.0
"""Compares a thousand callers with one caller, to measure the cost of having another caller on every connection.

With three calls in flight on each connection, the transport also contributes to the result, because it does less work if the
calls of a connection are answered together. With one call on each connection, the result is only the cost of scheduling.
"""
import subprocess
import sys
import time

from driver import workers
from driver.report import Row
from driver.service import Server
from proofs import samples
from proofs.metrics import count, processor_seconds, scrape
from proofs.wire_callers import CONNECTIONS

MODEL = "kv-pos-mnist"  # the smallest model, for which the cost of a caller is the largest share of the cost of an answer
CALLERS = 1000
CALLS = (3, 1)  # calls in flight on each connection
GOAL = 0.95
SECONDS, ROUNDS = 6, 5


class Load:
    """Context manager: the connections of `callers` callers, in a process on the core that the server does not use."""

    def __init__(self, setup, server, callers, calls):
        self.command = ["taskset", "-c", str(setup.other_core), sys.executable, "-m", "proofs.wire_callers", server.address,
                        MODEL, str(samples.digit_path()), str(callers), str(calls)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "busy\n":
            self.process.wait()
            raise RuntimeError("not every connection was answered")
        return self

    def __exit__(self, *_):
        self.process.communicate()
        if self.process.returncode != 0:
            raise RuntimeError("a connection was ended by the server")


class Reading:
    """The server's counters at one time."""

    def __init__(self, server):
        self.time, text = time.monotonic(), scrape(server)
        self.good = count(text, "vitrine_requests_total", 'code="OK"')
        self.failed = count(text, "vitrine_requests_total") - self.good
        self.spent = processor_seconds(server.process)


class Measurement:
    """The answers per second with `callers` callers, and the processor time per answer."""

    def __init__(self, setup, server, callers, calls, seconds):
        with Load(setup, server, callers, calls):
            time.sleep(seconds / 4)
            before = Reading(server)
            time.sleep(seconds)
            after = Reading(server)
        answers = after.good - before.good
        self.rate = answers / (after.time - before.time)
        self.failed = after.failed - before.failed
        spent = after.spent - before.spent
        self.core = 100 * sum(spent.values()) / (after.time - before.time)  # the server's use of a core, in percent
        self.of = {name: 1e6 * spent[name] / answers for name in ("executor", "http")}  # microseconds per answer


def median(measurements, figure):
    return workers.spread([figure(one) for one in measurements])[0]


def measure_calls(setup, server, calls):
    seconds = setup.seconds(SECONDS)
    # The server keeps an account for each caller for a minute after its last call, but idle accounts cause no work.
    sides = workers.interleave({callers: lambda callers=callers: Measurement(setup, server, callers, calls, seconds)
                                for callers in (1, CALLERS)}, setup.rounds(ROUNDS))
    ratios = [many.rate / one.rate for one, many in zip(sides[1], sides[CALLERS])]
    rates, executor, http = ([median(sides[callers], figure) for callers in (1, CALLERS)] for figure in (
        lambda one: one.rate, lambda one: one.of["executor"], lambda one: one.of["http"]))
    least = min(one.core for side in sides.values() for one in side)
    row = Row(f"answers a second, {CALLERS:,} callers over one, {calls} calls on each of {CONNECTIONS:,} connections", "times",
              workers.spread(ratios), GOAL,
              note=f"{MODEL}, {rates[0]:,.0f} and {rates[1]:,.0f} answers/s, of which each takes {executor[0]:.0f} and "
                   f"{executor[1]:.0f} us of the executor, {http[0]:.0f} and {http[1]:.0f} us of the event loop; server on one "
                   f"core, {least:.0f} % busy or more, callers on the other")
    return row, sum(one.failed for side in sides.values() for one in side)


def measure(setup):
    with Server(setup, setup.repository, [setup.core]) as server:
        rows, failed = zip(*(measure_calls(setup, server, calls) for calls in CALLS))
    return [*rows, Row("requests of these that were not answered", "requests", (sum(failed),) * 3, 0, at_least=False)]
