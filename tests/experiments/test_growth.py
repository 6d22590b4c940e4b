"""The growth experiment: its sizes, its learning rates, and the included results."""

from __future__ import annotations

import json

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.experiments.growth import (
    CORPORA,
    FILE,
    LEARNING_RATES,
    SEARCHED_RATES,
    SHARES,
    SIZES,
    growth_config,
    growth_configs,
    included_result,
    search_configs,
)
from explorer.training.config import key
from explorer.training.recorder import record_run
from tests import needs

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


def test_the_file_has_no_other_runs_and_is_small() -> None:
    known = {key(config) for corpus in CORPORA for config in growth_configs(corpus).values()}
    known |= {key(config) for model in NETWORKS for size in range(4) for config in search_configs(model, size).values()}
    assert set(json.loads(FILE.read_text("utf-8"))["runs"]) <= known
    assert FILE.stat().st_size < 100_000


@needs.tiny_shakespeare
@pytest.mark.parametrize(("model", "size", "share"), [("ngram", 0, 1.0), ("gru", 0, SHARES[0])])
def test_an_included_result_is_that_of_its_run(model: str, size: int, share: float) -> None:
    config = growth_config(model, size, share)
    record, included = record_run(config), included_result(config)
    assert included and record.parameters == included.parameters
    np.testing.assert_allclose(record.curves.last("val_loss"), included.losses, rtol=2e-3)
    np.testing.assert_allclose(record.curves.last("train_loss"), included.training_losses, rtol=2e-3)
