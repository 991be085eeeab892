# SPDX-License-Identifier: Apache-2.0
"""Callers that count the result of every request."""
import dataclasses
import threading

import vitrine


BACKOFF = 0.05  # seconds before a rejected client retries
# gRPC's messages for a closed connection.
CUT = ("Socket closed", "Connection reset", "GOAWAY", "Broken pipe")


@dataclasses.dataclass
class Ledger:
    """Numbers of requests by result."""
    answered: int = 0
    draining: int = 0  # rejected with the server's draining message
    unreached: int = 0  # no server listens: the request reached no server
    cut: int = 0  # connection closed without a reply: only the server's log shows if the request was accepted
    excluded: int = 0  # the server's GOAWAY said that it has not processed the request
    lost: int = 0  # any other error: accepted and dropped, or rejected without a reason
    first_loss: str = ""

    def add(self, other):
        self.answered += other.answered
        self.draining += other.draining
        self.unreached += other.unreached
        self.cut += other.cut
        self.excluded += other.excluded
        self.lost += other.lost
        self.first_loss = self.first_loss or other.first_loss

    def heard(self):
        """Returns the number of requests that a server has certainly accepted, because the server itself replied."""
        return self.answered + self.draining

    def sent(self):
        return self.heard() + self.unreached + self.cut + self.excluded + self.lost


class CallerThreads:
    """Context manager: threads that send one request after another, until the context exits or no server listens any more.

    Each thread runs `run`, which records its results in a ledger.
    """

    def __init__(self, count, run):
        self.over = threading.Event()
        self.ledgers = [Ledger() for _ in range(count)]
        self.threads = [threading.Thread(target=run, args=(ledger,)) for ledger in self.ledgers]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.join()

    def join(self):
        """Ends the callers and returns the sum of their ledgers."""
        self.over.set()
        return self.wait()

    def wait(self):
        """Waits until all callers have stopped, and returns the sum of the callers' ledgers."""
        for thread in self.threads:
            thread.join()
        return self.total()

    def total(self):
        total = Ledger()
        for ledger in self.ledgers:
            total.add(ledger)
        return total

    def wait_for_answers(self, count):
        """Waits until `count` more requests were answered. Raises if all callers have stopped."""
        goal = self.total().answered + count
        while self.total().answered < goal:
            if not any(thread.is_alive() for thread in self.threads):
                raise RuntimeError(f"every caller has stopped: {self.total()}")
            self.over.wait(0.005)


class Callers(CallerThreads):
    """Callers over gRPC, which share a client."""

    def __init__(self, addresses, count, picture, model, retries):
        super().__init__(count, self._run)
        self.client = vitrine.Client(addresses, retries=retries, token="")
        self.picture, self.model = picture, model

    def wait(self):
        total = super().wait()
        self.client.close()
        return total

    def _run(self, ledger):
        while not self.over.is_set():
            try:
                self.client.classify(self.picture, self.model)
                ledger.answered += 1
            except vitrine.VitrineError as error:
                if not self._note(ledger, error):
                    return

    def _note(self, ledger, error):
        """Records a result. Returns False if no server listens any more."""
        unavailable, said = isinstance(error, vitrine.Unavailable), str(error)
        if unavailable and "failed to connect" in said:
            ledger.unreached += 1
            return False
        if unavailable and "the server is draining" in said:
            ledger.draining += 1
            self.over.wait(BACKOFF)
        elif error.code == "CANCELLED" or (unavailable and any(word in said for word in CUT)):
            ledger.cut += 1
        else:
            ledger.lost += 1
            ledger.first_loss = ledger.first_loss or f"{error.code}: {error}"
        return True
