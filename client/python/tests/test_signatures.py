# SPDX-License-Identifier: Apache-2.0
"""The client that blocks and the one for asyncio have the same methods, which differ in being awaited alone."""

import inspect
import re
from typing import Any, Callable, Dict, Tuple, Type

import pytest

import vitrine
import vitrine.aio

PAIRS = [(vitrine.Client, vitrine.aio.Client), (vitrine.AdminClient, vitrine.aio.AdminClient)]
# Their own words of the language.
DUNDERS = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
HERE = {"__init__", "__repr__", *DUNDERS.values()}


def methods(kind: Type[Any]) -> Dict[str, Callable[..., Any]]:
    named = {DUNDERS.get(name, name): member for name, member in vars(kind).items() if inspect.isfunction(member)}
    return {name: member for name, member in named.items() if not name.startswith("_") or name in HERE}


def signature(method: Callable[..., Any]) -> Tuple[Any, str]:
    """Parameters with kind, default and annotation, in order; and what it returns, said as a function would."""
    found = inspect.signature(method)
    parameters = [
        (p.name, p.kind, p.default, str(p.annotation).replace("AsyncIterable[ImageSource], ", ""))
        for p in found.parameters.values()
    ]
    returns = re.sub(r"^AsyncGenerator\[(.*), None\]$", r"Generator[\1, None, None]", str(found.return_annotation))
    return parameters, returns


@pytest.mark.parametrize("blocking, awaited", PAIRS, ids=lambda kind: kind.__name__)
def test_signatures(blocking: Type[Any], awaited: Type[Any]) -> None:
    theirs = methods(awaited)
    assert set(methods(blocking)) == set(theirs) and len(theirs) > 10
    for name, method in methods(blocking).items():
        assert signature(method) == signature(theirs[name]), name
        for parameter in inspect.signature(method).parameters.values():
            assert parameter.name == "self" or parameter.annotation is not inspect.Parameter.empty, (name, parameter)


@pytest.mark.parametrize("blocking, awaited", PAIRS, ids=lambda kind: kind.__name__)
def test_what_is_awaited(blocking: Type[Any], awaited: Type[Any]) -> None:
    theirs = methods(awaited)
    for name, method in methods(blocking).items():
        if name in ("__init__", "__repr__"):
            assert not inspect.iscoroutinefunction(theirs[name])
        elif "Generator[" in str(inspect.signature(method).return_annotation):
            assert inspect.isasyncgenfunction(theirs[name]), name
        else:
            assert inspect.iscoroutinefunction(theirs[name]), name
        assert not inspect.iscoroutinefunction(method) and not inspect.isasyncgenfunction(method), name


def test_time_limits_have_one_name() -> None:
    """Seconds for a call are `deadline` everywhere; gRPC's own word for it stays inside."""
    for pair in PAIRS:
        for kind in pair:
            names = {p for method in methods(kind).values() for p in inspect.signature(method).parameters}
            assert "deadline" in names
            assert not [name for name in names if "timeout" in name]
