"""Where the server is, how to get there, and what every call of both clients has in common."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

import grpc

from vitrine import errors
from vitrine._retry import RetryPolicy
from vitrine.v1 import classifier_pb2, registry_pb2

Pem = Union[str, "os.PathLike[str]", bytes]

_LOOPBACK = ("127.", "localhost:", "[::1]:", "unix:", "ipv4:127.", "ipv6:[::1]:", "dns:///localhost:")
# A classification may carry 16 MiB of attention and features; GetModel 100,000 labels.
_MAX_REQUEST_BYTES, _MAX_RESPONSE_BYTES = 32 << 20, 80 << 20


@dataclass(frozen=True)
class Settings:
    """Checked options of a client."""

    address: str
    credentials: Optional[grpc.ChannelCredentials]
    metadata: Tuple[Tuple[str, str], ...]
    deadline: float
    retries: RetryPolicy
    max_in_flight: int

    def channel_options(self) -> List[Tuple[str, Any]]:
        return [
            ("grpc.max_send_message_length", _MAX_REQUEST_BYTES),
            ("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES),
            ("grpc.primary_user_agent", "vitrine-python"),
            # gRPC's own first wait is a second, in which every attempt of ours would fail at once.
            ("grpc.initial_reconnect_backoff_ms", int(1000 * self.retries.initial_backoff)),
            ("grpc.max_reconnect_backoff_ms", int(1000 * self.retries.max_backoff)),
        ]


def settings(
    address: Optional[str],
    tls: Optional[bool],
    ca: Optional[Pem],
    cert: Optional[Pem],
    key: Optional[Pem],
    token: Optional[str],
    deadline: float,
    retries: Optional[RetryPolicy],
    max_in_flight: int,
) -> Settings:
    """ValueError: options that contradict each other. OSError: a certificate that cannot be read."""
    address = address or os.environ.get("VITRINE_SERVER") or "127.0.0.1:8500"
    if address.startswith(("http://", "https://")):
        raise ValueError("the server's address is %r; give host:port" % address)
    secure = tls if tls is not None else ca is not None or cert is not None
    if not secure and (ca is not None or cert is not None):
        raise ValueError("ca and cert are of no use with tls=False")
    if (cert is None) != (key is None):
        raise ValueError("cert and key belong together; give both or neither")
    if token is not None and not secure and not address.startswith(_LOOPBACK):
        raise ValueError("a token would travel to %s in the clear; give tls=True" % address)
    check_deadline(deadline)
    if not 1 <= max_in_flight <= 64:
        raise ValueError("max_in_flight is %r, must be 1 to 64" % (max_in_flight,))
    credentials = grpc.ssl_channel_credentials(_pem(ca), _pem(key), _pem(cert)) if secure else None
    metadata = (("authorization", "Bearer " + token),) if token is not None else ()
    return Settings(address, credentials, metadata, deadline, retries or RetryPolicy(), max_in_flight)


def check_deadline(deadline: float) -> None:
    if not deadline > 0:
        raise ValueError("the deadline is %r seconds, must be positive" % (deadline,))


def _pem(source: Optional[Pem]) -> Optional[bytes]:
    if source is None or isinstance(source, bytes):
        return source
    with open(source, "rb") as file:
        return file.read()


class Stubs:
    """The calls of the contract over a channel of either kind, grpc.Channel or grpc.aio.Channel."""

    def __init__(self, channel: Any) -> None:
        def method(kind: str, name: str, request: Any, response: Any) -> Any:
            return getattr(channel, kind)(
                "/vitrine.v1." + name,
                request_serializer=request.SerializeToString,
                response_deserializer=response.FromString,
            )

        self.classify = method(
            "unary_unary", "Classifier/Classify", classifier_pb2.ClassifyRequest, classifier_pb2.ClassifyResponse
        )
        self.stream = method(
            "stream_stream",
            "Classifier/ClassifyStream",
            classifier_pb2.ClassifyRequest,
            classifier_pb2.ClassifyStreamResponse,
        )
        self.list = method(
            "unary_unary", "Registry/ListModels", registry_pb2.ListModelsRequest, registry_pb2.ListModelsResponse
        )
        self.get = method("unary_unary", "Registry/GetModel", registry_pb2.GetModelRequest, registry_pb2.ModelVersion)
        self.watch = method(
            "unary_stream", "Registry/WatchModels", registry_pb2.WatchModelsRequest, registry_pb2.ModelEvent
        )


class Attempts:
    """The attempts of one call within its deadline."""

    def __init__(self, setting: Settings, deadline: Optional[float]) -> None:
        self._setting = setting
        self._deadline = setting.deadline if deadline is None else deadline
        check_deadline(self._deadline)
        self._end = time.monotonic() + self._deadline
        self._made = 0

    @property
    def remaining(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def failed(self, rpc: grpc.RpcError) -> float:
        """Seconds to wait before the next attempt; raises what the call ended with if there is none."""
        self._made += 1
        error = errors.of_rpc(rpc, self._setting.address)
        if isinstance(error, errors.DeadlineExceeded) and str(error) == "Deadline Exceeded":
            error = errors.DeadlineExceeded("no answer within %g s" % self._deadline)  # gRPC's own, not the server's
        delay = self._setting.retries.delay(error, self._made, self.remaining, random.random())
        if delay is None:
            raise error from rpc
        return delay


def only_model(versions: Sequence[registry_pb2.ModelVersion]) -> str:
    """The model to ask where none was named: the only one that is ready."""
    names = sorted({version.model for version in versions if version.state == registry_pb2.READY})
    if not names:
        raise errors.NotFound("the server has no model that is ready")
    if len(names) > 1:
        raise errors.InvalidArgument("the server has several models, name one: %s" % ", ".join(names))
    return names[0]
