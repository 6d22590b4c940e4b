"""Sequence-to-sequence models, for an exported file."""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.export.templates.common import batches, ids_of, stored

OPTIONS: dict[str, float] = {}


def losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per target token, with the true tokens before it (teacher forcing)."""
    for batch in batches():
        logits = model(batch["source"], batch["decoder_input"])
        each = F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten(), reduction="none")
        yield (each * batch["mask"].flatten()).sum() / batch["mask"].sum()


def greedy_decode(model: Any, source: Tensor, longest: int) -> tuple[list[int], float]:
    """Return the ids of the likeliest token at each step up to <EOS>, and the probability of the sequence."""
    read, state, ids, probability = model.encode(source), (), [model.bos], 1.0
    while len(ids) <= longest and ids[-1] != model.eos:
        logits, state = model.decode(read, torch.tensor([ids[-1:]]), state)
        best = logits[0, -1].softmax(-1).max(-1)
        ids.append(int(best.indices))
        probability *= float(best.values)
    return [id for id in ids[1:] if id != model.eos], probability


def predict(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the output of each seed and its probability."""
    facts = stored()[1]
    text = unicodedata.normalize("NFC", given.text) if facts["capitals"] else given.text.lower()
    source = torch.tensor([ids_of((" " if facts["spaces"] else "").join(text.split()), facts["sources"])])
    longest = facts["longest"] or source.shape[1] + facts["extra"]
    answers = [greedy_decode(model, source, longest) for model in models]
    return "\n".join(f"{probability:.4f}  {''.join(facts['targets'][i] for i in ids)}" for ids, probability in answers)
