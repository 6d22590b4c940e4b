"""The growth experiment: its sizes, its learning rates, and the included results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.growth import SEARCHED_RATES, search_configs
from explorer.catalogue import models_of
from explorer.experiments.growth import LEARNING_RATES, SIZES, growth_config, growth_configs, included_result
from explorer.training.config import key

NETWORKS = [model for model in SIZES if model != "ngram"]


def test_every_language_model_grows_in_size_and_text() -> None:
    assert set(SIZES) == set(models_of("text"))
    configs = growth_configs()
    assert len({key(config) for config in configs.values()}) == len(configs) == 16 * len(SIZES)
    assert len({config.steps * config.batch_size for cell, config in configs.items() if cell.model != "ngram"}) == 1


@pytest.mark.parametrize("model", NETWORKS)
def test_each_learning_rate_is_the_best_of_the_search_with_other_seeds(model: str) -> None:
    for size, rate in enumerate(LEARNING_RATES[model]):
        searched = search_configs(model, size)
        losses = {}
        for each, config in searched.items():
            assert not set(config.seeds) & set(growth_config(model, size, 1.0).seeds)
            assert config.task.test > 0, "the search must not see all of the held-out text"  # type: ignore[union-attr]
            found = included_result(config)
            assert found, f"python -m benchmarks.growth --search --missing --model {model}"
            losses[each] = np.mean(found.losses)
        assert tuple(losses) == SEARCHED_RATES
        assert min(losses, key=losses.__getitem__) == rate, (size, losses)


@pytest.mark.parametrize("model", SIZES)
def test_every_run_on_tiny_shakespeare_has_an_included_result(model: str) -> None:
    sizes: dict[int, set[int]] = {}
    for cell, config in growth_configs().items():
        if cell.model == model:
            result = included_result(config)
            assert result, f"python -m benchmarks.growth --missing --model {model}"
            assert len(result.losses) == config.replicas and np.isfinite(result.losses).all()
            sizes.setdefault(cell.size, set()).add(result.parameters)
    if model != "ngram":
        smallest, second, third, largest = (sizes[size].pop() for size in range(4))
        for count, wanted in ((smallest, 920), (second, 2_600), (third, 8_300), (largest, 29_000)):
            assert count == pytest.approx(wanted, rel=0.06)
