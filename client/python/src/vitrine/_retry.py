# SPDX-License-Identifier: Apache-2.0
"""Policy of retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from vitrine import _arguments
from vitrine.errors import HandshakeFailed, ResourceExhausted, Unavailable, VitrineError


_LONGEST_BACKOFF = 86400


@dataclass(frozen=True)
class RetryPolicy:
    """Number of attempts of a request, and the waits between the attempts. All attempts and waits are within the
    request's deadline.

    Requests are retried after UNAVAILABLE, except HandshakeFailed, and after RESOURCE_EXHAUSTED with a retry delay from
    the server. RESOURCE_EXHAUSTED without a delay means that the request itself is too large.

    Attributes:
        max_attempts: maximum attempts per request, 1 to 20; 1: no retry. With the default waits, the default number
            of attempts takes about as long as the default deadline.
        initial_backoff: seconds before the second attempt, doubled for each further attempt. The actual wait is random,
            50 to 100 % of this time, so that clients rejected together do not retry together.
        max_backoff: upper bound of the doubled wait in seconds, at most 86400.
    """

    max_attempts: int = 15
    initial_backoff: float = 0.1
    max_backoff: float = 5.0

    def __post_init__(self) -> None:
        _arguments.integer("max_attempts", self.max_attempts, optional=False)
        for name in ("initial_backoff", "max_backoff"):
            _arguments.real(name, getattr(self, name))
        if not 1 <= self.max_attempts <= 20:
            raise ValueError("max_attempts is %r, must be 1 to 20" % (self.max_attempts,))
        if not 0 < self.initial_backoff <= self.max_backoff:
            raise ValueError(
                "initial_backoff is %r and max_backoff %r; initial_backoff must be positive and at most max_backoff"
                % (self.initial_backoff, self.max_backoff)
            )
        if self.max_backoff > _LONGEST_BACKOFF:
            raise ValueError("max_backoff is %r seconds, must be at most %d" % (self.max_backoff, _LONGEST_BACKOFF))

    def delay(self, error: VitrineError, attempts: int, remaining: float, uniform: float) -> Optional[float]:
        """Returns the seconds to wait after `attempts` attempts; `error` ended the last attempt. None: no retry.

        The wait is at least the delay that the server gave, plus a random part of up to a fifth of this delay. The
        result is None if the wait would exceed the `remaining` seconds. `uniform` is a random number in [0, 1).
        """
        full = isinstance(error, ResourceExhausted) and error.retry_after is not None
        lost = isinstance(error, Unavailable) and not isinstance(error, HandshakeFailed)
        if not (full or lost) or attempts >= self.max_attempts:
            return None
        backoff = min(self.initial_backoff * 2.0 ** max(0, attempts - 1), self.max_backoff)
        delay = backoff * (0.5 + 0.5 * uniform)
        if error.retry_after is not None:
            delay = max(delay, error.retry_after * (1 + 0.2 * uniform))
        return delay if delay < remaining else None
