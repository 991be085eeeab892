# SPDX-License-Identifier: Apache-2.0
"""Errors, one class per gRPC code. `str(error)` is the server's message. In a message of InvalidArgument, kinds of
attention and features have the names of this package."""

from __future__ import annotations

import functools
import logging
import math
import re
from typing import Any, Dict, Optional, Type

import grpc
from google.protobuf.message import DecodeError

from vitrine import _descriptors, _tls
from vitrine._kinds import with_own_names

_Status = _descriptors.message("vitrine.details.Status")
_RetryInfo = _descriptors.message("vitrine.details.RetryInfo")


class VitrineError(Exception):
    """An error of the server or of the connection. Base class of all errors of this package.

    Attributes:
        code: gRPC's name, for example "NOT_FOUND".
        retry_after: seconds that the server asks to wait before a retry; None if it gave no delay.
    """

    code: str = "UNKNOWN"

    def __init__(self, message: str, *, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def message(self) -> str:
        """One sentence that names the cause and the remedy."""
        return str(self.args[0])

    def __str__(self) -> str:
        return self.message


class Cancelled(VitrineError):
    """The call was cancelled before its answer."""

    code = "CANCELLED"


class InvalidArgument(VitrineError, ValueError):
    """The request is wrong and will never succeed: a damaged image, attention that the model does not have, ..."""

    code = "INVALID_ARGUMENT"


class DeadlineExceeded(VitrineError, TimeoutError):
    """The deadline passed before the answer."""

    code = "DEADLINE_EXCEEDED"


class NotReady(DeadlineExceeded):
    """wait_until_ready timed out. `model` is the model that is not ready; None: the server is not ready."""

    def __init__(
        self, message: str, *, retry_after: Optional[float] = None, model: Optional[str] = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.model = model


class NotFound(VitrineError, LookupError):
    """There is no such model or version, or it is not ready."""

    code = "NOT_FOUND"


class PermissionDenied(VitrineError):
    """The server's access policy denies this call to the client."""

    code = "PERMISSION_DENIED"


class Unauthenticated(VitrineError):
    """The server requires authentication, and the call had no valid token or certificate."""

    code = "UNAUTHENTICATED"


class ResourceExhausted(VitrineError):
    """The server is full (`retry_after` is set), or the request or its answer is too large (`retry_after` is None)."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(VitrineError):
    """The server's state does not allow this call."""

    code = "FAILED_PRECONDITION"


class Unimplemented(VitrineError):
    """The server does not have this call, because it has another version or is not Vitrine."""

    code = "UNIMPLEMENTED"


class Internal(VitrineError):
    """A defect of the server, or an invalid answer."""

    code = "INTERNAL"


class Unavailable(VitrineError, ConnectionError):
    """No server answers, or the server is shutting down."""

    code = "UNAVAILABLE"


class HandshakeFailed(Unavailable):
    """The TLS handshake failed for a reason that another attempt would not change, such as a certificate that is not
    trusted. The client does not retry it."""


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
# Messages of gRPC for a port that uses another protocol.
_NO_GRPC = "http1.x server", "failed parsing http/2", "expected settings frame as the first frame"
# Messages of gRPC for a server that was not reached; _LOST_ALL is for several servers.
_LOST_ALL = "connections to all backends failing"
_LOST = "failed to connect", _LOST_ALL, "errors resolving", "dns resolution failed"
# Message with which the listeners of vitrine-server --admin and --health-listen reject the calls of a client.
_OTHER_LISTENER = re.compile(r"there is no method /(vitrine\.v1\.(Classifier|Registry)|grpc\.health\.v1\.Health)/")
_NAMES: Dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}


def of_code(name: str, message: str, retry_after: Optional[float] = None) -> VitrineError:
    """Returns the error for gRPC's name of a code; a plain VitrineError for a code without a class."""
    kind = _CLASSES.get(name)
    if kind is InvalidArgument:
        message = with_own_names(message)
    if kind is not None:
        return kind(message, retry_after=retry_after)
    error = VitrineError(message, retry_after=retry_after)
    error.code = name
    return error


def of_number(code: int, message: str, retry_after: float) -> VitrineError:
    """Returns the error of a StreamError. `code` is a number; `retry_after` is 0 if a retry does not help."""
    known = retry_after > 0 and math.isfinite(retry_after)
    return of_code(_NAMES.get(code, "UNKNOWN"), message, retry_after if known else None)


def of_rpc(
    error: grpc.RpcError, address: str, proxy: str = "", tls: Optional[_tls.Tls] = None
) -> VitrineError:
    """Returns the error that ended a call to `address`. `proxy` is "" without a proxy; `tls` is None without TLS."""
    call: Any = error
    code = call.code()
    message = call.details() or "no reason given"
    if _is_no_grpc(code, message):
        form = "the server at %s does not speak gRPC (%s); give the host:port of vitrine-server --listen"
        return Unimplemented(form % (address, message))
    if code == grpc.StatusCode.UNIMPLEMENTED and _OTHER_LISTENER.match(message):
        form = (
            "%s is the listener of vitrine-server --admin or --health-listen, not the one for clients (%s); give the "
            "address of --listen. vitrine.AdminClient uses that of --admin"
        )
        return Unimplemented(form % (address, message))
    if code == grpc.StatusCode.UNAVAILABLE and any(words in message.lower() for words in _LOST):
        return _unreachable(message, address, proxy, tls)
    return of_code(code.name, message, _retry_delay(call.trailing_metadata() or ()))


def _unreachable(message: str, address: str, proxy: str, tls: Optional[_tls.Tls]) -> Unavailable:
    host = address.rpartition("/")[2].rpartition(":")[0]
    way = " through the proxy %s; with no_proxy=%s the connection is direct" % (proxy, host) if proxy else ""
    cause = _tls.cause(message, tls, bool(proxy))
    why = " (%s)" % message if cause is None else ": " + cause.sentence
    sentence = "no server answers at %s%s%s" % (address, way, why)
    # If the address is a list of servers, another server may answer the next attempt.
    lasting = cause is not None and cause.lasting and _LOST_ALL not in message.lower()
    if cause is not None and not lasting:
        _log_once(sentence)
    return HandshakeFailed(sentence) if lasting else Unavailable(sentence)


@functools.lru_cache(maxsize=1000)
def _log_once(sentence: str) -> None:
    """Logs a known cause at the first attempt, because the error itself is raised only after all attempts."""
    logging.getLogger("vitrine").warning("%s", sentence)


def _is_no_grpc(code: grpc.StatusCode, message: str) -> bool:
    """Returns True for a port without gRPC. UNAVAILABLE does not count, since a proxy sends it for an unreachable
    server."""
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
