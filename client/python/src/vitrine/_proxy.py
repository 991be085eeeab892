# SPDX-License-Identifier: Apache-2.0
"""The HTTP proxy of the environment that gRPC takes, and which hosts are reached without it. As client/proxy.cc."""

from __future__ import annotations

import ipaddress
import re
from typing import Mapping, Union

_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy", "NO_PROXY")
_Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address, None]


def of_host(host: str, environment: Mapping[str, str]) -> str:
    """The proxy by which gRPC goes to `host`, "10.0.0.1:3128 of $http_proxy"; "": none.

    As gRPC has it, the first variable that is set counts, one that is empty means none, and the scheme is http. Which
    hosts need no proxy is said as curl has it, see `excepted`.
    """
    variable = next((name for name in _VARIABLES if name in environment), None)
    exception = next((name for name in _EXCEPTIONS if name in environment), None)
    if variable is None or (exception is not None and excepted(host, environment[exception])):
        return ""
    scheme, _, rest = environment[variable].partition("://")
    place = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]  # without a name and a password before it
    return "%s of $%s" % (place, variable) if scheme == "http" and place else ""


def excepted(host: str, no_proxy: str) -> bool:
    """True if a list of no_proxy holds `host`.

    Its parts, between commas or spaces, are * for every host, names, which stand for what ends in .NAME too, addresses
    and networks as in 10.0.0.0/8. Names are not resolved.
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
