# SPDX-License-Identifier: Apache-2.0
"""The client that blocks."""

from __future__ import annotations

import os
import random
import threading
import time
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Generator, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, Union

import grpc

from vitrine import _models, errors
from vitrine._connection import Attempts, Pem, Settings, Stubs
from vitrine._connection import check_deadline, check_traceparent, only_model, settings
from vitrine._picture import ImageSource, load
from vitrine._pipeline import Entry, Pipeline
from vitrine._request import Ask, Attention, with_picture
from vitrine._result import Outcome, Refused, Result, of_response
from vitrine._retry import RetryPolicy
from vitrine.v1 import classifier_pb2, registry_pb2


class Client:
    """A connection to one server, made when it is first used.

    Threads may share it; every call blocks. A process that forks must make its clients after the fork.

    Args:
        address: host:port; or dns:///name:port and host:port,host:port, whose servers take requests in turn; or
            unix:PATH. Default $VITRINE_SERVER, else 127.0.0.1:8500. The names of a list are resolved once, here.
        tls: speak TLS; default: if `ca`, `cert` or `server_name` is given.
        ca: certificates to trust, PEM as bytes or a path; default gRPC's own.
        cert, key: what this client shows the server, PEM as bytes or a path.
        server_name: the name in the server's certificate, where the address has another.
        token: sent with every call as "authorization: Bearer ..."; needs TLS unless the server is on this machine.
            Default $VITRINE_TOKEN; "": none.
        token_file: a file with the token, read again every minute, so that it may be replaced; default
            $VITRINE_TOKEN_FILE, which comes before $VITRINE_TOKEN.
        deadline: seconds for one request, all its attempts and the waits between them included.
        keepalive: seconds between pings of a silent server while calls are under way, so that one that vanished is
            noticed; 0: never. Servers send callers away that ping more often than they allow: vitrine-server takes 10
            seconds and more.
        retries: what is sent again, and when.
        max_in_flight: most pictures of one classify_many that the server holds at a time, 1 to 64.

    Raises:
        ValueError: options that are wrong or contradict each other. OSError: a file that cannot be read. Unavailable: a
            name in a list of servers has no address.
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
            self._channel = grpc.insecure_channel(target, options)
        else:
            self._channel = grpc.secure_channel(target, self._settings.credentials, options)
        self._stubs = Stubs(self._channel)
        self._only_model: Optional[str] = None

    def close(self) -> None:
        """Ends the calls under way, which then raise Cancelled. A closed client cannot be used again."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<vitrine.Client of %s>" % self._settings.address

    def classify(
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
        """Classifies one picture.

        Args:
            image: a path, the bytes of a file, a binary file object, a PIL.Image, or an array of [height, width, 3],
                [height, width, 1] or [height, width], uint8 (0 to 255) or float (0 to 1). A picture that the server
                would refuse for its size is shrunk first, with a PictureWarning.
            model: its name; default the only model that is ready.
            version: default the server's choice: `stable`, or a version with a share of the traffic; by default the
                newest that is ready.
            version_label: "stable", "canary" or another label of a version, in place of its number.
            top_k: how many predictions; default 5, or all classes if there are fewer; 0: none.
            resolution: pixels (height, width), or one number for both, that the picture shall be brought to; for models
                whose resolution is not fixed.
            attention: kinds of attention, as names or Attention objects.
            features: "class", "mean" or "patches": what the model made of the picture just before its head.
            priority: "low" for bulk work, "normal", or "high" where a person is waiting.
            max_attention_bytes: most bytes of attention and features in the answer, 1 to 16 MiB; default 1 MiB.
            deadline: seconds; default the client's.
            traceparent: where the request belongs in your trace, for the server's log; as W3C Trace Context has it,
                "00-TRACEID-SPANID-FLAGS".

        Raises:
            InvalidArgument, NotFound, ResourceExhausted, DeadlineExceeded, Unavailable or another VitrineError: the
                server's code and sentence. OSError: the file cannot be read. TypeError: `image` is no picture, or
                `attention` or `features` no name and no sequence.
        """
        wish = (model, version, version_label, top_k, resolution, attention, features, priority, max_attention_bytes)
        check_traceparent(traceparent)
        attempts = Attempts(self._settings, deadline)
        picture = load(image)
        request = with_picture(self._template(Ask(*wish)), picture)
        try:
            return of_response(self._call(self._stubs.classify, request, attempts, traceparent), picture)
        except errors.NotFound:
            self._only_model = None
            raise

    def classify_many(
        self,
        images: Iterable[ImageSource],
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
    ) -> Generator[Outcome, None, None]:
        """Classifies any number of pictures over one stream; a generator of one Result or Refused for each, in order.

        At most `max_in_flight` pictures are with the server and four times as many are held here, so `images` may be
        endless. It is read, and the pictures are, in the thread that takes the results. A picture's deadline starts
        when it is first sent; time that passes in the code around the generator and in `images` does not count.

        What fails alone is given as Refused in its place, and the others go on; that holds for whatever reading a
        picture raises, also a PictureWarning where warnings are errors. A stream that breaks is opened again, and what
        it had not answered is sent again as `retries` says.

        Raises:
            Unavailable: the server is lost: as many broken streams in a row as `retries` has attempts, or broken streams for
                as long as a deadline, or three deadlines in a row in which it answered nothing. Everything that had been
                taken from `images` was given, as Refused where it was not answered; the rest was left there.
            Whatever `images` raises, after the results of all that came before it.
            When it is called, not later: errors of the arguments other than the pictures, as `classify` does.
        """
        wish = (model, version, version_label, top_k, resolution, attention, features, priority, max_attention_bytes)
        deadline = self._settings.deadline if deadline is None else deadline
        check_deadline(deadline)
        check_traceparent(traceparent)
        return self._run(iter(images), self._template(Ask(*wish)), deadline, traceparent)

    def models(self) -> List[_models.Model]:
        """Every model and version that the server knows, by name, then version; without labels."""
        response = self._call(self._stubs.list, registry_pb2.ListModelsRequest(), Attempts(self._settings, None))
        return [_models.of_version(version) for version in response.versions]

    def model(
        self, name: str, version: Optional[int] = None, *, version_label: Optional[str] = None
    ) -> _models.Model:
        """One version with its labels; without `version` or `version_label` the one that serves: `stable`, else the
        newest that is ready. NotFound: there is none."""
        request = registry_pb2.GetModelRequest(model=name, version_label=version_label)
        if version is not None:
            request.version = version
        return _models.of_version(self._call(self._stubs.get, request, Attempts(self._settings, None)))

    def watch(self, model: Optional[str] = None) -> Generator[_models.ModelEvent, None, None]:
        """The present state of every version (of `model`), then each change as it happens; without end.

        A connection that is lost is made again, and the states of that time come again; what was removed meanwhile does
        not show. Unavailable: the server stays away. Closing the generator ends the call.
        """
        request = registry_pb2.WatchModelsRequest(model=model or "")
        failures = 0
        while True:
            call = self._stubs.watch(request, metadata=self._settings.metadata())
            try:
                for event in call:
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
            time.sleep(delay)

    def _template(self, ask: Ask) -> classifier_pb2.ClassifyRequest:
        if ask.model is not None:
            return ask.template(ask.model)
        ask.template("")  # what is wrong with the rest shows before the server is asked
        if self._only_model is None:
            request = registry_pb2.ListModelsRequest()
            response = self._call(self._stubs.list, request, Attempts(self._settings, None))
            self._only_model = only_model(response.versions)
        return ask.template(self._only_model)

    def _call(self, method: Any, request: Any, attempts: Attempts, traceparent: Optional[str] = None) -> Any:
        while True:
            metadata = self._settings.metadata(traceparent)
            try:
                return method(request, timeout=attempts.remaining, metadata=metadata)
            except grpc.RpcError as error:
                time.sleep(attempts.failed(error))

    def _run(
        self,
        images: Iterator[ImageSource],
        template: classifier_pb2.ClassifyRequest,
        deadline: float,
        traceparent: Optional[str],
    ) -> Generator[Outcome, None, None]:
        pipeline = Pipeline(deadline, self._settings.max_in_flight, self._settings.retries)
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
                    stream = stream or _Stream(self._stubs, self._settings, traceparent)
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
    """One ClassifyStream call, turned into a queue of requests and a queue of events. It decides nothing."""

    def __init__(self, stubs: Stubs, setting: Settings, traceparent: Optional[str]) -> None:
        self._address = setting.address
        self._requests: SimpleQueue[Optional[classifier_pb2.ClassifyRequest]] = SimpleQueue()
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._call = stubs.stream(iter(self._requests.get, None), metadata=setting.metadata(traceparent))
        threading.Thread(target=self._read, name="vitrine-stream", daemon=True).start()

    def send(self, request: classifier_pb2.ClassifyRequest) -> None:
        self._requests.put(request)

    def events(self, timeout: Optional[float]) -> Iterator[Any]:
        """What happened; waits for the first. Answers, and at the end an error, or None for an end without one."""
        try:
            yield self._events.get(timeout != 0, timeout)
            while True:
                yield self._events.get_nowait()
        except Empty:
            return

    def finish(self) -> None:
        """Nothing more will be sent; the server ends the call when it has answered."""
        self._requests.put(None)

    def cancel(self) -> None:
        self._call.cancel()

    def _read(self) -> None:
        try:
            for answer in self._call:
                self._events.put(answer)
            self._events.put(None)
        except grpc.RpcError as error:
            self._events.put(errors.of_rpc(error, self._address))
        finally:
            self._requests.put(None)  # or the thread in which gRPC reads them would wait for ever


def _take(
    pipeline: Pipeline, images: Iterator[ImageSource], template: classifier_pb2.ClassifyRequest
) -> Optional[Exception]:
    """Moves one picture from the source to the pipeline. Returns what the source itself failed with."""
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
    """Hands in what comes back within the timeout; returns the stream to go on with."""
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
    """The request for a picture, or why there is none; and what to know of the picture when the answer comes."""
    try:
        picture = load(image)
        return with_picture(template, picture), picture.without_copy()
    except Exception as error:  # anything: read() may be the user's own, and warnings may be made errors
        return error, str(image) if isinstance(image, (str, os.PathLike)) else type(image).__name__


def outcome(entry: Entry) -> Outcome:
    """What the user gets for a finished entry."""
    found = entry.outcome
    if not isinstance(found, Exception):
        try:
            return of_response(found, entry.tag, entry.index)
        except errors.VitrineError as error:
            found = error
    return Refused(found, entry.index, entry.tag if isinstance(entry.tag, str) else entry.tag.name)
