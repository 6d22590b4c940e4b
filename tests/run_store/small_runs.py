"""Small runs that differ in their seed only, stored as the job service does."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

from explorer.environment import environment
from explorer.run_store import operations, store
from explorer.run_store.index import Query, search
from explorer.run_store.store import StoredRun
from explorer.training.config import default_config, key, with_settings
from explorer.training.record import Record
from explorer.training.recorder import record_run

TINY = {"epochs": 1, "train_size": 20, "test_size": 10, "replicas": 2}


@cache
def record(model: str = "bag_of_words") -> Record:
    return record_run(with_settings(default_config("negation", model), TINY))


def record_of_seed(seed: int, model: str = "bag_of_words") -> Record:
    return dataclasses.replace(record(model), config=with_settings(record(model).config, {"seed": seed}))


def key_of(seed: int) -> str:
    return key(record_of_seed(seed).config)


def edit_card(folder: Path, **card: Any) -> None:
    (folder / "card.json").write_text(json.dumps(json.loads((folder / "card.json").read_text()) | card))


def write_finished_job(seed: int = 0, owner: str = "ada", **changes: Any) -> Path:
    """Write the folder of a finished job; the creation date increases with the seed."""
    folder = environment().jobs / key_of(seed)
    store.write_run(dataclasses.replace(record_of_seed(seed), **changes), folder, owner)
    return folder


def store_run(seed: int = 0, owner: str = "ada", **card: Any) -> StoredRun:
    folder = write_finished_job(seed, owner)
    edit_card(folder, **{"created": f"2026-03-{seed + 1:02}T12:00:00+00:00"} | card)
    return operations.add_run(folder)


def indexed_keys() -> list[str]:
    return sorted(entry.key for entry in search(Query(shipped=False)))


def stored_keys() -> list[str]:
    return sorted(folder.name for folder in environment().runs.glob("[!.]*"))


def bytes_of(weights: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in weights.items()}
