# SPDX-License-Identifier: Apache-2.0
"""Blocking operations that the generated client uses. vitrine/_aio/_driver.py has the same for asyncio."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, Callable, Iterable, Iterator, List, Optional, TypeVar

import grpc

T = TypeVar("T")

GRPC: Any = grpc
CLOSED = ValueError  # error of a call that begins after its channel was closed
Queue = SimpleQueue
sleep = time.sleep


def generator(start: T) -> T:
    """Returns the function `start` unchanged. `start` is a plain function that returns a generator, so its code runs
    when it is called."""
    return start


def iterate(items: Iterable[T]) -> Iterator[T]:
    return iter(items)


def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Calls the function in this thread."""
    return function(*arguments)


def drain(queue: Queue[T], timeout: Optional[float]) -> List[T]:
    """Returns everything in the queue; waits up to `timeout` seconds for the first item, without limit if None."""
    items: List[T] = []
    try:
        items.append(queue.get(timeout=timeout))
        while True:
            items.append(queue.get_nowait())
    except Empty:
        return items


def is_task_cancelled() -> bool:
    return False


def close_later(channel: Any) -> None:
    """Closes a channel."""
    channel.close()


class Reader:
    """Runs `read` in a new thread, and then `ended` in the same thread."""

    def __init__(self, read: Callable[[], None], ended: Callable[[], None]) -> None:
        def run() -> None:
            try:
                read()
            finally:
                ended()

        self._thread = threading.Thread(target=run, name="vitrine-stream", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Returns at once, without waiting, because the thread ends when its call ends."""

    def cancel(self) -> None:
        """Does nothing, because the thread ends when its call ends."""


class Taker:
    """Runs `take` in the thread of the caller. `take` takes one image from the source."""

    def __init__(self, take: Callable[[], None]) -> None:
        take()

    def cancel(self) -> None:
        """Does nothing, because `take` has returned."""
