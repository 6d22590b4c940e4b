"""The negation task: does "human not preserve nature" end well?

A grammar of a few sentences, `human [not …] VERB nature`. To preserve nature sustains it, to consume
or destroy it lets it collapse, and each "not" turns this around. Small enough to list everything it
can say with its probability, so that accuracy can be exact. Needs only the standard library.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from explorer.models.settings import setting
from explorer.tokenization.words import Words

VERSION = 1
CLASSES = ("collapse", "sustain")
VOCABULARY = Words(
    ("<BOS>", "<EOS>", "human", "nature", "consume", "preserve", "destroy", "not", "sustain", "collapse", "<PAD>")
)
OUTCOME = {"consume": "collapse", "preserve": "sustain", "destroy": "collapse"}


@dataclass(frozen=True)
class NegationConfig:
    """The world that is drawn from, and how much of it."""

    p_not: float = setting(0.35, "Probability of “not” (and, where two are allowed, of a second one).", 0, 1)
    max_nots: int = setting(1, "Most “not”s before the verb; each one flips the outcome.", 0, 3)
    held_out: Literal["none", "consume", "preserve", "destroy"] = setting(
        "none", "A verb that training never shows together with “not”; the test does."
    )
    train_size: int = setting(800, "Sentences to learn from.", 8, 20_000)
    test_size: int = setting(200, "Sentences to be asked about.", 8, 20_000)
    data_seed: int = setting(0, "Seed of the sentences that are drawn.", 0, 2**31 - 1)
    fresh_data: bool = setting(True, "Fresh sentences for every seed; otherwise all seeds share one set.")
    padding: Literal["pad", "eos"] = setting(
        "pad", "What fills up short sentences: <PAD>, never counted, or <EOS>, counted like a word."
    )

    def __post_init__(self) -> None:
        if self.held_out != "none" and self.p_not == 1:
            raise ValueError(
                f"p_not = 1 leaves nothing to train “{self.held_out}” on when “not {self.held_out}” is held out"
            )


@dataclass(frozen=True)
class Sentence:
    """One thing the grammar can say."""

    verb: str
    nots: int
    probability: float  # of being drawn for the test, and in the world
    train_probability: float  # of being drawn for training: 0 where it is held out

    @property
    def words(self) -> tuple[str, ...]:
        return ("human", *["not"] * self.nots, self.verb, "nature")

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def label(self) -> int:
        """The index of its outcome in CLASSES."""
        return (CLASSES.index(OUTCOME[self.verb]) + self.nots) % 2


def grammar_says(words: Sequence[str]) -> int | None:
    """The true class of any sentence of this shape, with however many "not"s; None for other sentences."""
    if len(words) < 3 or words[0] != "human" or words[-1] != "nature" or words[-2] not in OUTCOME:
        return None
    nots = words[1:-2]
    if any(word != "not" for word in nots):
        return None
    return (CLASSES.index(OUTCOME[words[-2]]) + len(nots)) % 2


@dataclass(frozen=True)
class Row:
    """One distinct row of token ids, all filled up to the same length with <PAD>.

    `length` is how far the sentence is filled up with counted <EOS> (the trap); without the trap it is
    the sentence's own length.
    """

    sentence: int
    length: int
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Negation:
    """Everything that follows from a configuration: sentences, rows of ids, samples."""

    config: NegationConfig

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """All the grammar can say, pairs that differ in one "not" side by side."""
        p, most = self.config.p_not, self.config.max_nots
        of_nots = [p**k * (1 - p) if k < most else p**k for k in range(most + 1)]

        def held_out(verb: str, nots: int) -> bool:
            return verb == self.config.held_out and nots > 0

        every = [(verb, k, of_nots[k] / len(OUTCOME)) for verb in OUTCOME for k in range(most + 1)]
        shown = sum(p for verb, k, p in every if not held_out(verb, k))
        return tuple(Sentence(verb, k, p, 0.0 if held_out(verb, k) else p / shown) for verb, k, p in every)

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The class of each sentence."""
        return tuple(sentence.label for sentence in self.sentences)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each sentence, markers included."""
        return tuple(len(sentence.words) + 2 for sentence in self.sentences)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every distinct row of ids that a batch can hold.

        With <PAD> there is one for each sentence. With counted <EOS> the row of a sentence depends on
        the longest sentence beside it, so there is one for each length up to the longest.
        """
        longest = max(self.lengths)
        rows = []
        for index, sentence in enumerate(self.sentences):
            own = self.lengths[index]
            for length in range(own, longest + 1 if self.config.padding == "eos" else own + 1):
                rows.append(Row(index, length, pad(VOCABULARY.encode(sentence.words), length, longest)))
        return tuple(rows)

    def row(self, sentence: int, longest: int) -> int:
        """Which row a sentence becomes in a batch whose longest sentence has so many tokens."""
        length = longest if self.config.padding == "eos" else self.lengths[sentence]
        return next(i for i, row in enumerate(self.rows) if (row.sentence, row.length) == (sentence, length))

    def sample(self, split: Literal["train", "test"], seed: int) -> list[int]:
        """Indices of the sentences drawn for one replica, the same for ever."""
        config = self.config
        chances = [s.train_probability if split == "train" else s.probability for s in self.sentences]
        stream = f"{split}/{config.data_seed}/{seed}" if config.fresh_data else f"{split}/{config.data_seed}"
        size = config.train_size if split == "train" else config.test_size
        return random.Random(stream).choices(range(len(chances)), chances, k=size)


def pad(ids: Sequence[int], length: int, longest: int) -> tuple[int, ...]:
    """Ids filled up to `length` with <EOS>, which is counted, and on to `longest` with <PAD>, which is not."""
    end, padding = VOCABULARY.id(VOCABULARY.last), VOCABULARY.id(VOCABULARY.padding)
    return (*ids, *[end] * (length - len(ids)), *[padding] * (longest - length))
