"""Short forms of `benchmarks.hostile` and `benchmarks.soak`, which make the same attacks at full length."""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from benchmarks import soak
from benchmarks.attacks import archives
from benchmarks.attacks.addresses import make_page_address
from benchmarks.load.server_state import ServerState
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.page_states import STATES
from explorer.ui.state.url_codec import read, write


def test_hostile_addresses_give_a_state_that_can_be_written() -> None:
    kinds: dict[str, type[Any]] = {}
    for page, path in STATES.items():
        module, name = path.split(":")
        kinds[page] = getattr(import_module(module), name)
    opened = 0
    for number in range(150):
        page, query = make_page_address(random.Random(number))
        if page not in kinds:
            continue
        state, _ = read(kinds[page], dict(parse_qsl(query, keep_blank_values=True, errors="replace")))
        if isinstance(state, VariantComparison):
            state, _ = state.open_run()
        assert all(isinstance(text, str) for text in write(state).values())
        opened += 1
    assert opened > 80


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
@pytest.mark.parametrize("mutation", archives.MUTATIONS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_archives_are_refused_with_a_sentence(mutation: archives.Mutation, home: Path) -> None:
    outcome = archives.Outcome()
    for base in ("negation-single-rnn", "recall-10-lstm-chrono"):
        files = dict(archives.valid_files(base))
        archives.import_one(base, mutation(files, random.Random(f"{mutation.__name__} {base}")), outcome)
    assert outcome.problems == [] and outcome.counts.total() == 2
    assert not list(home.glob(".importing-*"))


def test_growth_is_told_from_memory_that_rises_and_falls() -> None:
    def states(megabytes: list[float]) -> list[ServerState]:
        return [ServerState(each, each, 100, 20, 1, 0) for each in megabytes]

    assert soak.describe_growth(states([100.0, 600.0] + [700.0, 720.0] * 10))[0]
    assert not soak.describe_growth(states([500.0 + 5 * i for i in range(30)]))[0]
