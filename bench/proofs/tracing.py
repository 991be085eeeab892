# SPDX-License-Identifier: Apache-2.0
"""A tenth of the requests traced, at full load: what it takes from the rate."""
import multiprocessing
import os
import re
import urllib.request
from concurrent import futures

import grpc

from driver import workers
from driver.report import Row
from driver.service import Server, load

MODEL = "eit-mini-cifar10"
GOAL = 0.99
SAMPLE = 0.1
SPANS = 5  # of a request that is answered: itself and its four stages
SENT = 0.9  # of the spans that were due: else the rate was measured beside fewer


def collect(core, pipe):
    """A collector that takes everything, in a process of its own: every message is answered with an empty one."""
    os.sched_setaffinity(0, {core})
    export = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    service = grpc.method_handlers_generic_handler("opentelemetry.proto.collector.trace.v1.TraceService",
                                                   {"Export": export})
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    pipe.send(port)
    pipe.recv()  # until the end
    server.stop(0).wait()


class Collector:
    """Its `address`, until the end of the with statement."""

    def __init__(self, core):
        self.pipe, end = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=collect, args=(core, end))

    def __enter__(self):
        self.process.start()
        self.address = f"127.0.0.1:{self.pipe.recv()}"
        return self

    def __exit__(self, *_):
        self.pipe.send("end")
        self.process.join(30)


def count(server, name):
    """The sum over the series of a counter."""
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=30) as response:
        text = response.read().decode()
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


def measure(setup):
    pictures, _ = setup.photographs()
    seconds = setup.seconds(10)
    wanted = [f"model/{MODEL}"]
    with Collector(setup.other_core) as collector:
        flags = ["--otlp-endpoint", collector.address, "--trace-sample", SAMPLE]
        with Server(setup, setup.repository, [setup.core], wanted) as plain, \
                Server(setup, setup.repository, [setup.core], wanted, flags=flags) as traced:

            def rate(server):
                return load(server, MODEL, pictures, seconds, setup.other_core)["answered_per_second"]

            sides = workers.interleave({"plain": lambda: rate(plain), "traced": lambda: rate(traced)}, setup.rounds(12))
            exported, dropped = (count(traced, f"vitrine_spans_{what}_total") for what in ("exported", "dropped"))
            due = SPANS * SAMPLE * count(traced, "vitrine_requests_total")
    ratios = [traced / plain for plain, traced in zip(sides["plain"], sides["traced"])]
    plain, traced = (workers.spread(sides[side])[0] for side in ("plain", "traced"))
    return [
        Row(f"rate of a served model, {SAMPLE:.0%} of the requests traced over none, in turn", "times",
            workers.spread(ratios), GOAL, note=f"{MODEL}, {plain:,.0f} and {traced:,.0f} requests/s; server on one core, "
                                               "generator and collector on the other"),
        Row("spans that the collector took", "of those due", (exported / due,) * 3, SENT,
            note=f"{exported:,.0f} taken, {dropped:,.0f} dropped"),
    ]
