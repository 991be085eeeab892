# SPDX-License-Identifier: Apache-2.0
"""Measures how a hundred scrapes of /metrics per second affect the served model's latency."""
import http.client
import threading
import time

from driver import workers
from driver.report import Row
from driver.service import Server, bench

MODEL = "eit-mini-cifar10"
GOAL = 1.05
RATE = 25  # requests/s: the server's core is about 25 % busy
SCRAPES = 100  # per second
ANSWERED = 0.95  # minimum share of the planned scrapes; otherwise the load was lower than stated


class Scraper:
    """Reads /metrics over one connection at a fixed rate, which does not depend on the time that a scrape takes."""

    def __init__(self, address):
        self.address = address
        self.stopped = threading.Event()
        self.milliseconds = []  # for each answered scrape
        self.failed = 0
        self.seconds = 0
        self.thread = threading.Thread(target=self.scrape)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def scrape(self):
        connection = http.client.HTTPConnection(self.address, timeout=5)
        start = due = time.monotonic()
        while not self.stopped.wait(max(0, due - time.monotonic())):
            begun = time.monotonic()
            try:
                connection.request("GET", "/metrics")
                response = connection.getresponse()
                if response.status != 200 or not response.read():
                    raise OSError(f"HTTP {response.status}")
                self.milliseconds.append((time.monotonic() - begun) * 1000)
            except (OSError, http.client.HTTPException):
                self.failed += 1
                connection.close()  # the next request reconnects
            due += 1 / SCRAPES
        self.seconds = time.monotonic() - start
        connection.close()

    def share(self):
        """Returns the answered scrapes as a share of the scrapes that were due."""
        return len(self.milliseconds) / (self.seconds * SCRAPES)


def p99(setup, server, pictures, seconds):
    """Returns the p99 in ms of an open loop. Generator and scraper run on the core that the server does not use."""
    point = bench(setup, server, setup.other_core, pictures, "--model", MODEL, "--rate", RATE, "--warmup",
                  f"{seconds / 5}s", "--duration", f"{seconds}s")
    return point["latency_ms"]["p99"]


def measure(setup):
    pictures, _ = setup.photographs()
    seconds = setup.seconds(20)
    scrapers = []
    with Server(setup, setup.repository, [setup.core]) as server:

        def measure_scraped():
            with Scraper(server.metrics) as scraper:
                figure = p99(setup, server, pictures, seconds)
            scrapers.append(scraper)
            return figure

        sides = workers.interleave({"alone": lambda: p99(setup, server, pictures, seconds), "scraped": measure_scraped},
                                   setup.rounds(5))
    ratios = [scraped / alone for alone, scraped in zip(sides["alone"], sides["scraped"])]
    alone, scraped = (workers.spread(sides[side])[0] for side in ("alone", "scraped"))
    shares = workers.spread([scraper.share() for scraper in scrapers])
    took = sorted(one for scraper in scrapers for one in scraper.milliseconds) or [0]
    return [
        Row(f"p99 of a served model, {SCRAPES} scrapes a second over none, in turn", "times", workers.spread(ratios), GOAL,
            at_least=False, note=f"{MODEL}, {RATE} requests/s, {alone:.1f} ms and {scraped:.1f} ms; server on one core, "
                                 "generator and scraper on the other"),
        Row(f"scrapes answered, of {SCRAPES} a second", "of those due", shares, ANSWERED,
            note=f"{len(took)} in all, {sum(one.failed for one in scrapers)} failed; half within "
                 f"{took[len(took) // 2]:.1f} ms, 99 % within {took[len(took) * 99 // 100]:.1f} ms"),
    ]
