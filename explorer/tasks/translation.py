"""What the tasks with a source and a target share: their vocabularies, and the way from typed text to ids and back.

Ids count from 0 in the order of a vocabulary. A source has no marks: it ends where its tokens end, and <PAD> stands
behind it only where it lies beside longer ones. A target begins after <BOS> and ends with <EOS>. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from explorer.errors import InvalidSetting, shortened
from explorer.tasks import dates, digits
from explorer.tasks.dates import DatesConfig
from explorer.tasks.digits import CopyConfig, ReverseConfig

TranslationConfig: TypeAlias = ReverseConfig | CopyConfig | DatesConfig
PAD = "<PAD>"
BOS = "<BOS>"
EOS = "<EOS>"
MOST_TYPED = 50  # tokens of a source that a model is asked to read
_MORE = 5  # tokens that a model may write beyond the length of a right answer


def source_tokens(config: TranslationConfig) -> tuple[str, ...]:
    """The vocabulary of sources; <PAD> is its last."""
    return (*_symbols(config), PAD)


def target_tokens(config: TranslationConfig) -> tuple[str, ...]:
    """The vocabulary of targets; its last are <BOS> and <EOS>."""
    return (*(tuple("0123456789-") if isinstance(config, DatesConfig) else _symbols(config)), BOS, EOS)


def spelled(config: TranslationConfig, text: str) -> tuple[int, ...]:
    """The ids of a typed source, without marks. It may be longer than any that was trained, up to MOST_TYPED tokens.

    Capital letters are read as small ones; between digits, spaces are left out. Raises InvalidSetting.
    """
    dated = isinstance(config, DatesConfig)
    text = (" " if dated else "").join(text.lower().split())
    known = _symbols(config)
    possible = "a date in small letters, such as “3rd of march 1997”" if dated else f"digits from 0 to {known[-1]}"
    if not text:
        raise InvalidSetting(f"The source is empty. Give {possible}.")
    if unknown := next((each for each in text if each not in known), ""):
        raise InvalidSetting(f"The source has “{shortened(unknown)}”, which the model never saw. Give {possible}.")
    if len(text) > MOST_TYPED:
        raise InvalidSetting(f"The source has {len(text):,} tokens. Give at most {MOST_TYPED}.")
    return tuple(known.index(each) for each in text)


def read_back(config: TranslationConfig, source: Sequence[int]) -> str:
    """The text of a source, without <PAD>."""
    return "".join(token for token in (source_tokens(config)[i] for i in source) if token != PAD)


def said(config: TranslationConfig, target: Sequence[int]) -> str:
    """The text of a target, up to its <EOS> if it has one."""
    tokens = [target_tokens(config)[i] for i in target]
    return "".join(tokens[: tokens.index(EOS)] if EOS in tokens else tokens)


def right_answer(config: TranslationConfig, source: Sequence[int]) -> tuple[int, ...] | None:
    """The right target of a source, without marks; None for a text that names no date."""
    if not isinstance(config, DatesConfig):
        return digits.target(config, tuple(source))
    day = dates.understood(read_back(config, source)).day
    return None if day is None else tuple("0123456789-".index(each) for each in day.isoformat())


def longest_answer(config: TranslationConfig, source: int) -> int:
    """Tokens that a model may write about a source of so many, <EOS> among them: a few more than are right."""
    return (10 if isinstance(config, DatesConfig) else source) + 1 + _MORE


def _symbols(config: TranslationConfig) -> tuple[str, ...]:
    return dates.CHARACTERS if isinstance(config, DatesConfig) else tuple(digits.DIGITS[: config.symbols])
