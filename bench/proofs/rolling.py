# SPDX-License-Identifier: Apache-2.0
"""Restarts the replicas one after the other with the new binary, then with the old binary, and so on, while clients send
requests to all replicas."""
import re
import sys

import vitrine

from driver.report import Row
from driver.service import Server
from proofs import samples
from proofs.callers import Callers

CALLERS = 8
MODEL = "kv-pos-mnist"
# The time of --lame-duck is longer than a client needs to notice NOT_SERVING or the end of the connection.
FLAGS = ("--lame-duck", "500ms")
ANSWERS_BETWEEN = 500


def end(replica):
    """Ends a replica. Returns (number of accepted requests, True if its exit code was not 0)."""
    code = replica.stop()
    took = re.search(r"stopped accepted=(\d+)", replica.log())
    return int(took.group(1)) if took else 0, code != 0


def measure(setup):
    rounds = 1 if setup.quick else 5
    binaries = [setup.old_server or setup.program("vitrine-server"), setup.program("vitrine-server")]
    replicas = []
    accepted = codes = replaced = 0
    try:
        for _ in range(2):
            replicas.append(Server(setup, setup.repository, setup.both(), FLAGS, program=binaries[0]).__enter__())
        addresses = [replica.address for replica in replicas]
        # RetryPolicy() is the client's default policy, which retries UNAVAILABLE.
        with Callers(",".join(addresses), CALLERS, samples.digit(), MODEL, vitrine.RetryPolicy()) as callers:
            for step in range(2 * rounds):
                # Uses the new binary, then the old, and so on. Both versions run together, as in an update and its
                # rollback.
                program = binaries[(step + 1) % 2]
                for slot, address in enumerate(addresses):
                    callers.wait_for_answers(ANSWERS_BETWEEN)
                    took, wrong = end(replicas[slot])
                    accepted, codes = accepted + took, codes + wrong
                    replicas[slot] = Server(setup, setup.repository, setup.both(), FLAGS, address, program).__enter__()
                    replaced += 1
                    print(f"\r  {replaced} of {4 * rounds}", end="", file=sys.stderr)
            callers.wait_for_answers(ANSWERS_BETWEEN)
            ledger = callers.join()
        print(file=sys.stderr)
    finally:
        for replica in replicas:
            took, wrong = end(replica)
            accepted, codes = accepted + took, codes + wrong
    if ledger.lost:
        print(f"  first loss: {ledger.first_loss}", file=sys.stderr)
    other = "the same binary twice" if binaries[0] == binaries[1] else f"old binary: {setup.old_name()}"
    return [
        Row(f"rolling update, {replaced} replicas replaced under load: requests lost", "requests",
            (ledger.sent() - ledger.answered,) * 3, 0, at_least=False,
            note=f"{ledger.answered:,} answered, {CALLERS} callers of one client, both addresses, round_robin, UNAVAILABLE "
                 f"asked again up to {vitrine.RetryPolicy().max_attempts - 1} times; {accepted - ledger.answered:,} of "
                 f"{accepted:,} that the servers took in were refused because they ended; {other}"),
        Row("exit codes other than 0", "replicas", (codes,) * 3, 0, at_least=False),
    ]
