"""A new model of a seed has the same logits as ever, so its initial weights and its forward pass are the same."""

from __future__ import annotations

import pytest
import torch

from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

TEXT = {"corpus": "brackets", "size": 3_000, "context": 8, "width": 8, "hidden": 9}
ATTENTION = {**TEXT, "start": "usual", "heads": 2}
BLOCKS = {"model.width": 8, "heads": 2, "hidden": 9, "layers": 2}
RAW = {**BLOCKS, "scaled": False, "spread": 3.0}
# Task, model, settings, and the first and last logit; of word vectors the first and last number of the table.
CASES: list[tuple[str, str, dict[str, object], list[float]]] = [
    ("negation", "bag_of_words", {}, [0.20633, 0.99881]),
    ("negation", "bag_of_words_hidden", {}, [0.42589, 0.23143]),
    ("negation", "bag_of_bigrams", {}, [0.060861, 0.059787]),
    ("negation", "feedforward", {}, [-0.51673, 0.33804]),
    ("negation", "convolution", {}, [-0.025066, 0.88688]),
    ("negation", "rnn", {}, [-0.055338, 0.29153]),
    ("negation", "lstm", {}, [-0.033866, 0.2441]),
    ("negation", "gru", {}, [0.045469, 0.28468]),
    ("negation", "transformer", {}, [0.64096, 0.10828]),
    ("recall", "rnn", {"gain": 2.0}, [-0.04776, 0.82783]),
    ("recall", "rnn", {"start": "orthogonal"}, [0.068404, -0.010058]),
    ("recall", "lstm", {"start": "chrono"}, [0.11129, 0.22636]),
    ("recall", "lstm", {"start": "forget-3"}, [0.24296, 0.48085]),
    ("recall", "gru", {"start": "chrono"}, [0.14528, 0.20011]),
    ("recall", "transformer", {"positions": "sinusoidal"}, [-0.90731, 0.34384]),
    ("string", "gru", {"recurrent": False}, [0.12243, -0.39828]),
    ("text", "feedforward", {**TEXT, "batch_norm": True}, [-0.29968, 0.077208]),
    ("text", "rnn", {**TEXT, "layers": 2, "start": "xavier"}, [0.65852, -0.21284]),
    ("text", "lstm", {**TEXT, "start": "orthogonal"}, [0.16834, -0.38442]),
    ("text", "gru", TEXT, [0.24797, -0.34212]),
    ("text", "transformer", ATTENTION, [0.84664, 1.466]),
    ("text", "transformer", {**ATTENTION, "positions": "learned", "activation": "gelu"}, [0.91791, 1.1967]),
    ("noise", "rnn", {}, [0.37624, 0.63743]),
    ("noise", "gru", {}, [-0.070582, -0.01301]),
    ("noise", "transformer", {**BLOCKS, "positions": "rotary", "norm": "rms", "norm_place": "pre"}, [0.58183, 1.2205]),
    ("noise", "transformer", {**RAW, "positions": "learned", "causal": True}, [0.80906, 1.2417]),
    ("reverse", "encoder_decoder", {"attention": "additive"}, [0.14511, 0.48101]),
    ("reverse", "transformer_encoder_decoder", {"activation": "relu2", "norm_place": "pre"}, [0.29177, -1.0327]),
    ("word_vectors", "cbow", {"sentences": 200}, [0.02651, 0.0098523]),
]
IDS = torch.tensor([[0, 2, 1, 3, 0, 2, 1], [1, 1, 3, 0, 2, 2, 0]])


@pytest.mark.parametrize(
    ("task", "model", "settings", "expected"), CASES, ids=[f"{i}-{case[0]}-{case[1]}" for i, case in enumerate(CASES)]
)
def test_the_first_logits_of_a_seed(task: str, model: str, settings: dict[str, object], expected: list[float]) -> None:
    network = build_model(with_settings(default_config(task, model), {"seed": 1, **settings}))
    ids = IDS % 2 if task in ("string", "recall") else IDS
    inputs = (ids, ids) if task == "reverse" else (ids,)
    logits = network.embedding.weight if task == "word_vectors" else network(*inputs)
    assert logits.flatten()[[0, -1]].tolist() == pytest.approx(expected, rel=1e-3, abs=1e-4)
