"""How often a visitor, and all visitors of one address, may do what costs the server or others something.

A whole class may share one address, so the limits of an address are for 400 students who act within a few minutes.
The counts are in memory and start anew with the server. Each of several servers counts for itself; a proxy sends all
requests of one browser to the same server, so the limits of a visitor stay exact, and those of an address are
multiplied by the number of servers at most.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass

from cachetools import TTLCache
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute, storage, strategies

from explorer import metrics
from explorer.errors import TooManyRequests
from explorer.number_format import format_duration


@dataclass(frozen=True)
class Limit:
    """A rate limit of one action."""

    action: str  # in the plural, for the message
    per_address: RateLimitItem
    per_visitor: RateLimitItem | None = None
    overall: RateLimitItem | None = None


NEW_VISITORS = Limit("new browsers", RateLimitItemPerMinute(600, 10))
SIGN_INS = Limit("sign-ins", RateLimitItemPerMinute(10, 10), overall=RateLimitItemPerMinute(60, 10))
IMPORTS = Limit("imports", RateLimitItemPerMinute(200, 10), RateLimitItemPerMinute(20, 10))
TRAININGS = Limit("trainings", RateLimitItemPerMinute(4_000, 10), RateLimitItemPerMinute(240, 10))
SWEEPS = Limit("searches for settings", RateLimitItemPerMinute(400, 10), RateLimitItemPerMinute(30, 10))
NEW_CLASSES = Limit("new classes", RateLimitItemPerHour(30))
DOWNLOADS = Limit("downloads of answers", RateLimitItemPerMinute(300), RateLimitItemPerMinute(30))
UNKNOWN_CODES = Limit("unknown class codes", RateLimitItemPerMinute(60))
ANSWERS = Limit("answers", RateLimitItemPerMinute(2_000), RateLimitItemPerMinute(60))

log = logging.getLogger(__name__)
_logged: TTLCache[tuple[str, str], None] = TTLCache(1_000, 600.0)  # refusals in the log: one in ten minutes is enough
_lock = threading.Lock()  # of the above
_limiter = strategies.FixedWindowRateLimiter(storage.MemoryStorage())


def reset() -> None:
    """Forget every count."""
    _limiter.storage.reset()
    _logged.clear()


def check(limit: Limit, address: str, visitor: str = "", is_counted: bool = True) -> None:
    """Count one action, or ask whether one more is allowed (`is_counted`). Raises TooManyRequests above the limit."""
    is_allowed = _limiter.hit if is_counted else _limiter.test
    counted = [
        (limit.per_visitor, f"visitor {visitor}", "from one browser"),
        (limit.per_address, f"address {address}", "from one address"),
        (limit.overall, "overall", "from all addresses together"),
    ]
    for item, who, source in counted:
        if item and (visitor or item is not limit.per_visitor) and not is_allowed(item, limit.action, who):
            seconds = max(1, math.ceil(_limiter.get_window_stats(item, limit.action, who).reset_time - time.time()))
            period = format_duration(item.get_expiry())
            with _lock:
                if is_new := (limit.action, who) not in _logged:
                    _logged[limit.action, who] = None
            if is_new:
                log.warning("more than %d %s %s (%s) within %s", item.amount, limit.action, source, address, period)
            metrics.REFUSALS.labels(limit.action).inc()
            raise TooManyRequests(
                f"This server accepts at most {item.amount:,} {limit.action} {source} within {period}. "
                f"Try again in {format_duration(seconds)}.",
                seconds,
            )
