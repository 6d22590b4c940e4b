"""Vocabularies of the sequence-to-sequence tasks, and conversion between text and ids. Needs no torch.

Ids are indices in a vocabulary. A source has no <BOS> or <EOS>; <PAD> follows it in a batch with longer sources. A
target starts after <BOS> and ends with <EOS>.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from explorer.errors import InvalidSetting, shorten
from explorer.tasks.seq2seq import dates, digits
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig, known_target, normalize_text
from explorer.tokenization.words import Reading, fold_variants, fold_word, read_characters

TranslationConfig: TypeAlias = ReverseConfig | CopyConfig | DatesConfig | PairsConfig
TRANSLATION_CONFIGS = (ReverseConfig, CopyConfig, DatesConfig, PairsConfig)
PAD = "<PAD>"
BOS = "<BOS>"
EOS = "<EOS>"
MAX_SOURCE_TOKENS = 50  # in a typed source
_EXTRA_TOKENS = 5  # tokens that a model may generate beyond the length of a correct answer


def source_vocabulary(config: TranslationConfig) -> tuple[str, ...]:
    """Return the vocabulary of sources; its last token is <PAD>."""
    return (*_symbols(config), PAD)


def target_vocabulary(config: TranslationConfig) -> tuple[str, ...]:
    """Return the vocabulary of targets; its last tokens are <BOS> and <EOS>."""
    if isinstance(config, PairsConfig):
        return (*config.targets, BOS, EOS)
    return (*(tuple("0123456789-") if isinstance(config, DatesConfig) else _symbols(config)), BOS, EOS)


def read_source(config: TranslationConfig, text: str) -> Reading:
    """Return the characters of a typed source that the models read, at most MAX_SOURCE_TOKENS, and the others."""
    symbols = _symbols(config)
    if isinstance(config, PairsConfig):
        text = "".join(each if each in symbols else fold_variants(each) for each in normalize_text(text))
    else:
        text = (" " if isinstance(config, DatesConfig) else "").join(fold_word(text).split())
    reading = read_characters(text, symbols, MAX_SOURCE_TOKENS)
    return reading if reading.text.strip() else reading._replace(tokens=())


def source_ids(config: TranslationConfig, text: str) -> tuple[int, ...]:
    """Return the ids of a typed source, which may be longer than in training, up to MAX_SOURCE_TOKENS tokens.

    Digits and dates are lower-cased, and spaces between digits are dropped. Raises InvalidSetting if the
    source is empty, too long or contains unknown characters.
    """
    symbols, (read, unknown, left_out, _) = _symbols(config), read_source(config, text)
    if isinstance(config, PairsConfig):
        expected = f"a source of these characters: {''.join(symbols)}"
    elif isinstance(config, DatesConfig):
        expected = "a date in small letters, such as “3rd of march 1997”"
    else:
        expected = f"digits from 0 to {symbols[-1]}"
    if unknown:
        raise InvalidSetting(f"The source has “{shorten(unknown[0])}”, which the model never saw. Give {expected}.")
    if not read:
        raise InvalidSetting(f"The source is empty. Give {expected}.")
    if left_out:
        raise InvalidSetting(f"The source has {len(read + left_out):,} tokens. Give at most {MAX_SOURCE_TOKENS}.")
    return tuple(map(symbols.index, read))


def source_text(config: TranslationConfig, source: Sequence[int]) -> str:
    """Return the text of a source without <PAD>."""
    return "".join(token for token in (source_vocabulary(config)[i] for i in source) if token != PAD)


def target_text(config: TranslationConfig, target: Sequence[int]) -> str:
    """Return the text of a target up to its <EOS>, if it has one."""
    tokens = [target_vocabulary(config)[i] for i in target]
    return "".join(tokens[: tokens.index(EOS)] if EOS in tokens else tokens)


def target_ids(config: TranslationConfig, source: Sequence[int]) -> tuple[int, ...] | None:
    """Return the correct target of a source without <BOS> and <EOS>; None where none is known."""
    if isinstance(config, PairsConfig):
        target = known_target(config, source_text(config, source))
        return None if target is None else tuple(map(config.targets.index, target))
    if not isinstance(config, DatesConfig):
        return digits.target_digits(config, tuple(source))
    day = dates.parse_date(source_text(config, source)).day
    return None if day is None else tuple("0123456789-".index(each) for each in day.isoformat())


def max_answer_length(config: TranslationConfig, source_length: int) -> int:
    """Return the most tokens that a model may generate, <EOS> included: a few more than a correct answer has."""
    if isinstance(config, PairsConfig):
        return config.longest_target + 1 + _EXTRA_TOKENS
    return (10 if isinstance(config, DatesConfig) else source_length) + 1 + _EXTRA_TOKENS


def _symbols(config: TranslationConfig) -> tuple[str, ...]:
    if isinstance(config, PairsConfig):
        return tuple(config.sources)
    return dates.CHARACTERS if isinstance(config, DatesConfig) else tuple(digits.DIGITS[: config.symbols])
