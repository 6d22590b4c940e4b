"""Language models, for an exported file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.export.templates.common import MODEL, SEEDS, TRAINING, batches, stored
from explorer.export.templates.layers import Dropout
from explorer.export.templates.tokens import characters as make_tokenizer
from explorer.models.context_window import window_start
from explorer.seeds import generator

OPTIONS = {"--tokens": 200, "--temperature": 1.0}  # temperature 0: always the most probable token


def losses(model: Any) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per token: every position predicts its next token."""
    state: tuple[Tensor, ...] = ()
    for step, batch in enumerate(batches()):
        if MODEL.dropout:
            Dropout.generator = generator(SEEDS[0], f"dropout/{getattr(TRAINING, 'order', 0)}/{step}")
        if TRAINING.masked:
            ids, targets = batch["ids"], batch["targets"]
        else:
            ids, targets = batch["ids"][:, :-1], batch["ids"][:, 1:]
        if TRAINING.carries and batch["reset"]:
            state = ()
        features, after = model.features(ids, state)
        if TRAINING.carries:
            state = tuple(part.detach() for part in after)
        if TRAINING.masked:
            features, targets = features[batch["mask"]], targets[batch["mask"]]
        yield F.cross_entropy(model.readout(features).flatten(0, -2), targets.flatten())


def generate(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return a prompt and its continuation by the model of the first seed."""
    encode, decode = make_tokenizer(stored()[1]["tokenizer"])
    ids = encode(given.text.lower() if TRAINING.lower else given.text) or list(stored()[1]["start"])
    noise = generator(given.seed, "sample 0")
    for _ in range(given.tokens):
        row = ids[window_start(len(ids), stored()[1]["context"]) :] if TRAINING.windowed else ids
        if TRAINING.padded:  # it was trained to predict after the last position of padded rows
            row = row + [stored()[1]["padding"]] * (stored()[1]["context"] - len(row))
        logits = models[0](torch.tensor([row]))[0, -1]
        # The Gumbel-max trick: this samples from softmax(logits / temperature).
        u = torch.rand(len(logits), generator=noise, dtype=torch.float64)
        ids.append(int((logits + given.temperature * u.log().neg().log().neg().float()).argmax()))
    return decode(ids)
