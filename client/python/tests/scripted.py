# SPDX-License-Identifier: Apache-2.0
"""A scripted Classifier, for behaviour that no healthy server has."""

import threading
from concurrent import futures
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

import grpc

from vitrine import _descriptors
from vitrine.v1 import classifier_pb2 as pb

Details = _descriptors.message("vitrine.details.Status")
RetryInfo = _descriptors.message("vitrine.details.RetryInfo")


def answer(request: pb.ClassifyRequest) -> pb.ClassifyResponse:
    """Returns an answer that identifies its image."""
    response = pb.ClassifyResponse(request_id=request.request_id)
    response.predictions.add(label=request.image.decode(), probability=1)
    return response


def stream_answer(request: pb.ClassifyRequest) -> pb.ClassifyStreamResponse:
    return pb.ClassifyStreamResponse(request_id=request.request_id, response=answer(request))


def stream_error(
    request: pb.ClassifyRequest, code: grpc.StatusCode, retry_after: float = 0
) -> pb.ClassifyStreamResponse:
    response = pb.ClassifyStreamResponse(request_id=request.request_id)
    response.error.code = code.value[0]
    response.error.message = "refused"
    response.error.retry_after = retry_after
    return response


def abort_full(context: grpc.ServicerContext, seconds: float) -> None:
    """Aborts with RESOURCE_EXHAUSTED and RetryInfo, as the server does."""
    info = RetryInfo()
    info.retry_delay.FromNanoseconds(int(seconds * 1e9))
    details = Details()
    details.details.add(type_url="type.googleapis.com/google.rpc.RetryInfo", value=info.SerializeToString())
    context.set_trailing_metadata((("grpc-status-details-bin", details.SerializeToString()),))
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the server is full")


class Unreadable:
    """A user's object whose read() raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def read(self) -> bytes:
        raise self._error


class Script:
    """The behaviour of the server, and the requests that it received."""

    def __init__(self) -> None:
        self.classify: Callable[[pb.ClassifyRequest, Any], Any] = lambda request, context: answer(request)
        self.stream: Callable[[Iterator[pb.ClassifyRequest], Any], Iterator[Any]] = lambda requests, context: map(
            stream_answer, requests
        )
        self.requests: List[pb.ClassifyRequest] = []
        self.metadata: List[Any] = []
        self.stream_metadata: List[Any] = []
        self.lock = threading.Lock()
        # State that the health service returns; None: there is no health service.
        self.serving: Optional[bool] = None
        # Code with which calls of Registry are rejected; None: there is no Registry.
        self.registry: Optional[grpc.StatusCode] = None


@contextmanager
def serve(script: Script, credentials: Optional[grpc.ServerCredentials] = None) -> Iterator[str]:
    """Runs the server; yields its address."""

    def classify(request: pb.ClassifyRequest, context: Any) -> Any:
        with script.lock:
            script.requests.append(request)
            script.metadata.append(dict(context.invocation_metadata()))
        return script.classify(request, context)

    def seen(requests: Iterator[pb.ClassifyRequest]) -> Iterator[pb.ClassifyRequest]:
        for request in requests:
            with script.lock:
                script.requests.append(request)
            yield request

    def stream(requests: Iterator[pb.ClassifyRequest], context: Any) -> Iterator[Any]:
        with script.lock:
            script.stream_metadata.append(dict(context.invocation_metadata()))
        return script.stream(seen(requests), context)

    over = threading.Event()

    def health_answer() -> bytes:
        return b"\x08\x01" if script.serving else b"\x08\x02"  # SERVING, NOT_SERVING

    def watch(request: bytes, context: Any) -> Iterator[bytes]:
        yield health_answer()
        over.wait(60)

    wire = {
        "Classify": grpc.unary_unary_rpc_method_handler(
            classify, pb.ClassifyRequest.FromString, pb.ClassifyResponse.SerializeToString
        ),
        "ClassifyStream": grpc.stream_stream_rpc_method_handler(
            stream, pb.ClassifyRequest.FromString, pb.ClassifyStreamResponse.SerializeToString
        ),
    }
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("vitrine.v1.Classifier", wire),))
    if script.registry is not None:
        deny = grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(script.registry, "denied"))
        registry = dict.fromkeys(("ListModels", "GetModel"), deny)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("vitrine.v1.Registry", registry),))
    if script.serving is not None:
        health: Dict[str, Any] = {
            "Check": grpc.unary_unary_rpc_method_handler(lambda request, context: health_answer()),
            "Watch": grpc.unary_stream_rpc_method_handler(watch),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", health),))
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield "127.0.0.1:%d" % port
    finally:
        over.set()
        server.stop(0).wait()
