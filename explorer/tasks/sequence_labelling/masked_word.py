"""The masked-word task (`gist` in stored runs): predict the hidden word of a sentence at every position.

Senses of homographs are not labelled. But to predict the missing word, the vector of every word has to represent the
topic of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.array_types import Float
from explorer.lazy_libraries import torch
from explorer.seeds import generator
from explorer.tasks.sequence_labelling import homographs
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, score

VERSION = 1


@dataclass(frozen=True)
class MaskedWordConfig(homographs.HomographConfig):
    """Every position is labelled with the hidden word."""

    labels = homographs.WORDS
    metrics = ("synonym", "new_synonym", "loss")


EVALUATION_ROWS = 512  # of each kind


def batch(config: MaskedWordConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: a sample of its sentences, each with a random hidden word."""
    rng = generator(seed, f"gist/{order}/{step}")
    sentences = homographs.sample_sentences(config, seed, rng, size)
    return build_rows(sentences, torch.randint(3, (size,), generator=rng).tolist())


def build_rows(sentences: Sequence[homographs.HomographSentence], hidden: Sequence[int]) -> Rows:
    """Return sentences that hide one of their three `content_positions`, which is the target of all positions."""
    ids = homographs.sentence_ids(sentences)
    positions = torch.tensor([each.content_positions[i] for each, i in zip(sentences, hidden, strict=True)])[:, None]
    targets = ids.gather(1, positions)
    return Rows(
        ids.scatter(1, positions, homographs.VOCABULARY.id(homographs.HIDDEN)),
        targets.expand_as(ids).contiguous(),
        ids != homographs.PADDING,
    )


def evaluate(config: MaskedWordConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return how often a homograph is nearer to its sense's synonym (no word is hidden then), and the loss."""
    sentences = homographs.evaluation_sentences(EVALUATION_ROWS, ambiguous=True)
    rows = build_rows(sentences, [i % 3 for i in range(EVALUATION_ROWS)])
    _, losses = score(model, rows, replicas)
    synonym_sentences = homographs.evaluation_sentences(EVALUATION_ROWS, ambiguous=False)
    topics, vectors = (
        torch.tensor([homographs.TOPICS.index(each.topic) for each in synonym_sentences]),
        word_vectors(model, synonym_sentences, replicas),
    )
    # The mean vector of every synonym, and the mean of these vectors.
    synonyms = torch.stack([vectors[:, topics == i].mean(dim=1) for i in range(len(homographs.TOPICS))], dim=1)
    centre = synonyms.mean(dim=1, keepdim=True)
    shares = {
        name: share_nearer_to_right_synonym(word_vectors(model, each, replicas) - centre, synonyms - centre, each)
        for name, each in (
            ("synonym", sentences),
            ("new_synonym", homographs.evaluation_sentences(EVALUATION_ROWS, ambiguous=True, new_cues=True)),
        )
    }
    return {**shares, "loss": masked_mean(losses, rows.mask)}


def word_vectors(
    model: torch.nn.Module, sentences: Sequence[homographs.HomographSentence], replicas: int
) -> Float[torch.Tensor, "replicas sentences width"]:
    """Return the last-layer vectors of the homographs or synonyms."""
    ids = homographs.sentence_ids(sentences)
    ids = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    features: torch.Tensor = model.features(ids)  # type: ignore[operator]  # a tagger
    features = features.view(replicas, len(sentences), ids.shape[-1], -1)
    return features[:, torch.arange(len(sentences)), torch.tensor([each.position for each in sentences])]


def share_nearer_to_right_synonym(
    vectors: Float[torch.Tensor, "replicas sentences width"],
    synonyms: Float[torch.Tensor, "replicas topics width"],
    sentences: Sequence[homographs.HomographSentence],
) -> Float[torch.Tensor, " replicas"]:
    """Return the share of homographs with a larger cosine to the right synonym's mean vector than to the other one."""
    cosines = torch.nn.functional.normalize(vectors, dim=-1) @ torch.nn.functional.normalize(synonyms, dim=-1).mT
    right = torch.tensor([homographs.TOPICS.index(each.topic) for each in sentences])
    other = torch.tensor([homographs.TOPICS.index(each.other_topic) for each in sentences])
    row = torch.arange(len(sentences))
    return (cosines[:, row, right] > cosines[:, row, other]).float().mean(dim=-1)
