# SPDX-License-Identifier: Apache-2.0
"""The channel to the servers of a client. The names in a list of servers are resolved again after a lost call."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional

from vitrine import _address, errors
from vitrine._aio import _driver
from vitrine._connection import Settings, Stubs, open_channel

# Error codes of calls that may have reached no server.
_LOST = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
# Minimum seconds between two resolutions of names.
_PERIOD = 1.0
_IS_CLOSED = "this client is closed; create another one"


class _Line:
    def __init__(self, setting: Settings, target: str, stubs: Callable[[Any], Any]) -> None:
        self.target = target
        self.channel = open_channel(_driver.GRPC, setting, target)
        self.stubs = stubs(self.channel)
        self.calls = 0


class Servers:
    """The channel of a client.

    The names of a list of servers are resolved again after a lost call. If the addresses have changed, new calls use a
    new channel, and the old channel is closed when its calls have ended. A channel with a failed TLS handshake is
    replaced in the same way, since gRPC would repeat the handshake, and log it, even without calls. Thread-safe.

    `stubs` creates the object that makes calls over a channel.
    """

    def __init__(self, setting: Settings, stubs: Callable[[Any], Any] = Stubs) -> None:
        self._settings = setting
        self._stubs = stubs
        self._lock = threading.Lock()
        self._closed = False
        self._line = _Line(setting, setting.target, stubs)
        self._open = {self._line}  # including older channels whose calls have not ended
        self._next_look = 0.0

    @contextmanager
    def calls(self) -> Iterator[Any]:
        """Yields the stubs for one call, which must end inside the `with` block. Cancelled: the client is closed."""
        line = self.begin()
        try:
            with self.closing():
                yield line.stubs
        finally:
            self.end(line)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Raises Cancelled instead of gRPC's error for a call that `close` ended."""
        try:
            yield
        except _driver.CLOSED:
            if not self._closed or _driver.is_task_cancelled():
                raise
            raise errors.Cancelled(_IS_CLOSED) from None

    def begin(self) -> _Line:
        """Returns the channel for one call, as a _Line; `end` releases it. Cancelled: the client is closed."""
        with self._lock:
            if self._closed:
                raise errors.Cancelled(_IS_CLOSED)
            self._line.calls += 1
            return self._line

    def end(self, line: _Line) -> None:
        with self._lock:
            line.calls -= 1
            over = line.calls == 0 and line is not self._line
        if over:
            self._close(line)

    def is_to_look(self, code: str) -> bool:
        """Returns True if `look` may help after a call that ended with `code`. False if `look` ran in the last
        second."""
        if not self._settings.hosts or code not in _LOST:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._next_look:
                return False
            self._next_look = now + _PERIOD
            return True

    def look(self) -> Optional[str]:
        """Returns the target of the resolved names, for `move`; None: no name has an address. May take seconds."""
        try:
            return _address.resolve(self._settings.hosts, partly=True)
        except errors.Unavailable:
            return None

    def move(self, target: Optional[str]) -> None:
        """Switches to a target from `look`."""
        if target is not None and target != self._line.target:
            self._replace(target)

    def _replace(self, target: str) -> None:
        """Opens another channel for all later calls."""
        with self._lock:
            if self._closed:
                return
            before = self._line
            self._line = _Line(self._settings, target, self._stubs)
            self._open.add(self._line)
            over = before.calls == 0
        if over:
            self._close(before)

    async def follow(self, error: errors.VitrineError) -> None:
        """Resolves names, or replaces the channel, if needed after a call that ended with `error`."""
        if isinstance(error, errors.HandshakeFailed):
            self._replace(self._line.target)
        elif self.is_to_look(error.code):
            self.move(await _driver.in_thread(self.look))

    async def close(self) -> None:
        """Closes every channel, including older channels whose calls have not ended."""
        with self._lock:
            self._closed = True
            lines = list(self._open)
        for line in lines:
            await line.channel.close()

    def _close(self, line: _Line) -> None:
        with self._lock:
            self._open.discard(line)
        _driver.close_later(line.channel)
