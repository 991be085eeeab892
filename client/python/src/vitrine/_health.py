# SPDX-License-Identifier: Apache-2.0
"""Finds out whether a server or a model is ready, with gRPC's standard health service. The blocking and the asyncio
client share this code."""

from __future__ import annotations

from typing import Any, Optional

import grpc

from vitrine import _arguments, _descriptors, errors
from vitrine._connection import Settings, time_left

Request: Any = _descriptors.message("vitrine.details.HealthRequest")
Response: Any = _descriptors.message("vitrine.details.HealthResponse")

_SERVING = 1
# Pauses between requests in seconds. The first pause doubles until it reaches the last one. A server can answer
# thousands of health requests per second, so short pauses cost it little.
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.5
# Errors that may disappear while the server starts. All other errors have their cause in the client, or in a server
# that is not Vitrine.
_PASSING = (errors.Unavailable, errors.DeadlineExceeded, errors.NotFound, errors.ResourceExhausted, errors.Cancelled)


class Readiness:
    """State of one call of is_ready or wait_until_ready. The client sends the requests and passes in their results.
    Between two requests it sleeps for the seconds that `pause` returns."""

    def __init__(self, setting: Settings, model: Optional[str], deadline: Optional[float]) -> None:
        _arguments.name_only(model)
        self.request = Request(service="model/%s" % model if model else "")
        self._setting = setting
        self._model = model or None
        self._time = time_left(setting, deadline)
        self._next_pause = _FIRST_PAUSE
        self._why = "no request was sent yet"

    @property
    def remaining(self) -> float:
        """Seconds until the deadline. This is the timeout of the next request."""
        return self._time.remaining

    def answered(self, response: Any) -> bool:
        """Returns True if the server or model is ready."""
        self._why = "its health service reports that it is not serving"
        return bool(response.status == _SERVING)

    def failed(self, error: errors.VitrineError, rpc: grpc.RpcError) -> bool:
        """Returns False if `error` means "not ready". Raises errors that waiting does not resolve."""
        if not isinstance(error, _PASSING) or isinstance(error, errors.HandshakeFailed):
            raise error from rpc
        # DeadlineExceeded may only mean that the deadline cut off the last request. So the earlier reason, which is
        # more informative, is kept.
        if isinstance(error, errors.NotFound):
            self._why = "the server has no such model; client.models() lists all models"
        elif not isinstance(error, errors.DeadlineExceeded) or self._why == "no request was sent yet":
            self._why = str(error)
        return False

    def pause(self) -> float:
        """Returns the seconds to wait before the next request. NotReady: there is no time for another request."""
        pause = self._next_pause
        if pause >= self.remaining:
            what = "the server" if self._model is None else 'model "%s"' % self._model
            form = "%s at %s was not ready within %g s: %s"
            sentence = form % (what, self._setting.address, self._time.seconds, self._why)
            raise errors.NotReady(sentence, model=self._model)
        self._next_pause = min(2 * pause, _LAST_PAUSE)
        return pause
