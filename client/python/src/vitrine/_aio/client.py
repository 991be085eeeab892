# SPDX-License-Identifier: Apache-2.0
"""The asyncio client."""

from __future__ import annotations

import os
from types import TracebackType
from typing import AsyncGenerator, AsyncIterable, Iterable, List, Optional, Sequence, Tuple, Type, Union

import numpy as np
import numpy.typing as npt

from vitrine import _arguments, _models
from vitrine._aio import _driver, _many
from vitrine._aio._calls import Calls
from vitrine._connection import Pem, check_traceparent, settings, time_left
from vitrine._embedding import Embedded, values_of
from vitrine._health import Readiness
from vitrine._picture import ImageSource, load
from vitrine._request import Ask, Attention, with_picture
from vitrine._result import Outcome, Result, of_response
from vitrine._retry import RetryPolicy
from vitrine._sources import pictures
from vitrine.v1 import registry_pb2


class Client:
    """A connection to the server or servers of `address`, opened at the first call.

    For one event loop: create it inside the loop. Images are read and converted in the loop's threads.

    Args:
        address: host:port; or unix:PATH; or dns:///name:port or host:port,host:port, which distribute requests over
            several servers. Default $VITRINE_SERVER, otherwise 127.0.0.1:8500. The constructor resolves the names of a
            list; they are resolved again when the connection to the servers is lost.
        tls: use TLS; default: True if `ca`, `cert` or `server_name` is given.
        ca: trusted certificates, PEM as bytes or a path; default gRPC's own.
        cert, key: the client's certificate and key, PEM as bytes or a path.
        server_name: the name in the server's certificate, if it differs from the address.
        token: sent with every call as "authorization: Bearer ..."; requires TLS unless the server is on this machine.
            Default $VITRINE_TOKEN; "": no token.
        token_file: a file with the token, read again every minute and when the server rejects it, so that it can be
            replaced; default $VITRINE_TOKEN_FILE, which has precedence over $VITRINE_TOKEN.
        deadline: timeout of one request in seconds, including all attempts and the waits between them; float("inf"):
            no limit.
        keepalive: seconds between pings to a silent server while calls are in flight, to detect a lost connection; 0:
            no pings. Servers disconnect clients that ping too often; vitrine-server allows 10 seconds or more.
        retries: which requests are retried, and when.
        max_in_flight: maximum number of images of one classify_many at the server at a time, 1 to 64.

    Raises:
        TypeError, ValueError: options are wrong or contradict each other, a file has no certificate, `key` is not the
            key of `cert`, or the proxy is not supported. OSError: a file cannot be read. Unavailable: a name in a list
            of servers has no address.
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
        self._calls = Calls(self._settings)

    async def close(self) -> None:
        """Cancels the calls in flight. A closed client cannot be used again."""
        await self._calls.servers.close()

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
        """Classifies one image.

        Args:
            image: a path, the bytes of a file, a binary file object, a PIL.Image, or an array of [height, width, 3] (RGB),
                [height, width, 1] or [height, width], uint8 (0 to 255) or float (0 to 1). An image whose size the
                server would reject is reduced first, with a PictureWarning.
            model: name of the model, also as NAME@VERSION or NAME@LABEL; default the only model that is ready.
            version: number of the version. By default the server chooses: `stable`, or a version with a share of the
                traffic; if neither is set, the newest version that is ready.
            version_label: "stable", "canary" or another label of a version, instead of its number.
            top_k: number of predictions; default 5, or all classes if there are fewer; 0: no predictions.
            resolution: input size in pixels (height, width), or one number for both; for native-resolution models.
            attention: kinds of attention, as names or Attention objects.
            features: kinds of features, by the names that embed uses. Features are outputs of the model before its
                head.
            normalize: divide each feature vector by its Euclidean length.
            priority: "low" for bulk work, "normal", or "high" for interactive requests.
            max_attention_bytes: limit for attention and features in the answer, 1 to 16 MiB; default 1 MiB.
            deadline: timeout in seconds; default the client's.
            traceparent: trace context of the request, for the server's log; W3C Trace Context,
                "00-TRACEID-SPANID-FLAGS".

        Raises:
            InvalidArgument, NotFound, ResourceExhausted, DeadlineExceeded, Unavailable or another VitrineError: the
                server's code and message; InvalidArgument also for arguments that the client rejects. Cancelled: the
                client is closed. OSError: the file cannot be read. TypeError: an argument has another type.
        """
        model, version, version_label = _arguments.model_version(model, version, version_label)
        requested = Ask(
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
        left = time_left(self._settings, deadline)
        picture = await _driver.in_thread(load, image)
        request = with_picture(await self._calls.template(requested, left), picture)
        return of_response(await self._calls.classify(request, left, traceparent), picture)

    @_driver.generator
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
        """Classifies any number of images over one stream. The generator yields a Result or Refused for each, in order.

        `images` is an iterable of images, also an asynchronous one, or a folder, whose images are sorted by name. A
        single image raises TypeError: write [image].

        At most `max_in_flight` images are at the server, and four times as many in memory, so `images` may be endless.
        A result is returned as soon as it and all results before it are ready, also while `images` waits for the
        next image. An image's deadline starts when it is first sent; time that passes in the code that uses the
        generator, or in `images`, does not count.

        With `features` all results are from one version, by default `stable`, even if a canary has a share of the
        traffic. If another version computed a result, for example after files were replaced, the image is returned as
        Refused with FAILED_PRECONDITION.

        An image that fails is returned as Refused in its place, and the other images are still classified. This
        includes any exception from reading an image, even a PictureWarning if warnings are errors. A broken stream is
        opened again, and its unanswered requests are sent again according to `retries`.

        Raises:
            Unavailable: the server counts as lost, because `retries.max_attempts` streams broke in a row, all streams
                broke during a whole deadline, or no answer came during three deadlines in a row. Every image taken from
                `images` was returned, as Refused if it was not answered. No more images were taken.
            Any exception of `images`, after the results of all images before it.
            At the first step, not at the call: the errors of `classify` for all arguments except the images.
        """
        model, version, version_label = _arguments.model_version(model, version, version_label)
        requested = Ask(
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
        left = time_left(self._settings, deadline)
        check_traceparent(traceparent)
        source = _driver.iterate(pictures(images))
        template = await self._calls.series_template(requested, left)
        return _many.Run(self._calls.servers, self._settings, left.seconds, traceparent).results(source, template)

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
        """Returns the features of an image as an array of float32.

        "projection", "class" and "mean" have the shape [width], "registers" [number, width], "patches" [rows, columns,
        width].

        Args:
            feature: one of these kinds; default the first of "projection", "class" and "mean" that the model has. The
                client requests the model's kinds once and caches them.
            normalize: divide each vector by its Euclidean length, so that the dot product of two vectors is their
                cosine similarity.
            The other arguments are as in classify; `max_attention_bytes` also limits features.
        Raises:
            InvalidArgument: the model has no such feature. The other errors are as in classify.
        """
        model, version, version_label = _arguments.model_version(model, version, version_label)
        left = time_left(self._settings, deadline)
        kind = await self._calls.feature(feature, model, version, version_label, left)
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

    @_driver.generator
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
        """Computes features of any number of images. The generator yields an Embedding or Refused for each, in order.

        The arguments are the same as in embed. Everything else is as in classify_many. If all results are ok,
        numpy.stack combines them into one array.
        """
        source = pictures(images)
        model, version, version_label = _arguments.model_version(model, version, version_label)
        left = time_left(self._settings, deadline)
        kind = await self._calls.feature(feature, model, version, version_label, left)
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
        return _many.embeddings(outcomes, normalize)

    async def models(self) -> List[_models.Model]:
        """Returns every model and version that the server knows, sorted by name and version, without class labels."""
        return [_models.of_version(version) for version in (await self._calls.list()).versions]

    async def model(
        self, name: str, version: Optional[int] = None, *, version_label: Optional[str] = None
    ) -> _models.Model:
        """Returns one version with its class labels. Without `version` and `version_label`, this is the version that
        serves: `stable`, otherwise the newest version that is ready. NotFound: there is no such version."""
        _arguments.text("name", name, optional=False)
        chosen, version, version_label = _arguments.model_version(name, version, version_label)
        request = registry_pb2.GetModelRequest(model=chosen, version=version, version_label=version_label)
        return _models.of_version(await self._calls.get(request))

    @_driver.generator
    async def watch(self, model: Optional[str] = None) -> AsyncGenerator[_models.ModelEvent, None]:
        """Yields the current state of every version (of `model`), then each change. Does not end by itself.

        After a lost connection, the generator connects again and yields the current states again, but does not report
        versions that were removed in between. Unavailable: the server stays unreachable. Closing the generator ends the
        call.
        """
        _arguments.name_only(model)
        return self._calls.watch(model)

    async def is_ready(self, model: Optional[str] = None, *, deadline: Optional[float] = None) -> bool:
        """Returns True if the server, or its model `model`, serves now. Returns False even if no server answers or
        there is no such model.

        Uses the server's health service, which every client may call.
        """
        return await self._calls.ready(Readiness(self._settings, model, deadline))

    async def wait_until_ready(self, model: Optional[str] = None, *, deadline: Optional[float] = None) -> None:
        """Waits until the server, or its model `model`, serves. The server need not be reachable yet.

        Args:
            deadline: timeout in seconds for the whole wait; default the client's.

        Raises:
            NotReady: not ready in time; a DeadlineExceeded whose message names the model or server and its last state.
            HandshakeFailed, Unauthenticated, Unimplemented or another VitrineError: an error that waiting does not
                resolve.
        """
        readiness = Readiness(self._settings, model, deadline)
        while not await self._calls.ready(readiness):
            await _driver.sleep(readiness.pause())
