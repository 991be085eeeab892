# SPDX-License-Identifier: Apache-2.0
"""Many images over one stream, for asyncio."""

from __future__ import annotations

import asyncio
import time
from typing import Any, AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Optional, Tuple, Union

import grpc

from vitrine import errors
from vitrine._connection import Settings
from vitrine._many import outcome, prepare, unrefused
from vitrine._picture import ImageSource, Picture, load
from vitrine._pipeline import Pipeline
from vitrine._result import Outcome
from vitrine._servers import Servers
from vitrine.v1 import classifier_pb2


class Run:
    """One classify_many. All events come through one queue: images taken, answers, ends of streams."""

    def __init__(self, servers: Servers, setting: Settings, traceparent: Optional[str], pipeline: Pipeline) -> None:
        self._servers = servers
        self._settings = setting
        self._traceparent = traceparent
        self._pipeline = pipeline
        self._events: asyncio.Queue[Tuple[Any, Any]] = asyncio.Queue()  # source of the event, and the event
        self._stream: Optional[_Stream] = None
        self._taker: Optional[asyncio.Task[None]] = None
        self._preparing = False  # an image has left the source and is not in the pipeline yet
        self._broken: Optional[BaseException] = None

    async def results(
        self, images: AsyncIterator[ImageSource], template: classifier_pb2.ClassifyRequest
    ) -> AsyncGenerator[Outcome, None]:
        pipeline = self._pipeline
        while not (pipeline.empty and pipeline.source_ended and not self._preparing):
            if pipeline.wants() and self._taker is None:
                self._taker = asyncio.create_task(self._take(images, template))
            for request in pipeline.due(time.monotonic()):
                self._stream = self._stream or _Stream(self._servers, self._settings, self._traceparent, self._events)
                self._stream.send(request)
            await self._handle(pipeline.wait(time.monotonic()))
            for entry in pipeline.finished():
                before = time.monotonic()
                yield outcome(entry)
                pipeline.paused(time.monotonic() - before)
        if self._stream is not None and pipeline.idle:
            await self._stream.finish()
            self._stream = None
        error = self._broken or pipeline.failure
        if error is not None:
            raise error

    async def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
        if self._taker is not None:
            self._taker.cancel()
            await asyncio.gather(self._taker, return_exceptions=True)

    async def _take(self, images: AsyncIterator[ImageSource], template: classifier_pb2.ClassifyRequest) -> None:
        event: Any
        try:
            image = await images.__anext__()
            self._preparing = True
            event = await asyncio.to_thread(prepare, image, template)
        except StopAsyncIteration:
            event = None
        except BaseException as error:
            # Includes CancelledError, which `images` may raise itself: without the event the run would wait forever.
            self._events.put_nowait((None, error))
            if isinstance(error, Exception):
                return
            raise
        self._events.put_nowait((None, event))

    async def _handle(self, timeout: Optional[float]) -> None:
        try:
            event = await asyncio.wait_for(self._events.get(), timeout)
            while True:
                self._hand_in(*event)
                event = self._events.get_nowait()
        except (asyncio.TimeoutError, asyncio.QueueEmpty):
            pass
        if self._pipeline.expire(time.monotonic()) and self._stream is not None:
            self._stream.cancel()
            self._stream = None

    def _hand_in(self, teller: Optional[_Stream], event: Any) -> None:
        now = time.monotonic()
        if teller is None:
            self._taker = None
            self._preparing = False
            if isinstance(event, tuple):
                self._pipeline.take(*event)
            else:
                self._pipeline.source_ended = True
                self._broken = event
        elif teller is self._stream:
            if isinstance(event, classifier_pb2.ClassifyStreamResponse):
                self._pipeline.answered(event, now)
            else:
                self._pipeline.ended(event, now)
                self._stream = None


class _Stream:
    """One ClassifyStream call. Its answers go to `events`, and at the end an error, or None for an end without one."""

    def __init__(
        self, servers: Servers, setting: Settings, traceparent: Optional[str], events: asyncio.Queue[Tuple[Any, Any]]
    ) -> None:
        self._servers = servers
        self._settings = setting
        self._metadata = setting.metadata(traceparent)
        line = servers.begin()
        self._events = events
        self._requests: asyncio.Queue[Optional[classifier_pb2.ClassifyRequest]] = asyncio.Queue()
        self._call = line.stubs.stream(self._unsent(), metadata=self._metadata)
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(lambda _: servers.end(line))

    def send(self, request: classifier_pb2.ClassifyRequest) -> None:
        self._requests.put_nowait(request)

    async def finish(self) -> None:
        """Half-closes the stream and waits for the server to end the call; there must be no unanswered requests."""
        self._requests.put_nowait(None)
        await asyncio.wait([self._reader], timeout=2)
        self.cancel()

    def cancel(self) -> None:
        self._call.cancel()
        self._reader.cancel()
        self._requests.put_nowait(None)

    async def _unsent(self) -> AsyncIterator[classifier_pb2.ClassifyRequest]:
        while True:
            request = await self._requests.get()
            if request is None:
                return
            yield request

    async def _read(self) -> None:
        try:
            async for answer in self._call:
                self._events.put_nowait((self, answer))
            self._events.put_nowait((self, None))
        except grpc.RpcError as rpc:
            code = rpc.code().name
            await self._servers.follow_async(code)
            error = unrefused(self._settings.error(rpc), self._settings.renewed(code, self._metadata))
            # gRPC bug 36066: a write after the end of the stream hides the status that the server ended it with. A
            # second call returns it again.
            hidden = isinstance(error, errors.Internal) and str(error).startswith("Internal error from Core")
            self._events.put_nowait((self, None if hidden else error))
        finally:
            self._requests.put_nowait(None)


def load_picture(image: ImageSource) -> Union[Picture, StopIteration]:
    """Runs in another thread: a future cannot hold StopIteration, and its awaiter would wait forever."""
    try:
        return load(image)
    except StopIteration as error:
        return error


async def asynchronous(images: Union[Iterable[ImageSource], AsyncIterable[ImageSource]]) -> AsyncIterator[ImageSource]:
    if isinstance(images, AsyncIterable):
        async for image in images:
            yield image
    else:
        for image in images:
            yield image
