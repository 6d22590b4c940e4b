"""Contextual vectors of words in a sentence encoder by layer, and how similar they are within and between senses.

Layer 0 is the embedding with its position, layer l the output of the l-th block. Cosines are centred: the mean vector
of all words at that layer is subtracted first, because all vectors of a network share a large uninformative component.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.load_model import load_model, to_array
from explorer.models.taps import record
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling import homographs as language
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig, sense_label
from explorer.training.config import RunConfig, with_settings
from explorer.training.model_factory import build_model
from explorer.training.record import Record

SENTENCES = 256  # number of fresh sentences of each kind
MAP_SENTENCES = 24  # of them on a map, for each sense


@dataclass(frozen=True, eq=False)
class SenseSimilarity:
    """Mean centred cosine of homographs over all pairs of sentences, within and between senses."""

    same_sense: Float[ndarray, "replicas layers"]  # same word, same sense
    other_sense: Float[ndarray, "replicas layers"]  # same word, other sense
    neighbour_agreement: Float[ndarray, "replicas layers"]  # share of occurrences whose nearest one has the same sense


@dataclass(frozen=True, eq=False)
class SenseMap:
    """One homograph in many sentences, on the first two principal components at every layer."""

    word: str
    senses: tuple[str, ...]  # of each background point
    kinds: tuple[str, ...]  # the word of each point: the homograph or a synonym
    sentences: tuple[str, ...]  # their sentences
    points: Float[ndarray, "layers points 2"]
    typed_points: Float[ndarray, "layers own 2"]  # the typed occurrences on the same components
    shares: Float[ndarray, "layers 2"]  # of the variance explained by each component


@dataclass(frozen=True, eq=False)
class SentenceReading:
    """Attention, vectors and predicted senses of one typed sentence in one seed."""

    words: tuple[str, ...]
    weights: Float[ndarray, "layers heads query key"]  # zero layers for a model without attention
    vectors: Float[ndarray, "states time width"]  # the embeddings, then one state per layer
    answers: tuple[tuple[str, float], ...]  # of every homograph: the likeliest sense and its probability or cosine


@dataclass(frozen=True, eq=False)
class SenseReading:
    """What one seed makes of the typed sentences, and the map of one homograph."""

    map: SenseMap
    positions: dict[int, int]  # of the first homograph or synonym of each typed sentence that has one
    homographs: dict[int, str]  # at that position, or of the synonym there
    cosines: Float[ndarray, "layers own own"]  # between these positions
    readings: dict[int, SentenceReading]  # by typed sentence


@torch.inference_mode()
def layer_vectors(
    model: nn.Module, ids: Int[Tensor, "*replicas batch time"]
) -> Float[Tensor, "layers *replicas batch time width"]:
    """Return the vectors of every word at every layer."""
    with record(model) as trace:
        model(ids)
    blocks = [name for name in trace if name.endswith(".output") and name.count(".") == 2]
    return torch.stack([trace["embedded"], *(trace[name] for name in sorted(blocks))])


def _homograph_vectors(
    model: nn.Module, sentences: Sequence[language.HomographSentence], replicas: int
) -> tuple[Float[Tensor, "layers replicas sentences width"], Float[Tensor, "layers replicas 1 width"]]:
    """Return the vectors of the homograph of every sentence, and the mean vector of all words."""
    ids = language.sentence_ids(sentences)
    vectors = layer_vectors(model, ids.expand(replicas, *ids.shape) if replicas > 1 else ids)
    vectors = vectors.view(-1, replicas, *ids.shape, vectors.shape[-1])
    is_word = (ids != language.PADDING)[..., None]
    centre = (vectors * is_word).sum(dim=(-3, -2)) / is_word.sum()
    return vectors[:, :, torch.arange(len(sentences)), [each.position for each in sentences]], centre[:, :, None]


def sense_similarity(model: nn.Module, replicas: int) -> SenseSimilarity:
    """Measure the similarity of senses on fresh sentences.

    Mean cosines follow from sums of unit vectors: (|Σu|² − n) / (n (n − 1)) over all pairs of one group, and
    Σu · Σv / (n m) between two groups.
    """
    sentences = language.evaluation_sentences(SENTENCES, ambiguous=True)
    vectors, centre = _homograph_vectors(model, sentences, replicas)
    unit = F.normalize(vectors - centre, dim=-1)
    same, other, neighbours = [], [], []
    for word in language.HOMOGRAPHS:
        groups = [[i for i, each in enumerate(sentences) if each.topic == topic] for topic in language.SENSES[word]]
        neighbours.append(_nearest_has_same_sense(unit, sorted(itertools.chain(*groups)), sentences))
        first, second = (unit[:, :, group].sum(dim=2) for group in groups)
        for total, count in ((first, len(groups[0])), (second, len(groups[1]))):
            same.append((total.square().sum(dim=-1) - count) / (count * (count - 1)))
        other.append((first * second).sum(dim=-1) / (len(groups[0]) * len(groups[1])))
    return SenseSimilarity(*(to_array(torch.stack(each).mean(dim=0).mT) for each in (same, other, neighbours)))


def run_similarity(run: StoredRun | Record) -> SenseSimilarity:
    """Return the similarity of senses after training. Raises DamagedRun."""
    return sense_similarity(load_model(run).stack, run.config.replicas)


def untrained_similarity(config: RunConfig) -> SenseSimilarity:
    """Return the similarity of senses before training."""
    return sense_similarity(build_model(config).requires_grad_(False), config.replicas)


def _nearest_has_same_sense(
    unit: Float[Tensor, "layers replicas sentences width"],
    rows: Sequence[int],
    sentences: Sequence[language.HomographSentence],
) -> Float[Tensor, "layers replicas"]:
    """Return the share of these occurrences of a word whose nearest neighbour (by cosine) has the same sense."""
    selected = unit[:, :, list(rows)]
    cosines = (selected @ selected.mT).masked_fill(torch.eye(len(rows), dtype=torch.bool), -2.0)
    topic = torch.tensor([language.TOPICS.index(sentences[i].topic) for i in rows])
    return (topic[cosines.argmax(dim=-1)] == topic).float().mean(dim=-1)


def sense_map(model: nn.Module, word: str, typed: Sequence[tuple[Sequence[str], int]]) -> SenseMap:
    """Project the occurrences of a homograph, and those typed, on their principal components, layer by layer."""
    clear = language.evaluation_sentences(SENTENCES, ambiguous=False)
    ambiguous = language.evaluation_sentences(SENTENCES, ambiguous=True)
    sentences = [
        each
        for topic in language.SENSES[word]
        for group, most in ((ambiguous, MAP_SENTENCES), (clear, MAP_SENTENCES // 2))
        for each in [s for s in group if s.topic == topic][:most]
    ]
    vectors, _ = _homograph_vectors(model, sentences, 1)
    typed_vectors = [_word_vectors(model, words, position) for words, position in typed]
    points, typed_points, shares, previous = [], [], [], None
    for layer in range(len(vectors)):
        centred = vectors[layer, 0] - vectors[layer, 0].mean(dim=0)
        axes, share = _principal_axes(centred, previous)
        previous = centred @ axes
        points.append(previous)
        shares.append(share)
        typed_points.append(
            torch.stack([(p[layer] - vectors[layer, 0].mean(dim=0)) @ axes for p in typed_vectors])
            if typed_vectors
            else torch.zeros(0, 2)
        )
    return SenseMap(
        word,
        tuple(each.topic for each in sentences),
        tuple(each.words[each.position] for each in sentences),
        tuple(" ".join(each.words) for each in sentences),
        *(to_array(torch.stack(each)) for each in (points, typed_points, shares)),
    )


def _word_vectors(model: nn.Module, words: Sequence[str], position: int) -> Float[Tensor, "layers width"]:
    return layer_vectors(model, torch.tensor([language.word_ids(words)]))[:, 0, position]


def _principal_axes(
    centred: Float[Tensor, "points width"], previous: Float[Tensor, "points 2"] | None
) -> tuple[Float[Tensor, "width 2"], Float[Tensor, " 2"]]:
    """Return the first two principal components and their explained variance; signs follow the layer before."""
    _, singular_values, rows = torch.linalg.svd(centred, full_matrices=False)
    axes, share = rows[:2].T.contiguous(), (singular_values.square() / singular_values.square().sum())[:2]
    if previous is not None:
        axes = axes * torch.where(((centred @ axes) * previous).sum(dim=0) < 0, -1.0, 1.0)
    return axes, share


def cosines_between(model: nn.Module, typed: Sequence[tuple[Sequence[str], int]]) -> Float[ndarray, "layers own own"]:
    """Return the centred cosines between the typed occurrences at every layer."""
    _, centre = _homograph_vectors(model, language.evaluation_sentences(SENTENCES, ambiguous=True), 1)
    if not typed:
        return np.zeros((len(centre), 0, 0))
    vectors = torch.stack([_word_vectors(model, words, position) for words, position in typed], dim=1)
    unit = F.normalize(vectors - centre[:, 0], dim=-1)
    return to_array(unit @ unit.mT)


def read_sentences(
    run: StoredRun | Record, untrained: bool, replica: int, word: str, typed: tuple[tuple[int, tuple[str, ...]], ...]
) -> SenseReading:
    """Run one seed, perhaps `untrained`, on all numbered sentences, with the map of a homograph. Raises DamagedRun."""
    config = run.config
    if untrained:
        model = build_model(with_settings(config, {"replicas": 1, "seed": config.seeds[replica]})).requires_grad_(False)
    else:
        model = load_model(run).single_replica(replica)
    positions = {i: places[0] for i, words in typed if (places := homograph_positions(words))}
    marked = {i: (words, positions[i]) for i, words in typed if i in positions}
    homographs = {i: homograph_of(words[place]) for i, (words, place) in marked.items()}
    return SenseReading(
        sense_map(model, word, [marked[i] for i, each in homographs.items() if each == word]),
        positions,
        homographs,
        cosines_between(model, list(marked.values())),
        {i: read_sentence(model, config, words) for i, words in typed},
    )


def read_sentence(model: nn.Module, config: RunConfig, words: Sequence[str]) -> SentenceReading:
    """Run one seed on a typed sentence."""
    ids = torch.tensor([language.word_ids(words)])
    with torch.inference_mode(), record(model) as trace:
        logits = model(ids)
    weights = [trace[name] for name in sorted(trace) if name.endswith("attention.weights")]
    heads = torch.cat(weights) if weights else torch.zeros(0, 1, len(words), len(words))
    vectors = layer_vectors(model, ids)[:, 0]
    senses = [
        _predict_sense(model, config, vectors[-1, i], logits[0, i], word)
        for i, word in enumerate(words)
        if word in language.SENSES
    ]
    return SentenceReading(tuple(words), to_array(heads), to_array(vectors), tuple(senses))


@torch.inference_mode()
def _predict_sense(
    model: nn.Module, config: RunConfig, vector: Float[Tensor, " width"], logits: Float[Tensor, " labels"], word: str
) -> tuple[str, float]:
    """Return the predicted sense of a homograph with its score.

    A model of the word-sense task compares the probabilities of the two senses; a masked-word model the cosines of the
    vector to the mean vectors of the synonyms.
    """
    topics = language.SENSES[word]
    if isinstance(config.task, WordSenseConfig):
        shares = logits[[sense_label(word, topic) for topic in topics]].softmax(dim=0)
        return topics[int(shares.argmax())], float(shares.max())
    clear = language.evaluation_sentences(SENTENCES, ambiguous=False)
    vectors, _ = _homograph_vectors(model, clear, 1)
    means = torch.stack(
        [vectors[-1, 0, [i for i, s in enumerate(clear) if s.topic == t]].mean(dim=0) for t in language.TOPICS]
    )
    centre = means.mean(dim=0)
    cosines = F.normalize(means - centre, dim=-1) @ F.normalize(vector - centre, dim=-1)
    similarities = cosines[[language.TOPICS.index(topic) for topic in topics]]
    return topics[int(similarities.argmax())], float(similarities.max())


def homograph_positions(words: Sequence[str]) -> list[int]:
    """Return the positions of homographs and of their synonyms in a sentence."""
    marked_words = {*language.HOMOGRAPHS, *language.SYNONYMS.values()}
    return [i for i, word in enumerate(words) if word in marked_words]


def homograph_of(word: str) -> str:
    """Return the homograph that a word is or is a synonym of."""
    return next(
        h for h, topics in language.SENSES.items() if word == h or word in {language.SYNONYMS[t] for t in topics}
    )
