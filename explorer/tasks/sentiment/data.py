"""The data of the task `sentiment`: what the models learn from, and the parts on which they are tested.

A tenth of the reviews is held out for the test, and another tenth for validation, by which learning rates are chosen.
The test has composed sentences with adjectives and with forms that training never shows. All of these parts, and the
vocabulary, are the same for every configuration with the same size of the vocabulary.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from explorer.array_types import Int
from explorer.byte_cache import Once
from explorer.errors import TextError
from explorer.lazy_libraries import torch
from explorer.seeds import generator
from explorer.tasks.negation import SentenceRows
from explorer.tasks.own_tables import read_labelled
from explorer.tasks.sentiment.config import CLASSES, SentimentConfig
from explorer.tasks.sentiment.corpus import Rated, read_reviews, read_words
from explorer.tasks.text import corpora
from explorer.tasks.text import english_grammar as grammar
from explorer.tokenization.english import MAX_PIECES, Pieces, split_english, train_pieces

MAX_TOKENS = MAX_PIECES + 2  # of a sentence, with its markers
NEGATIONS = frozenset(
    {"not", "no", "never", "nothing", "nobody", "none", "nor", "neither", "without", "hardly", "barely"}
)
_COMPOSED_FOR_PIECES = 20_000
_TEST_SIZE, _VALIDATION_SIZE = 1_000, 600  # composed sentences of a part
_TEST_SEED, _VALIDATION_SEED, _SPLIT_SEED = 1_000_003, 2_000_003, "reviews"


class Example(NamedTuple):
    """A sentence as token ids, with its markers."""

    ids: tuple[int, ...]
    label: int
    negated: bool = False  # has a word that negates, or, if it is composed, a form that turns the class


class _Reviews(NamedTuple):
    training: Sequence[Rated]
    validation: Sequence[Rated]
    test: Sequence[Rated]


@lru_cache(maxsize=1)
def _split(reviews: tuple[Rated, ...]) -> _Reviews:
    shuffled = random.Random(_SPLIT_SEED).sample(reviews, len(reviews))
    tenth = len(reviews) // 10
    return _Reviews(shuffled[2 * tenth :], shuffled[tenth : 2 * tenth], shuffled[:tenth])


@lru_cache(maxsize=4)
def _pieces(size: int, reviews: tuple[Rated, ...], words: tuple[Rated, ...]) -> Pieces:
    composed = (split_english(each.text) for each in grammar.compose(_COMPOSED_FOR_PIECES, 0))
    rated = (each.words for each in (*_split(reviews).training, *words))
    return train_pieces((" ".join(sentence) for sentence in (*rated, *composed)), size)


@dataclass(frozen=True)
class Sentiment:
    """The sentences of a configuration; a visitor's `own` are learned from like reviews. Raises LineageError."""

    config: SentimentConfig
    own: tuple[Rated, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        return CLASSES

    @cached_property
    def reviews(self) -> _Reviews:
        return _split(read_reviews())

    @cached_property
    def vocabulary(self) -> Pieces:
        return _pieces(self.config.vocabulary, read_reviews(), read_words())

    def _encode(self, sentences: Iterable[tuple[Sequence[str], int, bool]]) -> list[Example]:
        """Return sentences, given as words, as examples."""
        listed = list(sentences)
        encoded = self.vocabulary.encode_all([words for words, _, _ in listed])
        return [Example(ids, label, negated) for ids, (_, label, negated) in zip(encoded, listed, strict=True)]

    def _encode_rated(self, rated: Iterable[Rated]) -> list[Example]:
        return self._encode((words, label, not NEGATIONS.isdisjoint(words)) for words, label in rated)

    def _encode_composed(self, composed: Iterable[grammar.Composed]) -> list[Example]:
        return self._encode((split_english(each.text), each.label, each.turned) for each in composed)

    @property
    def training(self) -> list[Example]:
        """What the models learn from: each part as often as the configuration says."""
        config = self.config
        reviews = self._encode_rated([*self.reviews.training, *self.own]) if config.reviews else []
        own = self._encode_rated(self.own) if self.own and not config.reviews else []
        words = self._encode_rated(read_words()) if config.words else []
        composed = self._encode_composed(grammar.compose(config.composed, config.data_seed))
        return [*reviews * config.reviews, *own, *words * config.words, *composed]

    @property
    def validation(self) -> dict[str, list[Example]]:
        """The two parts by which a learning rate is chosen: held-out reviews, and composed sentences of known words."""
        composed = grammar.compose(_VALIDATION_SIZE, _VALIDATION_SEED)
        return {
            "val_reviews": self._encode_rated(self.reviews.validation),
            "val_composed": self._encode_composed(composed),
        }

    @cached_property
    def test(self) -> dict[str, list[Example]]:
        """The parts of the test, by their names in TESTED."""
        reviews = self._encode_rated(self.reviews.test)
        new_words = self._encode_composed(grammar.compose_new_words(_TEST_SIZE, _TEST_SEED))
        return {
            "reviews": reviews,
            "reviews_negated": [each for each in reviews if each.negated],
            "new_words": new_words,
            "negated": [each for each in new_words if each.negated],
            "new_forms": self._encode_composed(grammar.compose_new_forms(_TEST_SIZE, _TEST_SEED)),
        }

    def majority(self, part: str) -> float:
        """Return the share of the more frequent class in a part of the test: what an answer without reading gets."""
        labels = [each.label for each in self.test[part]]
        return max(labels.count(label) for label in range(len(CLASSES))) / len(labels)


_data: Once[SentimentConfig, Sentiment] = Once()


def sentiment_data(config: SentimentConfig) -> Sentiment:
    """Return the data of a configuration, derived once. Raises CorpusMissing, NeedsText or TextError."""
    own = read_own_sentences(config.text) if config.corpus == "own" else ()
    return _data.get(config, lambda: Sentiment(config, own))


def read_own_sentences(sha: str) -> tuple[Rated, ...]:
    """Return the sentences of a table with the labels positive and negative. Raises NeedsText or TextError."""
    table = read_labelled(corpora.own_text(sha))
    known = {"positive": 1, "pos": 1, "1": 1, "+": 1, "negative": 0, "neg": 0, "0": 0, "-1": 0}
    names = [name.casefold() for name in table.classes]
    if unknown := next((name for name in names if name not in known), None):
        raise TextError(
            f"The label “{unknown}” is neither positive nor negative.",
            "Write positive or negative (or 1 or 0) in the column label.",
        )
    labels = [known[names[label]] for label in table.labels]
    return tuple(Rated(split_english(" ".join(words)), label) for words, label in zip(table.words, labels, strict=True))


_SORTED_TOGETHER = 50  # batches whose sentences are sorted by their length


def example_rows(examples: Sequence[Example], padding: int) -> SentenceRows:
    """Return sentences as rows, padded to the longest one; in 16 bits, because there are many."""
    lengths = torch.tensor([len(each.ids) for each in examples])
    longest = int(lengths.max())
    ids = torch.full((len(examples), longest), padding, dtype=torch.int16)
    ids[torch.arange(longest) < lengths[:, None]] = torch.tensor(
        [id for each in examples for id in each.ids], dtype=torch.int16
    )
    return SentenceRows(ids, torch.tensor([each.label for each in examples]), lengths)


def batches(
    lengths: Int[torch.Tensor, " sentences"], seeds: Sequence[int], order: int, batch_size: int, steps: int
) -> Iterator[Int[torch.Tensor, "replicas batch"]]:
    """Yield the indices of the sentences of each step. In a round each seed reads every sentence, in its own order.

    Sentences of about the same length are together in a batch, so that little of it is padding. At a step, all seeds
    read about the same length.
    """
    purpose = f"order/{order}" if order else "order"
    generators = [generator(seed, purpose) for seed in seeds]
    shared = generator(0, purpose)  # decides at which step which length is read
    size = _SORTED_TOGETHER * batch_size
    step = 0
    while True:
        rounds = torch.stack([torch.randperm(len(lengths), generator=each) for each in generators])
        for part in torch.split(rounds, size, dim=-1):
            by_length = part.gather(-1, lengths[part].argsort(dim=-1, stable=True))
            parts = torch.split(by_length, batch_size, dim=-1)
            for i in torch.randperm(len(parts), generator=shared).tolist():
                if step == steps:
                    return
                yield parts[i]
                step += 1
