# SPDX-License-Identifier: Apache-2.0
"""The HTTP proxy that gRPC takes from the environment, and its exceptions. client/lib/connect/proxy.cc has the same."""

from __future__ import annotations

import ipaddress
import re
from typing import Mapping, Union

_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy", "NO_PROXY")
_Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address, None]


def of_host(host: str, environment: Mapping[str, str]) -> str:
    """Returns the proxy that gRPC uses for `host`, "10.0.0.1:3128 of $http_proxy"; "": none.

    The rules are gRPC's: the first variable that is set applies, an empty variable means no proxy, and the scheme is
    http. Exceptions follow curl's rules, see `excepted`.
    """
    variable = next((name for name in _VARIABLES if name in environment), None)
    exception = next((name for name in _EXCEPTIONS if name in environment), None)
    if variable is None or (exception is not None and excepted(host, environment[exception])):
        return ""
    scheme, _, rest = environment[variable].partition("://")
    place = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]  # without user name and password
    return "%s of $%s" % (place, variable) if scheme == "http" and place else ""


def excepted(host: str, no_proxy: str) -> bool:
    """Returns True if a no_proxy list contains `host`.

    Entries are separated by commas or spaces. An entry is * for every host, a name (which includes all hosts of .NAME),
    an address, or a network such as 10.0.0.0/8. Names are not resolved.
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
