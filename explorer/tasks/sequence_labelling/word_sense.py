"""The word-sense task (`gloss` in stored runs): label every word with its meaning.

Most words have one meaning; a homograph has two. Only the words around it reveal the sense, so a model without access
to them is right half the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.array_types import Float
from explorer.lazy_libraries import torch
from explorer.seeds import generator
from explorer.tasks.sequence_labelling import homographs
from explorer.tasks.sequence_labelling.rows import Rows, logits_per_replica, masked_mean, pad_rows, position_losses

VERSION = 1
SENSE_LABELS = (
    *(word for word in homographs.WORDS if word not in homographs.SENSES),
    *(f"{word} ({topic})" for word in homographs.HOMOGRAPHS for topic in homographs.SENSES[word]),
)


@dataclass(frozen=True)
class WordSenseConfig(homographs.HomographConfig):
    """Every position is labelled with the meaning of its word."""

    labels = SENSE_LABELS
    metrics = ("sense", "new_cues", "loss")


def sense_label(word: str, topic: str) -> int:
    """Return the label of a word in a sentence about a topic."""
    return _LABEL_IDS[f"{word} ({topic})" if word in homographs.SENSES else word]


_LABEL_IDS = {label: i for i, label in enumerate(SENSE_LABELS)}


EVALUATION_ROWS = 512  # of each kind


def batch(config: WordSenseConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: a sample of its sentences."""
    return build_rows(homographs.sample_sentences(config, seed, generator(seed, f"gloss/{order}/{step}"), size))


def build_rows(sentences: Sequence[homographs.HomographSentence]) -> Rows:
    """Return sentences as rows; the target of a word is its meaning."""
    ids = homographs.sentence_ids(sentences)
    targets = pad_rows(([sense_label(word, each.topic) for word in each.words] for each in sentences), 0)
    return Rows(ids, targets, ids != homographs.PADDING)


def evaluate(config: WordSenseConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return how often the right sense of a homograph is likelier, with trained and with new cues, and the loss."""
    sentences = homographs.evaluation_sentences(EVALUATION_ROWS, ambiguous=True)
    rows = build_rows(sentences)
    logits = logits_per_replica(model, rows.ids, replicas)
    new_cues = homographs.evaluation_sentences(EVALUATION_ROWS, ambiguous=True, new_cues=True)
    return {
        "sense": _share_right(logits, sentences),
        "new_cues": _share_right(logits_per_replica(model, build_rows(new_cues).ids, replicas), new_cues),
        "loss": masked_mean(position_losses(logits, rows.targets), rows.mask),
    }


def _share_right(
    logits: Float[torch.Tensor, "replicas sentences time labels"], sentences: Sequence[homographs.HomographSentence]
) -> Float[torch.Tensor, " replicas"]:
    """Return the share of homographs whose right sense is likelier than the other one."""
    words = [each.words[each.position] for each in sentences]
    other = [
        next(t for t in homographs.SENSES[word] if t != each.topic) for word, each in zip(words, sentences, strict=True)
    ]
    row, position = torch.arange(len(sentences)), torch.tensor([each.position for each in sentences])
    right = torch.tensor([sense_label(word, each.topic) for word, each in zip(words, sentences, strict=True)])
    wrong = torch.tensor([sense_label(word, topic) for word, topic in zip(words, other, strict=True)])
    return (logits[:, row, position, right] > logits[:, row, position, wrong]).float().mean(dim=-1)
