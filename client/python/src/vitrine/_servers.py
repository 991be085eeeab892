# SPDX-License-Identifier: Apache-2.0
"""The way to the servers of a client, which of a list of names is found anew when it is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Set

from vitrine import _address, errors
from vitrine._connection import Settings, Stubs, open_channel

# Codes of calls to which no server may have answered.
_LOST = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
# Seconds between two resolutions.
_PERIOD = 1.0


class _Line:
    def __init__(self, kind: Any, setting: Settings, target: str) -> None:
        self.target = target
        self.channel = open_channel(kind, setting, target)
        self.stubs = Stubs(self.channel)
        self.calls = 0


class Servers:
    """The channel of a client, grpc's or grpc.aio's.

    The names of a list of servers are resolved again after a call that was lost. If they have other addresses by then,
    calls that begin later go to these, and the channel before is closed when its calls have ended. Threads may share it.
    """

    def __init__(self, kind: Any, setting: Settings) -> None:
        self._kind = kind
        self._settings = setting
        self._lock = threading.Lock()
        self._line = _Line(kind, setting, setting.target)
        self._open = {self._line}  # those before it too, until their calls have ended
        self._next_look = 0.0
        self._closing: Set[asyncio.Future[None]] = set()

    @contextmanager
    def calls(self) -> Iterator[Stubs]:
        """The calls, for one of them that ends within the context."""
        line = self.begin()
        try:
            yield line.stubs
        finally:
            self.end(line)

    def begin(self) -> _Line:
        """A line for one call; `end` gives it back."""
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
        """True if `look` may find something after a call that ended with `code`, and did not just look."""
        if not self._settings.hosts or code not in _LOST:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._next_look:
                return False
            self._next_look = now + _PERIOD
            return True

    def look(self) -> Optional[str]:
        """Resolves the names; may take seconds. None: nothing that `move` could use."""
        try:
            return _address.resolve(self._settings.hosts, partly=True)
        except errors.Unavailable:
            return None

    def move(self, target: Optional[str]) -> None:
        """Goes to what `look` has found."""
        with self._lock:
            before = self._line
            if target is None or target == before.target:
                return
            self._line = _Line(self._kind, self._settings, target)
            self._open.add(self._line)
            over = before.calls == 0
        if over:
            self._close(before)

    def follow(self, code: str) -> None:
        """After a call that ended with `code`, for the client that blocks."""
        if self.is_to_look(code):
            self.move(self.look())

    async def follow_async(self, code: str) -> None:
        """The same for asyncio; names are resolved in a thread of the loop."""
        if self.is_to_look(code):
            self.move(await asyncio.to_thread(self.look))

    def close(self) -> Any:
        """Closes every channel, also those of calls from before a move; of grpc.aio something to await."""
        with self._lock:
            lines = list(self._open)
        closed = [line.channel.close() for line in lines]
        return asyncio.gather(*closed) if asyncio.iscoroutine(closed[0]) else None

    def _close(self, line: _Line) -> None:
        with self._lock:
            self._open.discard(line)
        closed = line.channel.close()
        if asyncio.iscoroutine(closed):  # nobody waits for it, but somebody must hold it
            task = asyncio.ensure_future(closed)
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
