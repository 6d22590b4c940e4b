"""Internals of models that classify sentences, as labelled arrays.

Every function takes words of the vocabulary (see `Words.split`) of the grammar, or of the sentences of the run. Classes
are in the order of the task. With two classes, the score of a sentence is the logit of the second one ("sustain" or
"positive") minus that of the first; with more, it is the logit of the class that the model answers minus the mean of
the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.catalogue import TaskConfig
from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.bag_of_bigrams import BagOfBigrams
from explorer.models.bag_of_words import BagOfWords, BagOfWordsHidden
from explorer.models.layers import Embedding, Linear
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import Trace, record
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.tasks.negation import CLASSES, VOCABULARY, NegationConfig, pad
from explorer.tasks.own_sentences import Language, negation_data
from explorer.tasks.text import english_grammar as grammar
from explorer.tokenization.english import Pieces, split_english
from explorer.tokenization.words import Words

SUSTAIN = CLASSES.index("sustain")  # or “positive” of English sentences
_SENTENCES_AT_ONCE = 256  # in one forward pass
_MOST_WEIGHTS = 16  # tokens or pairs whose weights are returned
_MOST_POINTS = 16  # words of an embedding map
_COMPOSED = 1_000  # sentences whose pairs have their weights compared


def _words_of(loaded: LoadedModel) -> Words:
    """Return the vocabulary of a model."""
    return Language.from_json(loaded.tokenizer).vocabulary


def sentence_tokens(words: Sequence[str], length: int = 0, vocabulary: Words = VOCABULARY) -> tuple[str, ...]:
    """Return the input tokens of a model: the words between their markers, padded to `length` with <EOS>."""
    ids = vocabulary.encode(tuple(words))
    return tuple(vocabulary.tokens[i] for i in pad(ids, max(length, len(ids)), 0, vocabulary))


def _ids(loaded: LoadedModel, words: Sequence[str], length: int = 0) -> Tensor:
    vocabulary = _words_of(loaded)
    return torch.tensor([[vocabulary.id(token) for token in sentence_tokens(words, length, vocabulary)]])


def evaluation_length(config: TaskConfig) -> int:
    """Return the length to which the evaluation of a run pads a sentence with <EOS>; 0 if it pads with masked <PAD>."""
    if not isinstance(config, NegationConfig) or config.padding != "eos":
        return 0
    return max(negation_data(config).lengths)


@torch.inference_mode()
def class_probabilities(
    loaded: LoadedModel, words: Sequence[str], length: int | None = None
) -> Float[ndarray, "replicas classes"]:
    """Return each class's probability by every replica; <EOS> pads up to `length`, by default that of evaluations."""
    if length is None:
        length = evaluation_length(loaded.config.task)
    ids = _ids(loaded, words, length)
    if loaded.config.replicas > 1:
        ids = ids.expand(loaded.config.replicas, *ids.shape)
    return to_array(loaded.stack(ids).softmax(dim=-1).view(loaded.config.replicas, -1))


def sustain_probabilities(
    loaded: LoadedModel, words: Sequence[str], length: int | None = None
) -> Float[ndarray, " replicas"]:
    """Return P(sustain) by every replica; see `class_probabilities`."""
    return class_probabilities(loaded, words, length)[:, SUSTAIN]


@torch.inference_mode()
def probabilities_of_sentences(
    loaded: LoadedModel, sentences: Sequence[Sequence[str]]
) -> Float[ndarray, "sentences replicas classes"]:
    """Return the probability of each class for many sentences."""
    vocabulary, replicas = _words_of(loaded), loaded.config.replicas
    parts = []
    for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
        encoded = [vocabulary.encode(tuple(words)) for words in sentences[start : start + _SENTENCES_AT_ONCE]]
        longest = max(map(len, encoded))
        ids = torch.tensor([pad(each, len(each), longest, vocabulary) for each in encoded])
        logits = loaded.stack(ids.expand(replicas, *ids.shape) if replicas > 1 else ids)
        parts.append(logits.softmax(dim=-1).view(replicas, len(encoded), -1).transpose(0, 1))
    return to_array(torch.cat(parts))


@dataclass(frozen=True)
class Contributions:
    """The terms of the score of a linear readout: the bias, and what each part of its input adds."""

    parts: tuple[str, ...]  # tokens, pairs of tokens, or hidden units
    values: Float[ndarray, " parts"]
    bias: float
    towards: int = SUSTAIN  # the class to which positive values add

    @property
    def total(self) -> float:
        return self.bias + float(self.values.sum())


class _LinearReading(NamedTuple):
    """What one seed of a model with a linear readout makes of a sentence, and the weights of its score."""

    model: Any
    ids: Int[Tensor, " time"]
    tokens: tuple[str, ...]
    trace: Trace
    weights: Float[Tensor, " inputs"]
    bias: float
    towards: int


@torch.inference_mode()
def _read_linear(loaded: LoadedModel, words: Sequence[str], replica: int) -> _LinearReading:
    model: Any = loaded.single_replica(replica)
    ids = _ids(loaded, words)
    with record(model) as trace:
        logits = model(ids)
    tokens = sentence_tokens(words, vocabulary=_words_of(loaded))
    return _LinearReading(model, ids[0], tokens, trace, *_score_weights(model.readout, logits))


def token_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what each token adds to the score of a bag of words."""
    _, ids, tokens, _, weights, bias, towards = _read_linear(loaded, words, replica)
    return Contributions(tokens, to_array(weights[ids]), bias, towards)


def pair_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what each pair of neighbouring tokens adds to the score of a bag of bigrams."""
    model, ids, tokens, _, weights, bias, towards = _read_linear(loaded, words, replica)
    pairs = tuple(f"{first} {second}" for first, second in itertools.pairwise(tokens))
    return Contributions(pairs, to_array(weights[model.pair_index(ids[:-1], ids[1:])]), bias, towards)


def unit_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what each hidden unit adds to the score of a bag of words with a hidden layer."""
    _, _, _, trace, weights, bias, towards = _read_linear(loaded, words, replica)
    names = tuple(f"unit {i + 1}" for i in range(len(weights)))
    return Contributions(names, to_array(weights * trace["hidden"][0]), bias, towards)


def window_contributions(loaded: LoadedModel, words: Sequence[str], replica: int) -> Contributions:
    """Return what filters add to the score, by the window to which each responds most, added up for each window."""
    model, _, tokens, trace, weights, bias, towards = _read_linear(loaded, words, replica)
    found = dict[str, float]()
    terms = (weights * trace["pooled"][0]).tolist()
    for i, size in enumerate(model.sizes):
        starts = trace[f"convolutions.{i}.feature_map"][0].argmax(dim=0).tolist()  # of the window, for each filter
        own, terms = terms[: len(starts)], terms[len(starts) :]
        for start, term in zip(starts, own, strict=True):
            if term:  # a filter that responds nowhere adds nothing
                window = " ".join(tokens[start : start + size])
                found[window] = found.get(window, 0.0) + term
    return Contributions(tuple(found), np.array(list(found.values()), np.float32), bias, towards)


# By model; the readout of each of them is linear.
CONTRIBUTIONS: Mapping[str, Callable[[LoadedModel, Sequence[str], int], Contributions]] = {
    "bag_of_words": token_contributions,
    "bag_of_words_hidden": unit_contributions,
    "bag_of_bigrams": pair_contributions,
    "convolution": window_contributions,
}


def _score_weights(readout: Linear, logits: Float[Tensor, "1 classes"]) -> tuple[Tensor, float, int]:
    """Return the weights and the bias of the score, and the class to which it adds."""
    bias, towards = cast(Tensor, readout.bias), shown_class(logits[0])
    signs = torch.full((len(bias),), -1.0 / (len(bias) - 1))
    signs[towards] = 1.0
    return signs @ readout.weight, float(signs @ bias), towards


def shown_class(scores: Float[Tensor, " classes"]) -> int:
    """Return the class whose probability is shown: the second of two, or the answer among more."""
    return SUSTAIN if len(scores) == 2 else int(scores.argmax())


@dataclass(frozen=True)
class WordWeights:
    """The weight of each token, or of each pair of tokens, for each class."""

    tokens: tuple[str, ...]
    weights: Float[ndarray, "classes tokens"]


@torch.inference_mode()
def word_weights(loaded: LoadedModel, replica: int) -> WordWeights:
    """Return the weights of a bag of words, without the unused ones; of own sentences only the largest."""
    model, vocabulary = cast(BagOfWords, loaded.single_replica(replica)), _words_of(loaded)
    tokens = tuple(token for token in vocabulary.tokens if token not in (vocabulary.padding, vocabulary.unknown))
    return _largest(WordWeights(tokens, to_array(model.readout.weight[:, [vocabulary.id(t) for t in tokens]])))


def _largest(found: WordWeights) -> WordWeights:
    """Return the weights that differ most between the classes, in their order."""
    gaps = np.ptp(found.weights, axis=0)
    kept = np.sort(np.argsort(-gaps, kind="stable")[:_MOST_WEIGHTS])
    return WordWeights(tuple(found.tokens[i] for i in kept), found.weights[:, kept])


@torch.inference_mode()
def pair_weights(loaded: LoadedModel, replica: int) -> WordWeights:
    """Return the weights of pairs with "not" or a verb second; of own sentences, the largest ones."""
    model, vocabulary = cast(BagOfBigrams, loaded.single_replica(replica)), _words_of(loaded)
    if isinstance(vocabulary, Pieces):
        composed = [split_english(each.text) for each in grammar.compose(_COMPOSED, 0)]
        sentences = [vocabulary.decode(ids) for ids in vocabulary.encode_all(composed)]
    else:
        task = negation_data(loaded.config.task_as(NegationConfig))
        if task.config.corpus == "own":
            sentences = [s.words for s in task.sentences if s.train_probability]
        else:  # the last word is always "nature"
            sentences = [s.words[:-1] for s in task.sentences]
    # Each pair once, in the order of the sentences.
    pairs = tuple(dict.fromkeys(pair for words in sentences for pair in itertools.pairwise(words)))
    ids = torch.tensor([[vocabulary.id(word) for word in pair] for pair in pairs])
    columns = model.pair_index(ids[:, 0], ids[:, 1])
    return _largest(WordWeights(tuple(" ".join(pair) for pair in pairs), to_array(model.readout.weight[:, columns])))


@dataclass(frozen=True)
class SustainByToken:
    """The probability of one class by a recurrent network after each token."""

    tokens: tuple[str, ...]
    sustain: Float[ndarray, " tokens"]  # of the class `towards`
    towards: int = SUSTAIN


@torch.inference_mode()
def sustain_by_token(loaded: LoadedModel, words: Sequence[str], replica: int) -> SustainByToken:
    """Return P(sustain), or the probability of the answer, read out from the hidden state after each token."""
    model = cast(RecurrentClassifier, loaded.single_replica(replica))
    with record(model) as trace:
        model(_ids(loaded, words))
    after_each = model.readout(trace["cell.state"][0]).softmax(dim=-1)
    towards = shown_class(after_each[-1])
    return SustainByToken(
        sentence_tokens(words, vocabulary=_words_of(loaded)), to_array(after_each[:, towards]), towards
    )


@dataclass(frozen=True)
class SentenceAttention:
    """Attention weights over a sentence; rows are queries, columns keys. Masked pairs are NaN."""

    tokens: tuple[str, ...]  # those inside the model's window, including padding
    weights: Float[ndarray, "layers heads query key"]


@torch.inference_mode()
def sentence_attention(loaded: LoadedModel, words: Sequence[str], replica: int, length: int = 0) -> SentenceAttention:
    """Return the attention weights of every layer and head over a sentence padded with <PAD> to `length`."""
    model, vocabulary = cast(TransformerEncoder, loaded.single_replica(replica)), _words_of(loaded)
    ids = vocabulary.encode(tuple(words))
    ids = pad(ids, len(ids), length, vocabulary)[: model.window]
    with record(model) as trace:
        model(torch.tensor([ids]))
    weights = torch.stack([trace[f"blocks.{i}.attention.weights"][0] for i in range(len(model.blocks))])
    is_padding = torch.tensor([i == vocabulary.id(vocabulary.padding) for i in ids])
    weights = weights.masked_fill(is_padding, torch.nan).masked_fill(is_padding[:, None], torch.nan)
    return SentenceAttention(tuple(vocabulary.tokens[i] for i in ids), to_array(weights))


@dataclass(frozen=True)
class EmbeddingMap:
    """Word vectors projected on their first two principal components."""

    tokens: tuple[str, ...]
    points: Float[ndarray, "tokens 2"]
    share: float  # of the variance that the plane explains


@torch.inference_mode()
def embedding_map(loaded: LoadedModel, replica: int) -> EmbeddingMap | None:
    """Return the embeddings of the words of the grammar, or of the most frequent own ones, in two dimensions.

    Of English, of adjectives of both classes in turn. None for a model without embeddings.

    Where a hidden layer reads word counts, the embedding of a word is its weight to each hidden unit.
    """
    model: nn.Module = loaded.single_replica(replica)
    embedding = getattr(model, "embedding", None)
    if isinstance(model, BagOfWordsHidden):
        table = model.inner.weight.mT
    elif isinstance(embedding, Embedding):
        table = embedding.weight
    else:
        return None
    vocabulary = _words_of(loaded)
    words: Iterable[str] = (word for word in vocabulary.words if vocabulary.unknown or word not in CLASSES)
    if isinstance(vocabulary, Pieces):
        both = zip(*(words.split() for words in grammar.ADJECTIVES.values()), strict=False)
        words = (word for pair in both for word in pair if word in vocabulary.words)
    tokens = tuple(itertools.islice(words, _MOST_POINTS))
    points = table[[vocabulary.id(token) for token in tokens]].numpy()
    points = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(points, full_matrices=False)
    plane = u[:, :2] * s[:2]
    if plane.shape[1] < 2:  # an embedding of width 1
        plane = np.pad(plane, ((0, 0), (0, 1)))
    # The sign of a principal component is arbitrary: put "preserve" (or the first word) at the top right.
    sign = np.where(plane[tokens.index("preserve") if "preserve" in tokens else 0] < 0, -1, 1)
    return EmbeddingMap(tokens, plane * sign, float((s[:2] ** 2).sum() / (s**2).sum()))
