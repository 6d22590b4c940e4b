"""The negation task: does "human not preserve nature" end well?

A grammar of a few sentences, `human [not …] VERB nature`. To preserve nature sustains it, to consume or destroy it
lets it collapse, and each "not" flips the outcome. All sentences can be listed with their probabilities, so accuracy
is computed exactly. A visitor's own labelled sentences can take the place of the grammar; see `own_sentences.py`.

A batch repeats the same few sentences. The mean loss over a batch equals the sum over distinct rows weighted by their
share: the same gradient in exact arithmetic from six rows instead of 64, and the same rows for every replica.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from explorer.array_types import Float, Int
from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.tasks.text.config import check_own_text, own_text_setting
from explorer.tokenization.words import Words

VERSION = 1
CLASSES = ("collapse", "sustain")
VOCABULARY = Words(
    ("<BOS>", "<EOS>", "human", "nature", "consume", "preserve", "destroy", "not", "sustain", "collapse", "<PAD>")
)
OUTCOME = {"consume": "collapse", "preserve": "sustain", "destroy": "collapse"}
MAX_CLASSES = 10  # of own sentences


@dataclass(frozen=True)
class NegationConfig:
    """The sentences and the sizes of the data sets. Settings of the grammar have no effect on own sentences."""

    p_not: float = setting(
        0.35, "Probability of “not” (and, where two are allowed, of a second one).", 0, 1, label="Probability of “not”"
    )
    max_nots: int = setting(
        1, "Most “not”s before the verb; each one flips the outcome.", 0, 3, label="Most “not”s in a sentence"
    )
    held_out: Literal["none", "consume", "preserve", "destroy"] = setting(
        "none", "A verb that training never shows together with “not”; the test does.", label="Held out with “not”"
    )
    train_size: int = setting(800, "Sentences to learn from.", 8, 20_000, label="Training sentences")
    test_size: int = setting(200, "Sentences to test the models on.", 8, 20_000, label="Test sentences")
    data_seed: int = setting(0, "Seed of the sentences that are drawn.", 0, 2**31 - 1)
    fresh_data: bool = setting(
        True, "Fresh sentences for every seed, or one set for all.", label="Fresh sentences for every seed"
    )
    padding: Literal["pad", "eos"] = setting(
        "pad", "What fills up short sentences: <PAD>, never counted, or <EOS>, counted like a word."
    )
    corpus: Literal["grammar", "own"] = setting(
        "grammar", "The sentences: those of the grammar, or your own with their labels.", label="Sentences"
    )
    text: str = own_text_setting("SHA-256 of your own file; empty for the grammar.", "SHA-256 of your file")
    classes: int = setting(2, "Own sentences: how many different labels the file has.", 2, MAX_CLASSES, label="Classes")
    held_out_share: float = setting(
        0.2, "Own sentences: the share of each class for the test.", 0.05, 0.5, label="Held-out share of the sentences"
    )
    vocabulary: int = setting(
        1_000, "Own sentences: the most frequent training words that are known.", 1, 5_000, label="Known words, at most"
    )

    def __post_init__(self) -> None:
        check_own_text(self.corpus, self.text, "file")
        if self.corpus != "own" and self.classes != len(CLASSES):
            raise ValueError(f"classes = {self.classes} goes with corpus = own only: the grammar has {len(CLASSES)}")
        if self.corpus == "own" and (self.held_out != "none" or self.padding != "pad"):
            raise ValueError("held_out and padding = eos go with corpus = grammar only, not with corpus = own")
        if self.held_out != "none" and self.p_not == 1:
            raise ValueError(
                f"p_not = 1 leaves nothing to train “{self.held_out}” on when “not {self.held_out}” is held out"
            )


@dataclass(frozen=True)
class Sentence:
    """A distinct sentence of the grammar or of a file, with its probabilities."""

    words: tuple[str, ...]
    label: int  # the index of its class
    nots: int  # how many of its words negate
    probability: float  # in the test data
    train_probability: float  # in the training data: 0 if it is held out

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def verb(self) -> str:
        """The verb of a sentence of the grammar."""
        return self.words[-2]


def true_label(words: Sequence[str]) -> int | None:
    """Return the true class of a sentence of the grammar's form with any number of "not"s; None for other words."""
    nots, verb = len(words) - 3, words[-2] if len(words) > 2 else ""
    if verb not in OUTCOME or tuple(words) != _sentence_words(verb, nots):
        return None
    return (CLASSES.index(OUTCOME[verb]) + nots) % 2


def _sentence_words(verb: str, nots: int) -> tuple[str, ...]:
    return ("human", *["not"] * nots, verb, "nature")


@dataclass(frozen=True)
class Row:
    """A distinct row of token ids, padded with <PAD> to the length of all rows.

    `length` is the length up to which the sentence is padded with <EOS>, which the model reads (padding = "eos");
    otherwise it is the length of the sentence itself.
    """

    sentence: int
    length: int
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Negation:
    """The data of the grammar: sentences, rows of ids, samples."""

    config: NegationConfig

    @property
    def vocabulary(self) -> Words:
        return VOCABULARY

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the labels."""
        return CLASSES

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """All sentences of the grammar; sentences that differ in one "not" are neighbours."""
        p, max_nots = self.config.p_not, self.config.max_nots
        count_probabilities = [p**k * (1 - p) if k < max_nots else p**k for k in range(max_nots + 1)]

        chances = {(verb, k): count_probabilities[k] / len(OUTCOME) for verb in OUTCOME for k in range(max_nots + 1)}
        trained = {each: chance for each, chance in chances.items() if each[0] != self.config.held_out or not each[1]}
        total, sentences = sum(trained.values()), []
        for (verb, k), chance in chances.items():
            label = (CLASSES.index(OUTCOME[verb]) + k) % 2
            learned = trained.get((verb, k), 0.0) / total
            sentences.append(Sentence(_sentence_words(verb, k), label, k, chance, learned))
        return tuple(sentences)

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The class of each sentence."""
        return tuple(sentence.label for sentence in self.sentences)

    def label_of(self, words: Sequence[str]) -> int | None:
        """Return the class of a sentence; None if this version of the task does not have it."""
        return self._labels_of.get(tuple(words))

    @cached_property
    def _labels_of(self) -> dict[tuple[str, ...], int]:
        return {sentence.words: sentence.label for sentence in self.sentences}

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The number of tokens of each sentence, with <BOS> and <EOS>."""
        return tuple(len(sentence.words) + 2 for sentence in self.sentences)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every distinct row of ids that can occur in a batch.

        With <PAD> there is one row for each sentence. With padding = "eos" the row of a sentence depends on the longest
        sentence in the batch, so there is one for each length up to the longest.
        """
        longest = max(self.lengths)
        return tuple(
            Row(index, length, pad(self.vocabulary.encode(sentence.words), length, longest, self.vocabulary))
            for index, (sentence, own) in enumerate(zip(self.sentences, self.lengths, strict=True))
            for length in range(own, (longest if self.config.padding == "eos" else own) + 1)
        )

    def row_index(self, sentence: int, longest: int) -> int:
        """Return the index of the row of a sentence in a batch whose longest sentence has `longest` tokens."""
        length = longest if self.config.padding == "eos" else self.lengths[sentence]
        return next(i for i, row in enumerate(self.rows) if (row.sentence, row.length) == (sentence, length))

    def sample(self, split: Literal["train", "test"], seed: int) -> list[int]:
        """Return the indices of the sentences drawn for one replica; deterministic."""
        config = self.config
        probabilities = [s.train_probability if split == "train" else s.probability for s in self.sentences]
        stream = f"{split}/{config.data_seed}/{seed}" if config.fresh_data else f"{split}/{config.data_seed}"
        size = config.train_size if split == "train" else config.test_size
        return random.Random(stream).choices(range(len(probabilities)), probabilities, k=size)


def pad(ids: Sequence[int], length: int, longest: int, vocabulary: Words = VOCABULARY) -> tuple[int, ...]:
    """Return the ids padded to `length` with <EOS>, which models read, then to `longest` with masked <PAD>."""
    end, padding = vocabulary.id(vocabulary.last), vocabulary.id(vocabulary.padding)
    return (*ids, *[end] * (length - len(ids)), *[padding] * (longest - length))


class Batch(NamedTuple):
    """The sentences of a batch, as long as the longest of them."""

    ids: Int[torch.Tensor, "*replicas batch time"]
    labels: Int[torch.Tensor, "*replicas batch"]
    tokens: float  # that one replica reads, without padding


class SentenceRows(NamedTuple):
    """The rows of all sentences."""

    ids: Int[torch.Tensor, "sentences time"]
    labels: Int[torch.Tensor, " sentences"]
    lengths: Int[torch.Tensor, " sentences"]  # without padding

    def batch(self, indices: Int[torch.Tensor, "*replicas batch"]) -> Batch:
        """Return these sentences."""
        lengths = self.lengths[indices]
        tokens = float(lengths.sum(dim=-1).double().mean())
        return Batch(self.ids[indices][..., : int(lengths.max())].long(), self.labels[indices], tokens)


def row_ids(task: Negation) -> Int[torch.Tensor, "rows time"]:
    """Return every distinct row of token ids."""
    return torch.tensor([row.ids for row in task.rows])


def row_labels(task: Negation) -> Int[torch.Tensor, " rows"]:
    """Return the class of every distinct row."""
    return torch.tensor([task.labels[row.sentence] for row in task.rows])


def row_lookup(task: Negation) -> Int[torch.Tensor, "longest sentences"]:
    """Return the row of each sentence (second axis) by the longest sentence in the batch (first axis, in tokens)."""
    return torch.tensor(
        [
            [task.row_index(s, max(length, own)) for s, own in enumerate(task.lengths)]
            for length in range(max(task.lengths) + 1)
        ]
    )


def batch_rows(
    task: Negation, sample: Int[torch.Tensor, " sample"], epochs: int, batch_size: int, rng: torch.Generator
) -> Int[torch.Tensor, "steps batch"]:
    """Return the distinct row of each sentence in each batch (`len(task.rows)`: none); see `batch_weights`."""
    size = len(sample)
    shuffled = torch.rand(epochs, size, generator=rng).argsort(dim=-1)
    batches = -(-size // batch_size)
    absent = len(task.sentences)  # an extra index for the unused places of the last batch
    sentences = torch.full((epochs, batches * batch_size), absent)
    sentences[:, :size] = sample[shuffled]
    sentences = sentences.view(epochs * batches, batch_size)
    lengths = torch.tensor([*task.lengths, 0])
    longest = lengths[sentences].amax(dim=-1, keepdim=True)
    lookup = torch.nn.functional.pad(row_lookup(task), (0, 1), value=len(task.rows))
    return lookup[longest, sentences]


def batch_weights(
    task: Negation, sample: Int[torch.Tensor, " sample"], epochs: int, batch_size: int, rng: torch.Generator
) -> Float[torch.Tensor, "steps rows"]:
    """Return the share of every distinct row in each batch of some epochs over a sample, which `rng` shuffles."""
    rows = batch_rows(task, sample, epochs, batch_size, rng)
    counts = torch.zeros(len(rows), len(task.rows) + 1).scatter_add_(1, rows, torch.ones(rows.shape))
    return counts[:, :-1] / counts[:, :-1].sum(dim=-1, keepdim=True)
