from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.errors import UnknownRun
from explorer.training import store
from explorer.training.config import changed, key
from explorer.training.jobs import service
from explorer.training.recorder import record_run
from explorer.ui.known import config_of
from tests.training.alike import short


@pytest.fixture(autouse=True)
def no_jobs_left(home: object) -> Iterator[None]:
    yield
    service.close()
    service._jobs.clear()


def test_a_run_is_known_by_its_key_whether_it_ships_is_kept_or_was_stopped() -> None:
    shipped, kept = store.find("negation-half-gru"), short()
    assert config_of(shipped.key) == config_of("negation-half-gru") == shipped.config
    store.save_run(record_run(kept), store.place_of(kept))
    assert config_of(key(kept)) == kept


def test_a_training_under_way_is_known_before_anything_of_it_is_kept() -> None:
    config = changed(short(), {"epochs": 2_000})
    service.submit(config, "ada")
    assert config_of(key(config)) == config
    service.stop(key(config), "ada")


@pytest.mark.parametrize("name", ["abcdefghijkl", "../runs", "", "x" * 500])
def test_an_unknown_run_is_answered_with_what_to_do(name: str) -> None:
    with pytest.raises(UnknownRun, match=r"is not on this machine.* Import its zip .*, or train its settings again\."):
        config_of(name)
