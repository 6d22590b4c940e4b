"""Neighbours, analogies, maps and frequency effects of word vectors, on small tables and on included runs."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.words.word_vectors import (
    WordTable,
    analogy,
    analogy_accuracy,
    frequency_effects,
    lean,
    load_table,
    neighbours,
    pair_similarity,
    project,
)
from explorer.run_store import store
from explorer.tasks.word_similarity import unit_vectors
from explorer.tasks.word_vectors import WordVectorsConfig

WORDS = ("<unk>", "he", "she", "king", "queen", "father", "mother", "bank")
GRID = np.array(
    [[9, 9, 9, 9], [0, 1, 0, 0], [0, -1, 0, 0], [1, 1, 0, 0], [1, -1, 0, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 0, 0, 1]],
    float,
)


def small_table() -> WordTable:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    vectors = np.stack([GRID, 3 * GRID @ turn])  # another seed: other axes and lengths, the same angles
    index = {word: i for i, word in enumerate(WORDS)}
    return WordTable(WordVectorsConfig(corpus="tinyshakespeare"), WORDS, vectors, unit_vectors(vectors), index)


def test_answers_do_not_depend_on_the_axes_of_a_seed() -> None:
    table = small_table()
    first = neighbours(table, "king", 2)
    assert {each.word for each in first} == {"he", "father"} or {each.word for each in first} == {"he", "queen"}
    for each in neighbours(table, "king", 6):
        assert each.cosines[0] == pytest.approx(each.cosines[1]) and each.word not in ("king", "<unk>")
    answer = analogy(table, "king", "queen", "father")
    assert answer.answers == ("mother", "mother")
    assert {each.word for each in answer.candidates if each.excluded} <= {"king", "queen", "father"}
    accuracy = analogy_accuracy(table)
    assert accuracy is not None and accuracy.questions == 4 and (accuracy.excluded == 1).all()


def test_a_text_of_few_words_has_few_neighbours() -> None:
    near = [each.word for each in neighbours(small_table(), "king", 20)]
    assert sorted(near) == sorted({*WORDS} - {"<unk>", "king"})
    assert "<unk>" not in [each.word for each in analogy(small_table(), "king", "queen", "father", 20).candidates]


def test_an_unknown_word_is_refused_with_the_nearest_known_ones() -> None:
    with pytest.raises(InvalidSetting, match=r"“kin” has no vector.*Nearest in spelling: king"):
        neighbours(small_table(), "kin")
    with pytest.raises(InvalidSetting, match="Known are, for example, he, she"):
        analogy(small_table(), "king", "queen", "zzzz")


def test_a_map_keeps_the_largest_differences() -> None:
    table = small_table()
    projection = project(table, ["king", "queen", "father", "mother"], 0)
    assert projection.explained == pytest.approx(1)  # four corners of a rectangle
    distance = np.linalg.norm(projection.points[0] - projection.points[1])
    assert distance == pytest.approx(np.linalg.norm(table.unit[0, 3] - table.unit[0, 4]))
    other = project(table, ["king", "queen", "father", "mother"], 5)  # the last seed
    np.testing.assert_allclose(np.abs(other.points), np.abs(projection.points), atol=1e-6)


def test_pairs_and_leans() -> None:
    table = small_table()
    pair = pair_similarity(table, "he", "she")
    assert pair.cosines.tolist() == pytest.approx([-1, -1]) and pair.ranks.tolist() == [6, 6]
    leans = lean(table, ["king", "queen", "bank"], ("he", "she"))
    np.testing.assert_allclose(leans, [[2**0.5, -(2**0.5), 0]] * 2, atol=1e-6)


def test_an_included_run_has_neighbours_that_seeds_share_more_often_for_frequent_words() -> None:
    table = load_table(store.find("words-grammar-cbow"))
    assert table.unit.shape == (8, 277, 24) and load_table(store.find("words-grammar-cbow")) is table
    effects = frequency_effects(table)
    assert effects.agreement is not None and effects.agreement.shape == (7, len(effects.groups))
    assert ((effects.agreement >= 0) & (effects.agreement <= 1)).all()
    assert sum(effects.group_sizes) <= 276 == len(effects.counts) and effects.lengths.shape == (8, 276)
    assert all(low.split("–")[0] for low in effects.groups)
