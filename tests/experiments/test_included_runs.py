from __future__ import annotations

import json

from benchmarks.learning_rates import searched_rates
from explorer.experiments import sequence_shapes
from explorer.experiments.labelling import shipped_configs as labelling_configs
from explorer.experiments.learning_rates import RATES, RateResult, RateSearch
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import store
from explorer.training.config import parse_config


def test_every_included_run_has_the_configuration_of_its_experiment() -> None:
    configs = shipped_configs()
    assert {**sequence_shapes.shipped_configs(), **labelling_configs()}.items() <= configs.items()
    for name, config in configs.items():
        assert parse_config(json.loads((store.PRETRAINED / name / "config.json").read_text("utf-8"))) == config, name


def test_the_best_rate_is_one_that_every_model_was_given() -> None:
    assert (
        searched_rates("text", 0.02) == (0.001, 0.003, 0.01, 0.02, 0.03, 0.1) and searched_rates("text", 0.01) == RATES
    )
    results = {0.02: RateResult((1.0, 1.0), (0.9, 0.7)), 0.01: RateResult((2.0, 4.0), (0.5, 1.0))}
    search = RateSearch(0.02, {**results, 0.1: RateResult((5.0, 1.5), (0.0, 0.0))})
    assert (search.best, search.is_at_edge, results[0.01].mean_loss) == (0.01, False, 3.0)
    assert abs(search.accuracy_lost - (0.75 - 0.8)) < 1e-12
    assert RateSearch(0.02, {0.1: results[0.01]}).is_at_edge
