# SPDX-License-Identifier: Apache-2.0
"""Asyncio operations that the client uses. vitrine/_driver.py has the same operations, blocking."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from typing import List, Optional, Set, TypeVar, Union

import grpc.aio

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")

GRPC: Any = grpc.aio
CLOSED = asyncio.CancelledError  # error of a call whose channel is closed
Queue = asyncio.Queue
sleep = asyncio.sleep

_closing: Set[asyncio.Future[Any]] = set()  # the event loop keeps no reference to its tasks


def generator(start: Callable[P, Coroutine[Any, Any, AsyncGenerator[T, None]]]) -> Callable[P, AsyncGenerator[T, None]]:
    """Converts `start`, a coroutine function that returns a generator, to a generator function. The first step of the
    new generator calls `start`."""

    @functools.wraps(start)
    async def generated(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        items = await start(*args, **kwargs)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    return generated


async def iterate(items: Union[Iterable[T], AsyncIterable[T]]) -> AsyncIterator[T]:
    """Yields the items of an iterable or of an asynchronous iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Calls `function`, which may block, in another thread."""

    def called() -> Union[T, StopIteration]:
        try:
            return function(*arguments)
        except StopIteration as error:
            return error  # a future cannot hold a StopIteration, and its awaiter would wait forever

    result = await asyncio.to_thread(called)
    if isinstance(result, StopIteration):
        raise RuntimeError("the reader of the image raised StopIteration") from result
    return result


async def drain(queue: Queue[T], timeout: Optional[float]) -> List[T]:
    """Returns everything in the queue; waits up to `timeout` seconds for the first item, without limit if None."""
    items: List[T] = []
    try:
        items.append(await asyncio.wait_for(queue.get(), timeout))
        while True:
            items.append(queue.get_nowait())
    except (asyncio.TimeoutError, asyncio.QueueEmpty):
        return items


def is_task_cancelled() -> bool:
    """Returns True if the caller's task is cancelled. Always False on Python before 3.11."""
    return bool(getattr(asyncio.current_task(), "cancelling", int)())


def close_later(channel: Any) -> None:
    """Closes a channel without waiting."""
    task = asyncio.ensure_future(channel.close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


class Reader:
    """Runs `read` and then `ended`, concurrently with the caller."""

    def __init__(self, read: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[], None]) -> None:
        self._task = asyncio.create_task(read())
        self._task.add_done_callback(lambda _: ended())

    async def wait(self, seconds: float) -> None:
        """Waits for the end of `read`, up to `seconds`."""
        await asyncio.wait([self._task], timeout=seconds)

    def cancel(self) -> None:
        self._task.cancel()


class Taker:
    """Runs `take`, which takes one image from the source, concurrently with the caller, so that results do not
    wait for the image."""

    def __init__(self, take: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.create_task(take())

    async def cancel(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
