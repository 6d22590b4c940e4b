"""Sentences with a hidden word as tensors, and whether homograph vectors are nearest to the right synonym."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.homographs import HIDDEN, SENSES, TOPICS, VOCABULARY, HomographSentence, word_ids
from explorer.tasks.sequence_labelling.homographs_rows import PADDING, evaluation_sentences, sample_sentences
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, pad_rows, position_losses

EVALUATION_ROWS = 512  # of each kind


def batch(config: MaskedWordConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: a sample of its sentences, each with a random hidden word.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    rng = generator(seed, f"gist/{order}/{step}")
    sentences = sample_sentences(config, seed, rng, size)
    return build_rows(sentences, torch.randint(3, (size,), generator=rng).tolist())


def build_rows(sentences: Sequence[HomographSentence], hidden: Sequence[int]) -> Rows:
    """Return sentences in which one of the three topic words is hidden; it is the target of all positions.

    `hidden` selects the word of each sentence from its `content_positions`.
    """
    ids = pad_rows((word_ids(each.words) for each in sentences), PADDING)
    positions = torch.tensor([each.content_positions[i] for each, i in zip(sentences, hidden, strict=True)])[:, None]
    targets = ids.gather(1, positions)
    return Rows(ids.scatter(1, positions, VOCABULARY.id(HIDDEN)), targets.expand_as(ids).contiguous(), ids != PADDING)


def evaluate(config: MaskedWordConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """Return how often a homograph is nearer to the synonym of its sense than to the other synonym, and the loss.

    No word is hidden when vectors are compared. `whole` has no effect here.
    """
    sentences = evaluation_sentences(EVALUATION_ROWS, ambiguous=True)
    rows = build_rows(sentences, [i % 3 for i in range(EVALUATION_ROWS)])
    ids = rows.ids.expand(replicas, *rows.ids.shape) if replicas > 1 else rows.ids
    logits = model(ids).view(replicas, *rows.ids.shape, -1)
    losses = position_losses(logits, rows.targets.expand(replicas, *rows.targets.shape))
    synonym_sentences = evaluation_sentences(EVALUATION_ROWS, ambiguous=False)
    synonyms, centre = _synonym_means(word_vectors(model, synonym_sentences, replicas), synonym_sentences)
    shares = {
        name: share_nearer_to_right_synonym(word_vectors(model, each, replicas) - centre, synonyms - centre, each)
        for name, each in (
            ("synonym", sentences),
            ("new_synonym", evaluation_sentences(EVALUATION_ROWS, ambiguous=True, new_cues=True)),
        )
    }
    return {**shares, "loss": masked_mean(losses, rows.mask)}


def word_vectors(
    model: nn.Module, sentences: Sequence[HomographSentence], replicas: int
) -> Float[Tensor, "replicas sentences width"]:
    """Return the last-layer vectors of the homographs or synonyms."""
    ids = pad_rows((word_ids(each.words) for each in sentences), PADDING)
    ids = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    features: Tensor = model.features(ids)  # type: ignore[operator]  # a tagger
    features = features.view(replicas, len(sentences), ids.shape[-1], -1)
    return features[:, torch.arange(len(sentences)), torch.tensor([each.position for each in sentences])]


def _synonym_means(
    vectors: Float[Tensor, "replicas sentences width"], sentences: Sequence[HomographSentence]
) -> tuple[Float[Tensor, "replicas topics width"], Float[Tensor, "replicas 1 width"]]:
    """Return the mean vector of every synonym, and the mean of these vectors."""
    topics = torch.tensor([TOPICS.index(each.topic) for each in sentences])
    means = torch.stack([vectors[:, topics == i].mean(dim=1) for i in range(len(TOPICS))], dim=1)
    return means, means.mean(dim=1, keepdim=True)


def share_nearer_to_right_synonym(
    vectors: Float[Tensor, "replicas sentences width"],
    synonyms: Float[Tensor, "replicas topics width"],
    sentences: Sequence[HomographSentence],
) -> Float[Tensor, " replicas"]:
    """Return the share of homographs with a larger cosine to the right synonym's mean vector than to the other one."""
    cosines = F.normalize(vectors, dim=-1) @ F.normalize(synonyms, dim=-1).mT
    right = torch.tensor([TOPICS.index(each.topic) for each in sentences])
    other = torch.tensor([TOPICS.index(_other_topic(each)) for each in sentences])
    row = torch.arange(len(sentences))
    return (cosines[:, row, right] > cosines[:, row, other]).float().mean(dim=-1)


def _other_topic(sentence: HomographSentence) -> str:
    return next(topic for topic in SENSES[sentence.words[sentence.position]] if topic != sentence.topic)
