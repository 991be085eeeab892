# SPDX-License-Identifier: Apache-2.0
"""SIGTERM under load, again and again: no accepted request is lost."""
import random
import re
import signal
import sys

import vitrine

from driver.report import Row
from driver.service import Server
from proofs import samples
from proofs.callers import Callers, Ledger

CALLERS = 16
MODEL = "kv-pos-mnist"


def terminate_once(setup, picture, answers):
    """Callers' ledger, (accepted, answered) of the server's last line, exit code."""
    with Server(setup, setup.repository, setup.both(), [f"model/{MODEL}"]) as server:
        with Callers(server.address, CALLERS, picture, MODEL, vitrine.RetryPolicy(max_attempts=1)) as callers:
            callers.wait_for_answers(answers)
            server.process.send_signal(signal.SIGTERM)
            ledger = callers.wait()
        code = server.stop()
        counts = re.search(r"stopped accepted=(\d+) answered=(\d+)", server.log())
    return ledger, tuple(map(int, counts.groups())) if counts else (0, 0), code


def measure(setup):
    times = 5 if setup.quick else 100
    draw = random.Random(1)
    picture = samples.digit()
    total, unequal, codes, accepted_all = Ledger(), 0, 0, 0
    for i in range(times):
        ledger, (accepted, answered), code = terminate_once(setup, picture, draw.randrange(50, 500))
        total.add(ledger)
        accepted_all += accepted
        unequal += accepted != answered or accepted != ledger.heard()
        codes += code != 0
        print(f"\r  {i + 1} of {times}", end="", file=sys.stderr)
    print(file=sys.stderr)
    if total.lost:
        print(f"  first loss: {total.first_loss}", file=sys.stderr)
    return [
        Row(f"SIGTERM under load, {times} times: requests lost", "requests", (total.lost,) * 3, 0, at_least=False,
            note=f"{total.sent():,} sent by {CALLERS} callers: {total.answered:,} answered, {total.draining:,} told that the "
                 "server is draining, each asking on until nobody listens; "
                 f"{total.unreached + total.cut:,} reached no server, {total.cut:,} of them as its connections ended"),
        Row("runs whose books disagree: requests accepted, answered, and of which callers heard", "runs", (unequal,) * 3,
            0, at_least=False, note=f"{accepted_all:,} accepted by the servers"),
        Row("exit codes other than 0", "runs", (codes,) * 3, 0, at_least=False),
    ]
