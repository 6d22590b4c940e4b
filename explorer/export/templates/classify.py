"""Classification of sentences, for an exported file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.export.templates.common import batches, describe, ids_of, stored
from explorer.tokenization.words import split_words

OPTIONS: dict[str, float] = {}


def losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per sentence; the last batch of an epoch may have fewer of them."""
    for batch in batches():
        each = F.cross_entropy(model(batch["ids"]), batch["labels"], reduction="none")
        yield (each * batch["mask"]).sum() / batch["mask"].sum()


def predict(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the probability of each class for a sentence, as the mean over the seeds."""
    facts = stored()[1]
    words: list[str] = facts["words"]
    read = [word if word in words or "<UNK>" not in words else "<UNK>" for word in split_words(given.text)]
    ids = [words.index("<BOS>"), *ids_of(read, words), words.index("<EOS>")]
    ids += [words.index("<EOS>")] * (facts["length"] - len(ids))
    found = torch.stack([model(torch.tensor([ids])).softmax(-1)[0] for model in models])
    return describe(facts["classes"], found.mean(0))
