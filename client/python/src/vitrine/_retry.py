# SPDX-License-Identifier: Apache-2.0
"""When to ask again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from vitrine.errors import ResourceExhausted, Unavailable, VitrineError


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is sent, and how long to wait in between. All within the request's deadline.

    Sent again are requests that ended with UNAVAILABLE, and with RESOURCE_EXHAUSTED if the server said when to come
    back; without that the request itself is too large.

    Attributes:
        max_attempts: how often one request is sent in all, 1 to 20; 1 never retries. With these waits a server may be
            away for about as long as the default deadline, which then ends the waiting.
        initial_backoff: seconds before the second attempt, doubled for each further one; at random between half of it
            and all of it, so that callers who were refused together do not come back together.
        max_backoff: seconds that the doubling stops at.
    """

    max_attempts: int = 15
    initial_backoff: float = 0.1
    max_backoff: float = 5.0

    def __post_init__(self) -> None:
        if not 1 <= self.max_attempts <= 20:
            raise ValueError("max_attempts is %r, must be 1 to 20" % (self.max_attempts,))
        if not 0 < self.initial_backoff <= self.max_backoff:
            raise ValueError(
                "initial_backoff is %r and max_backoff %r; the first must be positive and not above the second"
                % (self.initial_backoff, self.max_backoff)
            )

    def delay(self, error: VitrineError, attempts: int, remaining: float, uniform: float) -> Optional[float]:
        """Seconds to wait after `attempts` attempts of which the last ended with `error`; None: not again.

        A server's delay is a lower bound, stretched by up to a fifth. A wait that would use up the `remaining` seconds
        is not begun. `uniform` is a random number in [0, 1).
        """
        full = isinstance(error, ResourceExhausted) and error.retry_after is not None
        if not (full or isinstance(error, Unavailable)) or attempts >= self.max_attempts:
            return None
        backoff = min(self.initial_backoff * 2.0 ** max(0, attempts - 1), self.max_backoff)
        delay = backoff * (0.5 + 0.5 * uniform)
        if error.retry_after is not None:
            delay = max(delay, error.retry_after * (1 + 0.2 * uniform))
        return delay if delay < remaining else None
