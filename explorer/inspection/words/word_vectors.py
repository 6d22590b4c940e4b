"""Word vectors of a stored run: nearest neighbours, analogies, principal components, and what frequency changes.

Everything is computed in every seed alone, because the axes of two seeds have nothing in common: only lengths, cosines
and neighbours can be compared.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.errors import DamagedRun, InvalidSetting, shorten
from explorer.run_store.store import StoredRun
from explorer.tasks.word_similarity import analogy_hits, analogy_similarity, nearest, questions_of, unit_vectors
from explorer.tasks.word_vectors import WordVectorsConfig, word_data
from explorer.tokenization.text import from_json
from explorer.tokenization.words import fold_variants
from explorer.training.record import Record

AGREEMENT_NEIGHBOURS = 10  # of a word, compared between two seeds
_COUNT_EDGES = (1, 2, 3, 6, 11, 21, 41, 101, 401, 2001)  # groups of words by how often they occur

_MIN_GROUP = 3  # words of a group


@dataclass(frozen=True, eq=False)
class WordTable:
    """The word vectors of all seeds of a run; the first row stands for no word."""

    task: WordVectorsConfig
    words: tuple[str, ...]
    vectors: Float[ndarray, "replicas words width"]
    unit: Float[ndarray, "replicas words width"]
    index: dict[str, int]

    def ids(self, words: Sequence[str]) -> list[int]:
        """Return the ids of words. Raises InvalidSetting with the nearest known words if one has no vector."""
        unknown = [word for word in words if word not in self.index]
        if unknown:
            raise InvalidSetting(unknown_word_message(unknown[0], self.words[1:]))
        return [self.index[word] for word in words]


def unknown_word_message(word: str, words: Sequence[str]) -> str:
    """Say that a word has no vector, and name the known words that are spelled most like it."""
    near = difflib.get_close_matches(word, words, n=3, cutoff=0.5)
    hint = f"Nearest in spelling: {', '.join(near)}." if near else f"Known are, for example, {', '.join(words[:5])}."
    return f"“{shorten(word, 24)}” has no vector: the text does not have the word, or too rarely. {hint}"


def load_table(run: StoredRun | Record) -> WordTable:
    """Return the word vectors of a run after its last step. Raises DamagedRun."""
    # A run on a visitor's own text is not cached, because the cache would outlive the visit.
    return _load_stored(run) if isinstance(run, StoredRun) else _load(run)


def _load(run: StoredRun | Record) -> WordTable:
    words = from_json(run.tokenizer).tokens
    vectors = np.asarray(run.weights(None)["embedding.weight"], np.float32)
    if vectors.ndim != 3 or vectors.shape[1] != len(words):
        raise DamagedRun(f"The vectors of run {run.key} do not fit its words. Train it again.")
    task = run.config.task_as(WordVectorsConfig)
    index = {word: i for i, word in enumerate(words)}
    folded = {fold_variants(word): i for word, i in index.items()}  # a run may have been trained on curly apostrophes
    return WordTable(task, words, vectors, unit_vectors(vectors), folded | index)


_load_stored = cached(key=lambda run: run.cache_key)(_load)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A word and its cosine in every seed."""

    word: str
    cosines: Float[ndarray, " replicas"]
    excluded: bool = False  # a word of the question, which is no answer


def neighbours(table: WordTable, word: str, count: int = 6) -> list[Candidate]:
    """Return the words with the highest median cosine to a word. Raises InvalidSetting for an unknown word."""
    (id,) = table.ids([word])
    cosines = np.einsum("rd,rwd->rw", table.unit[:, id], table.unit)
    count = min(count, len(table.words) - 2)  # without the word itself and the row of no word
    order = nearest(np.median(cosines, axis=0)[None], count, np.array([[id]]))[0]
    return [Candidate(table.words[i], cosines[:, i]) for i in order]


@dataclass(frozen=True, eq=False)
class Analogy:
    """The answers to "a is to b as c is to ?", by median cosine with b - a + c, and the first answer of each seed."""

    candidates: list[Candidate]  # with the words of the question
    answers: tuple[str, ...]  # of each seed, without the words of the question
    raw_answers: tuple[str, ...]  # of each seed, among all words


def analogy(table: WordTable, a: str, b: str, c: str, count: int = 6) -> Analogy:
    """Return the answers to "a is to b as c is to ?". Raises InvalidSetting for an unknown word."""
    question = np.array([table.ids([a, b, c])])
    cosines = np.stack([analogy_similarity(unit, question)[0] for unit in table.unit])
    count = min(count, len(table.words) - 1)
    order = nearest(np.median(cosines, axis=0)[None], count, np.zeros((1, 1), int))[0]
    candidates = [Candidate(table.words[i], cosines[:, i], i in question) for i in order]
    best = nearest(cosines, 1, np.repeat(question, len(cosines), axis=0))[:, 0]
    raw = nearest(cosines, 1, np.zeros((len(cosines), 1), int))[:, 0]
    return Analogy(candidates, tuple(table.words[i] for i in best), tuple(table.words[i] for i in raw))


@dataclass(frozen=True, eq=False)
class AnalogyAccuracy:
    """The share of all known questions that each seed answers rightly, with and without excluding the question."""

    questions: int
    excluded: Float[ndarray, " replicas"]
    raw: Float[ndarray, " replicas"]


def analogy_accuracy(table: WordTable) -> AnalogyAccuracy | None:
    """Return the accuracy on all questions with a known answer; None if the text has none."""
    questions = questions_of(table.task, table.index)
    if not len(questions):
        return None
    shares = [
        np.array([analogy_hits(unit, questions, exclude=exclude).mean() for unit in table.unit])
        for exclude in (True, False)
    ]
    return AnalogyAccuracy(len(questions), *shares)


@dataclass(frozen=True, eq=False)
class Projection:
    """Words on the two directions in which their vectors differ most (principal components), of one seed."""

    words: tuple[str, ...]
    points: Float[ndarray, "words 2"]
    explained: float  # the share of the variance of these words that the two directions have


def project(table: WordTable, words: Sequence[str], replica: int) -> Projection:
    """Return the unit vectors of words on their first two principal components. Raises InvalidSetting."""
    ids = table.ids(words)
    centred = table.unit[min(replica, len(table.unit) - 1), ids]
    centred = centred - centred.mean(axis=0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    points = centred @ directions[:2].T
    points = points * np.where(points[np.abs(points).argmax(axis=0), [0, 1]] < 0, -1, 1)  # a direction has no sign
    power = singular**2
    return Projection(tuple(words), points, float(power[:2].sum() / max(power.sum(), 1e-12)))


@dataclass(frozen=True, eq=False)
class FrequencyEffects:
    """What changes with how often a word occurs."""

    counts: Int[ndarray, " words"]  # without the row of no word, as all others
    lengths: Float[ndarray, "replicas words"]  # of the vectors
    groups: tuple[str, ...]  # of words by count, as “11–20”
    agreement: Float[ndarray, "pairs groups"] | None  # of the nearest neighbours in two seeds; None with one seed


def frequency_effects(run: StoredRun | Record) -> FrequencyEffects:
    """Return lengths and reliability of vectors by frequency. Raises LineageError without the run or the text."""
    table = load_table(run)
    counts = word_data(table.task).counts[1:]
    lengths = np.linalg.norm(table.vectors, axis=-1)[:, 1:]
    group = np.digitize(counts, _COUNT_EDGES) - 1
    used = [g for g in range(len(_COUNT_EDGES)) if (group == g).sum() >= _MIN_GROUP]
    pairs = [(i, i + 1) for i in range(len(table.unit) - 1)]
    agreement = None
    if pairs and len(table.words) > 2 * AGREEMENT_NEIGHBOURS:  # of fewer words, most are neighbours
        near = [_neighbour_sets(unit) for unit in table.unit]
        shares = np.stack([(near[i][1:, :, None] == near[j][1:, None, :]).any(axis=2).mean(axis=1) for i, j in pairs])
        agreement = np.stack([shares[:, group == g].mean(axis=1) for g in used], axis=1)
    ends = [(int(counts[group == g].min()), int(counts[group == g].max())) for g in used]
    names = tuple(f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in ends)
    return FrequencyEffects(counts, lengths, names, agreement)


def _neighbour_sets(unit: Float[ndarray, "words width"]) -> Int[ndarray, "words neighbours"]:
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    similarity[:, 0] = -np.inf
    return np.argpartition(-similarity, AGREEMENT_NEIGHBOURS, axis=1)[:, :AGREEMENT_NEIGHBOURS]


@dataclass(frozen=True, eq=False)
class PairSimilarity:
    """Two words: their cosine in every seed, and the rank of the second among the neighbours of the first."""

    first: str
    second: str
    cosines: Float[ndarray, " replicas"]
    ranks: Int[ndarray, " replicas"]  # 1 is the nearest neighbour


def pair_similarity(table: WordTable, first: str, second: str) -> PairSimilarity:
    """Return how near two words are. Raises InvalidSetting for an unknown word."""
    a, b = table.ids([first, second])
    cosines = np.einsum("rd,rwd->rw", table.unit[:, a], table.unit)
    other = np.delete(cosines, [0, a], axis=1)
    ranks = 1 + (other > cosines[:, b, None]).sum(axis=1)
    return PairSimilarity(first, second, cosines[:, b], ranks)


def lean(table: WordTable, words: Sequence[str], poles: tuple[str, str]) -> Float[ndarray, "replicas words"]:
    """Return how much nearer each word is to the first pole than to the second, as a difference of cosines."""
    ids, (one, other) = table.ids(words), table.ids(poles)
    return np.einsum("rwd,rd->rw", table.unit[:, ids], table.unit[:, one] - table.unit[:, other])
