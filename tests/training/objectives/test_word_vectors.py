"""Training of word vectors: seeds, resuming, export, archives and what is learned."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python
from explorer.jobs.cost import estimate_cost
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

MODELS = models_of("word_vectors")
TEXT = "The cat sees the dog. The dog sees the cat.\n\nA king loves a queen; a man loves a woman, and a boy a girl.\n\n"


def short(model: str = "skip_gram", **changes: Any) -> RunConfig:
    settings = {"sentences": 200, "iterations": 12, "replicas": 2, "evaluate_every": 6, "batch_size": 64}
    return with_settings(default_config("word_vectors", model), {**settings, **changes})


@pytest.mark.parametrize("model", MODELS)
def test_seeds_train_together_as_each_does_alone(model: str) -> None:
    together = record_run(short(model))
    for seed in range(2):
        alone = record_run(short(model, replicas=1, seed=seed))
        np.testing.assert_allclose(alone.curves.losses[:, 0], together.curves.losses[:, seed], atol=2e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("changes", [{}, {"replicas": 1, "subsampling": 0.0}], ids=["two", "one"])
def test_the_file_trains_to_the_same_losses(tmp_path: Path, model: str, changes: dict[str, object]) -> None:
    config = short(model, **changes)
    file = tmp_path / "run.py"
    file.write_text(as_python(config), encoding="utf-8")
    losses = list(runpy.run_path(str(file))["train"]())
    np.testing.assert_array_equal(np.array(losses, np.float32), record_run(config).curves.losses)
    assert as_notebook(config)


def test_the_file_of_a_text_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = short(corpus="own", text=corpora.store_text(5 * TEXT))
    file, text = tmp_path / "run.py", tmp_path / "input.txt"
    file.write_text(as_python(config), encoding="utf-8")
    text.write_text(5 * TEXT)
    monkeypatch.setattr("sys.argv", ["run.py", str(text)])
    losses = list(runpy.run_path(str(file))["train"]())
    np.testing.assert_array_equal(np.array(losses, np.float32), record_run(config).curves.losses)


@pytest.mark.parametrize("model", MODELS)
def test_it_learns_the_planted_analogies(model: str) -> None:
    curves = record_run(
        short(model, sentences=2_000, iterations=150, replicas=1, batch_size=256, evaluate_every=150)
    ).curves
    first, last = (curves.metrics["analogy_accuracy"][i, 0] for i in (0, -1))
    assert first < 0.05 and last > 0.2
    assert curves.metrics["loss"][0, 0] == pytest.approx(6 * np.log(2), rel=1e-3)
    assert curves.metrics["loss"][-1, 0] < 2 and curves.last("neighbour_purity")[0] > 0.5


def test_a_text_without_known_pairs_has_no_accuracy() -> None:
    sha = corpora.store_text(5 * TEXT)
    pairs = record_run(short(corpus="own", text=sha)).curves
    assert set(pairs.metrics) == {"loss", "analogy_accuracy", "analogy_accuracy_raw"}
    assert np.isfinite(pairs.last("analogy_accuracy")).all()
    none = record_run(short(corpus="own", text=corpora.store_text("one two three four five six seven\n\n" * 5))).curves
    assert np.isnan(none.last("analogy_accuracy")).all() and np.isfinite(none.last("loss")).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_cost_is_known_without_reading_the_text(model: str) -> None:
    config = with_settings(default_config("word_vectors", model), {"corpus": "own", "text": "0" * 64})
    cost = estimate_cost(config)
    assert cost.parameters == 2 * 5_001 * 24 and 0 < cost.seconds < 600
