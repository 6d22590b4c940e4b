"""Let only a few pages of a server be drawn at the same time.

All page runs share Python's interpreter lock with the event loop that sends what they draw. When the pages of a large
class follow their teacher at once, a hundred runs leave the event loop no time, so that nobody sees anything before all
runs have ended, and switching between them costs a third of the processor time. One after the other they are faster.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_AT_ONCE = 2  # one may wait for the database or a file while the other is computed
_LONGEST_WAIT = 2.0  # seconds after which a run goes ahead: no run may hold up others for longer
_turns = threading.BoundedSemaphore(_AT_ONCE)


@contextmanager
def page_turn() -> Iterator[None]:
    """Wait until fewer than two pages of this server are drawn, at most two seconds, and draw in the block.

    What a page redraws alone (a fragment) waits for no turn, so that a typed sentence is answered in the meantime.
    """
    has_turn = _turns.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if has_turn:
            _turns.release()
