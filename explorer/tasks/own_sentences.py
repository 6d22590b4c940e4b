"""A visitor's own labelled sentences as a task: the split, the vocabulary and the samples.

The file stays in memory, like every own text (`text/corpora.py`), and is read with `own_tables.py`. A sentence is its
words, in small letters and without punctuation; a share of the distinct sentences of each class is held out, so that no
sentence is in both parts. Words that the training part does not have are read as <UNK>.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

from explorer.array_types import Int
from explorer.byte_cache import Once
from explorer.errors import DamagedRun, InvalidSetting
from explorer.lazy_libraries import torch
from explorer.seeds import generator
from explorer.tasks.negation import (
    CLASSES,
    MAX_CLASSES,
    VOCABULARY,
    Negation,
    NegationConfig,
    Sentence,
    SentenceRows,
    row_ids,
)
from explorer.tasks.own_tables import MAX_LABEL, Labelled, read_labelled
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sentiment.data import Sentiment
from explorer.tasks.text import corpora
from explorer.tokenization.english import Pieces
from explorer.tokenization.words import MAX_WORDS, Words

SentenceConfig: TypeAlias = NegationConfig | SentimentConfig  # of the models that answer with a class of a sentence
MARKERS = ("<BOS>", "<EOS>", "<UNK>", "<PAD>")
MAX_TOKENS = MAX_WORDS + 2  # of a sentence, with its markers
_NEGATIONS = frozenset(
    {"not", "no", "never", "nothing", "nobody", "nor", "neither", "without", "cannot"}  # English, as the page says
)


class OwnSentences(Negation):
    """The data of a file of labelled sentences. Raises TextError or InvalidSetting."""

    def __init__(self, config: NegationConfig, text: str) -> None:
        super().__init__(config)
        table = read_labelled(text)
        if config.classes != len(table.classes):
            raise InvalidSetting(
                f"The file has {len(table.classes)} different labels ({', '.join(table.classes)}), not "
                f"{config.classes}. Set classes = {len(table.classes)}."
            )
        object.__setattr__(self, "table", table)

    table: Labelled

    @property
    def classes(self) -> tuple[str, ...]:
        return self.table.classes

    @cached_property
    def held_out(self) -> tuple[int, ...]:
        """The indices of the sentences that training never sees: the same share of each class."""
        return split_by_class(self.table.labels, self.config.held_out_share, self.config.data_seed)

    @cached_property
    def training(self) -> tuple[int, ...]:
        """The indices of the sentences of the training part."""
        held_out = set(self.held_out)
        return tuple(i for i in range(len(self.table.words)) if i not in held_out)

    @cached_property
    def vocabulary(self) -> Words:
        counted = Counter(word for i in self.training for word in self.table.words[i])
        frequent = sorted(counted, key=lambda word: (-counted[word], word))[: self.config.vocabulary]
        first, last, unknown, padding = MARKERS
        return Words((first, last, *frequent, unknown, padding), first, last, padding, unknown)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        held_out, table = set(self.held_out), self.table
        test, train = 1 / len(self.held_out), 1 / len(self.training)
        sentences = []
        for i, (words, label) in enumerate(zip(table.words, table.labels, strict=True)):
            nots = sum(word in _NEGATIONS or word.endswith("n't") for word in words)
            sentences.append(Sentence(words, label, nots, *((test, 0.0) if i in held_out else (0.0, train))))
        return tuple(sentences)

    def sample(self, split: Literal["train", "test"], seed: int) -> list[int]:
        """Return the sentences that every replica learns from: `train_size`, in rounds that have each once."""
        if split == "test":
            return list(self.held_out)
        rng, drawn = random.Random(f"own/{self.config.data_seed}"), list[int]()
        while len(drawn) < self.config.train_size:
            drawn += rng.sample(self.training, len(self.training))
        return drawn[: self.config.train_size]


def split_by_class(labels: Sequence[int], share: float, seed: int) -> tuple[int, ...]:
    """Return the indices that are held out: this share of each class, but at least one sentence and not all."""
    rng, held_out = random.Random(f"split/{seed}"), list[int]()
    for label in sorted(set(labels)):
        indices = [i for i, other in enumerate(labels) if other == label]
        size = min(max(1, round(share * len(indices))), len(indices) - 1)
        held_out += rng.sample(indices, size)
    return tuple(sorted(held_out))


_own: Once[NegationConfig, OwnSentences] = Once()
_grammar = lru_cache(maxsize=64)(Negation)  # its sentences are derived once for all visitors


def negation_data(config: NegationConfig) -> Negation:
    """Return the data of a configuration, derived once. Raises TextError, NeedsText or InvalidSetting."""
    if config.corpus == "grammar":
        return _grammar(config)
    # All visitors share the sentences. Loading the text first raises NeedsText for a visitor who may not read it.
    text = corpora.own_text(config.text)
    return _own.get(config, lambda: OwnSentences(config, text))


def own_task(sha: str, held_out_share: float = NegationConfig.held_out_share) -> NegationConfig:
    """Return the settings for a file: an epoch reads each training sentence once. Raises TextError or NeedsText."""
    table = read_labelled(corpora.own_text(sha))
    config = NegationConfig(corpus="own", text=sha, classes=len(table.classes), held_out_share=held_out_share)
    held_out = split_by_class(table.labels, config.held_out_share, config.data_seed)
    return replace(config, train_size=max(8, len(table.labels) - len(held_out)))


@dataclass(frozen=True)
class Language:
    """The words that the models of a run read and the classes that they answer; stored with a run on sentences."""

    vocabulary: Words = VOCABULARY
    classes: tuple[str, ...] = CLASSES

    def to_json(self) -> str:
        kind = "english" if isinstance(self.vocabulary, Pieces) else "sentences"
        return json.dumps({"kind": kind, "tokens": self.vocabulary.tokens, "classes": self.classes})

    @staticmethod
    @lru_cache(maxsize=32)  # read at each answer
    def from_json(text: str) -> Language:
        """Return the language that `to_json` wrote; that of the grammar for an empty text. Raises DamagedRun."""
        if not text:
            return Language()
        try:
            data = json.loads(text)
            tokens, classes, english = tuple(data["tokens"]), tuple(data["classes"]), data["kind"] == "english"
            markers = (MARKERS[:2], MARKERS[3:]) if english else (MARKERS[:2], MARKERS[2:])
            sound = (
                data["kind"] in ("english", "sentences")
                and (tokens[:2], tokens[-len(markers[1]) :]) == markers
                and all(isinstance(each, str) and each for each in (*tokens, *classes))
                and len(set(tokens)) == len(tokens) > len(MARKERS)
                and 2 <= len(set(classes)) == len(classes) <= MAX_CLASSES
                and all(len(name) <= MAX_LABEL for name in classes)
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            sound = False
        if not sound:
            raise DamagedRun("The words and classes of this run cannot be read. Train it again.")
        if english:
            return Language(Pieces(tokens), classes)
        first, last, unknown, padding = MARKERS
        return Language(Words(tokens, first, last, padding, unknown), classes)


def language_of(task: Negation | Sentiment) -> Language:
    """Return the words and the classes of the data."""
    return Language(task.vocabulary, task.classes)


def sentence_rows(task: Negation) -> SentenceRows:
    """Return the rows of all sentences, padded to the longest one."""
    return SentenceRows(row_ids(task), torch.tensor(task.labels), torch.tensor(task.lengths))


def batch_rows(
    task: Negation, seeds: range, order: int, epochs: int, batch_size: int
) -> list[Int[torch.Tensor, "replicas batch"]]:
    """Return the sentences of each step's batch; each seed shuffles each epoch. `order`: the seed of the batches."""
    purpose = f"order/{order}" if order else "order"
    samples = {seed: torch.tensor(task.sample("train", seed)) for seed in seeds}
    orders = [
        sample[torch.rand(epochs, len(sample), generator=generator(seed, purpose)).argsort(dim=-1)]
        for seed, sample in samples.items()
    ]
    return [batch for epoch in torch.stack(orders, dim=1) for batch in epoch.split(batch_size, dim=-1)]
