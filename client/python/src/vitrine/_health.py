# SPDX-License-Identifier: Apache-2.0
"""Whether a server, or a model of it, is ready: what both clients ask the standard health service."""

from __future__ import annotations

from typing import Any, Optional

import grpc

from vitrine import _descriptors, errors
from vitrine._connection import Settings, time_left

Request: Any = _descriptors.message("vitrine.details.HealthRequest")
Response: Any = _descriptors.message("vitrine.details.HealthResponse")

_SERVING = 1
# Between questions; from the first, doubled up to the last. A server answers thousands of them a second.
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.5
# What may change while it starts. Everything else is an error of the caller, or of another server than this.
_PASSING = (errors.Unavailable, errors.DeadlineExceeded, errors.NotFound, errors.ResourceExhausted, errors.Cancelled)


class Readiness:
    """One wait. The client asks, hands in what came of it, and sleeps as `pause` says."""

    def __init__(self, setting: Settings, model: Optional[str], deadline: Optional[float]) -> None:
        self.request = Request(service="model/%s" % model if model else "")
        self._setting = setting
        self._model = model or None
        self._time = time_left(setting, deadline)
        self._next_pause = _FIRST_PAUSE
        self._why = "it was not asked"

    @property
    def remaining(self) -> float:
        """Seconds that are left, for one question."""
        return self._time.remaining

    def answered(self, response: Any) -> bool:
        """Whether it is ready."""
        self._why = "its health service says that it does not serve"
        return bool(response.status == _SERVING)

    def failed(self, rpc: grpc.RpcError) -> bool:
        """False: not ready. Raises what no waiting helps against."""
        error = self._setting.error(rpc)
        if not isinstance(error, _PASSING):
            raise error from rpc
        # The last question may be cut off by the deadline; what was heard before says more.
        if isinstance(error, errors.NotFound):
            self._why = "the server knows no such model; client.models() tells which there are"
        elif not isinstance(error, errors.DeadlineExceeded) or self._why == "it was not asked":
            self._why = str(error)
        return False

    def pause(self) -> float:
        """Seconds to wait before the next question. NotReady: there is no time for another."""
        pause = self._next_pause
        if pause >= self.remaining:
            what = "the server" if self._model is None else 'model "%s"' % self._model
            form = "%s at %s was not ready within %g s: %s"
            sentence = form % (what, self._setting.address, self._time.seconds, self._why)
            raise errors.NotReady(sentence, model=self._model)
        self._next_pause = min(2 * pause, _LAST_PAUSE)
        return pause
