"""Sentences with the meanings of their words as tensors, and the word-sense accuracy of a model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.homographs import SENSES, HomographSentence, word_ids
from explorer.tasks.sequence_labelling.homographs_rows import PADDING, evaluation_sentences, sample_sentences
from explorer.tasks.sequence_labelling.rows import Rows, logits_per_replica, masked_mean, pad_rows, position_losses
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig, sense_label

EVALUATION_ROWS = 512  # of each kind


def batch(config: WordSenseConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: a sample of its sentences.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    return build_rows(sample_sentences(config, seed, generator(seed, f"gloss/{order}/{step}"), size))


def build_rows(sentences: Sequence[HomographSentence]) -> Rows:
    """Return sentences as rows; the target of a word is its meaning."""
    ids = pad_rows((word_ids(each.words) for each in sentences), PADDING)
    targets = pad_rows(([sense_label(word, each.topic) for word in each.words] for each in sentences), 0)
    return Rows(ids, targets, ids != PADDING)


def evaluate(config: WordSenseConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """Return how often the right sense of a homograph is likelier, with trained and with new cues, and the loss."""
    sentences = evaluation_sentences(EVALUATION_ROWS, ambiguous=True)
    rows = build_rows(sentences)
    logits = logits_per_replica(model, rows.ids, replicas)
    losses = position_losses(logits, rows.targets.expand(replicas, *rows.targets.shape))
    new_cue_sentences = evaluation_sentences(EVALUATION_ROWS, ambiguous=True, new_cues=True)
    return {
        "sense": _share_right(logits, sentences),
        "new_cues": _share_right(
            logits_per_replica(model, build_rows(new_cue_sentences).ids, replicas), new_cue_sentences
        ),
        "loss": masked_mean(losses, rows.mask),
    }


def _share_right(
    logits: Float[Tensor, "replicas sentences time labels"], sentences: Sequence[HomographSentence]
) -> Float[Tensor, " replicas"]:
    """Return the share of homographs whose right sense is likelier than the other one."""
    words = [each.words[each.position] for each in sentences]
    other = [next(t for t in SENSES[word] if t != each.topic) for word, each in zip(words, sentences, strict=True)]
    row, position = torch.arange(len(sentences)), torch.tensor([each.position for each in sentences])
    right = torch.tensor([sense_label(word, each.topic) for word, each in zip(words, sentences, strict=True)])
    wrong = torch.tensor([sense_label(word, topic) for word, topic in zip(words, other, strict=True)])
    return (logits[:, row, position, right] > logits[:, row, position, wrong]).float().mean(dim=-1)
