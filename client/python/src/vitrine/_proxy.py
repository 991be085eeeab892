# SPDX-License-Identifier: Apache-2.0
"""Reads from environment variables the HTTP proxy, and the hosts for which it is not used, like
client/lib/connect/proxy.cc."""

from __future__ import annotations

import ipaddress
import re
from typing import Mapping, NamedTuple, Optional, Union

_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy", "NO_PROXY")
_ONE = "only http:// proxies are supported; unset it or add the server to no_proxy"
_Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address, None]


class Proxy(NamedTuple):
    url: str  # http://..., the only form that gRPC accepts
    name: str  # for messages, "10.0.0.1:3128 of $http_proxy"


def of_host(host: str, environment: Mapping[str, str]) -> Optional[Proxy]:
    """Returns the proxy for `host`; None if there is no proxy. ValueError: gRPC does not support this proxy.

    The first variable of _VARIABLES that is set applies, and an empty variable means no proxy. As with curl, the scheme
    may be missing. Exceptions follow curl's rules, see `excepted`.
    """
    variable = next((name for name in _VARIABLES if name in environment), None)
    exception = next((name for name in _EXCEPTIONS if name in environment), None)
    if variable is None or (exception is not None and excepted(host, environment[exception])):
        return None
    value = environment[variable].strip()
    if not value:
        return None
    scheme, _, rest = value.rpartition("://")
    place = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]  # without user name and password
    if not place:
        raise ValueError("%s=%s names no proxy; unset it" % (variable, value))
    if scheme.lower() not in ("", "http"):
        # gRPC would ignore a proxy with this scheme and connect directly.
        raise ValueError("%s=%s://%s: %s" % (variable, scheme, place, _ONE))
    return Proxy("http://" + rest, "%s of $%s" % (place, variable))


def excepted(host: str, no_proxy: str) -> bool:
    """Returns True if a no_proxy list contains `host`.

    Entries are separated by commas or spaces. An entry is * for every host, a name, an address, or a network such as
    10.0.0.0/8. The name NAME also matches every host that ends in .NAME. Names are not resolved.
    """
    name = host.strip("[]").rstrip(".").lower()
    address = _address(name)
    for part in re.split(r"[,\s]+", no_proxy.lower()):
        if part == "*":
            return True
        pattern = part.strip(".")
        if not pattern:
            continue
        if address is None and (name == pattern or name.endswith("." + pattern)):
            return True
        if address is not None and _in_network(address, pattern):
            return True
    return False


def _address(text: str) -> _Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _in_network(address: _Address, text: str) -> bool:
    try:
        return address in ipaddress.ip_network(text.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False
