"""Training of word vectors: seeds, resuming, export, archives and what is learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

TEXT = "The cat sees the dog. The dog sees the cat.\n\nA king loves a queen; a man loves a woman, and a boy a girl.\n\n"


def short(model: str = "skip_gram", **changes: Any) -> RunConfig:
    settings = {"sentences": 200, "iterations": 12, "replicas": 2, "evaluate_every": 6, "batch_size": 64}
    return with_settings(default_config("word_vectors", model), {**settings, **changes})


def test_a_text_without_known_pairs_has_no_accuracy() -> None:
    sha = corpora.store_text(5 * TEXT)
    pairs = record_run(short(corpus="own", text=sha)).curves
    assert set(pairs.metrics) == {"loss", "analogy_accuracy", "analogy_accuracy_raw"}
    assert np.isfinite(pairs.last("analogy_accuracy")).all()
    none = record_run(short(corpus="own", text=corpora.store_text("one two three four five six seven\n\n" * 5))).curves
    assert np.isnan(none.last("analogy_accuracy")).all() and np.isfinite(none.last("loss")).all()
