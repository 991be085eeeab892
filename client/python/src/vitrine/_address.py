# SPDX-License-Identifier: Apache-2.0
"""Where servers are: what an address means, and whether the way to it leaves this machine."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Tuple

from vitrine.errors import Unavailable

# Of the path in a sockaddr_un, less its final zero.
_LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True)
class ServerAddress:
    """What an address of a user says.

    Attributes:
        uri: as gRPC takes it; empty where `hosts` are several.
        hosts: several host:port, in order; otherwise empty.
        host: the only host, without brackets; empty where there are several, or a socket.
        balanced: requests are spread over what it resolves to.
        local: never leaves this machine: loopback, or a socket in the file system.
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
    """ValueError: no port, a list of anything but host:port, or another scheme than dns, ipv4, ipv6 and unix."""
    if address.startswith(("unix:", "unix-abstract:")):
        path = address.partition(":")[2]
        if not path:
            raise ValueError("the server's address names no socket; give unix:PATH")
        if len(path.encode()) > _LONGEST_SOCKET_PATH:
            raise ValueError("the server's address names a socket by more than %d bytes" % _LONGEST_SOCKET_PATH)
        return ServerAddress(address, local=True)
    if address.startswith(("ipv4:", "ipv6:")):  # gRPC's own list
        parts = address.partition(":")[2].split(",")
        local = _all_loopback(parts)
        return ServerAddress(address, host=_only_host(parts), balanced=len(parts) > 1, local=local)
    if address.startswith("dns:"):  # dns:NAME, dns:///NAME or dns://RESOLVER/NAME
        name, resolver = address[len("dns:") :], ""
        if name.startswith("//"):
            resolver, _, name = name[2:].partition("/")
        # A foreign resolver may say of any name, localhost too, that it is anywhere.
        host = _split(name).host
        return ServerAddress(address, host=host, balanced=True, local=_is_loopback(host) and not resolver)
    parts = address.split(",")
    local = _all_loopback(parts)
    if len(parts) == 1:
        return ServerAddress(address, host=_only_host(parts), local=local)
    return ServerAddress(hosts=tuple(parts), balanced=True, local=local)


def resolve(hosts: Tuple[str, ...], partly: bool = False) -> str:
    """gRPC's address of several hosts, whose names are resolved now. Unavailable names one without address; `partly`:
    only if none has an address."""
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
    # One address of gRPC holds one family; IPv4 has its place among IPv6.
    if six:
        six += ["[::ffff:%s]:%s" % (at.rpartition(":")[0], at.rpartition(":")[2]) for at in four]
    return ("ipv6:" if six else "ipv4:") + ",".join(sorted(set(six or four)))


def _only_host(parts: List[str]) -> str:
    return _split(parts[0]).host if len(parts) == 1 else ""


def _all_loopback(parts: List[str]) -> bool:
    return all([_is_loopback(_split(part).host) for part in parts])  # a list: what is wrong with any of them shows


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
    """Of this machine whoever resolves it: no name but localhost."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
