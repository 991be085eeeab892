# SPDX-License-Identifier: Apache-2.0
"""Errors, one class per code of gRPC. `str(error)` is the server's sentence, unchanged."""

from __future__ import annotations

import math
from typing import Any, Dict, Optional, Type

import grpc
from google.protobuf.message import DecodeError

from vitrine import _descriptors

_Status = _descriptors.message("vitrine.details.Status")
_RetryInfo = _descriptors.message("vitrine.details.RetryInfo")


class VitrineError(Exception):
    """Something that the server, or the way to it, refused. Base of all errors of this package.

    Attributes:
        code: gRPC's name of it, "NOT_FOUND" say.
        retry_after: seconds after which the server wants to be asked again; None where it named none.
    """

    code: str = "UNKNOWN"

    def __init__(self, message: str, *, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def message(self) -> str:
        """One sentence that names the fault and the way out."""
        return str(self.args[0])

    def __str__(self) -> str:
        return self.message


class Cancelled(VitrineError):
    """The call was given up before its answer."""

    code = "CANCELLED"


class InvalidArgument(VitrineError, ValueError):
    """The request is wrong and will never succeed: a damaged picture, attention that the model does not have, ..."""

    code = "INVALID_ARGUMENT"


class DeadlineExceeded(VitrineError, TimeoutError):
    """The deadline passed before the answer."""

    code = "DEADLINE_EXCEEDED"


class NotReady(DeadlineExceeded):
    """wait_until_ready waited in vain; `model` names what for, None: the server."""

    def __init__(
        self, message: str, *, retry_after: Optional[float] = None, model: Optional[str] = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.model = model


class NotFound(VitrineError, LookupError):
    """No such model or version, or it is not ready."""

    code = "NOT_FOUND"


class PermissionDenied(VitrineError):
    """The server's policy does not open this call to the caller."""

    code = "PERMISSION_DENIED"


class Unauthenticated(VitrineError):
    """The server wants to know who calls, and no token or certificate told it."""

    code = "UNAUTHENTICATED"


class ResourceExhausted(VitrineError):
    """The server is full (`retry_after` is set), or the request or its answer is too large (it is None)."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(VitrineError):
    """The server is not in a state for this call."""

    code = "FAILED_PRECONDITION"


class Unimplemented(VitrineError):
    """The server does not know this call: another version, or no Vitrine."""

    code = "UNIMPLEMENTED"


class Internal(VitrineError):
    """A defect of the server, or an answer that makes no sense."""

    code = "INTERNAL"


class Unavailable(VitrineError, ConnectionError):
    """No server answers, or it is about to end."""

    code = "UNAVAILABLE"


_CLASSES: Dict[str, Type[VitrineError]] = {
    kind.code: kind
    for kind in (
        Cancelled,
        InvalidArgument,
        DeadlineExceeded,
        NotFound,
        PermissionDenied,
        Unauthenticated,
        ResourceExhausted,
        FailedPrecondition,
        Unimplemented,
        Internal,
        Unavailable,
    )
}
# gRPC's words for a port that answers in another protocol.
_NO_GRPC = "http1.x server", "failed parsing http/2", "expected settings frame as the first frame"
_NAMES: Dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}


def of_code(name: str, message: str, retry_after: Optional[float] = None) -> VitrineError:
    """The error for gRPC's name of a code; a code without a class of its own gives a plain VitrineError."""
    kind = _CLASSES.get(name)
    if kind is not None:
        return kind(message, retry_after=retry_after)
    error = VitrineError(message, retry_after=retry_after)
    error.code = name
    return error


def of_number(code: int, message: str, retry_after: float) -> VitrineError:
    """The error of a StreamError: the code as a number, 0 seconds where a retry makes no sense."""
    known = retry_after > 0 and math.isfinite(retry_after)
    return of_code(_NAMES.get(code, "UNKNOWN"), message, retry_after if known else None)


def of_rpc(error: grpc.RpcError, address: str, proxy: str = "") -> VitrineError:
    """The error that ended a call to `address` by way of `proxy`, "" for none."""
    call: Any = error
    code = call.code()
    message = call.details() or "no reason given"
    if _is_no_grpc(code, message):
        form = "what answers at %s speaks no gRPC (%s); give the host:port of vitrine-server --listen"
        return Unimplemented(form % (address, message))
    if code == grpc.StatusCode.UNAVAILABLE and "failed to connect" in message.lower():
        host = address.rpartition("/")[2].rpartition(":")[0]
        way = " through the proxy %s; with no_proxy=%s it is asked directly" % (proxy, host) if proxy else ""
        message = "no server answers at %s%s (%s)" % (address, way, message)
    return of_code(code.name, message, _retry_delay(call.trailing_metadata() or ()))


def _is_no_grpc(code: grpc.StatusCode, message: str) -> bool:
    """What gRPC says of a port that is none of gRPC's; UNAVAILABLE may also be a proxy whose server is away."""
    lower = message.lower()
    if any(words in lower for words in _NO_GRPC):
        return True
    passing = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED
    return "received http2 header with status" in lower and code not in passing


def _retry_delay(trailers: Any) -> Optional[float]:
    for key, value in trailers:
        if key != "grpc-status-details-bin":
            continue
        try:
            for detail in _Status.FromString(value).details:
                if detail.type_url.rpartition("/")[2] == "google.rpc.RetryInfo":
                    delay = _RetryInfo.FromString(detail.value).retry_delay
                    return float(delay.seconds + delay.nanos / 1e9)
        except DecodeError:
            return None
    return None
