from __future__ import annotations

import pytest

from explorer.training import store
from explorer.training.pretraining import recipes as shipped
from explorer.training.shapes_runs import recipes


@pytest.mark.parametrize("name", recipes())
def test_every_run_of_the_page_ships_as_its_recipe_says(name: str) -> None:
    assert shipped()[name] == recipes()[name]
    assert store.find(name).config == recipes()[name]


def test_the_tagger_of_senses_has_learned_something_of_them() -> None:
    right = store.find("gloss-gru").card.metrics["sense"].values
    assert len(right) == 5 and all(value is not None and value > 0.55 for value in right)
