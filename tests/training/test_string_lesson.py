"""A string is learned like anything else; with the state cut it ends on the floor of counting, and not below."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.generation.sampling import Sampling
from explorer.generation.writing import write
from explorer.inspection.evaluating import evaluate
from explorer.inspection.opening import open_model
from explorer.tasks.strings import StringConfig, floor, slips
from explorer.training import store
from explorer.training.config import RunConfig, changed, default
from explorer.training.packing import pack
from explorer.training.record import Record
from explorer.training.recorder import record_run
from explorer.training.string_lesson import string_writer
from explorer.training.unpacking import unpack
from tests.terminal import Ask

MODELS = models_of("string")


def short(model: str = "rnn", **changes: Any) -> RunConfig:
    return changed(default("string", model), changes)


@cache
def recorded(config: RunConfig) -> Record:
    return record_run(config)


@pytest.mark.parametrize("model", MODELS)
def test_with_the_state_cut_it_ends_on_the_floor_and_never_below(model: str) -> None:
    cut = recorded(short(model, recurrent=False, replicas=3)).curves
    low = floor(StringConfig().text)
    assert (cut.metrics["loss"] >= low - 1e-6).all()
    assert (cut.losses >= low - 1e-6).all()
    assert (cut.last("loss") < low + 1e-2).all()
    assert cut.last("accuracy") == pytest.approx([11 / 14] * 3)  # after "a", one of two is a guess


@pytest.mark.parametrize("model", MODELS)
def test_with_its_state_it_learns_the_whole_string(model: str) -> None:
    kept = recorded(short(model, replicas=3)).curves
    assert (kept.last("loss") < 0.1 * floor(StringConfig().text)).all()
    assert (kept.last("accuracy") == 1).all()


def test_the_curves_tell_what_they_say() -> None:
    record = recorded(short(replicas=3))
    curves = record.curves
    assert curves.evaluated.tolist() == [*range(0, 201, 2)]
    at = curves.evaluated[curves.evaluated < 200]
    np.testing.assert_allclose(curves.metrics["loss"][: len(at)], curves.losses[at], atol=1e-6)
    assert curves.tokens[-1] == 200 * 14
    assert {text for each in curves.samples[:-1] for text in each} == {""}
    assert [len(text) for text in curves.samples[-1]] == [200] * 3


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_seeds_side_by_side_learn_and_write_as_alone(model: str, recurrent: bool) -> None:
    settings = {"recurrent": recurrent, "text": "aabbab", "iterations": 20}
    together = recorded(short(model, replicas=3, **settings))
    for seed in range(3):
        alone = record_run(short(model, seed=seed, **settings))
        np.testing.assert_allclose(together.curves.losses[:, seed], alone.curves.losses[:, 0], atol=1e-4)
        assert together.curves.samples[-1][seed] == alone.curves.samples[-1][0]


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_it_writes_as_any_language_model_of_its_weights(model: str, recurrent: bool) -> None:
    record = recorded(short(model, recurrent=recurrent, replicas=3))
    task = record.config.on(StringConfig)
    prompt = torch.tensor(task.ids[:1])
    for seed, text in enumerate(record.curves.samples[-1]):
        writer = string_writer(open_model(record).alone(seed))
        ids = write(writer, prompt, 200, Sampling(seed=seed))[0].tolist()
        assert "".join(task.vocabulary[id] for id in ids) == text
    counts = [len(slips(task.text, text)) for text in record.curves.samples[-1]]
    assert max(counts) <= 3 if recurrent else min(counts) >= 10


def test_one_character_repeated_has_nothing_to_learn() -> None:
    curves = recorded(short(text="aaaa", iterations=3)).curves
    assert (curves.losses == 0).all()
    assert curves.samples[-1] == ("a" * 200,)


@pytest.mark.parametrize("recurrent", [True, False])
def test_a_run_is_kept_packed_unpacked_and_asked_again(tmp_path: Path, recurrent: bool) -> None:
    config = short("gru", text="<b>ü🙂</b>", recurrent=recurrent, replicas=2, iterations=12)
    run = store.save_run(recorded(config), tmp_path / "run")
    again = store.load(unpack(pack(run), tmp_path / "again", owner=""))
    assert again.config == config
    assert again.curves.samples == run.curves.samples
    metrics = evaluate(again)
    for name, metric in run.card.metrics.items():
        assert metrics[name].values == pytest.approx(metric.values, abs=1e-6)


@pytest.mark.parametrize(("recurrent", "most"), [("true", 1), ("false", 30)])
def test_the_command_line_trains_evaluates_and_lets_it_write(
    ask: Ask, tmp_path: Path, recurrent: str, most: int
) -> None:
    folder = str(tmp_path / "run")
    text = "hello hello "
    given = ["--set", f"text={text}", "--set", f"model.recurrent={recurrent}", "--out", folder]
    assert ask("train", "--task", "string", "--model", "rnn", *given)[0] == 0
    code, out, _ = ask("evaluate", folder)
    assert (code, out.splitlines()[-1]) == (0, "as on its card")
    code, out, err = ask("generate", folder, "--prompt", "h", "--tokens", "50", "--json")
    (written,) = json.loads(out)["texts"]
    assert (code, err, len(written)) == (0, "", 50)
    assert (len(slips(text, written)) <= 1) == (most == 1)
    _, _, err = ask("generate", folder, "--prompt", "hx", "--tokens", "5")
    assert "never saw 'x'" in err
