# SPDX-License-Identifier: Apache-2.0
"""Parses and resolves server addresses, and finds out which of them are on this machine."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Tuple

from vitrine.errors import Unavailable

# Size of the path in a sockaddr_un, without the final zero.
_LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True)
class ServerAddress:
    """Parsed form of an address.

    Attributes:
        uri: gRPC target; empty if `hosts` has several entries.
        hosts: the entries of a list of host:port, in order; empty if the address is not a list.
        host: the only host, without brackets; empty for several hosts or a socket.
        balanced: True if requests are distributed over all resolved addresses.
        local: True if the connection stays on this machine: loopback, or a Unix socket.
    """

    uri: str = ""
    hosts: Tuple[str, ...] = ()
    host: str = ""
    balanced: bool = False
    local: bool = False


class _Endpoint(NamedTuple):
    host: str  # without brackets
    port: str


def parse(address: str) -> ServerAddress:
    """Parses an address. ValueError: it has no port, is a list with entries other than host:port, or has a scheme
    other than dns, ipv4, ipv6 and unix."""
    if address.startswith(("unix:", "unix-abstract:")):
        path = address.partition(":")[2]
        if not path:
            raise ValueError("the server's address names no socket; give unix:PATH")
        if len(path.encode()) > _LONGEST_SOCKET_PATH:
            raise ValueError("the server's address has a socket path of more than %d bytes" % _LONGEST_SOCKET_PATH)
        return ServerAddress(address, local=True)
    if address.startswith(("ipv4:", "ipv6:")):  # a list in gRPC's own form
        parts = address.partition(":")[2].split(",")
        local = _all_loopback(parts)
        return ServerAddress(address, host=_only_host(parts), balanced=len(parts) > 1, local=local)
    if address.startswith("dns:"):  # dns:NAME, dns:///NAME or dns://RESOLVER/NAME
        name, resolver = address[len("dns:") :], ""
        if name.startswith("//"):
            resolver, _, name = name[2:].partition("/")
        # A custom resolver may return any address, even for localhost.
        host = _split(name).host
        return ServerAddress(address, host=host, balanced=True, local=_is_loopback(host) and not resolver)
    parts = address.split(",")
    local = _all_loopback(parts)
    if len(parts) == 1:
        return ServerAddress(address, host=_only_host(parts), local=local)
    return ServerAddress(hosts=tuple(parts), balanced=True, local=local)


def resolve(hosts: Tuple[str, ...], partly: bool = False) -> str:
    """Resolves the names of several hosts and returns them as a gRPC target. Unavailable: a host has no address. With
    `partly`, hosts without an address are left out; Unavailable: all hosts lack one. The message names a host."""
    four: List[str] = []
    six: List[str] = []
    missing: Optional[Unavailable] = None
    for text in hosts:
        host, port = _split(text)
        try:
            found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
        except OSError as error:
            missing = Unavailable("no address of %s: %s" % (host, error.strerror or error))
            if not partly:
                raise missing from error
            continue
        for family, _, _, _, place in found:
            if family == socket.AF_INET:
                four.append("%s:%s" % (place[0], port))
            elif family == socket.AF_INET6:
                six.append("[%s]:%s" % (place[0], port))
    if missing is not None and not four and not six:
        raise missing
    # A gRPC target has one address family; IPv4 addresses are mapped to IPv6.
    if six:
        six += ["[::ffff:%s]:%s" % (at.rpartition(":")[0], at.rpartition(":")[2]) for at in four]
    return ("ipv6:" if six else "ipv4:") + ",".join(sorted(set(six or four)))


def _only_host(parts: List[str]) -> str:
    return _split(parts[0]).host if len(parts) == 1 else ""


def _all_loopback(parts: List[str]) -> bool:
    return all([_is_loopback(_split(part).host) for part in parts])  # a list, so that every part is parsed


def _split(text: str) -> _Endpoint:
    def wrong(what: str) -> ValueError:
        form = "give host:port, as in gpu-box:8500 or [::1]:8500"
        return ValueError('the server\'s address "%s" %s; %s' % (text, what, form))

    scheme, separator, rest = text.partition("://")
    if separator:
        place, secure = rest.partition("/")[0], scheme.lower().endswith("s")
        form = 'the server\'s address "%s" is a URL; give its host and port, as in %s%s'
        example = place if ":" in place else "%s:8500" % (place or "gpu-box")
        raise ValueError(form % (text, example, ", and tls=True" if secure else ""))
    if "/" in text:
        raise wrong("has a path")
    host, colon, port = text.rpartition(":")
    bracketed = text.startswith("[")
    if not colon or (bracketed and not host.endswith("]")):
        raise wrong("has no port")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise wrong("has no port from 1 to 65535")
    if bracketed:
        host = host[1:-1]
    if not host:
        raise wrong("names no host")
    if not bracketed and ":" in host:
        raise wrong("needs its IPv6 address in brackets")
    if not host.isprintable() or " " in host:
        raise wrong("has spaces or control characters")
    return _Endpoint(host, port)


def _is_loopback(host: str) -> bool:
    """Returns True for loopback addresses and the name localhost. Resolves no names."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
