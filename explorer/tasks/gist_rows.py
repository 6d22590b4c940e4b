"""Sentences with a hidden word as tensors, and whether a homograph's vector comes to lie beside the right synonym's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.gist import GistConfig
from explorer.tasks.labelled import Rows, losses, mean_over
from explorer.tasks.meanings import HIDDEN, SENSES, TOPICS, TYPED, Said, ids_of
from explorer.tasks.meanings_rows import PADDING, chosen, filled, fresh_sentences

ASKED = 512  # fresh sentences of each kind


def batch(config: GistConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: some of its own sentences, in each another word hidden."""
    drawn = generator(seed, f"gist/{order}/{step}")
    said = chosen(config, seed, drawn, size)
    return rows_of(said, torch.randint(3, (size,), generator=drawn).tolist())


def rows_of(said: Sequence[Said], which: Sequence[int]) -> Rows:
    """Sentences without one of the three words that carry their topic: all places are asked which it was."""
    ids = filled((ids_of(each.words) for each in said), PADDING)
    places = torch.tensor([each.content[i] for each, i in zip(said, which, strict=True)])[:, None]
    wanted = ids.gather(1, places)
    return Rows(ids.scatter(1, places, TYPED.id(HIDDEN)), wanted.expand_as(ids).contiguous(), ids != PADDING)


def examine(config: GistConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """How often a homograph is nearer to the synonym of its sense than to that of its other one, nothing hidden."""
    said = fresh_sentences(ASKED, ambiguous=True)
    rows = rows_of(said, [i % 3 for i in range(ASKED)])
    ids = rows.ids.expand(replicas, *rows.ids.shape) if replicas > 1 else rows.ids
    logits = model(ids).view(replicas, *rows.ids.shape, -1)
    surprise = losses(logits, rows.wanted.expand(replicas, *rows.wanted.shape))
    clear = fresh_sentences(ASKED, ambiguous=False)
    synonyms, centre = _synonyms(vectors_of(model, clear, replicas), clear)
    found = {
        name: nearer(vectors_of(model, each, replicas) - centre, synonyms - centre, each)
        for name, each in (("synonym", said), ("new_synonym", fresh_sentences(ASKED, ambiguous=True, new=True)))
    }
    return {**found, "loss": mean_over(surprise, rows.counted)}


def vectors_of(model: nn.Module, said: Sequence[Said], replicas: int) -> Float[Tensor, "replicas sentences width"]:
    """The last vectors of the homographs, or of the synonyms."""
    ids = filled((ids_of(each.words) for each in said), PADDING)
    ids = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    features: Tensor = model.features(ids)  # type: ignore[operator]  # a tagger
    features = features.view(replicas, len(said), ids.shape[-1], -1)
    return features[:, torch.arange(len(said)), torch.tensor([each.place for each in said])]


def _synonyms(
    vectors: Float[Tensor, "replicas sentences width"], said: Sequence[Said]
) -> tuple[Float[Tensor, "replicas topics width"], Float[Tensor, "replicas 1 width"]]:
    """The mean vector of every synonym, and the middle of them all."""
    of = torch.tensor([TOPICS.index(each.topic) for each in said])
    means = torch.stack([vectors[:, of == i].mean(dim=1) for i in range(len(TOPICS))], dim=1)
    return means, means.mean(dim=1, keepdim=True)


def nearer(
    vectors: Float[Tensor, "replicas sentences width"],
    synonyms: Float[Tensor, "replicas topics width"],
    said: Sequence[Said],
) -> Float[Tensor, " replicas"]:
    """The share of homographs whose vector has a larger cosine to the right synonym's mean vector than to the other."""
    cosines = F.normalize(vectors, dim=-1) @ F.normalize(synonyms, dim=-1).mT
    right = torch.tensor([TOPICS.index(each.topic) for each in said])
    other = torch.tensor([TOPICS.index(_other(each)) for each in said])
    row = torch.arange(len(said))
    return (cosines[:, row, right] > cosines[:, row, other]).float().mean(dim=-1)


def _other(said: Said) -> str:
    return next(topic for topic in SENSES[said.words[said.place]] if topic != said.topic)
