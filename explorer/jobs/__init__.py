"""Trainings in the background: the scheduler of all visitors' jobs, their limits, and what they cost.

Start at `scheduler.py` (the job service) and `job.py` (one job and its states).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.jobs.job import JobView as JobView
    from explorer.jobs.scheduler import JobService as JobService
    from explorer.jobs.scheduler import service as service
    from explorer.jobs.time_budget import fit_to_seconds as fit_to_seconds
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
