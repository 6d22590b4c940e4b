"""The objective of memorizing a string; without its state a model cannot fall below the loss of counting."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.generation.generate import generate_ids
from explorer.generation.sampling import Sampling
from explorer.inspection.load_model import load_model
from explorer.tasks.string import StringConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.objectives.string import string_generator
from explorer.training.record import Record
from explorer.training.recorder import record_run

MODELS = models_of("string")


def short(model: str = "rnn", **changes: Any) -> RunConfig:
    return with_settings(default_config("string", model), changes)


@cache
def recorded(config: RunConfig) -> Record:
    return record_run(config)


def test_curves_record_losses_tokens_and_samples() -> None:
    record = recorded(short(replicas=3, iterations=20))
    curves = record.curves
    assert curves.evaluated.tolist() == [*range(0, 21, 2)]
    evaluated_steps = curves.evaluated[curves.evaluated < 20]
    np.testing.assert_allclose(
        curves.metrics["loss"][: len(evaluated_steps)], curves.losses[evaluated_steps], atol=1e-6
    )
    assert curves.tokens[-1] == 20 * 14
    assert {text for samples in curves.samples[:-1] for text in samples} == {""}
    assert [len(text) for text in curves.samples[-1]] == [200] * 3


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_generated_text_equals_that_of_the_general_generator(model: str, recurrent: bool) -> None:
    record = recorded(short(model, recurrent=recurrent, replicas=2, iterations=20))
    task = record.config.task_as(StringConfig)
    prompt = torch.tensor(task.ids[:1])
    for seed, text in enumerate(record.curves.samples[-1]):
        text_generator = string_generator(load_model(record).single_replica(seed))
        ids = generate_ids(text_generator, prompt, 200, Sampling(seed=seed))[0].tolist()
        assert "".join(task.vocabulary[id] for id in ids) == text


def test_one_character_repeated_has_nothing_to_learn() -> None:
    curves = recorded(short(text="aaaa", iterations=3)).curves
    assert (curves.losses == 0).all()
    assert curves.samples[-1] == ("a" * 200,)
