# SPDX-License-Identifier: Apache-2.0
"""Runs mixed load for an hour: memory, file descriptors and threads must not grow, and all requests must be answered.

Callers make random calls of all kinds, valid and invalid, while versions are published and removed.
"""
import collections
import http.client
import json
import pathlib
import random
import shutil
import socket
import subprocess
import threading
import time

import vitrine

from driver import workers
from driver.report import Row
from driver.service import Server
from driver.setup import ROOT
from proofs import metrics, samples, versions

SECONDS = 3600
CALLERS = 6
PAUSE = 0.02  # seconds between the calls of a caller, so that the server is busy but not overloaded
PATIENCE = 60  # seconds, a deadline that only a hung server misses
READINGS = 360  # number of readings of the server's memory
PUBLISH_SECONDS = 15
KEPT = 3  # number of versions that are not removed
KIND = {"eit-mini-cifar10": "mean", "xcit-n12-f-sne-cifar10": "class-attention"}  # kind of attention maps by model
SWAPPED = "kv-pos-mnist"
MEGABYTES = 32
IDLE_SECONDS = 10  # without callers, before descriptors and threads are counted


class Unexpected(Exception):
    """The server gave a wrong answer."""


class Calls:
    """The calls of one caller. Each method call_* makes one kind of call, and raises if the answer is wrong."""

    def __init__(self, server, pictures, seed):
        self.server, self.pictures, self.draw = server, pictures, random.Random(seed)
        self.client = vitrine.Client(server.address, token="")
        self.kinds = {name[5:]: getattr(self, name) for name in dir(self) if name.startswith("call_")}

    def close(self):
        self.client.close()

    def picture(self):
        return self.draw.choice(self.pictures)

    def model(self):
        return self.draw.choice(sorted(KIND))

    def post(self, path, body):
        """Sends a request over a new connection and returns (status, body)."""
        connection = http.client.HTTPConnection(self.server.address, timeout=PATIENCE)
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def call_classify(self):
        self.client.classify(self.picture(), self.model(), deadline=PATIENCE)

    def call_digit(self):
        self.client.classify(samples.digit(), SWAPPED, deadline=PATIENCE)

    def call_attention(self):
        model = self.model()
        answer = self.client.classify(self.picture(), model, attention=KIND[model], deadline=PATIENCE)
        if not answer.attention:
            raise Unexpected("an answer without the maps that were asked for")

    def call_embed(self):
        self.client.embed(self.picture(), self.model(), deadline=PATIENCE)

    def call_stream(self):
        wanted = [self.picture() for _ in range(self.draw.randrange(1, 20))]
        got = list(self.client.classify_many(wanted, self.model(), deadline=PATIENCE))
        if len(got) != len(wanted) or not all(outcome.ok for outcome in got):
            raise Unexpected("a stream that does not answer every image")

    def call_abandoned_stream(self):
        stream = self.client.classify_many((self.picture() for _ in range(50)), self.model(), deadline=PATIENCE)
        next(stream)
        stream.close()

    def call_http(self):
        model = self.model()
        status, body = self.post(f"/v1/models/{model}:classify?attention={KIND[model]}", self.picture())
        if status != 200 or not json.loads(body)["predictions"]:
            raise Unexpected(f"HTTP {status}")

    def call_damaged(self):
        picture = bytearray(self.picture())
        begin = self.draw.randrange(2, len(picture))
        del picture[begin:begin + len(picture) // 2]
        try:
            self.client.classify(bytes(picture), self.model(), deadline=PATIENCE)  # some damage cannot be detected
        except vitrine.InvalidArgument:
            pass

    def call_unknown_model(self):
        try:
            self.client.classify(self.picture(), "no-such-model", deadline=PATIENCE)
        except vitrine.NotFound:
            return
        raise Unexpected("an answer of a model that does not exist")

    def call_hasty(self):
        try:
            self.client.classify(self.picture(), self.model(), deadline=0.002)
        except (vitrine.DeadlineExceeded, vitrine.ResourceExhausted, vitrine.Unavailable):
            pass

    def call_new_connection(self):
        with vitrine.Client(self.server.address, token="") as client:
            client.model(self.model())

    def call_broken_off(self):
        """Sends an HTTP request and closes the connection in the middle of the body."""
        host, port = self.server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            picture = self.picture()
            connection.sendall(b"POST /v1/models/eit-mini-cifar10:classify HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(picture) + picture[:self.draw.randrange(len(picture))])

    def call_scrape(self):
        metrics.scrape(self.server)


class Crowd:
    """Context manager: threads that make random calls."""

    def __init__(self, server, pictures):
        self.over, self.done, self.faults = threading.Event(), collections.Counter(), []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=(Calls(server, pictures, seed),)) for seed in range(CALLERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _run(self, calls):
        while not self.over.wait(PAUSE):
            kind = calls.draw.choice(sorted(calls.kinds))
            fault = None
            try:
                calls.kinds[kind]()
            except (Unexpected, vitrine.VitrineError, OSError, http.client.HTTPException) as error:
                fault = f"{kind}: {type(error).__name__}: {error}"
            with self.lock:
                self.done[kind] += 1
                if fault:
                    self.faults.append(fault)
        calls.close()


class Publisher:
    """Publishes a version of SWAPPED if the last one is at least PUBLISH_SECONDS old, and removes old versions."""

    def __init__(self, setup, repository):
        self.setup, self.repository, self.source = setup, repository, setup.models()[SWAPPED]
        self.published, self.last = 0, time.monotonic()

    def publish_if_due(self):
        if time.monotonic() - self.last < PUBLISH_SECONDS:
            return
        self.published, self.last = self.published + 1, time.monotonic()
        versions.place(self.source, self.repository, SWAPPED, int(self.source.name) + self.published)
        subprocess.run([self.setup.program("vitrine-repo"), "prune", self.repository, SWAPPED, "--keep", str(KEPT), "--yes"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def held(server):
    """Returns (number of file descriptors, number of threads) of an idle server."""
    time.sleep(IDLE_SECONDS)
    process = pathlib.Path(f"/proc/{server.process.pid}")
    return len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))


def measure(setup):
    seconds = 60 if setup.quick else SECONDS
    repository = setup.scratch / "repository"
    shutil.copytree(setup.repository, repository)
    pictures = [path.read_bytes() for path in sorted((ROOT / "samples" / "cifar").iterdir())]
    with Server(setup, repository, setup.both()) as server:
        with Crowd(server, pictures):
            time.sleep(seconds / 60)
        before, memory, publisher = held(server), [], Publisher(setup, repository)
        with Crowd(server, pictures) as crowd:
            for _ in range(READINGS):
                time.sleep(seconds / READINGS)
                publisher.publish_if_due()
                memory.append(server.megabytes("VmRSS"))
        after = held(server)
        code = server.stop()
    return rows(seconds, crowd, publisher, memory, before, after, code)


def rows(seconds, crowd, publisher, memory, before, after, code):
    for fault in crowd.faults[:5]:
        print(f"  {fault}")
    sixth = len(memory) // 6
    first, last = (workers.spread(part)[0] for part in (memory[sixth:2 * sixth], memory[-sixth:]))
    kinds = ", ".join(f"{kind.replace('_', ' ')} {count:,}" for kind, count in sorted(crowd.done.items()))
    return [
        Row(f"resident memory in {seconds / 60:.0f} minutes of all kinds of calls, from the second sixth to the last", "MB",
            (last - first,) * 3, MEGABYTES, at_least=False,
            note=f"medians of {first:.1f} and {last:.1f} MB, {max(memory):.1f} MB at most; {publisher.published} versions "
                 f"published and all but {KEPT} removed"),
        Row("calls that got another answer than they must, or none", "calls", (len(crowd.faults),) * 3, 0, at_least=False,
            note=f"{sum(crowd.done.values()):,} calls: {kinds}"),
        Row("file descriptors of the idle server, after over before", "descriptors", (after[0] - before[0],) * 3, 0,
            at_least=False, note=f"{before[0]} before"),
        Row("threads of the idle server, after over before", "threads", (after[1] - before[1],) * 3, 0, at_least=False,
            note=f"{before[1]} before"),
        Row("exit code", "", (code,) * 3, 0, at_least=False),
    ]
