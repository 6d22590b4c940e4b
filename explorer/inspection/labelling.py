"""A row that somebody typed, for models that answer at every place: how it is read, and what every place says.

What is right is told where the row alone decides it: “bank” beside a loan and a vault means the one with money, but
who could say what it means beside nothing?
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

from explorer.errors import InvalidSetting, shortened
from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.taps import record
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.agreement import MANY, ONE, VERBS, AgreementConfig, pronoun_of
from explorer.tasks.echo import SEPARATOR, EchoConfig
from explorer.tasks.gist import GistConfig
from explorer.tasks.gloss import GlossConfig, meaning
from explorer.tasks.labelled import asked
from explorer.tasks.labelling import PAD, LabellingConfig
from explorer.tasks.meanings import NOUNS, SENSES, TYPED
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.place import PlaceConfig
from explorer.tasks.tale import TaleConfig
from explorer.tokenization.words import Words

_GAP = "hidden"  # how the reader of words calls <HIDDEN>, which is typed as “_”


@dataclass(frozen=True)
class Row:
    """A typed row as a model reads it."""

    ids: tuple[int, ...]
    asked: tuple[bool, ...]  # the places that count in training
    wanted: tuple[int | None, ...]  # the right label; None where the row does not tell it


@dataclass(frozen=True)
class Answer:
    """What is said at one place."""

    token: str
    asked: bool
    answer: str  # the likeliest, by the mean over the seeds
    probability: float
    wanted: str | None  # what is right, where that is known

    @property
    def right(self) -> bool | None:
        return None if self.wanted is None else self.answer == self.wanted


def row_of(task: LabellingConfig, text: str) -> Row:
    """What somebody typed, as a row of its task. Raises LineageError: unknown words or signs, nothing, too long."""
    row = _READERS[type(task)](task, text)
    if len(row.ids) > task.places:
        raise InvalidSetting(
            f"This text has {len(row.ids):,} tokens; this model is asked about at most {task.places}. Shorten it."
        )
    return row


def _signs(task: LabellingConfig, text: str) -> tuple[int, ...]:
    """One sign a token."""
    if not text:
        known = ", ".join(sign for sign in task.vocabulary if sign not in (PAD, " "))
        raise InvalidSetting(f"The text is empty. Write signs, of {known}.")
    for sign in text:
        if sign not in task.vocabulary:
            known = ", ".join("the space" if each == " " else each for each in task.vocabulary if each != PAD)
            raise InvalidSetting(f"“{shortened(sign)}” is no sign of this task. It has {known}. Write a row of these.")
    return tuple(task.vocabulary.index(sign) for sign in text)


def _closed(text: str) -> str:
    """Without any space, which is no sign of most tasks."""
    return "".join(text.lower().split())


def _next_signs(task: LabellingConfig, text: str) -> Row:
    """Every place is asked for what comes next; what comes after the last one nobody knows."""
    ids = _signs(task, text.lower() if isinstance(task, TaleConfig) else _closed(text))
    return Row(ids, (True,) * len(ids), (*ids[1:], None))


def _echo(task: LabellingConfig, text: str) -> Row:
    """Digits, or digits and the beginning of their echo. Digits alone are followed by their echo, as in training."""
    assert isinstance(task, EchoConfig)
    digits, separator, begun = _closed(text).partition(SEPARATOR)
    if not digits:
        raise InvalidSetting(f"There is no digit to be said again. Write some, of {', '.join(task.labels)}.")
    count, said = len(_signs(task, digits)), digits if task.again == "copy" else digits[::-1]
    if 2 * count > task.places:
        raise InvalidSetting(f"{count:,} digits are too many: this model is asked about at most {task.places // 2}.")
    begun = begun if separator else said[:-1]
    if len(begun) >= count or SEPARATOR in begun:
        raise InvalidSetting(
            f"After the separator stand digits, at most {count - 1} of them: the last one is only asked for. Shorten "
            "what follows it."
        )
    ids = _signs(task, digits + SEPARATOR + begun)
    wanted = [task.labels.index(digit) for digit in said[: len(begun) + 1]]
    return Row(ids, (False,) * count + (True,) * len(wanted), (*[None] * count, *wanted))


def _place(task: LabellingConfig, text: str) -> Row:
    assert isinstance(task, PlaceConfig)
    ids = _signs(task, _closed(text))
    wanted = ((digit + t % task.period) % len(task.labels) for t, digit in enumerate(ids))
    return Row(ids, (True,) * len(ids), tuple(wanted))


def _gloss(task: LabellingConfig, text: str) -> Row:
    """A homograph's sense is known where nouns of one of its senses stand in the sentence, and none of the other."""
    words = TYPED.split(text)
    topics = {topic for topic, nouns in NOUNS.items() if set(nouns) & set(words)}
    wanted = []
    for word in words:
        told = [topic for topic in SENSES.get(word, ()) if topic in topics]
        known = word not in SENSES or len(told) == 1
        wanted.append(meaning(word, told[0] if told else "") if known else None)
    return Row(tuple(map(TYPED.id, words)), (True,) * len(words), tuple(wanted))


def _gist(task: LabellingConfig, text: str) -> Row:
    """“_” stands for the hidden word. Which one it was the sentence does not tell."""
    reader = Words((*task.vocabulary[:-2], _GAP, PAD), first=PAD, last=PAD)
    words = reader.split(re.sub("_+", f" {_GAP} ", text))
    if words.count(_GAP) > 1:
        raise InvalidSetting("More than one word is hidden. In this task one is: write a single “_”.")
    return Row(tuple(map(reader.id, words)), (True,) * len(words), (None,) * len(words))


def _agreement(task: LabellingConfig, text: str) -> Row:
    """The verb is asked for at the place before it, or at the last one where there is none yet; the pronoun at the
    end of a sentence with a verb. The first noun decides both."""
    words = Words(task.vocabulary, first=PAD, last=PAD).split(text)
    verb = next((i for i, word in enumerate(words) if word in VERBS), len(words))
    subject = next((word for word in words[:verb] if word in (*ONE, *MANY)), None)
    if subject is None:
        raise InvalidSetting(
            "No noun stands before the verb, so there is nothing to agree with. Write one first, as in “the king near "
            "the queens is proud of”."
        )
    right = {verb - 1: task.labels.index(VERBS[subject in MANY])}
    if verb < len(words) - 1:
        right[len(words) - 1] = task.labels.index(pronoun_of(subject))
    places = range(len(words))
    return Row(
        tuple(map(task.vocabulary.index, words)), tuple(t in right for t in places), tuple(map(right.get, places))
    )


_READERS: dict[type[LabellingConfig], Callable[[LabellingConfig, str], Row]] = {
    NoiseConfig: _next_signs,
    TaleConfig: _next_signs,
    EchoConfig: _echo,
    PlaceConfig: _place,
    GlossConfig: _gloss,
    GistConfig: _gist,
    AgreementConfig: _agreement,
}


@torch.inference_mode()
def answers(opened: OpenedModel, task: LabellingConfig, row: Row) -> list[Answer]:
    """What every place says: probabilities, in the mean over the seeds."""
    logits = asked(opened.stack, torch.tensor([row.ids]), opened.config.replicas)
    most = logits.softmax(dim=-1).mean(dim=0)[0].max(dim=-1)
    return [
        Answer(task.vocabulary[id], counts, task.labels[said], share, None if right is None else task.labels[right])
        for id, counts, said, share, right in zip(
            row.ids, row.asked, most.indices.tolist(), most.values.tolist(), row.wanted, strict=True
        )
    ]


@dataclass(frozen=True, eq=False)
class Inside:
    """One model reading one row."""

    weights: Float[ndarray, "layers heads query key"] | None  # NaN where nobody may look; None without attention
    states: Float[ndarray, "time width"]  # what the readout reads
    taps: dict[str, Float[ndarray, " *shape"]]


@torch.inference_mode()
def inside(model: nn.Module, ids: Sequence[int]) -> Inside:
    """Where every token looks, what stands there at the end, and every tapped value by its name."""
    with record(model) as trace:
        states: Tensor = model.features(torch.tensor([tuple(ids)]))[0]  # type: ignore[operator]  # a tagger
    taps = {name: to_array(value[0]) for name, value in trace.items()}
    found = [taps[name] for name in taps if name.endswith(".attention.weights")]
    if not found or not isinstance(model, TransformerTagger):
        return Inside(None, to_array(states), taps)
    hidden = np.triu(np.full((len(ids), len(ids)), bool(model.config.causal)), 1)
    return Inside(np.where(hidden, np.float32(np.nan), np.stack(found)), to_array(states), taps)
