# SPDX-License-Identifier: Apache-2.0
"""The asyncio client, which has the calls of the blocking client as coroutines."""

from vitrine._aio.admin import AdminClient
from vitrine._aio.client import Client

__all__ = ["AdminClient", "Client"]
