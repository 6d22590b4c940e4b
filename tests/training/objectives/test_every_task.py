"""Seeds train together as each does alone, and a small run of every task begins with the same numbers as ever."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from explorer.tasks.sequence_labelling import grammar_text, masked_word, random_symbols, word_sense
from explorer.training.config import default_config, with_settings
from explorer.training.objective import objective_class
from explorer.training.recorder import record_run

LOOP = {"iterations": 3, "batch_size": 8, "evaluate_every": 2, "snapshots": 2}
TAGGER = {"model.width": 8, "heads": 2, "hidden": 8}
TEXT = {"corpus": "brackets", "size": 3_000, "context": 8, "evaluation_size": 100, "width": 8, "hidden": 9}
ENGLISH = {"reviews": 0, "composed": 100, "words": 0, "learning_rate": 1e-2}
# Task, model, settings; then, of seed 0: losses of the first and the last step, tokens of a step, and the metrics at
# the start.
CASES: list[tuple[str, str, dict[str, object], list[float], float, list[float]]] = [
    ("sentiment", "transformer", {**ENGLISH, "layers": 1}, [1.0313, 1.0616], 82.0, [0.8425, 0.8366, 0.4925, 0.8265]),
    ("sentiment", "bag_of_bigrams", ENGLISH, [0.69196, 0.69429], 82.0, [0.693, 0.6931, 0.5089, 0.6933]),
    ("recall", "gru", {"length": 6, "sequences": 8}, [0.72037, 0.64363], 48.0, [0.4648, 0.7024, 0.25]),
    ("recall", "transformer", {"length": 6}, [0.66348, 0.544], 48.0, [0.4844, 0.6918]),
    ("reverse", "encoder_decoder", {"longest": 4, "attention": "additive"}, [2.4997, 2.4308], 48.0, [0.0, 2.519]),
    ("dates", "transformer_encoder_decoder", {"layers": 1}, [2.693, 2.6172], 204.5, [0.0, 2.592]),
    ("pairs", "encoder_decoder", {}, [3.3236, 3.2391], 86.5, [0.0, 3.308]),
    ("noise", "transformer", {**TAGGER, "length": 5, "symbols": 4}, [1.4574, 1.3692], 40.0, [1.449, 1.463]),
    ("tale", "gru", {"length": 6}, [3.4029, 3.3766], 48.0, [3.388, 3.388]),
    ("echo", "rnn", {"longest": 3}, [2.3604, 2.2689], 33.0, [0.04167, 2.348]),
    ("gloss", "transformer", TAGGER, [5.0343, 4.8905], 79.5, [0.5469, 0.5156, 5.088]),
    ("gist", "gru", {}, [4.6407, 4.5805], 80.0, [0.5078, 0.4844, 4.647]),
    ("string", "rnn", {}, [1.2837, 0.77561], 14.0, [1.284, 0.3571]),
    ("word_vectors", "skip_gram", {"sentences": 200}, [4.1589, 4.1601], 8.0, [4.159, 0.0, 0.0, 0.0481]),
    ("word_vectors", "cbow", {"sentences": 200}, [4.1589, 4.1574], 8.0, [4.159, 0.0, 0.0, 0.0481]),
    ("text", "lstm", {**TEXT, "batches": "contiguous"}, [2.6478, 2.6152], 64.0, [2.665, 2.695]),
    ("text", "feedforward", {**TEXT, "dropout": 0.1, "batch_norm": True}, [2.7301, 2.5837], 64.0, [2.648, 2.632]),
    ("text", "transformer", {**TEXT, "rows": "prefixes", "split": "sentences"}, [2.5649, 2.5637], 64.0, [2.565, 2.565]),
]


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (word_sense, masked_word, random_symbols):
        monkeypatch.setattr(module, "EVALUATION_ROWS", 128)
    monkeypatch.setattr(grammar_text, "SENTENCES_PER_TEXT", 200)
    grammar_text.generate_text.cache_clear()
    yield
    grammar_text.generate_text.cache_clear()


@pytest.mark.parametrize(
    ("task", "model", "settings", "losses", "tokens", "metrics"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES]
)
def test_a_small_run_has_the_same_numbers_as_ever(
    task: str, model: str, settings: dict[str, object], losses: list[float], tokens: float, metrics: list[float]
) -> None:
    config = with_settings(default_config(task, model), {**LOOP, **settings})
    together = record_run(with_settings(config, {"replicas": 2})).curves
    assert together.losses[[0, -1], 0].tolist() == pytest.approx(losses, rel=1e-3)
    assert together.tokens[1] == tokens
    started = [values[0, 0] for values in together.metrics.values() if not np.isnan(values[0, 0])]
    assert started[: len(metrics)] == pytest.approx(metrics, rel=1e-3)
    alone = record_run(with_settings(config, {"seed": 1})).curves
    np.testing.assert_allclose(together.losses[:, 1], alone.losses[:, 0], atol=2e-4)
    for name, values in together.metrics.items():
        np.testing.assert_allclose(values[:, 1], alone.metrics[name][:, 0], atol=5e-3, err_msg=name)
    layout = objective_class(config.task).layout(config)
    assert tuple(together.metrics) == layout.metrics and tuple(together.signals) == layout.signals
    for name, parts in layout.answers.items():
        assert together.answers[name].shape == (len(together.evaluated), 2, parts)
        assert layout.answers_at_end_only or np.isfinite(together.answers[name]).all()
        assert np.isfinite(together.answers[name][-1]).all()
