"""The models of the studio: how each reads a prompt, and how it is asked to write."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Int

from explorer.catalogue import task_row
from explorer.errors import InvalidSetting
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig, TransformerTextConfig
from explorer.tasks.text import TextConfig
from explorer.ui.at_hand import AtHand
from explorer.ui.findings import some
from explorer.ui.studio import Studio

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.generation.sampling import Sampling
    from explorer.generation.writing import Writer
    from explorer.tokenization.text import Tokenizer

_CONTEXT = 24  # characters before a place that name it


@dataclass(frozen=True)
class Prompt:
    """What was typed, as one model reads it."""

    ids: tuple[int, ...]
    text: str
    note: str  # what of it was changed, left out or forgotten


def sampling(studio: Studio) -> Sampling:
    """How tokens are chosen."""
    from explorer.generation.sampling import Sampling

    top_k = 1 if studio.greedy else studio.top_k
    return Sampling(float(studio.t), top_k, float(studio.top_p), float(studio.min_p), studio.seed)


def read(hand: AtHand, prompt: str) -> Prompt:
    """A prompt as a run's model reads it. Raises DamagedRun, TextError."""
    from explorer.generation.writing import FROM_NOTHING, prompt_ids

    task, tokenizer = hand.config.on(TextConfig), tokenizer_of(hand)
    small = prompt.lower() if task.lower else prompt
    ids, unseen = prompt_ids(tokenizer, small)
    text = tokenizer.decode(ids.tolist())
    notes = []
    if not tokenizer.encode(small).tolist():
        notes.append(FROM_NOTHING if prompt.strip() else "")
    if small != prompt:
        notes.append("It learned from small letters only.")
    if unseen:
        become = "left out" if tokenizer.unknown is None else "read as <unk>"
        notes.append(f"It never saw {some(unseen)}: {become}.")
    if forgotten := beyond(hand, len(ids)):
        left = len(ids) - forgotten
        end = end_of(tokenizer.decode(ids[:forgotten].tolist()))
        notes.append(f"It sees only the last {left} {hand.unit}s; all up to “{end}” is forgotten.")
    if tokenizer.kind == "bpe":
        notes.append("Its tokenizer keeps no spaces: one stands between all tokens.")
    return Prompt(tuple(ids.tolist()), text, " ".join(filter(None, notes)))


def beyond(hand: AtHand, tokens: int) -> int:
    """How many tokens at the beginning of a prompt a model no longer sees."""
    from explorer.generation.decoding import window_start

    model, context = hand.config.model, hand.config.on(TextConfig).context
    if isinstance(model, TransformerTextConfig):
        return window_start(tokens, context)
    if isinstance(model, NgramTextConfig):
        return max(0, tokens - model.n + 1)
    return max(0, tokens - model.window) if isinstance(model, FeedforwardTextConfig) else 0


def tokenizer_of(hand: AtHand) -> Tokenizer:
    tokenizer = hand.tokenizer
    assert tokenizer, "a run on text has one"
    return tokenizer


def check_writes(hand: AtHand) -> None:
    """Raises InvalidSetting for a run that learned something else than to write."""
    if not isinstance(hand.config.task, TextConfig):
        raise InvalidSetting(
            f"The run “{hand.name}” learned {task_row(hand.config.task).title.lower()}, it cannot write. "
            "Choose a language model above."
        )


def focused(hands: Mapping[str, AtHand], studio: Studio) -> str:
    """Of the models that can be asked the one whose distribution is shown."""
    return studio.focused if studio.focused in hands else list(hands)[-1]


def writer(hand: AtHand) -> Writer:
    """Its model, which has to be loaded first perhaps. Raises DamagedRun."""
    from explorer.generation.writing import Writer

    return Writer.of(hand.model(), hand.config.on(TextConfig), tokenizer_of(hand))


def choice(studio: Studio) -> tuple[Hashable, ...]:
    """What names, beside the temperature, how tokens are chosen."""
    return (studio.greedy, studio.top_k, float(studio.top_p), float(studio.min_p), studio.seed)


def tensor(ids: Sequence[int]) -> Int[Tensor, " tokens"]:
    import torch

    return torch.tensor(ids, dtype=torch.int64)


def end_of(text: str) -> str:
    """The last letters of a text, on one line."""
    line = text.replace("\n", "↵")
    return line if len(line) <= _CONTEXT else f"…{line[-_CONTEXT:]}"
