"""Cosine similarity of word vectors: nearest neighbours, analogies, and how well both agree with known answers.

An analogy "a is to b as c is to ?" is answered by the word whose vector has the highest cosine with b - a + c, of unit
vectors (3CosAdd: Mikolov, Yih and Zweig 2013; Levy and Goldberg 2014, eq. 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.tasks.word_vectors_grammar import RELATIONS, categories

PURITY_NEIGHBOURS = 5  # whose categories are compared with that of a word
# English pairs that differ in gender, for texts without planted analogies.
_GENDER_PAIRS = (
    "king queen, man woman, father mother, son daughter, brother sister, husband wife, prince princess, boy girl, "
    "uncle aunt, lord lady, men women, boys girls, sons daughters, gentleman gentlewoman, duke duchess"
)
GENDER_PAIRS: tuple[list[str], ...] = tuple(pair.split() for pair in _GENDER_PAIRS.split(", "))


def unit_vectors(vectors: Float[ndarray, "*replicas words width"]) -> Float[ndarray, "*replicas words width"]:
    """Return the vectors divided by their lengths; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def questions_of(config: WordVectorsConfig, index: Mapping[str, int]) -> Int[ndarray, "questions 4"]:
    """Return ids of "a is to b as c is to d": planted ones in the grammar, else `GENDER_PAIRS`; all have vectors."""
    if config.corpus == "grammar":
        relations: list[Iterable[Sequence[str]]] = [relation.pairs for relation in RELATIONS]
    else:
        relations = [[pair for pair in GENDER_PAIRS if all(word in index for word in pair)]]
    ordered = [(one, other) for pairs in relations for one in pairs for other in pairs if one != other]
    questions = [q for one, other in ordered for q in ([*one, *other], [*one[::-1], *other[::-1]])]
    known = [[index[word] for word in question] for question in questions if all(word in index for word in question)]
    return np.array(known, dtype=int).reshape(-1, 4)


def analogy_similarity(
    unit: Float[ndarray, "words width"], questions: Int[ndarray, "questions 3"]
) -> Float[ndarray, "questions words"]:
    """Return the cosine of every word with b - a + c for each question (a, b, c)."""
    a, b, c = (unit[ids] for ids in questions.T)
    return unit_vectors(b - a + c) @ unit.T


def analogy_hits(
    unit: Float[ndarray, "words width"], questions: Int[ndarray, "questions 4"], *, exclude: bool
) -> Bool[ndarray, " questions"]:
    """Return which questions (ids of a, b, c and the answer) are answered rightly; `exclude`: never by a, b or c."""
    similarity = analogy_similarity(unit, questions[:, :3])
    similarity[:, 0] = -np.inf
    if exclude:
        np.put_along_axis(similarity, questions[:, :3], -np.inf, axis=1)
    return similarity.argmax(axis=1) == questions[:, 3]


def nearest(
    similarity: Float[ndarray, "rows words"], count: int, excluded: Int[ndarray, "rows excluded"]
) -> Int[ndarray, "rows count"]:
    """Return the ids of the most similar words in each row, without the first row of vectors and `excluded`."""
    similarity = similarity.copy()
    similarity[:, 0] = -np.inf
    np.put_along_axis(similarity, excluded, -np.inf, axis=1)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :count]


def purity(unit: Float[ndarray, "words width"], words: Sequence[str]) -> Float[ndarray, " categorized"]:
    """Return the share of neighbours in the same planted category, for each word with one, in their order."""
    category = np.array([categories().get(word, "") for word in words])
    ids = np.flatnonzero(category != "")
    if not len(ids):
        return np.zeros(0)
    near = nearest(unit[ids] @ unit.T, PURITY_NEIGHBOURS, ids[:, None])
    return (category[near] == category[ids][:, None]).mean(axis=1)
