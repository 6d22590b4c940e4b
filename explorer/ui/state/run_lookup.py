"""Find a run by its key: stored, included, stopped or being trained."""

from __future__ import annotations

from explorer.errors import UnknownRun, shorten
from explorer.jobs.service import service
from explorer.run_store import store
from explorer.training.config import RunConfig


def find_config(name: str, visitor_id: str = "") -> RunConfig:
    """Return the configuration of a run that this visitor may see; without an id, of a public run.

    Raises UnknownRun or DamagedRun.
    """
    try:
        return store.find(name).config
    except UnknownRun:
        job = service.find(name, visitor_id)
        if job is None:
            raise UnknownRun(
                f"Run “{shorten(name)}” is not on this machine: it was deleted, or trained elsewhere. Import its zip "
                "on the Runs page, or train its settings again."
            ) from None
        return job.view().config
