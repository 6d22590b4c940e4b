"""Any run by its key, wherever it is: kept, shipped, stopped, or being trained right now."""

from __future__ import annotations

from explorer.errors import UnknownRun, shortened
from explorer.training import store
from explorer.training.config import RunConfig
from explorer.training.jobs import service
from explorer.ui.visitors import visitor


def config_of(name: str) -> RunConfig:
    """The configuration of a run that this visitor may see. Raises UnknownRun or DamagedRun."""
    try:
        return store.find(name).config
    except UnknownRun:
        job = service.find(name, visitor().id)
        if job is None:
            raise UnknownRun(
                f"Run “{shortened(name)}” is not on this machine: it was deleted, or trained elsewhere. Import its zip "
                "on the Runs page, or train its settings again."
            ) from None
        return job.view().config
