from __future__ import annotations

import pytest

from explorer.experiments.pretraining import shipped_configs as shipped
from explorer.experiments.sequence_shapes import shipped_configs
from explorer.run_store import store


@pytest.mark.parametrize("name", shipped_configs())
def test_every_configuration_of_the_page_ships(name: str) -> None:
    assert shipped()[name] == shipped_configs()[name]
    assert store.find(name).config == shipped_configs()[name]


def test_the_shipped_word_sense_tagger_is_better_than_chance() -> None:
    right = store.find("gloss-gru").card.metrics["sense"].values
    assert len(right) == 5 and all(value is not None and value > 0.55 for value in right)
