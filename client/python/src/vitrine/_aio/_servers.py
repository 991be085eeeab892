# SPDX-License-Identifier: Apache-2.0
"""The channel to the servers of a client. Names in a list are resolved again after a lost call."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Iterator, Optional

from vitrine import _address, errors
from vitrine._aio import _driver
from vitrine._connection import Settings, Stubs, open_channel

# Codes of calls that possibly no server answered.
_LOST = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
# Seconds between two resolutions.
_PERIOD = 1.0


class _Line:
    def __init__(self, setting: Settings, target: str) -> None:
        self.target = target
        self.channel = open_channel(_driver.GRPC, setting, target)
        self.stubs = Stubs(self.channel)
        self.calls = 0


class Servers:
    """The channel of a client.

    The names of a list of servers are resolved again after a lost call. If the addresses have changed, new calls use
    them, and the old channel is closed when its calls have ended. Thread-safe.
    """

    def __init__(self, setting: Settings) -> None:
        self._settings = setting
        self._lock = threading.Lock()
        self._line = _Line(setting, setting.target)
        self._open = {self._line}  # including older ones whose calls have not ended
        self._next_look = 0.0

    @contextmanager
    def calls(self) -> Iterator[Stubs]:
        """Yields the stubs for one call that ends within the context."""
        line = self.begin()
        try:
            yield line.stubs
        finally:
            self.end(line)

    def begin(self) -> _Line:
        """Returns a line for one call; `end` releases it."""
        with self._lock:
            self._line.calls += 1
            return self._line

    def end(self, line: _Line) -> None:
        with self._lock:
            line.calls -= 1
            over = line.calls == 0 and line is not self._line
        if over:
            self._close(line)

    def is_to_look(self, code: str) -> bool:
        """Returns True if `look` may help after a call that ended with `code`, and has not run within a second."""
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
        with self._lock:
            before = self._line
            if target is None or target == before.target:
                return
            self._line = _Line(self._settings, target)
            self._open.add(self._line)
            over = before.calls == 0
        if over:
            self._close(before)

    async def follow(self, code: str) -> None:
        """Resolves names if needed after a call that ended with `code`."""
        if self.is_to_look(code):
            self.move(await _driver.in_thread(self.look))

    async def close(self) -> None:
        """Closes every channel, including those of calls from before a move."""
        with self._lock:
            lines = list(self._open)
        for line in lines:
            await line.channel.close()

    def _close(self, line: _Line) -> None:
        with self._lock:
            self._open.discard(line)
        _driver.close_later(line.channel)
