"""A small stored run for the tests of the Runs page and its parts."""

from __future__ import annotations

from explorer.run_store import store
from explorer.training.config import RunConfig
from explorer.training.recorder import record_run
from tests.export.alike import short_config

SMALL: dict[str, object] = {"epochs": 1, "train_size": 8, "test_size": 8}


def save_small_run(owner: str = "ada", model: str = "bag_of_words", **changes: object) -> str:
    """Train and store a tiny run; return its key."""
    config: RunConfig = short_config(model, **{**SMALL, **changes})
    return store.save_run(record_run(config), store.run_folder(config), owner).key
