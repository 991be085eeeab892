# SPDX-License-Identifier: Apache-2.0
"""Measures how tracing a tenth of the requests affects the rate at full load."""
import http.server
import multiprocessing
import os

from driver import workers
from driver.report import Row
from driver.service import Server, load
from proofs.metrics import count, scrape

MODEL = "eit-mini-cifar10"
GOAL = 0.99
SAMPLE = 0.1
SPANS = 5  # spans per answered request: one for the request and one for each of four stages
SENT = 0.9  # minimum share of the expected spans; otherwise the load was lower than stated


class Taker(http.server.BaseHTTPRequestHandler):
    """Answers every message with an empty message."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def collect(core, pipe):
    """Runs a collector that accepts everything, in a separate process."""
    os.sched_setaffinity(0, {core})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    pipe.send(server.server_port)
    server.serve_forever()


class Collector:
    """Context manager: a collector at `address`."""

    def __init__(self, core):
        self.pipe, end = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=collect, args=(core, end))

    def __enter__(self):
        self.process.start()
        self.address = f"http://127.0.0.1:{self.pipe.recv()}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join(30)


def measure(setup):
    pictures, _ = setup.photographs()
    seconds = setup.seconds(10)
    with Collector(setup.other_core) as collector:
        flags = ["--otlp-endpoint", collector.address, "--trace-sample", SAMPLE]
        with Server(setup, setup.repository, [setup.core]) as plain, \
                Server(setup, setup.repository, [setup.core], flags) as traced:

            def rate(server):
                return load(server, MODEL, pictures, seconds, setup.other_core)["answered_per_second"]

            sides = workers.interleave({"plain": lambda: rate(plain), "traced": lambda: rate(traced)}, setup.rounds(12))
            text = scrape(traced)
            exported, dropped = (count(text, f"vitrine_spans_{what}_total") for what in ("exported", "dropped"))
            due = SPANS * SAMPLE * count(text, "vitrine_requests_total")
    ratios = [traced / plain for plain, traced in zip(sides["plain"], sides["traced"])]
    plain, traced = (workers.spread(sides[side])[0] for side in ("plain", "traced"))
    return [
        Row(f"rate of a served model, {SAMPLE:.0%} of the requests traced over none, in turn", "times",
            workers.spread(ratios), GOAL, note=f"{MODEL}, {plain:,.0f} and {traced:,.0f} requests/s; server on one core, "
                                               "generator and collector on the other"),
        Row("spans that the collector took", "of those due", (exported / due,) * 3, SENT,
            note=f"{exported:,.0f} taken, {dropped:,.0f} dropped"),
    ]
