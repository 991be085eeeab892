# SPDX-License-Identifier: Apache-2.0
"""Sends SIGTERM under load repeatedly. No accepted request may be lost, and no client may delay the end of the server."""
import collections
import contextlib
import dataclasses
import json
import random
import re
import signal
import subprocess
import sys
import time

import vitrine

from driver.report import Row
from driver.service import Server
from proofs import busy_streams, samples
from proofs.callers import Callers, Ledger
from proofs.keep_alive import Http1, Http2, KeepAliveCallers

CALLERS = 16
KEEP_ALIVE = 4  # callers over HTTP/1.1, and as many over HTTP/2, with a connection each
MODEL = "kv-pos-mnist"
JPEG_MODEL = "eit-mini-cifar10"
PROCESSES = 4  # for busy streams
UNREAD_SECONDS = 2  # seconds after which the server drops unread answers (docs/operations/serving.md)


def terminate_once(setup, answers):
    """Returns the ledgers {kind of callers: ledger}, the counts (accepted, answered) in the server's last log line, and the
    server's exit code."""
    with Server(setup, setup.repository, setup.both()) as server, contextlib.ExitStack() as stack:
        photograph = samples.photograph()
        callers = {
            "gRPC": Callers(server.address, CALLERS, samples.digit(), MODEL, vitrine.RetryPolicy(max_attempts=1)),
            "HTTP/1.1": KeepAliveCallers(Http1, server.address, KEEP_ALIVE, photograph, JPEG_MODEL),
            "HTTP/2": KeepAliveCallers(Http2, server.address, KEEP_ALIVE, photograph, JPEG_MODEL),
        }
        for each in callers.values():
            stack.enter_context(each)
        for each in callers.values():
            each.wait_for_answers(answers if each is callers["gRPC"] else KEEP_ALIVE)
        server.process.send_signal(signal.SIGTERM)
        ledgers = {kind: each.wait() for kind, each in callers.items()}
        code = server.stop()
        counts = accepted_and_answered(server)
    return ledgers, counts, code


def accepted_and_answered(server):
    """Returns the counts (accepted, answered) in the server's last log line."""
    counts = re.search(r"stopped accepted=(\d+) answered=(\d+)", server.log())
    return tuple(map(int, counts.groups())) if counts else (0, 0)


@dataclasses.dataclass
class BusyEnd:
    """The result of a server that was terminated while streams were busy."""
    seconds: float  # from SIGTERM to the end of the process
    after_last_answer: float  # seconds; unknown for streams that are not read
    accepted: int
    heard: int  # answers and rejections that were read
    code: int


def terminate_busy(setup, kind):
    with Server(setup, setup.repository, setup.both()) as server:
        processes = [subprocess.Popen([sys.executable, "-m", "proofs.busy_streams", server.address, MODEL,
                                       samples.digit_path(), kind], stdout=subprocess.PIPE, text=True)
                     for _ in range(PROCESSES)]
        for process in processes:
            if process.stdout.readline() != "busy\n":
                raise RuntimeError("streams ended before the server was to end")
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(120)
        ended = time.monotonic()
        books = [json.loads(process.communicate()[0]) for process in processes]
        accepted, _ = accepted_and_answered(server)
    return BusyEnd(ended - begun, max(0.0, ended - max(book["last_answer"] for book in books)), accepted,
                   sum(book["answered"] + book["refused"] for book in books), code)


def measure_busy(setup):
    times = setup.rounds(10)
    resending = [terminate_busy(setup, "read") for _ in range(times)]
    unread = [terminate_busy(setup, "unread") for _ in range(times)]
    streams = PROCESSES * busy_streams.STREAMS
    after, spent = [end.after_last_answer for end in resending], [end.seconds for end in unread]
    return [
        Row(f"SIGTERM with {streams} streams that keep {busy_streams.IN_FLIGHT} requests in flight and resend what is refused, "
            f"{times} times: from the last answer to the end, longest", "s", (max(after), min(after), max(after)), 1,
            at_least=False, note=f"{max(end.seconds for end in resending):.1f} s at most since SIGTERM"),
        Row("requests of these streams accepted of which they heard nothing", "requests",
            (sum(end.accepted - end.heard for end in resending),) * 3, 0, at_least=False,
            note=f"{sum(end.accepted for end in resending):,} accepted by the servers"),
        Row(f"SIGTERM with {streams} streams that send and never read, {times} times: until the end, longest", "s",
            (max(spent), min(spent), max(spent)), UNREAD_SECONDS + 2, at_least=False,
            note=f"answers are given up after {UNREAD_SECONDS} s"),
        Row("exit codes other than 0 with busy streams", "runs", (sum(end.code != 0 for end in resending + unread),) * 3, 0,
            at_least=False),
    ]


def keep_alive_row(kind, total):
    return Row(f"of {KEEP_ALIVE} callers that keep a connection over {kind} meanwhile: requests lost", "requests",
               (total.lost,) * 3, 0, at_least=False,
               note=f"{total.sent():,} sent: {total.answered:,} answered, {total.draining:,} told that the server is draining, "
                    f"{total.excluded:,} excluded by a GOAWAY, {total.unreached:,} reached no server; a connection that ends "
                    "without an answer and without such a GOAWAY is a loss")


def measure(setup):
    times = 5 if setup.quick else 100
    draw = random.Random(1)
    totals, unequal, codes, accepted_all = collections.defaultdict(Ledger), 0, 0, 0
    for i in range(times):
        ledgers, (accepted, answered), code = terminate_once(setup, draw.randrange(50, 500))
        for kind, ledger in ledgers.items():
            totals[kind].add(ledger)
        accepted_all += accepted
        unequal += accepted != answered or accepted != sum(ledger.heard() for ledger in ledgers.values())
        codes += code != 0
        print(f"\r  {i + 1} of {times}", end="", file=sys.stderr)
    print(file=sys.stderr)
    for total in totals.values():
        if total.lost:
            print(f"  first loss: {total.first_loss}", file=sys.stderr)
    total = totals["gRPC"]
    return [
        Row(f"SIGTERM under load, {times} times: requests lost", "requests", (total.lost,) * 3, 0, at_least=False,
            note=f"{total.sent():,} sent by {CALLERS} callers: {total.answered:,} answered, {total.draining:,} told that the "
                 "server is draining, each asking on until nobody listens; "
                 f"{total.unreached + total.cut:,} reached no server, {total.cut:,} of them as its connections ended"),
        *(keep_alive_row(kind, totals[kind]) for kind in ("HTTP/1.1", "HTTP/2")),
        Row("runs whose books disagree: requests accepted, answered, and of which callers heard", "runs", (unequal,) * 3,
            0, at_least=False, note=f"{accepted_all:,} accepted by the servers"),
        Row("exit codes other than 0", "runs", (codes,) * 3, 0, at_least=False),
        *measure_busy(setup),
    ]
