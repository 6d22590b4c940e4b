"""Bits per byte of the held-out text as it is: a loss that can be compared between all tokenizers.

    (nats of all held-out targets + nats of what is not predicted) / UTF-8 bytes of the held-out text / ln 2

A code must let a reader restore the text. The tokens of characters and of bytes do. Words do not spell an unknown word,
and words and BPE drop spaces (BPE also line ends). In rows of lines, the first token of a line is given, and tokens
beyond the context and line ends are no targets. So this is encoded in addition:

- The spelling of each unknown word (or, with BPE, character), by a trigram model of its characters.
- The space before each token (often none), given the characters on both sides of it.
- Each token of a whole held-out line that is no target, given the token before it; and after each token of such a
  line whether the line ends, given the token.

All are Witten-Bell models (Witten and Bell 1991, method C, interpolated) that are learned from the training part only.
A character that this part does not contain costs one of all code points. The language model itself is not asked for
what is not predicted, so the sum is an upper bound for a model that would predict it as well.

A loss that was measured on lower-cased text is that of the lower-cased text, whose bytes are counted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Int, Integer
from numpy import ndarray

from explorer.byte_cache import Once
from explorer.errors import LineageError
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Part, Sentences, text_data
from explorer.tasks.text.token_arrays import load_tokens, sentence_lines, split_stream
from explorer.tokenization.pipeline import split_at_word_ends
from explorer.tokenization.subwords import ByteLevelBPE
from explorer.tokenization.text import Tokenizer

LOSSLESS = ("char", "bytes")  # tokenizers whose tokens restore the text
_CODE_POINTS = 0x110000
_START = "\0"  # precedes the first character of a word
_END = ""  # follows the last one

Contexts = tuple[Hashable, ...]  # of one symbol, from the longest to the shortest
Loss = TypeVar("Loss", bound=Any)  # a number, an array or a tensor


@dataclass(frozen=True)
class HeldOutText:
    """What the held-out targets of a task stand for."""

    vocabulary: int  # tokens that the tokenizer has
    targets: int
    bytes: int  # of the text in UTF-8
    unknown: int = 0  # of these, bytes of unknown words (or characters)
    unscored: int = 0  # of these, bytes that no target represents: dropped spaces, and what lines leave out
    spelling: float = 0.0  # nats of the unknown words (or characters)
    spacing: float = 0.0  # nats of the spaces and line ends that no token represents
    lines: float = 0.0  # nats of tokens of lines that are no targets, and of the ends of these lines

    @property
    def omitted_bits(self) -> float:
        """Bits per byte of what no target predicts; 0 for characters and bytes of a stream."""
        return self.bits(self.spelling + self.spacing + self.lines)

    def bits(self, nats: float) -> float:
        """Convert nats of the whole text to bits per byte."""
        return nats / self.bytes / math.log(2)

    @property
    def shares(self) -> str:
        """The shares of the bytes of unknown words, and of those that no target scores, in words."""
        return f"{self.unscored / self.bytes:.1%}; of unknown words: {self.unknown / self.bytes:.1%}"

    def bits_per_byte(self, loss: Loss) -> Loss:
        """Convert a mean loss over all held-out targets, in nats per token."""
        return loss * (self.targets / self.bytes / math.log(2)) + self.omitted_bits


def count_held_out_text(task: TextConfig) -> HeldOutText | None:
    """Return the counted held-out text; None where the rows cannot be made, of which the training itself says why."""
    try:
        return held_out_text(task)
    except LineageError:
        return None


_counted: Once[tuple[TextConfig, Part], HeldOutText] = Once()


def held_out_text(config: TextConfig, part: Part = "validation") -> HeldOutText:
    """Return what the held-out targets of a task stand for, counted once. No model is needed.

    With split = windows, whose windows overlap and whose training part is nearly everything, the whole text is counted.
    With split = pairs, only the held-out targets and the spaces before them: the rest of a line is in no part.
    Raises TextError, NeedsText or CorpusMissing.
    """
    config = replace(config, training_share=1.0, batches="random")  # which change nothing of what is held out
    text = corpora.load_text(config)  # of a visitor, only for one who may read it
    return _counted.get((config, part), lambda: _count_held_out_text(config, part, text))


def _count_held_out_text(config: TextConfig, part: Part, text: str) -> HeldOutText:
    data = text_data(config, part)
    if isinstance(data, Sentences):
        lines = sentence_lines(text)
        return _count_lines(data, [line.lower() for line in lines] if config.lower else lines, text)
    text = text.lower() if config.lower else text
    parts = split_stream(text, config.held_out, config.test)
    learned, coded = (text, text) if config.split == "windows" else (parts.training, getattr(parts, part))
    tokenizer, size = data.tokenizer, len(coded.encode())
    if tokenizer.kind in LOSSLESS:
        return HeldOutText(data.vocabulary, len(tokenizer.encode(coded)), size)
    omitted = OmittedText()
    omitted.fit(tokens_in_text(tokenizer, learned))
    tokens = list(tokens_in_text(tokenizer, coded))
    unknown = _size(token.text for token in tokens if token.unknown)
    spaces = _size(token.space for token in tokens)
    return HeldOutText(data.vocabulary, len(tokens) - 1, size, unknown, spaces, *omitted.nats(tokens))


def _count_lines(data: Sentences, lines: Sequence[str], text: str) -> HeldOutText:
    """Count held-out lines, or with split = pairs the held-out targets of all lines."""
    tokenizer, ids = data.tokenizer, data.ids.astype(np.int64)
    lengths = load_tokens(data.config, text).arrays["lengths"].astype(np.int64)
    line = np.repeat(np.arange(len(lengths)), lengths)
    scored, learned = np.zeros((2, len(ids)), dtype=bool)
    scored[data.held_out_positions], learned[data.training_positions] = True, True
    coded, of_lines, ends = scored, 0.0, 0
    if data.config.split == "sentences":
        coded, learned = (np.isin(line, line[each]) for each in (scored, learned))
        is_last = np.append(line[1:] != line[:-1], True)
        before = np.where(np.roll(is_last, 1), data.vocabulary, np.roll(ids, 1))  # one more token is the start
        of_lines = _nats_given(before, ids, learned, coded & ~scored, data.vocabulary)
        of_lines += _nats_given(ids, is_last, learned, coded, 2)
        ends = int((coded & is_last).sum())
    counts = data.vocabulary, len(data.held_out_positions)
    if tokenizer.kind in LOSSLESS:
        size, given = (int(_token_bytes(tokenizer)[ids[each]].sum()) for each in (coded, coded & ~scored))
        return HeldOutText(*counts, size + ends, unscored=given + ends, lines=of_lines)
    tokens = [token for line in lines for token in tokens_in_text(tokenizer, line) if not token.is_end]
    omitted = OmittedText()
    omitted.fit(compress(tokens, learned))
    chosen = list(compress(tokens, coded))
    size, given = (_size(token.text for token in compress(tokens, each)) for each in (coded, coded & ~scored))
    unknown, outside = _size(token.text for token in chosen if token.unknown), ends + _size(t.space for t in chosen)
    return HeldOutText(*counts, size + outside, unknown, given + outside, *omitted.nats(chosen), of_lines)


def _nats_given(
    contexts: Int[ndarray, " n"],
    symbols: Integer[ndarray, " n"] | Bool[ndarray, " n"],
    learned: Bool[ndarray, " n"],
    coded: Bool[ndarray, " n"],
    possible: int,
) -> float:
    """Return the nats of the coded symbols, each after its context, with the frequencies of the learned ones."""
    model = WittenBell()
    learned_pairs, coded_pairs = (
        Counter(zip(contexts[each].tolist(), symbols[each].tolist(), strict=True)) for each in (learned, coded)
    )
    for (context, symbol), count in learned_pairs.items():
        model.add((context, None), symbol, count)
    return math.fsum(n * model.nats((c, None), s, -math.log(possible)) for (c, s), n in coded_pairs.items())


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _token_bytes(tokenizer: Tokenizer) -> Int[ndarray, " vocabulary"]:
    """Return the number of bytes of each token."""
    if isinstance(tokenizer, ByteLevelBPE):
        return tokenizer.byte_lengths
    return np.array([len(token.encode()) for token in tokenizer.tokens])


# What the tokens leave out


class TokenInText(NamedTuple):
    """A token and the characters around it."""

    text: str  # that it stands for
    space: str  # before it, which no token represents
    previous: str  # the character before that; empty at the start of the text
    unknown: bool
    is_end: bool = False  # the end of the text, which follows the last space


def tokens_in_text(tokenizer: Tokenizer, text: str) -> Iterator[TokenInText]:
    """Yield the tokens of a text, and its end."""
    position = last = 0
    for piece in split_at_word_ends(text):  # the spans of a whole text would take 100 MB
        for id, start, end in tokenizer.spans(piece):
            start, end = position + start, position + end
            yield TokenInText(text[start:end], text[last:start], text[last - 1 : last], id == tokenizer.unknown)
            last = end
        position += len(piece)
    yield TokenInText("", text[last:], text[last - 1 : last] if last else "", False, is_end=True)


class OmittedText:
    """A code for what the tokens of a lossy tokenizer leave out; learned from the tokens of the training part."""

    def __init__(self) -> None:
        self._spelling, self._spacing = WittenBell(), WittenBell()

    def fit(self, tokens: Iterable[TokenInText]) -> None:
        """Learn spaces from all tokens, and spelling from the distinct unknown ones (or from all if there are none)."""
        spaces: Counter[tuple[Contexts, str]] = Counter()
        unknown: dict[str, None] = {}
        known: dict[str, None] = {}
        for token in tokens:
            spaces[_space_event(token)] += 1
            (unknown if token.unknown else known)[token.text] = None
        for (contexts, space), count in spaces.items():
            self._spacing.add(contexts, space, count)
        for word in unknown or known:
            for contexts, character in _spelling_events(word):
                self._spelling.add(contexts, character)

    def nats(self, tokens: Sequence[TokenInText]) -> tuple[float, float]:
        """Return the nats of the spelling of unknown tokens, and those of all spaces."""
        spaces = Counter(map(_space_event, tokens))
        words = Counter(token.text for token in tokens if token.unknown)
        spelling = math.fsum(
            count * self._spelling.nats(contexts, character, -math.log(_CODE_POINTS + 1))
            for word, count in words.items()
            for contexts, character in _spelling_events(word)
        )
        spacing = math.fsum(
            count * self._spacing.nats(contexts, space, -(len(space) + 1) * math.log(_CODE_POINTS + 1))
            for (contexts, space), count in spaces.items()
        )
        return spelling, spacing


def _space_event(token: TokenInText) -> tuple[Contexts, str]:
    """Return the space before a token and its contexts: the characters on both sides."""
    following = token.text[:1]
    return ((token.previous, following), following, None), token.space


def _spelling_events(word: str) -> Iterator[tuple[Contexts, str]]:
    """Yield each character of a word, and its end, with the characters before it."""
    start = 2 * _START
    for position, character in enumerate([*word, _END]):
        before = (start + word)[position : position + 2]
        yield (before, before[1:], None), character


class WittenBell:
    """P(s | c) = (n(c, s) + T(c) P(s | shorter c)) / (n(c) + T(c)), with T(c) distinct symbols after the context c."""

    def __init__(self) -> None:
        self._counts: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
        self._totals: Counter[Hashable] = Counter()

    def add(self, contexts: Contexts, symbol: Hashable, count: int = 1) -> None:
        """Count a symbol after each of its contexts."""
        for context in contexts:
            self._counts[context][symbol] += count
            self._totals[context] += count

    def nats(self, contexts: Contexts, symbol: Hashable, log_base: float) -> float:
        """Return -log P(symbol). `log_base`: the log-probability of the symbol where nothing has been counted."""
        log_probability = log_base  # a long run of spaces has a probability that is no float
        for context in reversed(contexts):
            if counts := self._counts.get(context):
                distinct, total = len(counts), self._totals[context]
                log_probability += math.log(distinct)
                if seen := counts[symbol]:
                    log_probability = float(np.logaddexp(math.log(seen), log_probability))
                log_probability -= math.log(total + distinct)
        return -log_probability
