"""A label for every position of a row, for an exported file."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.export.templates.common import batches, ids_of, stored
from explorer.tokenization.words import split_words

OPTIONS: dict[str, float] = {}


def losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per position that has a target."""
    for batch in batches():
        each = F.cross_entropy(model(batch["ids"]).flatten(0, 1), batch["targets"].flatten(), reduction="none")
        yield (each * batch["mask"].flatten()).sum() / batch["mask"].sum()


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a typed row: words, of which “_” is the hidden one, or single signs."""
    facts = stored()[1]
    if facts["words"]:
        words = split_words(re.sub("_+", " hidden ", text))
        return ["<HIDDEN>" if word == "hidden" and "<HIDDEN>" in facts["vocabulary"] else word for word in words]
    signs = text.lower() if " " in facts["vocabulary"] else "".join(text.lower().split())
    if facts["copies"] and "|" not in signs:  # digits alone get the beginning of their copy
        signs += "|" + (signs if facts["copies"] == "copy" else signs[::-1])[:-1]
    return list(signs)


def predict(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the likeliest label of each token and its probability, by the mean over the seeds."""
    facts, tokens = stored()[1], tokens_of(given.text)
    ids = torch.tensor([ids_of(tokens, facts["vocabulary"])])
    best = torch.stack([model(ids).softmax(-1)[0] for model in models]).mean(0).max(-1)
    rows = zip(tokens, best.indices.tolist(), best.values.tolist(), strict=True)
    return "\n".join(f"{token}  {facts['labels'][label]}  {probability:.4f}" for token, label, probability in rows)
