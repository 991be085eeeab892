# SPDX-License-Identifier: Apache-2.0
"""Many images over one stream, for the blocking client."""

from __future__ import annotations

import os
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, Generator, Iterator, Optional, Tuple

import grpc

from vitrine import errors
from vitrine._connection import Settings
from vitrine._picture import ImageSource, load
from vitrine._pipeline import Entry, Pipeline
from vitrine._request import with_picture
from vitrine._result import Outcome, Refused, of_response
from vitrine._servers import Servers
from vitrine.v1 import classifier_pb2


def run(
    servers: Servers,
    setting: Settings,
    images: Iterator[ImageSource],
    template: classifier_pb2.ClassifyRequest,
    deadline: float,
    traceparent: Optional[str],
) -> Generator[Outcome, None, None]:
    pipeline = Pipeline(deadline, setting.max_in_flight, setting.retries)
    stream: Optional[_Stream] = None
    broken: Optional[Exception] = None
    try:
        while True:
            before = time.monotonic()
            if pipeline.wants():
                broken = _take(pipeline, images, template)
            now = time.monotonic()
            pipeline.paused(now - before)
            for request in pipeline.due(now):
                stream = stream or _Stream(servers, setting, traceparent)
                stream.send(request)
            for entry in pipeline.finished():
                before = time.monotonic()
                yield outcome(entry)
                pipeline.paused(time.monotonic() - before)
            if pipeline.empty and pipeline.source_ended:
                break
            now = time.monotonic()
            stream = _handle(pipeline, stream, 0.0 if pipeline.wants() else pipeline.wait(now))
        if stream is not None and pipeline.idle:
            stream.finish()
            stream = None
    finally:
        if stream is not None:
            stream.cancel()
    if broken is not None:
        raise broken
    if pipeline.failure is not None:
        raise pipeline.failure


class _Stream:
    """One ClassifyStream call as a queue of requests and a queue of events, without decisions."""

    def __init__(self, servers: Servers, setting: Settings, traceparent: Optional[str]) -> None:
        self._servers = servers
        self._settings = setting
        self._metadata = setting.metadata(traceparent)
        self._line = servers.begin()
        self._requests: SimpleQueue[Optional[classifier_pb2.ClassifyRequest]] = SimpleQueue()
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._call = self._line.stubs.stream(iter(self._requests.get, None), metadata=self._metadata)
        threading.Thread(target=self._read, name="vitrine-stream", daemon=True).start()

    def send(self, request: classifier_pb2.ClassifyRequest) -> None:
        self._requests.put(request)

    def events(self, timeout: Optional[float]) -> Iterator[Any]:
        """Yields the events, waiting for the first. Answers, and at the end an error, or None for an end without
        one."""
        try:
            yield self._events.get(timeout != 0, timeout)
            while True:
                yield self._events.get_nowait()
        except Empty:
            return

    def finish(self) -> None:
        """Half-closes the stream; the server ends the call after its last answer."""
        self._requests.put(None)

    def cancel(self) -> None:
        self._call.cancel()

    def _reason(self, error: errors.VitrineError) -> errors.VitrineError:
        self._servers.follow(error.code)
        return unrefused(error, self._settings.renewed(error.code, self._metadata))

    def _read(self) -> None:
        try:
            for answer in self._call:
                self._events.put(answer)
            self._events.put(None)
        except grpc.RpcError as error:
            self._events.put(self._reason(self._settings.error(error)))
        finally:
            self._servers.end(self._line)
            self._requests.put(None)  # otherwise gRPC's thread that reads them would wait forever


def unrefused(error: errors.VitrineError, renewed: bool) -> errors.VitrineError:
    """Returns the error of a stream; if its token is `renewed`, an error that is retried."""
    return errors.Unavailable(str(error)) if renewed else error


def _take(
    pipeline: Pipeline, images: Iterator[ImageSource], template: classifier_pb2.ClassifyRequest
) -> Optional[Exception]:
    """Moves one image from the source to the pipeline. Returns an exception raised by the source itself."""
    try:
        image = next(images)
    except StopIteration:
        pipeline.source_ended = True
        return None
    except Exception as error:
        pipeline.source_ended = True
        return error
    pipeline.take(*prepare(image, template))
    return None


def _handle(pipeline: Pipeline, stream: Optional[_Stream], timeout: Optional[float]) -> Optional[_Stream]:
    """Passes in the events within the timeout; returns the stream to continue with."""
    if stream is None:
        time.sleep(timeout or 0.0)
    else:
        for event in stream.events(timeout):
            now = time.monotonic()
            if isinstance(event, classifier_pb2.ClassifyStreamResponse):
                pipeline.answered(event, now)
            else:
                pipeline.ended(event, now)
                stream = None
    if pipeline.expire(time.monotonic()) and stream is not None:
        stream.cancel()
        stream = None
    return stream


def prepare(image: ImageSource, template: classifier_pb2.ClassifyRequest) -> Tuple[Any, Any]:
    """Returns the request for an image, or its error; and the image's data needed for the result."""
    try:
        picture = load(image)
        return with_picture(template, picture), picture.without_copy()
    except Exception as error:  # any: read() may be user code, and warnings may be errors
        return error, str(image) if isinstance(image, (str, os.PathLike)) else type(image).__name__


def outcome(entry: Entry) -> Outcome:
    """Returns the user's result for a finished entry."""
    found = entry.outcome
    if not isinstance(found, Exception):
        try:
            return of_response(found, entry.tag, entry.index)
        except errors.VitrineError as error:
            found = error
    return Refused(found, entry.index, entry.tag if isinstance(entry.tag, str) else entry.tag.name)
