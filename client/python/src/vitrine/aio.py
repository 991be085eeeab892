# SPDX-License-Identifier: Apache-2.0
"""The asyncio client: the same calls, awaited."""

from __future__ import annotations

import asyncio
import os
import random
from types import TracebackType
from typing import Any, AsyncGenerator, AsyncIterable, Dict, Iterable, List, Optional, Sequence, Tuple, Type, Union

import grpc
import grpc.aio
import numpy as np
import numpy.typing as npt

from vitrine import _aio_many, _models, errors
from vitrine._aio_admin import AdminClient
from vitrine._connection import Attempts, Pem
from vitrine._connection import TimeLeft, check_deadline, check_traceparent, only_model, settings
from vitrine._connection import time_left
from vitrine._embedding import Embedded, each_async, first_vector, values_of
from vitrine._health import Readiness
from vitrine._one_version import OneVersion, keep_to, version_wanted
from vitrine._picture import ImageSource
from vitrine._pipeline import Pipeline
from vitrine._request import Ask, Attention, with_picture
from vitrine._result import Outcome, Result, of_response
from vitrine._retry import RetryPolicy
from vitrine._servers import Servers
from vitrine._sources import pictures
from vitrine.v1 import classifier_pb2, registry_pb2

__all__ = ["AdminClient", "Client"]


class Client:
    """A connection to one server, for one event loop; create it inside the loop. Arguments as in vitrine.Client.

    Images are read and converted in the loop's threads.
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
        self._servers = Servers(grpc.aio, self._settings)
        self._only_model: Optional[str] = None
        # By model, version and label, until the server rejects a request based on an entry.
        self._known: Dict[Tuple[str, Optional[int], Optional[str]], _models.Model] = {}

    async def close(self) -> None:
        """Cancels the calls in flight. A closed client cannot be used again."""
        await self._servers.close()

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
        normalize: bool = False,
        priority: str = "normal",
        max_attention_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> Result:
        """As vitrine.Client.classify."""
        wish = Ask(
            model=model,
            version=version,
            version_label=version_label,
            top_k=top_k,
            resolution=resolution,
            attention=attention,
            features=features,
            normalize=normalize,
            priority=priority,
            max_attention_bytes=max_attention_bytes,
        )
        check_traceparent(traceparent)
        attempts = Attempts(self._settings, deadline)
        picture = await asyncio.to_thread(_aio_many.load_picture, image)
        if isinstance(picture, StopIteration):
            raise RuntimeError("reading the picture raised StopIteration") from picture
        request = with_picture(await self._template(wish), picture)
        try:
            return of_response(await self._call("classify", request, attempts, traceparent), picture)
        except (errors.InvalidArgument, errors.NotFound):
            self._only_model = None  # another version may serve now, or another model
            self._known.clear()
            raise

    async def classify_many(
        self,
        images: Union[Iterable[ImageSource], AsyncIterable[ImageSource], str, "os.PathLike[str]"],
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        version_label: Optional[str] = None,
        top_k: Optional[int] = None,
        resolution: Union[int, Tuple[int, int], None] = None,
        attention: Union[str, Attention, Sequence[Union[str, Attention]]] = (),
        features: Union[str, Sequence[str]] = (),
        normalize: bool = False,
        priority: str = "normal",
        max_attention_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> AsyncGenerator[Outcome, None]:
        """As vitrine.Client.classify_many, with `async for`; `images` may be an asynchronous iterable.

        A result is returned as soon as it and those before it are ready, also while `images` waits for the next image.
        Errors of the arguments are raised at the first step.
        """
        wish = Ask(
            model=model,
            version=version,
            version_label=version_label,
            top_k=top_k,
            resolution=resolution,
            attention=attention,
            features=features,
            normalize=normalize,
            priority=priority,
            max_attention_bytes=max_attention_bytes,
        )
        deadline = self._settings.deadline if deadline is None else deadline
        check_deadline(deadline)
        check_traceparent(traceparent)
        source = pictures(images)
        self._known.clear()
        template = await self._template(wish)
        await self._keep_to_one_version(template)
        pipeline = Pipeline(deadline, self._settings.max_in_flight, self._settings.retries)
        run = _aio_many.Run(self._servers, self._settings, traceparent, pipeline)
        one = OneVersion()
        try:
            async for result in run.results(_aio_many.asynchronous(source), template):
                yield one.check(result)
        finally:
            await run.close()

    async def embed(
        self,
        image: ImageSource,
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        feature: Optional[str] = None,
        normalize: bool = False,
        version_label: Optional[str] = None,
        resolution: Union[int, Tuple[int, int], None] = None,
        priority: str = "normal",
        max_attention_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> npt.NDArray[np.float32]:
        """As vitrine.Client.embed."""
        left = time_left(self._settings, deadline)
        kind = await self._feature(feature, model, version, version_label, left)
        result = await self.classify(
            image,
            model,
            version,
            version_label=version_label,
            top_k=0,
            resolution=resolution,
            features=kind,
            normalize=normalize,
            priority=priority,
            max_attention_bytes=max_attention_bytes,
            deadline=max(left.remaining, 0.001),
            traceparent=traceparent,
        )
        return values_of(result, normalize)

    async def embed_many(
        self,
        images: Union[Iterable[ImageSource], AsyncIterable[ImageSource], str, "os.PathLike[str]"],
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        feature: Optional[str] = None,
        normalize: bool = False,
        version_label: Optional[str] = None,
        resolution: Union[int, Tuple[int, int], None] = None,
        priority: str = "normal",
        max_attention_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> AsyncGenerator[Embedded, None]:
        """As vitrine.Client.embed_many, with `async for`; `images` may be an asynchronous iterable."""
        source = pictures(images)
        kind = await self._feature(feature, model, version, version_label, time_left(self._settings, deadline))
        outcomes = self.classify_many(
            source,
            model,
            version,
            version_label=version_label,
            top_k=0,
            resolution=resolution,
            features=kind,
            normalize=normalize,
            priority=priority,
            max_attention_bytes=max_attention_bytes,
            deadline=deadline,
            traceparent=traceparent,
        )
        async for embedded in each_async(outcomes, normalize):
            yield embedded

    async def models(self) -> List[_models.Model]:
        """As vitrine.Client.models."""
        response = await self._call("list", registry_pb2.ListModelsRequest(), Attempts(self._settings, None))
        return [_models.of_version(version) for version in response.versions]

    async def model(
        self, name: str, version: Optional[int] = None, *, version_label: Optional[str] = None
    ) -> _models.Model:
        """As vitrine.Client.model."""
        request = registry_pb2.GetModelRequest(model=name, version_label=version_label)
        if version is not None:
            request.version = version
        return _models.of_version(await self._call("get", request, Attempts(self._settings, None)))

    async def watch(self, model: Optional[str] = None) -> AsyncGenerator[_models.ModelEvent, None]:
        """As vitrine.Client.watch, with `async for`."""
        request = registry_pb2.WatchModelsRequest(model=model or "")
        failures = 0
        while True:
            metadata = self._settings.metadata()
            line = self._servers.begin()
            call = line.stubs.watch(request, metadata=metadata)
            try:
                async for event in call:
                    failures = 0
                    yield _models.ModelEvent(_models.of_version(event.version), event.removed)
                error: errors.VitrineError = errors.Unavailable("the server ended the stream")
            except grpc.RpcError as rpc:
                error = self._settings.error(rpc)
            finally:
                call.cancel()
                self._servers.end(line)
            if self._settings.renewed(error.code, metadata):
                continue
            await self._servers.follow_async(error.code)
            failures += 1
            delay = self._settings.retries.delay(error, failures, float("inf"), random.random())
            if delay is None:
                raise error
            await asyncio.sleep(delay)

    async def is_ready(self, model: Optional[str] = None, *, deadline: Optional[float] = None) -> bool:
        """As vitrine.Client.is_ready."""
        return await self._ready(Readiness(self._settings, model, deadline))

    async def wait_until_ready(self, model: Optional[str] = None, *, deadline: Optional[float] = None) -> None:
        """As vitrine.Client.wait_until_ready."""
        readiness = Readiness(self._settings, model, deadline)
        while not await self._ready(readiness):
            await asyncio.sleep(readiness.pause())

    async def _ready(self, readiness: Readiness) -> bool:
        try:
            options = {"timeout": readiness.remaining, "metadata": self._settings.metadata()}
            with self._servers.calls() as stubs:
                return readiness.answered(await stubs.health(readiness.request, **options))
        except grpc.RpcError as error:
            await self._servers.follow_async(error.code().name)
            return readiness.failed(error)

    async def _feature(
        self,
        feature: Optional[str],
        model: Optional[str],
        version: Optional[int],
        version_label: Optional[str],
        left: TimeLeft,
    ) -> str:
        """Returns the feature to request."""
        if feature is not None:
            return feature
        name = model if model is not None else (await self._template(Ask())).model
        return first_vector(await self._described(name, version, version_label, max(left.remaining, 0.001)))

    async def _described(
        self, name: str, version: Optional[int], version_label: Optional[str], deadline: Optional[float] = None
    ) -> _models.Model:
        which = name, version, version_label
        if which not in self._known:
            request = registry_pb2.GetModelRequest(model=name, version=version, version_label=version_label)
            response = await self._call("get", request, Attempts(self._settings, deadline))
            self._known[which] = _models.of_version(response)
        return self._known[which]

    async def _template(self, ask: Ask) -> classifier_pb2.ClassifyRequest:
        name, checked = ask.model, ask.template(ask.model or "")  # reports errors in it before the first request
        if name is not None and not ask.wants_all:
            return checked
        if name is None and self._only_model is None:
            request = registry_pb2.ListModelsRequest()
            response = await self._call("list", request, Attempts(self._settings, None))
            self._only_model = only_model(response.versions)
        name = name or self._only_model or ""
        if not ask.wants_all:
            return ask.template(name)
        return ask.template(name, (await self._described(name, ask.version, ask.version_label)).attention)

    async def _keep_to_one_version(self, template: classifier_pb2.ClassifyRequest) -> None:
        wanted = version_wanted(template)
        if wanted is None:
            return
        try:
            keep_to(template, await self._call("get", wanted, Attempts(self._settings, None)))
        except (errors.PermissionDenied, errors.Unimplemented):
            pass  # may only classify: OneVersion rejects results of another version

    async def _call(self, method: str, request: Any, attempts: Attempts, traceparent: Optional[str] = None) -> Any:
        while True:
            metadata = self._settings.metadata(traceparent)
            try:
                with self._servers.calls() as stubs:
                    return await getattr(stubs, method)(request, timeout=attempts.remaining, metadata=metadata)
            except grpc.RpcError as error:
                code = error.code().name
                if self._settings.renewed(code, metadata):
                    continue
                await self._servers.follow_async(code)
                delay = attempts.failed(error)
            await asyncio.sleep(delay)
