"""Typed rows for sequence-labelling models: parsing, predictions at every position, and attention.

A target is known only where the row determines it: “bank” next to a loan and a vault means the financial one; without
such context its sense is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import InvalidSetting, shorten
from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.taps import record
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.sequence_labelling.agreement import (
    PLURAL_NOUNS,
    SINGULAR_NOUNS,
    VERBS,
    AgreementConfig,
    pronoun_for,
)
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.delayed_copy import SEPARATOR, DelayedCopyConfig
from explorer.tasks.sequence_labelling.grammar_text import GrammarTextConfig
from explorer.tasks.sequence_labelling.homographs import NOUNS, SENSES, VOCABULARY
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.rows import logits_per_replica
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig, sense_label
from explorer.tokenization.words import Words, fold_word

_MASK_WORD = "hidden"  # stands for <HIDDEN> while words are split; typed as “_”


@dataclass(frozen=True)
class TypedRow:
    """A typed row as token ids."""

    ids: tuple[int, ...]
    loss_mask: tuple[bool, ...]  # the positions that count in the training loss
    targets: tuple[int | None, ...]  # label ids; None where the row does not determine the label


@dataclass(frozen=True)
class PositionAnswer:
    """The prediction at one position."""

    token: str
    in_loss: bool
    answer: str  # the likeliest label, by the mean over seeds
    probability: float
    target: str | None  # the correct label, if it is known

    @property
    def is_correct(self) -> bool | None:
        return None if self.target is None else self.answer == self.target


def parse_row(task: LabellingConfig, text: str) -> TypedRow:
    """Parse a typed text as a row of a task. Raises LineageError for unknown words or signs and a bad length."""
    row = _PARSERS[type(task)](task, text)
    if len(row.ids) > task.max_length:
        raise InvalidSetting(
            f"This text has {len(row.ids):,} tokens; this model is asked about at most {task.max_length}. Shorten it."
        )
    return row


def _sign_ids(task: LabellingConfig, text: str) -> tuple[int, ...]:
    """Return the ids of the signs of a text, one per character."""
    if not text:
        known = ", ".join(sign for sign in task.vocabulary if sign not in (PAD, " "))
        raise InvalidSetting(f"The text is empty. The symbols are {known}.")
    for sign in text:
        if sign not in task.vocabulary:
            known = ", ".join("the space" if each == " " else each for each in task.vocabulary if each != PAD)
            raise InvalidSetting(f"“{shorten(sign)}” is not a symbol of this task. The symbols are {known}.")
    return tuple(task.vocabulary.index(sign) for sign in text)


def _remove_spaces(text: str) -> str:
    """Return the text in lower case without spaces."""
    return "".join(fold_word(text).split())


def _parse_next_signs(task: LabellingConfig, text: str) -> TypedRow:
    """Parse a row whose targets are the next signs; the target of the last one is unknown."""
    ids = _sign_ids(task, fold_word(text) if isinstance(task, GrammarTextConfig) else _remove_spaces(text))
    return TypedRow(ids, (True,) * len(ids), (*ids[1:], None))


def _parse_delayed_copy(task: LabellingConfig, text: str) -> TypedRow:
    """Parse digits, or digits with the beginning of their copy. Digits alone get their copy, as in training."""
    assert isinstance(task, DelayedCopyConfig)
    digits, separator, copied = _remove_spaces(text).partition(SEPARATOR)
    if not digits:
        raise InvalidSetting(f"There is no digit to copy. Write some of {', '.join(task.labels)}.")
    count, copy = len(_sign_ids(task, digits)), digits if task.again == "copy" else digits[::-1]
    if 2 * count > task.max_length:
        raise InvalidSetting(
            f"{count:,} digits are too many: this model is asked about at most {task.max_length // 2}."
        )
    copied = copied if separator else copy[:-1]
    if len(copied) >= count or SEPARATOR in copied:
        raise InvalidSetting(
            f"After the separator stand digits, at most {count - 1} of them: the last one is only predicted. Shorten "
            "what follows it."
        )
    ids = _sign_ids(task, digits + SEPARATOR + copied)
    targets = [task.labels.index(digit) for digit in copy[: len(copied) + 1]]
    return TypedRow(ids, (False,) * count + (True,) * len(targets), (*[None] * count, *targets))


def _parse_position_rule(task: LabellingConfig, text: str) -> TypedRow:
    assert isinstance(task, PositionRuleConfig)
    ids = _sign_ids(task, _remove_spaces(text))
    targets = ((digit + t % task.period) % len(task.labels) for t, digit in enumerate(ids))
    return TypedRow(ids, (True,) * len(ids), tuple(targets))


def _parse_word_sense(task: LabellingConfig, text: str) -> TypedRow:
    """Parse a sentence. A homograph's sense is known if it contains nouns of exactly one of the senses."""
    words = VOCABULARY.split(text)
    topics = {topic for topic, nouns in NOUNS.items() if set(nouns) & set(words)}
    targets = []
    for word in words:
        senses = [topic for topic in SENSES.get(word, ()) if topic in topics]
        known = word not in SENSES or len(senses) == 1
        targets.append(sense_label(word, senses[0] if senses else "") if known else None)
    return TypedRow(tuple(map(VOCABULARY.id, words)), (True,) * len(words), tuple(targets))


def _parse_masked_word(task: LabellingConfig, text: str) -> TypedRow:
    """Parse a sentence in which “_” stands for the hidden word, whose target is unknown."""
    words_of = Words((*task.vocabulary[:-2], _MASK_WORD, PAD), first=PAD, last=PAD)
    words = words_of.split(re.sub("_+", f" {_MASK_WORD} ", text))
    if words.count(_MASK_WORD) > 1:
        raise InvalidSetting("More than one word is hidden. In this task one is: write a single “_”.")
    return TypedRow(tuple(map(words_of.id, words)), (True,) * len(words), (None,) * len(words))


def _parse_agreement(task: LabellingConfig, text: str) -> TypedRow:
    """Parse a sentence. The verb is predicted at the position before it, or at the end of a sentence without one; the
    pronoun at the end of a sentence with a verb. The first noun determines both."""
    words = Words(task.vocabulary, first=PAD, last=PAD).split(text)
    verb = next((i for i, word in enumerate(words) if word in VERBS), len(words))
    subject = next((word for word in words[:verb] if word in (*SINGULAR_NOUNS, *PLURAL_NOUNS)), None)
    if subject is None:
        raise InvalidSetting(
            "No noun stands before the verb, so there is nothing to agree with. Write one first, as in “the king near "
            "the queens is proud of”."
        )
    targets = {verb - 1: task.labels.index(VERBS[subject in PLURAL_NOUNS])}
    if verb < len(words) - 1:
        targets[len(words) - 1] = task.labels.index(pronoun_for(subject))
    positions = range(len(words))
    return TypedRow(
        tuple(map(task.vocabulary.index, words)),
        tuple(t in targets for t in positions),
        tuple(map(targets.get, positions)),
    )


def _parse_induction(task: LabellingConfig, text: str) -> TypedRow:
    """Parse a row of symbols. A symbol that occurred before has the target that followed it there."""
    ids = _sign_ids(task, _remove_spaces(text))
    targets: list[int | None] = []
    for position, id in enumerate(ids):
        earlier = [ids[before + 1] for before in range(position) if ids[before] == id]
        targets.append(earlier[-1] if earlier else None)
    return TypedRow(ids, tuple(target is not None for target in targets), tuple(targets))


_PARSERS: dict[type[LabellingConfig], Callable[[LabellingConfig, str], TypedRow]] = {
    RandomSymbolsConfig: _parse_next_signs,
    GrammarTextConfig: _parse_next_signs,
    DelayedCopyConfig: _parse_delayed_copy,
    PositionRuleConfig: _parse_position_rule,
    WordSenseConfig: _parse_word_sense,
    MaskedWordConfig: _parse_masked_word,
    AgreementConfig: _parse_agreement,
    InductionConfig: _parse_induction,
}


@torch.inference_mode()
def predict_positions(
    loaded: LoadedModel, task: LabellingConfig, row: TypedRow, replicas: Sequence[int] | None = None
) -> list[PositionAnswer]:
    """Return the prediction at every position, from probabilities averaged over these seeds, by default all of them."""
    logits = logits_per_replica(loaded.stack, torch.tensor([row.ids]), loaded.config.replicas)
    chosen = slice(None) if replicas is None else list(replicas)
    best = logits.softmax(dim=-1)[chosen].mean(dim=0)[0].max(dim=-1)
    return [
        PositionAnswer(
            task.vocabulary[id],
            in_loss,
            task.labels[predicted],
            probability,
            None if target is None else task.labels[target],
        )
        for id, in_loss, predicted, probability, target in zip(
            row.ids, row.loss_mask, best.indices.tolist(), best.values.tolist(), row.targets, strict=True
        )
    ]


@dataclass(frozen=True, eq=False)
class RowActivations:
    """Attention, final states and taps of one model over one row."""

    weights: Float[ndarray, "layers heads query key"] | None  # NaN where masked; None without attention
    states: Float[ndarray, "time width"]  # the input of the readout
    taps: dict[str, Float[ndarray, " *shape"]]


@torch.inference_mode()
def row_activations(model: nn.Module, ids: Sequence[int]) -> RowActivations:
    """Run one model on one row and return its attention, final states and tapped values."""
    with record(model) as trace:
        states: Tensor = model.features(torch.tensor([tuple(ids)]))[0]  # type: ignore[operator]  # a tagger
    taps = {name: to_array(value[0]) for name, value in trace.items()}
    weights = [taps[name] for name in taps if name.endswith(".attention.weights")]
    if not weights or not isinstance(model, TransformerTagger):
        return RowActivations(None, to_array(states), taps)
    hidden = np.triu(np.full((len(ids), len(ids)), bool(model.config.causal)), 1)
    return RowActivations(np.where(hidden, np.float32(np.nan), np.stack(weights)), to_array(states), taps)
