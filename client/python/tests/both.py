# SPDX-License-Identifier: Apache-2.0
"""Runs a call of the blocking client and the same call of the asyncio client."""

import asyncio
import inspect
from typing import Any, Callable, Type

import pytest

import vitrine
import vitrine.aio


def refusals(
    kind: Type[BaseException], call: Callable[[Any], Any], address: str = "127.0.0.1:1", **options: Any
) -> str:
    """Returns the message of the error that `call` raises with both clients."""
    with vitrine.Client(address, **options) as client, pytest.raises(kind) as blocking:
        result = call(client)
        if inspect.isgenerator(result):
            next(result)

    async def use() -> None:
        async with vitrine.aio.Client(address, **options) as client:
            await finish(call(client))

    with pytest.raises(kind) as waiting:
        asyncio.run(asyncio.wait_for(use(), 60))
    assert str(blocking.value) == str(waiting.value)
    return str(blocking.value)


async def finish(result: Any) -> Any:
    """Returns the result of a call of the asyncio client; for a generator, its items."""
    return [item async for item in result] if inspect.isasyncgen(result) else await result


def results(call: Callable[[Any], Any], address: str, **options: Any) -> Any:
    """Returns the results of both clients; for a generator, its items."""

    async def use() -> Any:
        async with vitrine.aio.Client(address, **options) as client:
            return await finish(call(client))

    with vitrine.Client(address, **options) as client:
        blocking = call(client)
        blocking = list(blocking) if inspect.isgenerator(blocking) else blocking
    return blocking, asyncio.run(asyncio.wait_for(use(), 60))
