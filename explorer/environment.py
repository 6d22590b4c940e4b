"""What whoever runs the program decides about it: folders, the database, ceilings for visitors.

Read from environment variables `LINEAGE_…`; a value that is not possible is said in one sentence.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import platformdirs
import pydantic
import pydantic_settings

from explorer.errors import InvalidSetting, shortened

_PREFIX = "LINEAGE_"


class Environment(pydantic_settings.BaseSettings):
    """Every setting is an environment variable: `most_steps` is LINEAGE_MOST_STEPS."""

    model_config = pydantic_settings.SettingsConfigDict(env_prefix=_PREFIX, frozen=True, extra="ignore")

    home: Path = Path(platformdirs.user_data_dir("lineage", appauthor=False))  # runs, jobs under way, the index
    data_dir: Path | None = None  # texts to learn from (tinyshakespeare.txt); looked at before the cache
    cache: Path = Path(platformdirs.user_cache_dir("lineage", appauthor=False))  # downloads, token arrays; made anew
    database_url: str = ""  # of the index over the runs; empty: a SQLite file in `home`
    operator_password: str = ""  # whoever knows it may stop and delete everything; empty: nobody in the browser

    # Ceilings of one training that a visitor may ask for.
    most_steps: Annotated[int, pydantic.Field(ge=1)] = 50_000
    most_draws: Annotated[int, pydantic.Field(ge=1)] = (
        5_000_000  # sentences seen; their order is drawn at once, in memory
    )
    most_width: Annotated[int, pydantic.Field(ge=1)] = 1_024  # of any layer
    most_layers: Annotated[int, pydantic.Field(ge=1)] = 24
    most_batch: Annotated[int, pydantic.Field(ge=1)] = 2_048
    most_tokens: Annotated[int, pydantic.Field(ge=1)] = 65_536  # of text in a batch: rows times context
    most_length: Annotated[int, pydantic.Field(ge=1)] = 1_000  # symbols in a sequence to recall
    most_replicas: Annotated[int, pydantic.Field(ge=1)] = 32
    most_text: Annotated[int, pydantic.Field(ge=1)] = (
        2_000  # characters of what a visitor types: a sentence, a name, a note
    )

    most_corpus: Annotated[int, pydantic.Field(ge=1)] = 5_000_000  # bytes of a visitor's own text to learn from

    # The job service.
    jobs_at_once: Annotated[int, pydantic.Field(ge=1)] = 12  # they take turns; more wait
    most_jobs: Annotated[int, pydantic.Field(ge=1)] = 40  # that one visitor may have waiting and running
    grace_seconds: Annotated[float, pydantic.Field(ge=0)] = (
        60.0  # before a training nobody waits for gives up its place
    )
    checkpoint_seconds: Annotated[float, pydantic.Field(ge=0)] = 5.0  # between two checkpoints on disk

    # The store.
    most_disk: Annotated[int, pydantic.Field(ge=1)] = 2_000_000_000  # bytes of all kept runs
    most_upload: Annotated[int, pydantic.Field(ge=1)] = 50_000_000  # bytes of an imported run, unpacked

    @property
    def runs(self) -> Path:
        """Where this machine keeps its own runs."""
        return self.home / "runs"

    @property
    def jobs(self) -> Path:
        """Where trainings under way leave their checkpoints."""
        return self.home / "jobs"

    @property
    def trash(self) -> Path:
        """Where deleted runs lie until they can no longer be asked back."""
        return self.home / "trash"


def environment() -> Environment:
    """The settings as they stand. Raises InvalidSetting."""
    return _read(tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(_PREFIX))))


@lru_cache(maxsize=8)
def _read(variables: tuple[tuple[str, str], ...]) -> Environment:
    try:
        return Environment()
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = _PREFIX + str(first["loc"][0]).upper()
        given = shortened(dict(variables).get(name, ""))
        raise InvalidSetting(f"{name} = {given} is not possible: {first['msg'].lower()}. Change or unset it.") from None
