"""The settings of an installation: folders, database, limits for visitors.

They are read from environment variables `LINEAGE_…`; an impossible value raises InvalidSetting.
"""

from __future__ import annotations

import ipaddress
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
import psutil
import pydantic
import pydantic_settings

from explorer.errors import InvalidSetting, shorten

_PREFIX = "LINEAGE_"
# Settings whose values are never shown in a message:
_SECRET_NAMES = (
    "LINEAGE_SECRET",
    "LINEAGE_OPERATOR_PASSWORD",
    "LINEAGE_DATABASE_URL",
    "LINEAGE_RUNS",
    "LINEAGE_METRICS_TOKEN",
)
# Settings that vanished, each with the sentence that the server logs if it is still set:
_VANISHED = {"LINEAGE_MOST_COPIES": "servers no longer keep copies of the runs in LINEAGE_RUNS."}
_EXECUTOR = re.compile(r"here|processes|ray(://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?)?")
_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]{1,2})?|mps")


def split_list(text: str) -> list[str]:
    """Return the entries of a comma-separated setting."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _check_networks(text: str) -> str:
    for entry in split_list(text):
        ipaddress.ip_network(entry, strict=False)  # raises ValueError with a sentence
    return text


def _entries_match(pattern: str, problem: str) -> pydantic.AfterValidator:
    """Return the check of a list whose entries all have a form; `problem` ends the sentence about another one."""

    def check(text: str) -> str:
        for entry in split_list(text):
            if not re.fullmatch(pattern, entry, re.ASCII):
                raise ValueError(f"{shorten(entry)} {problem}")
        return text

    return pydantic.AfterValidator(check)


_ORIGINS = _entries_match(r"https?://(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?", "is no origin such as https://example.org")
_MODELS = _entries_match(
    r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?(@[A-Za-z0-9][\w.-]{0,99})?",
    "is no model such as gpt2, OWNER/NAME or OWNER/NAME@REVISION",
)


def check_executor(text: str) -> str:
    if not _EXECUTOR.fullmatch(text):
        raise ValueError("possible are here, processes, ray and ray://HOST:PORT")
    return text


def _check_device(text: str) -> str:
    if not _DEVICE.fullmatch(text):
        raise ValueError("possible are cpu, cuda, cuda:N, mps and auto")
    return text


def _check_secret(text: str) -> str:
    if 0 < len(text) < 16:
        raise ValueError("a secret has at least 16 characters")
    return text


class Environment(pydantic_settings.BaseSettings):
    """Every setting is an environment variable: `most_steps` is LINEAGE_MOST_STEPS."""

    model_config = pydantic_settings.SettingsConfigDict(env_prefix=_PREFIX, frozen=True, extra="ignore")

    home: Path = Path(platformdirs.user_data_dir("lineage", appauthor=False))  # runs, unfinished jobs, the index
    data_dir: Path | None = None  # training texts (tinyshakespeare.txt); searched before the cache
    cache: Path = Path(platformdirs.user_cache_dir("lineage", appauthor=False))  # downloads and token arrays
    database_url: str = ""  # of the index of runs; empty: a SQLite file in `home`
    run_storage: Annotated[str, pydantic.Field(validation_alias=f"{_PREFIX}RUNS")] = ""  # see run_store/storage.py
    operator_password: str = ""  # permits stopping and deleting everything; empty: no operator in the browser

    # What the operator watches, see docs/server.md.
    metrics_token: Annotated[str, pydantic.AfterValidator(_check_secret)] = ""  # permits reading /metrics
    log: Literal["text", "json"] = "text"  # format of the server's log

    # The server on the internet, see docs/server.md.
    secret: Annotated[str, pydantic.AfterValidator(_check_secret)] = ""  # signs cookies; empty: a file in `home`
    trusted_proxies: Annotated[str, pydantic.AfterValidator(_check_networks)] = ""  # addresses or networks
    origins: Annotated[str, _ORIGINS] = ""  # further ones of which pages may connect
    frame_ancestors: Annotated[str, _ORIGINS] = ""  # pages that may show ours in a frame

    # Limits of one training.
    most_steps: Annotated[int, pydantic.Field(ge=1)] = 50_000
    most_draws: Annotated[int, pydantic.Field(ge=1)] = 5_000_000  # training examples in total; their order is in memory
    most_width: Annotated[int, pydantic.Field(ge=1)] = 1_024  # of any layer
    most_layers: Annotated[int, pydantic.Field(ge=1)] = 24
    most_batch: Annotated[int, pydantic.Field(ge=1)] = 2_048
    most_tokens: Annotated[int, pydantic.Field(ge=1)] = 65_536  # of text per batch: rows times context
    most_length: Annotated[int, pydantic.Field(ge=1)] = 1_000  # symbols in a sequence to recall
    most_replicas: Annotated[int, pydantic.Field(ge=1)] = 32
    most_memory: Annotated[int, pydantic.Field(ge=1)] = 4_000_000_000  # bytes that one training may need
    most_seconds: Annotated[float, pydantic.Field(gt=0)] = 3_600.0  # of one training, if nothing else runs
    most_step_seconds: Annotated[float, pydantic.Field(gt=0)] = 0.5  # of one step; only if trainings run in the server
    most_text: Annotated[int, pydantic.Field(ge=1)] = 2_000  # characters of typed text: a sentence, a name, a note

    most_corpus: Annotated[int, pydantic.Field(ge=1)] = 5_000_000  # bytes of a visitor's own training text

    # The job service.
    executor: Annotated[str, pydantic.AfterValidator(check_executor)] = "here"  # where trainings run: in the server
    # (here), in processes of their own (processes), or in a Ray cluster (ray, ray://HOST:PORT)
    device: Annotated[str, pydantic.AfterValidator(_check_device)] = "cpu"  # on which they compute; auto: a GPU if any
    jobs_memory: Annotated[int, pydantic.Field(ge=1)] | None = None  # bytes of all running trainings; None: half of all
    jobs_at_once: Annotated[int, pydantic.Field(ge=1)] = 12  # trained in turns; others wait
    most_jobs: Annotated[int, pydantic.Field(ge=1)] = 40  # waiting and running, for each visitor
    most_trials: Annotated[int, pydantic.Field(ge=1)] = 500  # settings that one sweep compares
    grace_seconds: Annotated[float, pydantic.Field(ge=0)] = 60.0  # until an abandoned training is paused for others
    checkpoint_seconds: Annotated[float, pydantic.Field(ge=0)] = 5.0  # between two checkpoints on disk

    # The store.
    most_disk: Annotated[int, pydantic.Field(ge=1)] = 2_000_000_000  # bytes of all stored runs
    most_upload: Annotated[int, pydantic.Field(ge=1)] = 50_000_000  # bytes of an imported run, unpacked

    # Real pretrained models, see docs/real-models.md.
    models: Annotated[str, _MODELS] = (  # that may be downloaded: NAME or NAME@REVISION
        "gpt2, distilgpt2, pythia-14m, pythia-70m, pythia-160m, smollm2-135m, bert-base-uncased, "
        "distilbert-base-uncased, all-minilm-l6-v2, t5-small, opus-mt-en-de"
    )
    models_memory: Annotated[int, pydantic.Field(ge=1)] = 2_000_000_000  # bytes of all loaded weights, in 32 bits

    @property
    def memory_of_jobs(self) -> int:
        """Bytes that all running trainings may need together."""
        return self.jobs_memory or psutil.virtual_memory().total // 2

    @property
    def memory_of_one_job(self) -> int:
        """Bytes that one training may need."""
        return min(self.most_memory, self.memory_of_jobs)

    @property
    def shared_folder(self) -> Path | None:
        """The folder that `run_storage` names; None if it names none, or object storage."""
        folder = self.run_storage.removeprefix("file://")
        return Path(folder) if folder and "://" not in folder else None

    @property
    def runs(self) -> Path:
        """The folder of the stored runs; with object storage, of those that are not there yet."""
        return (self.shared_folder or self.home) / "runs"

    @property
    def jobs(self) -> Path:
        """The folder of the checkpoints of unfinished trainings."""
        return self.home / "jobs"

    @property
    def opened_models(self) -> Path:
        """The folder of the cards of opened real models."""
        return self.home / "models"

    @property
    def downloaded_models(self) -> Path:
        """The folder of downloaded real models."""
        return self.cache / "models"

    @property
    def trash(self) -> Path:
        """The folder of deleted runs that can still be restored."""
        return (self.shared_folder or self.home) / "trash"


def vanished_settings() -> list[str]:
    """Return a sentence for each variable that is set and has no effect any more."""
    return [f"{name} has no effect any more: {why} Unset it." for name, why in _VANISHED.items() if name in os.environ]


def environment() -> Environment:
    """Return the current settings. Raises InvalidSetting."""
    # This runs several times per request: only our own variables are read, because reading one takes a microsecond.
    return _read_settings(tuple(sorted((name, os.environ[name]) for name in os.environ if name.startswith(_PREFIX))))


@lru_cache(maxsize=8)
def _read_settings(variables: tuple[tuple[str, str], ...]) -> Environment:
    try:
        return Environment()
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = _PREFIX + str(first["loc"][0]).upper().removeprefix(_PREFIX)
        given = "…" if name in _SECRET_NAMES else shorten(dict(variables).get(name, ""))
        raise InvalidSetting(f"{name} = {given} is not possible: {first['msg'].lower()}. Change or unset it.") from None
