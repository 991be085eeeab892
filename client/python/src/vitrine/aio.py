# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio: the same calls, awaited."""

from __future__ import annotations

import asyncio
import os
import random
import time
from types import TracebackType
from typing import Any, AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, List, Optional, Sequence, Tuple, Type
from typing import Union

import grpc
import grpc.aio

from vitrine import _models, errors
from vitrine._connection import Attempts, Pem, Settings, Stubs
from vitrine._connection import check_deadline, check_traceparent, only_model, settings
from vitrine._picture import ImageSource, Picture, load
from vitrine._pipeline import Pipeline
from vitrine._request import Ask, Attention, with_picture
from vitrine._result import Outcome, Result, of_response
from vitrine._retry import RetryPolicy
from vitrine.client import outcome, prepare
from vitrine.v1 import classifier_pb2, registry_pb2


class Client:
    """A connection to one server, for one event loop; make it inside of the loop. Arguments as of vitrine.Client.

    Pictures are read and converted in the loop's threads.
    """

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        tls: Optional[bool] = None,
        ca: Optional[Pem] = None,
        cert: Optional[Pem] = None,
        key: Optional[Pem] = None,
        server_name: Optional[str] = None,
        token: Optional[str] = None,
        token_file: Union[str, "os.PathLike[str]", None] = None,
        deadline: float = 30.0,
        keepalive: float = 0.0,
        retries: Optional[RetryPolicy] = None,
        max_in_flight: int = 32,
    ) -> None:
        security = tls, ca, cert, key, server_name, token, token_file
        self._settings = settings(address, *security, deadline, keepalive, retries, max_in_flight)
        target, options = self._settings.target, self._settings.options
        if self._settings.credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options)
        else:
            self._channel = grpc.aio.secure_channel(target, self._settings.credentials, options)
        self._stubs = Stubs(self._channel)
        self._only_model: Optional[str] = None

    async def close(self) -> None:
        """Ends the calls under way. A closed client cannot be used again."""
        await self._channel.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return "<vitrine.aio.Client of %s>" % self._settings.address

    async def classify(
        self,
        image: ImageSource,
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        version_label: Optional[str] = None,
        top_k: Optional[int] = None,
        resolution: Union[int, Tuple[int, int], None] = None,
        attention: Union[str, Attention, Sequence[Union[str, Attention]]] = (),
        features: Union[str, Sequence[str]] = (),
        priority: str = "normal",
        max_attention_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> Result:
        """As vitrine.Client.classify."""
        wish = (model, version, version_label, top_k, resolution, attention, features, priority, max_attention_bytes)
        check_traceparent(traceparent)
        attempts = Attempts(self._settings, deadline)
        picture = await asyncio.to_thread(_load, image)
        if isinstance(picture, StopIteration):
            raise RuntimeError("reading the picture raised StopIteration") from picture
        request = with_picture(await self._template(Ask(*wish)), picture)
        try:
            return of_response(await self._call(self._stubs.classify, request, attempts, traceparent), picture)
        except errors.NotFound:
            self._only_model = None
            raise

    async def classify_many(
        self,
        images: Union[Iterable[ImageSource], AsyncIterable[ImageSource]],
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        version_label: Optional[str] = None,
        top_k: Optional[int] = None,
        resolution: Union[int, Tuple[int, int], None] = None,
        attention: Union[str, Attention, Sequence[Union[str, Attention]]] = (),
        features: Union[str, Sequence[str]] = (),
        priority: str = "normal",
        max_attention_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> AsyncGenerator[Outcome, None]:
        """As vitrine.Client.classify_many, with `async for`; `images` may be asynchronous itself.

        A result is given as soon as it and those before it are there, also while `images` makes it wait for the next
        picture. Errors of the arguments are raised at the first step.
        """
        wish = (model, version, version_label, top_k, resolution, attention, features, priority, max_attention_bytes)
        deadline = self._settings.deadline if deadline is None else deadline
        check_deadline(deadline)
        check_traceparent(traceparent)
        template = await self._template(Ask(*wish))
        pipeline = Pipeline(deadline, self._settings.max_in_flight, self._settings.retries)
        run = _Run(self._stubs, self._settings, traceparent, pipeline)
        try:
            async for result in run.results(_asynchronous(images), template):
                yield result
        finally:
            await run.close()

    async def models(self) -> List[_models.Model]:
        """As vitrine.Client.models."""
        response = await self._call(self._stubs.list, registry_pb2.ListModelsRequest(), Attempts(self._settings, None))
        return [_models.of_version(version) for version in response.versions]

    async def model(
        self, name: str, version: Optional[int] = None, *, version_label: Optional[str] = None
    ) -> _models.Model:
        """As vitrine.Client.model."""
        request = registry_pb2.GetModelRequest(model=name, version_label=version_label)
        if version is not None:
            request.version = version
        return _models.of_version(await self._call(self._stubs.get, request, Attempts(self._settings, None)))

    async def watch(self, model: Optional[str] = None) -> AsyncGenerator[_models.ModelEvent, None]:
        """As vitrine.Client.watch, with `async for`."""
        request = registry_pb2.WatchModelsRequest(model=model or "")
        failures = 0
        while True:
            call = self._stubs.watch(request, metadata=self._settings.metadata())
            try:
                async for event in call:
                    failures = 0
                    yield _models.ModelEvent(_models.of_version(event.version), event.removed)
                error: errors.VitrineError = errors.Unavailable("the server ended the stream")
            except grpc.RpcError as rpc:
                error = errors.of_rpc(rpc, self._settings.address)
            finally:
                call.cancel()
            failures += 1
            delay = self._settings.retries.delay(error, failures, float("inf"), random.random())
            if delay is None:
                raise error
            await asyncio.sleep(delay)

    async def _template(self, ask: Ask) -> classifier_pb2.ClassifyRequest:
        if ask.model is not None:
            return ask.template(ask.model)
        ask.template("")  # what is wrong with the rest shows before the server is asked
        if self._only_model is None:
            request = registry_pb2.ListModelsRequest()
            response = await self._call(self._stubs.list, request, Attempts(self._settings, None))
            self._only_model = only_model(response.versions)
        return ask.template(self._only_model)

    async def _call(self, method: Any, request: Any, attempts: Attempts, traceparent: Optional[str] = None) -> Any:
        while True:
            metadata = self._settings.metadata(traceparent)
            try:
                return await method(request, timeout=attempts.remaining, metadata=metadata)
            except grpc.RpcError as error:
                delay = attempts.failed(error)
            await asyncio.sleep(delay)


class _Run:
    """One classify_many. Everything that happens comes through one queue: pictures taken, answers, ends of streams."""

    def __init__(self, stubs: Stubs, setting: Settings, traceparent: Optional[str], pipeline: Pipeline) -> None:
        self._stubs = stubs
        self._settings = setting
        self._traceparent = traceparent
        self._pipeline = pipeline
        self._events: asyncio.Queue[Tuple[Any, Any]] = asyncio.Queue()  # who tells it, what
        self._stream: Optional[_Stream] = None
        self._taker: Optional[asyncio.Task[None]] = None
        self._preparing = False  # a picture has left the source and is not in the pipeline yet
        self._broken: Optional[BaseException] = None

    async def results(
        self, images: AsyncIterator[ImageSource], template: classifier_pb2.ClassifyRequest
    ) -> AsyncGenerator[Outcome, None]:
        pipeline = self._pipeline
        while not (pipeline.empty and pipeline.source_ended and not self._preparing):
            if pipeline.wants() and self._taker is None:
                self._taker = asyncio.create_task(self._take(images, template))
            for request in pipeline.due(time.monotonic()):
                self._stream = self._stream or _Stream(self._stubs, self._settings, self._traceparent, self._events)
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
            # Also CancelledError, which `images` may raise by itself: who waits for the event would wait for ever.
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
        self, stubs: Stubs, setting: Settings, traceparent: Optional[str], events: asyncio.Queue[Tuple[Any, Any]]
    ) -> None:
        self._address = setting.address
        self._events = events
        self._requests: asyncio.Queue[Optional[classifier_pb2.ClassifyRequest]] = asyncio.Queue()
        self._call = stubs.stream(self._unsent(), metadata=setting.metadata(traceparent))
        self._reader = asyncio.create_task(self._read())

    def send(self, request: classifier_pb2.ClassifyRequest) -> None:
        self._requests.put_nowait(request)

    async def finish(self) -> None:
        """Nothing more will be sent; waits for the server to end the call, which has nothing left to answer."""
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
            error: Optional[errors.VitrineError] = errors.of_rpc(rpc, self._address)
            # gRPC bug 36066: a write that meets the end of the stream hides the status that the server ended it with.
            # Asked again, the server says it again.
            if isinstance(error, errors.Internal) and str(error).startswith("Internal error from Core"):
                error = None
            self._events.put_nowait((self, error))
        finally:
            self._requests.put_nowait(None)


def _load(image: ImageSource) -> Union[Picture, StopIteration]:
    """For another thread: a future cannot carry StopIteration, and who awaits it would wait for ever."""
    try:
        return load(image)
    except StopIteration as error:
        return error


async def _asynchronous(images: Union[Iterable[ImageSource], AsyncIterable[ImageSource]]) -> AsyncIterator[ImageSource]:
    if isinstance(images, AsyncIterable):
        async for image in images:
            yield image
    else:
        for image in images:
            yield image
