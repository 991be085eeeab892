# SPDX-License-Identifier: Apache-2.0
"""Decides which requests a stream sends, retries and gives up. Has no thread, clock or I/O of its own; the blocking and
the asyncio client call it.

The C++ client has the same rules (client/lib/request_window.h); tests/client/lib/stream_events.json tests both.
"""

from __future__ import annotations

import enum
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Union

from vitrine import errors
from vitrine._retry import RetryPolicy
from vitrine.v1 import classifier_pb2 as pb

# Limits of the window: number of requests, as a multiple of max_in_flight, and number of bytes. Finished requests wait
# in the window for earlier requests. While the window is full, no requests are taken.
_WINDOW_PER_PLACE = 4
_MAX_WINDOW_BYTES = 256 << 20
# The server counts as lost after this many consecutive streams without an answer within the deadline. Slow images may
# cause a single such stream.
_MOST_SILENT_STREAMS = 3
# Smallest time_limit in seconds. A request that is sent at its deadline gets this limit, because the server rejects 0.
_SHORTEST_LIMIT = 0.001

Outcome = Union[pb.ClassifyResponse, Exception]


class _State(enum.Enum):
    WAITING = 1  # to be sent for the first time, or again
    SENT = 2
    FINISHED = 3


@dataclass
class Entry:
    """A request that was taken from the source and whose result is not yet delivered. `tag` is the caller's data."""

    index: int
    tag: Any
    request: Optional[pb.ClassifyRequest]
    size: int = 0  # bytes
    state: _State = _State.WAITING
    attempts: int = 0
    heard: int = 0  # attempts on streams with at least one answer; only these count for max_attempts
    alone: bool = False  # True: must be sent alone, because it may have ended the last stream
    deadline: float = float("inf")  # in working time (see Pipeline), set when the request is first sent
    not_before: float = float("-inf")
    outcome: Outcome = field(default_factory=lambda: errors.Internal("not answered"))


class Pipeline:
    """State of one call of classify_many or embed_many. Times are seconds of any monotonic clock. Only one thread at a
    time may use the object.

    The client passes requests to `take` while `wants` is true, sends the requests that `due` returns, passes in
    answers, and yields the results that `finished` returns, which are in the order of the calls of `take`. Deadlines
    count only working time, which excludes the pauses reported by `paused`. During these pauses the caller's own code
    runs.
    """

    def __init__(
        self,
        deadline: float,
        max_in_flight: int,
        policy: RetryPolicy,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self.failure: Optional[errors.VitrineError] = None  # reason for stopping the source
        self.source_ended = False
        self._deadline = deadline
        self._places = max_in_flight
        self._policy = policy
        self._uniform = uniform
        self._window: Deque[Entry] = deque()
        self._taken = 0
        self._bytes = 0  # total size of the unfinished requests in the window
        self._sent: Dict[str, Entry] = {}  # requests in flight on this stream, by id on the wire
        self._heard = False  # True: this stream had an answer
        self._lost_streams = 0  # consecutive streams lost without an answer in between
        self._lost_since = 0.0  # working time of the first of these losses
        self._silent_streams = 0  # consecutive streams cancelled by `expire` without an answer
        self._reopen = float("-inf")  # time before which no stream is opened; all requests wait
        self._paused = 0.0

    def wants(self) -> bool:
        return (
            not self.source_ended
            and len(self._window) < _WINDOW_PER_PLACE * self._places
            and self._bytes < _MAX_WINDOW_BYTES
        )

    def take(self, request: Union[pb.ClassifyRequest, Exception], tag: Any) -> None:
        """Adds the next item of the source: a request, or the exception from making this request."""
        entry = Entry(self._taken, tag, None if isinstance(request, Exception) else request)
        self._taken += 1
        self._window.append(entry)
        if isinstance(request, Exception):
            self._finish(entry, request)
        elif self.failure is not None:  # taken while the server was lost
            self._finish(entry, self.failure)
        else:
            entry.size = request.ByteSize()
            self._bytes += entry.size

    def due(self, now: float) -> List[pb.ClassifyRequest]:
        """Returns the requests to send now."""
        requests: List[pb.ClassifyRequest] = []
        if now < self._reopen:
            return requests
        for entry in self._window:
            if len(self._sent) >= self._places or (entry.state is _State.SENT and entry.alone):
                break
            if entry.state is not _State.WAITING or entry.not_before > now:
                continue
            if entry.alone and self._sent:
                break
            requests.append(self._send(entry, now))
            if entry.alone:
                break
        return requests

    def finished(self) -> Iterator[Entry]:
        """Removes and returns the finished requests at the front of the window."""
        while self._window and self._window[0].state is _State.FINISHED:
            yield self._window.popleft()

    @property
    def empty(self) -> bool:
        """True if every taken request was delivered."""
        return not self._window

    @property
    def idle(self) -> bool:
        """True if no request is at the server."""
        return not self._sent

    def paused(self, seconds: float) -> None:
        self._paused += max(0.0, seconds)

    def answered(self, answer: pb.ClassifyStreamResponse, now: float) -> None:
        entry = self._sent.pop(answer.request_id, None)
        if entry is None:
            # The answer cannot be matched to a request, and every other answer is in doubt as well.
            what = 'the server answered request "%s", which was not sent to it' % answer.request_id
            self._finish_everything(errors.Internal(what))
            return
        self._heard = True
        self._lost_streams = self._silent_streams = 0
        if entry.state is not _State.SENT:
            return  # too late: the request's deadline has passed
        kind = answer.WhichOneof("result")
        if kind == "response":
            answer.response.request_id = ""  # removes the id, which only the stream uses
            self._finish(entry, answer.response)
        elif kind == "error":
            error = answer.error
            entry.heard += 1
            self._retry_or_finish(entry, errors.of_number(error.code, error.message, error.retry_after), now)
        else:
            self._finish(entry, errors.Internal("the server sent an empty answer"))

    def ended(self, error: Optional[errors.VitrineError], now: float) -> None:
        """Records the end of the stream. `error` is None if the stream ended without an error."""
        unanswered, heard = list(self._sent.values()), self._heard
        self._sent.clear()
        self._heard = False
        if not unanswered:
            return
        if error is None or isinstance(error, errors.Cancelled):
            error = errors.Unavailable("the server ended the stream")
        gone = isinstance(error, errors.Unavailable)
        if gone and not self._lost_stream(error, now):
            self._finish_everything(error)
            return
        for entry in unanswered:
            if entry.state is not _State.SENT:
                continue
            entry.state = _State.WAITING
            if gone:
                entry.heard += heard
                if entry.heard >= self._policy.max_attempts or entry.deadline <= self._reopen - self._paused:
                    self._finish(entry, error)
            elif len(unanswered) == 1:
                self._finish(entry, error)
            else:
                entry.alone = True  # one of these requests ended the stream, so each is sent alone

    def expire(self, now: float) -> bool:
        """Finishes requests whose deadline has passed. Returns True if the server has requests, and the
        deadlines of all of them have passed. Then the client must cancel the stream."""
        for entry in self._window:
            if entry.state is not _State.FINISHED and entry.deadline <= now - self._paused:
                self._finish(entry, errors.DeadlineExceeded("no answer within %g s" % self._deadline))
        if not self._sent or any(entry.state is _State.SENT for entry in self._sent.values()):
            return False
        self._sent.clear()
        self._heard = False
        self._silent()
        return True

    def wait(self, now: float) -> Optional[float]:
        """Returns the seconds until the next action if no event comes; None: there is no next action."""
        times = [self._reopen] if self._reopen > now else []
        for entry in self._window:
            if entry.state is _State.FINISHED:
                continue
            times.append(entry.deadline + self._paused)
            if entry.state is _State.WAITING and entry.not_before > now:
                times.append(entry.not_before)
        first = min(times, default=float("inf"))
        return None if first == float("inf") else max(0.0, first - now)

    def _send(self, entry: Entry, now: float) -> pb.ClassifyRequest:
        assert entry.request is not None
        if entry.attempts == 0:
            entry.deadline = now - self._paused + self._deadline
        entry.attempts += 1
        entry.state = _State.SENT
        # Ids must be unique within a stream, even among the attempts of one request. Copies the request, because gRPC's
        # threads may still use the previous attempt.
        if entry.attempts > 1:
            again = pb.ClassifyRequest()
            again.CopyFrom(entry.request)
            entry.request = again
        entry.request.request_id = "%d-%d" % (entry.index, entry.attempts)
        # A stream has no deadline per request, so the remaining time is sent as time_limit.
        if entry.deadline < float("inf"):
            entry.request.time_limit = max(_SHORTEST_LIMIT, entry.deadline - (now - self._paused))
        self._sent[entry.request.request_id] = entry
        return entry.request

    def _lost_stream(self, error: errors.VitrineError, now: float) -> bool:
        """Sets the time until which no request is sent. It is the same for all requests, because otherwise each request
        would open a stream of its own at its own time.

        Returns False if no further stream is to be opened.
        """
        if self._lost_streams == 0:
            self._lost_since = now - self._paused
        self._lost_streams += 1
        remaining = self._lost_since + self._deadline - (now - self._paused)
        delay = self._policy.delay(error, self._lost_streams, remaining, self._uniform())
        if delay is not None:
            self._reopen = now + delay
        return delay is not None

    def _silent(self) -> None:
        """Counts a silent stream. After _MOST_SILENT_STREAMS of them in a row, ends all requests with an error,
        unless the source has ended and all its requests are finished."""
        self._silent_streams += 1
        over = self.source_ended and all(entry.state is _State.FINISHED for entry in self._window)
        if self._silent_streams >= _MOST_SILENT_STREAMS and not over:
            form = "the server does not answer: %d times in a row no answer came within %g s"
            self._finish_everything(errors.Unavailable(form % (self._silent_streams, self._deadline)))

    def _retry_or_finish(self, entry: Entry, error: errors.VitrineError, now: float) -> None:
        remaining = entry.deadline - (now - self._paused)
        delay = self._policy.delay(error, entry.heard, remaining, self._uniform())
        if delay is None:
            self._finish(entry, error)
        else:
            entry.state = _State.WAITING
            entry.not_before = now + delay

    def _finish(self, entry: Entry, outcome: Outcome) -> None:
        self._bytes -= entry.size
        entry.size = 0
        entry.request = None
        entry.state = _State.FINISHED
        entry.outcome = outcome

    def _finish_everything(self, error: errors.VitrineError) -> None:
        self.failure = error
        self.source_ended = True
        self._sent.clear()
        for entry in self._window:
            if entry.state is not _State.FINISHED:
                self._finish(entry, error)
