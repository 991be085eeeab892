# SPDX-License-Identifier: Apache-2.0
"""Connection settings, and code that all calls of the blocking and the asyncio client share."""

from __future__ import annotations

import json
import os
import random
import re
import time
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

import grpc

from vitrine import _address, _arguments, _descriptors, _proxy, _tls, _token, errors
from vitrine._retry import RetryPolicy
from vitrine.v1 import registry_pb2

Pem = _tls.Pem
Metadata = Tuple[Tuple[str, str], ...]

# A ClassifyResponse may have 16 MiB of attention and features; a GetModel response may have 100,000 labels.
_MAX_REQUEST_BYTES, _MAX_RESPONSE_BYTES = 32 << 20, 80 << 20
# Limits of `keepalive` in seconds. gRPC raises smaller values to the shortest.
_SHORTEST_KEEPALIVE, _LONGEST_KEEPALIVE = 10, 86400
# gRPC's configuration for several servers: round robin over the servers whose health service reports SERVING. So a
# replica that is loading its models or shutting down gets no request. A server without the health service counts as
# serving.
_BALANCED = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        "healthCheckConfig": {"serviceName": "vitrine.v1.Classifier"},
    }
)
_KEEPALIVE_TIMEOUT_MS = 20000
# https://www.w3.org/TR/trace-context-1/#traceparent-header-field-values: versions after 00 may have further fields.
_PARENT = "-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
_TRACEPARENT = re.compile("00" + _PARENT + "|(?!00|ff)[0-9a-f]{2}" + _PARENT + "(-[!-~]*)?")


@dataclass(frozen=True)
class Settings:
    """Checked options of a client."""

    address: str
    target: str  # the address as a gRPC target
    hosts: Tuple[str, ...]  # entries of a list of servers, from which `target` is resolved; otherwise empty
    proxy: str  # name of the proxy to the server, as from _proxy.of_host; empty: none
    options: Tuple[Tuple[str, Any], ...]  # channel options
    tls: Optional[_tls.Tls]
    token: Optional[_token.BearerToken]
    deadline: float
    retries: RetryPolicy
    max_in_flight: int

    def metadata(self, traceparent: Optional[str] = None) -> Metadata:
        """Returns the metadata of one call. The token may change between calls."""
        authorization: Metadata = () if self.token is None else (("authorization", "Bearer " + self.token.get()),)
        return authorization if traceparent is None else (*authorization, ("traceparent", traceparent))

    def error(self, rpc: grpc.RpcError) -> errors.VitrineError:
        """Converts gRPC's error of a call to a VitrineError."""
        return errors.of_rpc(rpc, self.address, self.proxy, self.tls)

    def renewed(self, code: str, metadata: Metadata) -> bool:
        """Returns True if `code` means that the server rejected the call's token, and the token has been replaced
        since."""
        if code != "UNAUTHENTICATED" or self.token is None:
            return False
        return self.token.renewed(dict(metadata)["authorization"][len("Bearer ") :])


def settings(
    address: Optional[str],
    tls: Optional[bool],
    ca: Optional[Pem],
    cert: Optional[Pem],
    key: Optional[Pem],
    server_name: Optional[str],
    token: Optional[str],
    token_file: Union[str, "os.PathLike[str]", None],
    deadline: float,
    keepalive: float,
    retries: Optional[RetryPolicy],
    max_in_flight: int,
) -> Settings:
    """Checks a client's options. TypeError, ValueError: they are wrong or contradict each other. OSError: a file cannot
    be read."""
    deadline = _arguments.deadline(deadline)
    _check_limits(keepalive, retries, max_in_flight)
    if address is not None and not isinstance(address, str):
        raise _arguments.wrong_type("address", address, 'a string, as "a:8500", or "a:8500,b:8500" for several servers')
    address = address or os.environ.get("VITRINE_SERVER") or "127.0.0.1:8500"
    place = _address.parse(address)
    secure = _is_secure(place, tls, ca, cert, key, server_name)
    bearer = _token.choose(token, token_file)
    if bearer is not None and not secure and not place.local:  # the token could be read in plain text
        raise ValueError("the token would cross the network to %s unencrypted; give tls=True" % address)
    policy = retries or RetryPolicy()
    proxy = None if place.local or not place.host else _proxy.of_host(place.host, os.environ)
    options = _channel_options(place, proxy, server_name, keepalive, policy)
    loaded = _tls.load(ca, cert, key, server_name) if secure else None
    target = _address.resolve(place.hosts) if place.hosts else place.uri
    proxy_name = proxy.name if proxy else ""
    return Settings(
        address, target, place.hosts, proxy_name, options, loaded, bearer, deadline, policy, max_in_flight
    )


def _check_limits(keepalive: float, retries: Optional[RetryPolicy], max_in_flight: int) -> None:
    if _arguments.real("keepalive", keepalive) != 0 and not _SHORTEST_KEEPALIVE <= keepalive <= _LONGEST_KEEPALIVE:
        form = "keepalive is %r seconds, must be 0 (never) or %d to %d"
        raise ValueError(form % (keepalive, _SHORTEST_KEEPALIVE, _LONGEST_KEEPALIVE))
    if retries is not None and not isinstance(retries, RetryPolicy):
        raise _arguments.wrong_type("retries", retries, "a RetryPolicy, as vitrine.RetryPolicy(max_attempts=3)")
    _arguments.integer("max_in_flight", max_in_flight, optional=False)
    if not 1 <= max_in_flight <= 64:
        raise ValueError("max_in_flight is %r, must be 1 to 64" % (max_in_flight,))


def _is_secure(
    place: _address.ServerAddress,
    tls: Optional[bool],
    ca: Optional[Pem],
    cert: Optional[Pem],
    key: Optional[Pem],
    server_name: Optional[str],
) -> bool:
    """Returns True if the connection uses TLS."""
    if tls is not None:
        _arguments.flag("tls", tls)
    for name, pem in (("ca", ca), ("cert", cert), ("key", key)):
        _arguments.file(name, pem, "a path, or PEM as bytes", (bytes,))
    _arguments.text("server_name", server_name)
    asked = ca is not None or cert is not None or server_name is not None
    secure = tls if tls is not None else asked
    if not secure and asked:
        raise ValueError("ca, cert and server_name need TLS, but tls=False was given")
    if (cert is None) != (key is None):
        raise ValueError("cert and key must be given together; give both or neither")
    if secure and place.hosts and not server_name:
        raise ValueError("several servers over TLS need one name in all their certificates; give server_name")
    return secure


def _channel_options(
    place: _address.ServerAddress,
    proxy: Optional[_proxy.Proxy],
    server_name: Optional[str],
    keepalive: float,
    retries: RetryPolicy,
) -> Tuple[Tuple[str, Any], ...]:
    options: List[Tuple[str, Any]] = [
        ("grpc.max_send_message_length", _MAX_REQUEST_BYTES),
        ("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES),
        ("grpc.primary_user_agent", "vitrine-python"),
        # By default, gRPC's first backoff is a second. During this second, every attempt of this client would fail.
        ("grpc.initial_reconnect_backoff_ms", int(1000 * retries.initial_backoff)),
        ("grpc.max_reconnect_backoff_ms", int(1000 * retries.max_backoff)),
    ]
    if proxy is not None:
        options.append(("grpc.http_proxy", proxy.url))  # gRPC would ignore a variable without http://
    else:
        # gRPC would use $http_proxy even for loopback, and the proxy could read the token and all data. gRPC would also
        # pass a list of servers to the proxy as one name, and it does not support networks in $no_proxy.
        options.append(("grpc.enable_http_proxy", 0))
    if place.balanced:
        options.append(("grpc.service_config", _BALANCED))
    if server_name:
        options.append(("grpc.ssl_target_name_override", server_name))
    elif place.hosts:  # by default gRPC sends the whole list as the authority
        options.append(("grpc.default_authority", place.hosts[0]))
    if keepalive:
        options.append(("grpc.keepalive_time_ms", int(1000 * keepalive)))
        options.append(("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS))
        # gRPC also sends pings of its own, by default with a timeout of a minute. While one of these pings is
        # unanswered, gRPC sends no keepalive ping.
        options.append(("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS))
        options.append(("grpc.http2.max_pings_without_data", 0))
    return tuple(options)


def open_channel(kind: Any, setting: Settings, target: Optional[str] = None) -> Any:
    """Opens a channel. `kind` is grpc or grpc.aio. `target` replaces the target of the settings."""
    target = target or setting.target
    if setting.tls is None:
        return kind.insecure_channel(target, setting.options)
    return kind.secure_channel(target, setting.tls.credentials, setting.options)


def check_traceparent(traceparent: Optional[str]) -> None:
    _arguments.text("traceparent", traceparent)
    if traceparent is not None and not _TRACEPARENT.fullmatch(traceparent):
        form = "%r is no traceparent; the form is VERSION-TRACEID-SPANID-FLAGS in lower-case hexadecimal, as in %s"
        example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        raise errors.InvalidArgument(form % (traceparent, example))


class Stubs:
    """The server's calls over a grpc.Channel or a grpc.aio.Channel."""

    def __init__(self, channel: Any) -> None:
        self.classify = _descriptors.call(channel, "vitrine.v1.Classifier", "Classify")
        self.stream = _descriptors.call(channel, "vitrine.v1.Classifier", "ClassifyStream")
        self.list = _descriptors.call(channel, "vitrine.v1.Registry", "ListModels")
        self.get = _descriptors.call(channel, "vitrine.v1.Registry", "GetModel")
        self.watch = _descriptors.call(channel, "vitrine.v1.Registry", "WatchModels")
        self.health = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=_descriptors.message("vitrine.details.HealthRequest").SerializeToString,
            response_deserializer=_descriptors.message("vitrine.details.HealthResponse").FromString,
        )


class TimeLeft:
    """A deadline, counted from the construction of this object. ValueError: it is not positive."""

    def __init__(self, seconds: float) -> None:
        self.seconds = _arguments.deadline(seconds)
        self._end = time.monotonic() + self.seconds

    @property
    def remaining(self) -> float:
        return max(0.0, self._end - time.monotonic())


def time_left(setting: Settings, deadline: Optional[float]) -> TimeLeft:
    """Returns the deadline of one call; by default the client's."""
    return TimeLeft(setting.deadline if deadline is None else deadline)


class Attempts:
    """The attempts of one call within its deadline."""

    def __init__(self, setting: Settings, left: TimeLeft) -> None:
        self._setting = setting
        self._time = left
        self._made = 0

    @property
    def remaining(self) -> float:
        return self._time.remaining

    def failed(self, error: errors.VitrineError, rpc: grpc.RpcError) -> float:
        """Returns the seconds to wait before the next attempt. Raises the call's error if there is no next attempt."""
        self._made += 1
        if isinstance(error, errors.DeadlineExceeded) and str(error) == "Deadline Exceeded":
            way = " through the proxy %s" % self._setting.proxy if self._setting.proxy else ""
            # This error comes from the local gRPC library, not from the server.
            error = errors.DeadlineExceeded("no answer within %g s%s" % (self._time.seconds, way))
        delay = self._setting.retries.delay(error, self._made, self.remaining, random.random())
        if delay is None:
            raise error from rpc
        return delay


def only_model(versions: Sequence[registry_pb2.ModelVersion]) -> str:
    """Returns the default model: the only one that is ready."""
    names = sorted({version.model for version in versions if version.state == registry_pb2.READY})
    if not names:
        raise errors.NotFound("the server has no ready model")
    if len(names) > 1:
        raise errors.InvalidArgument("the server has several models; choose one: %s" % ", ".join(names))
    return names[0]
