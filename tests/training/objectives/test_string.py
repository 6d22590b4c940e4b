"""The objective of memorizing a string; without its state a model cannot fall below the loss of counting."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.generation.generate import generate_ids
from explorer.generation.sampling import Sampling
from explorer.inspection.evaluate import evaluate
from explorer.inspection.load_model import load_model
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive.read import unpack
from explorer.run_store.archive.write import pack
from explorer.tasks.string import StringConfig, find_errors
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.objectives.string import string_generator
from explorer.training.record import Record
from explorer.training.recorder import record_run
from tests.terminal import RunCommand

MODELS = models_of("string")


def short(model: str = "rnn", **changes: Any) -> RunConfig:
    return with_settings(default_config("string", model), changes)


@cache
def recorded(config: RunConfig) -> Record:
    return record_run(config)


def test_curves_record_losses_tokens_and_samples() -> None:
    record = recorded(short(replicas=3))
    curves = record.curves
    assert curves.evaluated.tolist() == [*range(0, 201, 2)]
    evaluated_steps = curves.evaluated[curves.evaluated < 200]
    np.testing.assert_allclose(
        curves.metrics["loss"][: len(evaluated_steps)], curves.losses[evaluated_steps], atol=1e-6
    )
    assert curves.tokens[-1] == 200 * 14
    assert {text for samples in curves.samples[:-1] for text in samples} == {""}
    assert [len(text) for text in curves.samples[-1]] == [200] * 3


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_generated_text_equals_that_of_the_general_generator(model: str, recurrent: bool) -> None:
    record = recorded(short(model, recurrent=recurrent, replicas=3))
    task = record.config.task_as(StringConfig)
    prompt = torch.tensor(task.ids[:1])
    for seed, text in enumerate(record.curves.samples[-1]):
        text_generator = string_generator(load_model(record).single_replica(seed))
        ids = generate_ids(text_generator, prompt, 200, Sampling(seed=seed))[0].tolist()
        assert "".join(task.vocabulary[id] for id in ids) == text
    counts = [len(find_errors(task.text, text)) for text in record.curves.samples[-1]]
    assert max(counts) <= 3 if recurrent else min(counts) >= 10


def test_one_character_repeated_has_nothing_to_learn() -> None:
    curves = recorded(short(text="aaaa", iterations=3)).curves
    assert (curves.losses == 0).all()
    assert curves.samples[-1] == ("a" * 200,)


@pytest.mark.parametrize("recurrent", [True, False])
def test_a_run_survives_storage_and_packing_and_evaluates_the_same(tmp_path: Path, recurrent: bool) -> None:
    config = short("gru", text="<b>ü🙂</b>", recurrent=recurrent, replicas=2, iterations=12)
    run = store.save_run(recorded(config), tmp_path / "run")
    imported = store.load(unpack(pack(run), tmp_path / "again", "", limits.check))
    assert imported.config == config
    assert imported.curves.samples == run.curves.samples
    metrics = evaluate(imported)
    for name, metric in run.card.metrics.items():
        assert metrics[name].values == pytest.approx(metric.values, abs=1e-6)


@pytest.mark.parametrize(("recurrent", "most_errors"), [("true", 1), ("false", 30)])
def test_the_command_line_trains_evaluates_and_generates(
    ask: RunCommand, tmp_path: Path, recurrent: str, most_errors: int
) -> None:
    folder = str(tmp_path / "run")
    text = "hello hello "
    arguments = ["--set", f"text={text}", "--set", f"model.recurrent={recurrent}", "--out", folder]
    assert ask("train", "--task", "string", "--model", "rnn", *arguments)[0] == 0
    code, out, _ = ask("evaluate", folder)
    assert (code, out.splitlines()[-1]) == (0, "equal to its card")
    code, out, err = ask("generate", folder, "--prompt", "h", "--tokens", "50", "--json")
    (generated,) = json.loads(out)["texts"]
    assert (code, err, len(generated)) == (0, "", 50)
    assert (len(find_errors(text, generated)) <= 1) == (most_errors == 1)
    _, _, err = ask("generate", folder, "--prompt", "hx", "--tokens", "5")
    assert "Not in the vocabulary: 'x'" in err
