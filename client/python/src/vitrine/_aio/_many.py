# SPDX-License-Identifier: Apache-2.0
"""Many images over one stream."""

from __future__ import annotations

import functools
import os
import time
from typing import Any, AsyncGenerator, AsyncIterator, Optional, Tuple

import grpc

from vitrine import errors
from vitrine._aio import _driver
from vitrine._aio._servers import Servers
from vitrine._connection import Settings
from vitrine._embedding import Embedded, of_outcome
from vitrine._one_version import OneVersion
from vitrine._picture import ImageSource, load
from vitrine._pipeline import Entry, Pipeline
from vitrine._request import with_picture
from vitrine._result import Outcome, Refused, of_response
from vitrine.v1 import classifier_pb2


class Run:
    """One call of classify_many. All events come through one queue: images taken, answers, ends of streams."""

    def __init__(self, servers: Servers, setting: Settings, deadline: float, traceparent: Optional[str]) -> None:
        self._servers = servers
        self._settings = setting
        self._traceparent = traceparent
        self._pipeline = Pipeline(deadline, setting.max_in_flight, setting.retries)
        self._events: _driver.Queue[Tuple[Any, Any]] = _driver.Queue()  # source of the event, and the event
        self._stream: Optional[_Stream] = None
        self._taker: Optional[_driver.Taker] = None
        self._preparing = False  # True: an image has left the source and is not in the pipeline yet
        self._broken: Optional[BaseException] = None

    async def results(
        self, images: AsyncIterator[ImageSource], template: classifier_pb2.ClassifyRequest
    ) -> AsyncGenerator[Outcome, None]:
        pipeline, one = self._pipeline, OneVersion()
        try:
            while not (pipeline.empty and pipeline.source_ended and not self._preparing):
                if pipeline.wants() and self._taker is None:
                    before = time.monotonic()
                    self._taker = _driver.Taker(functools.partial(self._take, images, template))
                    pipeline.paused(time.monotonic() - before)
                for event in await _driver.drain(self._events, pipeline.wait(time.monotonic())):
                    self._hand_in(*event)
                if pipeline.expire(time.monotonic()) and self._stream is not None:
                    self._stream.cancel()
                    self._stream = None
                self._send_due()  # sends before the caller's code runs, so that the server has work meanwhile
                for entry in pipeline.finished():
                    before = time.monotonic()
                    yield one.check(_outcome(entry))
                    pipeline.paused(time.monotonic() - before)
                self._send_due()
            if self._stream is not None and pipeline.idle:
                await self._stream.finish()
                self._stream = None
        finally:
            if self._stream is not None:
                self._stream.cancel()
            if self._taker is not None:
                await self._taker.cancel()
        error = self._broken or pipeline.failure
        if error is not None:
            raise error

    async def _take(self, images: AsyncIterator[ImageSource], template: classifier_pb2.ClassifyRequest) -> None:
        event: Any
        try:
            image = await images.__anext__()
            self._preparing = True
            event = await _driver.in_thread(_prepare, image, template)
        except StopAsyncIteration:
            event = None
        except BaseException as error:
            # BaseException includes CancelledError, which `images` may raise itself. Without an event the run would
            # wait forever.
            self._events.put_nowait((None, error))
            if isinstance(error, Exception):
                return
            raise
        self._events.put_nowait((None, event))

    def _send_due(self) -> None:
        for request in self._pipeline.due(time.monotonic()):
            self._stream = self._stream or _Stream(self._servers, self._settings, self._traceparent, self._events)
            self._stream.send(request)

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
    """One ClassifyStream call. Puts its answers into `events`. At its end, puts the error, or None if there is no
    error."""

    def __init__(
        self, servers: Servers, setting: Settings, traceparent: Optional[str], events: _driver.Queue[Tuple[Any, Any]]
    ) -> None:
        self._servers = servers
        self._settings = setting
        self._metadata = setting.metadata(traceparent)
        line = servers.begin()
        self._events = events
        self._requests: _driver.Queue[Optional[classifier_pb2.ClassifyRequest]] = _driver.Queue()
        self._call = line.stubs.stream(self._unsent(), metadata=self._metadata)
        self._reader = _driver.Reader(self._read, functools.partial(servers.end, line))

    def send(self, request: classifier_pb2.ClassifyRequest) -> None:
        self._requests.put_nowait(request)

    async def finish(self) -> None:
        """Half-closes the stream and waits for the server to end the call; there must be no unanswered requests."""
        self._requests.put_nowait(None)
        await self._reader.wait(2)
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
        end: Optional[errors.VitrineError] = None
        try:
            async for answer in self._call:
                self._events.put_nowait((self, answer))
        except grpc.RpcError as rpc:
            error = self._settings.error(rpc)
            await self._servers.follow(error)
            if self._settings.renewed(error.code, self._metadata):
                error = errors.Unavailable(str(error))  # Unavailable is retried, with the new token
            # gRPC bug 36066: a write after the end of the stream hides the status with which the server ended the
            # stream. The error is then ignored, because the next ClassifyStream call returns this status.
            hidden = isinstance(error, errors.Internal) and str(error).startswith("Internal error from Core")
            end = None if hidden else error
        finally:
            self._events.put_nowait((self, end))  # also if close cancels the call, because the run waits for this event
            self._requests.put_nowait(None)  # ends _unsent, which would wait forever


def _prepare(image: ImageSource, template: classifier_pb2.ClassifyRequest) -> Tuple[Any, Any]:
    """Returns the request for an image, and the data of the image that the result keeps. If reading fails, returns the
    error and the image's name."""
    try:
        picture = load(image)
        return with_picture(template, picture), picture.without_copy()
    except Exception as error:  # any exception: read() may be user code, and warnings may be errors
        return error, str(image) if isinstance(image, (str, os.PathLike)) else type(image).__name__


def _outcome(entry: Entry) -> Outcome:
    """Returns the Result or Refused that classify_many yields for a finished entry."""
    found = entry.outcome
    if not isinstance(found, Exception):
        try:
            return of_response(found, entry.tag, entry.index)
        except errors.VitrineError as error:
            found = error
    return Refused(found, entry.index, entry.tag if isinstance(entry.tag, str) else entry.tag.name)


async def embeddings(outcomes: AsyncGenerator[Outcome, None], normalize: bool) -> AsyncGenerator[Embedded, None]:
    try:
        async for outcome in outcomes:
            yield of_outcome(outcome, normalize)
    finally:
        await outcomes.aclose()
