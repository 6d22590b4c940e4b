"""Sentences and the meanings of their words as tensors, and how often a model chooses the right sense."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.gloss import GlossConfig, meaning
from explorer.tasks.labelled import Rows, asked, losses, mean_over
from explorer.tasks.meanings import SENSES, Said, ids_of
from explorer.tasks.meanings_rows import PADDING, chosen, filled, fresh_sentences

ASKED = 512  # fresh sentences of each kind


def batch(config: GlossConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: some of its own sentences."""
    return rows_of(chosen(config, seed, generator(seed, f"gloss/{order}/{step}"), size))


def rows_of(said: Sequence[Said]) -> Rows:
    """Sentences, each word with its meaning."""
    ids = filled((ids_of(each.words) for each in said), PADDING)
    wanted = filled(([meaning(word, each.topic) for word in each.words] for each in said), 0)
    return Rows(ids, wanted, ids != PADDING)


def examine(config: GlossConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """How often the right one of its two senses is the likelier, on fresh sentences and beside new cues."""
    said = fresh_sentences(ASKED, ambiguous=True)
    rows = rows_of(said)
    logits = asked(model, rows.ids, replicas)
    surprise = losses(logits, rows.wanted.expand(replicas, *rows.wanted.shape))
    new = fresh_sentences(ASKED, ambiguous=True, new=True)
    return {
        "sense": _right(logits, said),
        "new_cues": _right(asked(model, rows_of(new).ids, replicas), new),
        "loss": mean_over(surprise, rows.counted),
    }


def _right(logits: Float[Tensor, "replicas sentences time labels"], said: Sequence[Said]) -> Float[Tensor, " replicas"]:
    """The share of homographs whose right sense is likelier than the other one."""
    words = [each.words[each.place] for each in said]
    other = [next(t for t in SENSES[word] if t != each.topic) for word, each in zip(words, said, strict=True)]
    row, place = torch.arange(len(said)), torch.tensor([each.place for each in said])
    right = torch.tensor([meaning(word, each.topic) for word, each in zip(words, said, strict=True)])
    wrong = torch.tensor([meaning(word, topic) for word, topic in zip(words, other, strict=True)])
    return (logits[:, row, place, right] > logits[:, row, place, wrong]).float().mean(dim=-1)
