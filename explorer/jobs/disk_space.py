"""Room on the disk that is kept for the result of a training from its start, so that it can be written at its end.

The room is a file without content in the folder of the job, whose space the file system has reserved.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from explorer.errors import StoreError
from explorer.jobs import cost
from explorer.number_format import format_bytes
from explorer.run_store import store
from explorer.training.config import RunConfig

log = logging.getLogger(__name__)
_FILE = "reserved"


def reserve(folder: Path, config: RunConfig) -> None:
    """Reserve the space for the run of a configuration, if it can be. Raises StoreError if the disk is full."""
    release(folder)
    size = _expected_bytes(config) - (store.folder_size(folder) if folder.is_dir() else 0)
    if size <= 0 or not hasattr(os, "posix_fallocate"):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _FILE).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        release(folder)
        if store.is_disk_full(error):
            raise StoreError(
                f"The training was not started, because its result needs {format_bytes(size)} and "
                f"{store.describe_disk_error(error)}"
            ) from error
        log.warning("no room is kept in %s: %s", folder, error)


def release(folder: Path) -> None:
    """Give the reserved space back."""
    with contextlib.suppress(OSError):
        (folder / _FILE).unlink(missing_ok=True)


@contextlib.contextmanager
def use_reserved(folder: Path, config: RunConfig | None = None) -> Iterator[None]:
    """Give the reserved space back for what is written in this context; reserve the rest again for a configuration."""
    release(folder)
    yield
    if config:
        with contextlib.suppress(StoreError):  # the next attempt to write says it
            reserve(folder, config)


def _expected_bytes(config: RunConfig) -> int:
    weights = 4 * cost.estimate_cost(config).parameters * config.replicas
    curves = 16 * (config.steps - config.first_step) * (1 + config.replicas)
    return 4 * weights * (len(config.snapshot_steps) + 1) + curves + 100_000
