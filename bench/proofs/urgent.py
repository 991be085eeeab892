# SPDX-License-Identifier: Apache-2.0
"""Tests that HIGH requests with a short time limit are answered in time or rejected at once while long LOW batches of the same
caller run.
"""
import dataclasses
import subprocess
import sys
import threading
import time

import grpc
from vitrine import errors
from vitrine.v1 import classifier_pb2 as pb

from driver import workers
from driver.report import Row
from driver.service import Server
from driver.setup import ROOT

MODEL = "eit-mini-cifar10"  # model of the HIGH requests
SLOW = "xcit-s12-p8"  # variant of the LOW requests: an image takes 0.34 s on one core with AVX-512
CALLERS = 16  # LOW requests in flight
EXECUTORS = 2
REQUESTS = 40  # HIGH requests of a round
LIMIT, PAUSE = 0.05, 0.05  # s: time limit of a HIGH request, and time between two such requests
ROUNDS = 5
FALSE_GOAL = 10  # maximum percentage of HIGH requests that are rejected although an executor is free in time
PATIENCE = 300  # s, for any answer


def connect(address):
    """Returns (channel, function that classifies). All connections from one address are one caller for the server."""
    channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
    return channel, channel.unary_unary("/vitrine.v1.Classifier/Classify",
                                        request_serializer=pb.ClassifyRequest.SerializeToString,
                                        response_deserializer=pb.ClassifyResponse.FromString)


class LowCallers:
    """Context manager: threads that send LOW requests in a closed loop."""

    def __init__(self, address, count, picture):
        self.channel, self.classify = connect(address)
        self.request = pb.ClassifyRequest(model=SLOW, image=picture, priority=pb.LOW)
        self.over = threading.Event()
        self.ends, self.compute, self.fault = [], [], None  # times of the answers, seconds of the forward passes
        self.threads = [threading.Thread(target=self._run) for _ in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        while len(self.ends) < 3 * EXECUTORS:  # until the server has measured the time of a batch
            if self.fault:
                self.__exit__()
                raise RuntimeError(f"a LOW request was not answered: {self.fault}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.channel.close()

    def _run(self):
        while not self.over.is_set():
            try:
                answer = self.classify(self.request, timeout=PATIENCE)
            except grpc.RpcError as error:
                self.fault = f"{error.code().name}: {error.details()}"
                return
            self.ends.append(time.monotonic())
            self.compute.append(answer.timings.compute)


@dataclasses.dataclass
class Outcome:
    """The result of a HIGH request."""
    sent: float
    seconds: float
    code: str
    retry_after: float | None = None

    def was_refused(self):
        return self.code == "RESOURCE_EXHAUSTED"


def ask(classify, picture):
    """Returns the outcomes of a round. Only the server ends a request at its time limit, because the client waits much
    longer."""
    request = pb.ClassifyRequest(model=MODEL, image=picture, priority=pb.HIGH, time_limit=LIMIT)
    outcomes = []
    for _ in range(REQUESTS):
        sent, retry_after = time.monotonic(), None
        try:
            classify(request, timeout=PATIENCE)
            code = "OK"
        except grpc.RpcError as error:
            code, retry_after = error.code().name, errors.of_rpc(error, "").retry_after
        outcomes.append(Outcome(sent, time.monotonic() - sent, code, retry_after))
        time.sleep(PAUSE)
    return outcomes


def count(outcomes, code):
    return sum(outcome.code == code for outcome in outcomes)


def most(values):
    """Returns (worst, lowest, highest) of the values. The highest value is the worst."""
    return max(values), min(values), max(values)


def fewest(values):
    return min(values), min(values), max(values)


def was_possible(outcome, ends, need):
    """Returns True if a LOW batch ended so early that its executor could have answered the request, which takes `need` seconds,
    within the request's time limit."""
    return any(outcome.sent <= end <= outcome.sent + LIMIT - need for end in ends)


class Rounds:
    """Sends the HIGH requests of every round while `low` LOW requests are in flight."""

    def __init__(self, setup, server, low, need):
        self.outcomes, self.false, self.compute = [], [], []
        channel, classify = connect(server.address)
        picture = (ROOT / "samples/cifar/bird-pelican.jpg").read_bytes()
        with channel:
            for number in range(setup.rounds(ROUNDS)):
                print(f"\r  beside {low} LOW requests: round {number + 1}", end="", file=sys.stderr)
                with LowCallers(server.address, low, picture) as callers:
                    outcomes = ask(classify, picture)
                    time.sleep(LIMIT)
                if callers.fault:
                    raise RuntimeError(f"a LOW request was not answered: {callers.fault}")
                self.outcomes.append(outcomes)
                self.compute += callers.compute
                self.false.append(sum(outcome.was_refused() and was_possible(outcome, callers.ends, need)
                                      for outcome in outcomes))
        print(file=sys.stderr)

    def counts(self, code):
        return [count(outcomes, code) for outcomes in self.outcomes]

    def told(self):
        """Describes the number of outcomes per code over all rounds."""
        codes = [outcome.code for outcomes in self.outcomes for outcome in outcomes]
        return ", ".join(f"{codes.count(code)} {code}" for code in sorted(set(codes)))

    def refusals(self):
        return [outcome for outcomes in self.outcomes for outcome in outcomes if outcome.was_refused()]


def measure_busy(busy):
    refusals = busy.refusals()
    took = sorted(1000 * outcome.seconds for outcome in refusals) or [0]
    silent = sum(outcome.retry_after is None for outcome in refusals)
    sent = REQUESTS * len(busy.outcomes)
    shares = [100 * false / REQUESTS for false in busy.false]
    return [
        Row(f"HIGH with {1000 * LIMIT:.0f} ms beside {CALLERS} LOW of {SLOW} on {EXECUTORS} executors: expired, worst round",
            f"of {REQUESTS}", most(busy.counts("DEADLINE_EXCEEDED")), 0, at_least=False,
            note=f"{len(busy.outcomes)} rounds: {busy.told()}; a LOW batch computes "
                 f"{1000 * workers.spread(busy.compute)[0]:.0f} ms"),
        Row("of these refused without a RetryInfo", "requests", (silent,) * 3, 0, at_least=False,
            note=f"{len(refusals)} refused, half within {took[len(took) // 2]:.1f} ms"),
        Row("of these refused though an executor was free in time", "% of those sent",
            (100 * sum(busy.false) / sent, min(shares), max(shares)), FALSE_GOAL, at_least=False,
            note=f"{sum(busy.false)} of {sent} sent and {len(refusals)} refused: a LOW batch ended early enough"),
    ]


def measure(setup):
    repository = setup.scratch / "urgent"
    subprocess.run([setup.program("vitrine-repo"), "create", repository, SLOW, "--variant", SLOW], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([setup.program("vitrine-repo"), "publish", repository, MODEL, "--from", setup.repository], check=True,
                   stdout=subprocess.DEVNULL)
    picture = (ROOT / "samples/cifar/bird-pelican.jpg").read_bytes()
    with Server(setup, repository, setup.both(), ["--executors", EXECUTORS]) as server:
        channel, classify = connect(server.address)
        with channel:
            alone = ask(classify, picture)
        took = sorted(outcome.seconds for outcome in alone if outcome.code == "OK") or [LIMIT]
        need = took[len(took) // 2]
        free = Rounds(setup, server, EXECUTORS - 1, need)
        busy = Rounds(setup, server, CALLERS, need)
    return [
        Row(f"HIGH of {MODEL} with {1000 * LIMIT:.0f} ms alone: answered", f"of {REQUESTS}", (count(alone, "OK"),) * 3, REQUESTS,
            note=f"half within {1000 * need:.1f} ms, all within {1000 * took[-1]:.1f} ms"),
        Row(f"beside {EXECUTORS - 1} LOW of {SLOW}, so that one executor is free: answered, worst round", f"of {REQUESTS}",
            fewest(free.counts("OK")), REQUESTS, note=f"{len(free.outcomes)} rounds: {free.told()}"),
        *measure_busy(busy),
    ]
