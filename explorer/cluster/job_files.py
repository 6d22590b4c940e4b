"""The files of the trainings of a cluster: they lie with the runs, where each of its machines finds them."""

from __future__ import annotations

from pathlib import Path

from explorer.environment import environment


def jobs_folder() -> Path:
    """Return the folder that has a folder for each job."""
    settings = environment()
    root = Path(settings.run_storage) if settings.run_storage else settings.home / "cluster"
    return root / "jobs"


class JobFiles:
    """The folder of one job."""

    def __init__(self, run_key: str) -> None:
        self.folder = jobs_folder() / run_key

    def load(self) -> None: ...

    def save(self) -> None: ...

    def delete(self) -> None: ...
