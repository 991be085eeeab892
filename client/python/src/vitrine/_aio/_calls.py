# SPDX-License-Identifier: Apache-2.0
"""Calls with retries, and a client's cache of the server's models."""

from __future__ import annotations

import contextlib
import random
from typing import Any, AsyncGenerator, Dict, Iterator, Optional, Tuple

import grpc

from vitrine import _models, errors
from vitrine._aio import _driver
from vitrine._aio._servers import Servers
from vitrine._connection import Attempts, Settings, TimeLeft, only_model, time_left
from vitrine._embedding import first_vector
from vitrine._health import Readiness
from vitrine._one_version import keep_to, version_wanted
from vitrine._request import Ask, checked_feature
from vitrine.v1 import classifier_pb2, registry_pb2


@contextlib.contextmanager
def looked_up_or(way_out: str) -> Iterator[None]:
    """If the look-up fails with PermissionDenied, adds `way_out` to the message. `way_out` tells the user which
    argument makes the look-up unnecessary."""
    try:
        yield
    except errors.PermissionDenied as error:
        raise errors.PermissionDenied("%s; %s" % (error, way_out)) from error


class Calls:
    """The calls of one client, with its retries. Their errors are VitrineErrors."""

    def __init__(self, setting: Settings) -> None:
        self.settings = setting
        self.servers = Servers(setting)
        self._only_model: Optional[str] = None
        # Models by name, version and label. Cleared before a call for many images, and if the server rejects a request.
        self._known: Dict[Tuple[str, Optional[int], Optional[str]], _models.Model] = {}

    async def call(
        self, method: str, request: Any, left: Optional[TimeLeft] = None, traceparent: Optional[str] = None
    ) -> Any:
        """Returns the response of a method of Stubs. `left` is by default the client's deadline."""
        attempts = Attempts(self.settings, left or time_left(self.settings, None))
        while True:
            metadata = self.settings.metadata(traceparent)
            try:
                with self.servers.calls() as stubs:
                    return await getattr(stubs, method)(request, timeout=attempts.remaining, metadata=metadata)
            except grpc.RpcError as rpc:
                error = self.settings.error(rpc)
                if self.settings.renewed(error.code, metadata):
                    continue
                await self.servers.follow(error)
                delay = attempts.failed(error, rpc)
            await _driver.sleep(delay)

    async def classify(
        self, request: classifier_pb2.ClassifyRequest, left: TimeLeft, traceparent: Optional[str]
    ) -> Any:
        """Returns the ClassifyResponse. Clears the cached models if the server rejects the request."""
        try:
            return await self.call("classify", request, left, traceparent)
        except (errors.InvalidArgument, errors.NotFound):
            self._only_model = None  # another version may serve now, or another model
            self._known.clear()
            raise

    async def get(self, request: registry_pb2.GetModelRequest, left: Optional[TimeLeft] = None) -> Any:
        """Returns a ModelVersion."""
        return await self.call("get", request, left)

    async def list(self, left: Optional[TimeLeft] = None) -> Any:
        """Returns the ListModelsResponse."""
        return await self.call("list", registry_pb2.ListModelsRequest(), left)

    async def watch(self, model: Optional[str]) -> AsyncGenerator[_models.ModelEvent, None]:
        """Yields the events of WatchModels; opens a lost stream again."""
        request = registry_pb2.WatchModelsRequest(model=model or "")
        failures = 0
        while True:
            metadata = self.settings.metadata()
            line = self.servers.begin()
            call = line.stubs.watch(request, metadata=metadata)
            try:
                with self.servers.closing():
                    async for event in call:
                        failures = 0
                        yield _models.ModelEvent(_models.of_version(event.version), event.removed)
                error: errors.VitrineError = errors.Unavailable("the server ended the stream")
            except grpc.RpcError as rpc:
                error = self.settings.error(rpc)
            finally:
                call.cancel()
                self.servers.end(line)
            if self.settings.renewed(error.code, metadata):
                continue
            await self.servers.follow(error)
            failures += 1
            delay = self.settings.retries.delay(error, failures, float("inf"), random.random())
            if delay is None:
                raise error
            await _driver.sleep(delay)

    async def ready(self, readiness: Readiness) -> bool:
        """Returns the answer of one request to the health service."""
        try:
            options = {"timeout": readiness.remaining, "metadata": self.settings.metadata()}
            with self.servers.calls() as stubs:
                return readiness.answered(await stubs.health(readiness.request, **options))
        except grpc.RpcError as rpc:
            error = self.settings.error(rpc)
            await self.servers.follow(error)
            return readiness.failed(error, rpc)

    async def feature(
        self,
        feature: Optional[str],
        model: Optional[str],
        version: Optional[int],
        version_label: Optional[str],
        left: TimeLeft,
    ) -> str:
        """Returns the feature to request: `feature`, or the model's first kind of feature that is a vector."""
        if feature is not None:
            return checked_feature(feature)
        name = model if model is not None else (await self.template(Ask(), left)).model
        with looked_up_or('name a feature, as in feature="class"'):
            return first_vector(await self._described(name, version, version_label, left))

    async def template(self, ask: Ask, left: TimeLeft) -> classifier_pb2.ClassifyRequest:
        """Returns the request for `ask`, without an image."""
        name, checked = ask.model, ask.template(ask.model or "")  # reports wrong options before the first request
        if name is not None and not ask.wants_all:
            return checked
        if name is None:
            name = self._only_model  # a copy, because other threads may clear the cache
        if name is None:
            with looked_up_or('name the model, as in model="NAME"'):
                name = self._only_model = only_model((await self.list(left)).versions)
        if not ask.wants_all:
            return ask.template(name)
        with looked_up_or("give layers and heads as numbers"):
            return ask.template(name, (await self._described(name, ask.version, ask.version_label, left)).attention)

    async def series_template(self, ask: Ask, left: TimeLeft) -> classifier_pb2.ClassifyRequest:
        """Returns the request for `ask`, without an image. If `ask` has features, the request names one version, unless
        the client has no permission to look it up."""
        self._known.clear()
        template = await self.template(ask, left)
        wanted = version_wanted(template)
        if wanted is not None:
            try:
                keep_to(template, await self.get(wanted, left))
            except (errors.PermissionDenied, errors.Unimplemented):
                pass  # this client may classify only; OneVersion rejects results of another version
        return template

    async def _described(
        self, name: str, version: Optional[int], version_label: Optional[str], left: TimeLeft
    ) -> _models.Model:
        which = name, version, version_label
        known = self._known.get(which)
        if known is None:
            request = registry_pb2.GetModelRequest(model=name, version=version, version_label=version_label)
            known = self._known[which] = _models.of_version(await self.get(request, left))
        return known
