"""The jobs that this process remembers, and which visitors have a page open here."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from explorer.environment import environment
from explorer.jobs.job import Job

_MOST_REMEMBERED = 200  # jobs whose views are kept; their runs are on disk


class RememberedJobs:
    """The jobs by their key, the newest last. Every method may be called from any thread."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held between looking for a job and remembering a new one
        self.version = 0  # number of jobs remembered so far; the jobs panel uses it to notice new ones
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._open_tabs: Counter[str] = Counter()  # open browser tabs of each visitor
        self._tab_closed_at: dict[str, float] = {}  # when a visitor's last tab closed
        self._started_at = time.monotonic()

    def find(self, run_key: str) -> Job | None:
        """Return the newest job of this key."""
        return self._jobs.get(run_key)

    def all(self) -> list[Job]:
        """Return all jobs, the oldest first."""
        with self.lock:
            return list(self._jobs.values())

    def remember(self, job: Job) -> None:
        """Remember a job in place of an earlier one of its key; forget the oldest of those that have ended."""
        with self.lock:
            self.version += 1
            self._jobs[job.key] = job
            self._jobs.move_to_end(job.key)
            for other in list(self._jobs.values())[: max(len(self._jobs) - _MOST_REMEMBERED, 0)]:
                if other.view().done and not other.unstored:
                    del self._jobs[other.key]

    def forget(self, is_forgotten: Callable[[Job], bool] = lambda job: True) -> None:
        """Forget some jobs, by default all."""
        with self.lock:
            for job in list(self._jobs.values()):
                if is_forgotten(job):
                    del self._jobs[job.key]

    def tab_opened(self, visitor: str) -> None:
        """Count an opened browser tab of a visitor."""
        with self.lock:
            self._open_tabs[visitor] += 1

    def tab_closed(self, visitor: str) -> None:
        """Count a closed tab, or one whose connection is lost; it may come back."""
        with self.lock:
            self._open_tabs[visitor] -= 1
            if self._open_tabs[visitor] <= 0:
                del self._open_tabs[visitor]
                self._tab_closed_at[visitor] = time.monotonic()

    def count_presence(self) -> tuple[int, int]:
        """Return how many browsers have a tab open, and how many tabs are open."""
        with self.lock:
            return len(self._open_tabs), self._open_tabs.total()

    def is_shown(self, job: Job) -> bool:
        """Return whether one of the visitors of a job has a tab open here."""
        return any(self._open_tabs[visitor] for visitor in list(job.requesters | job.watchers))

    def is_abandoned(self, job: Job) -> bool:
        """Return whether all visitors of a job have had no tab open for a while. The terminal ("") never leaves."""
        past = time.monotonic() - environment().grace_seconds
        return not self.is_shown(job) and all(
            visitor and self._tab_closed_at.get(visitor, self._started_at) < past
            for visitor in list(job.requesters | job.watchers)
        )
