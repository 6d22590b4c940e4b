from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.tasks.negation import CLASSES, OUTCOME, VOCABULARY, Negation, NegationConfig, pad, true_label

HARDER: list[dict[str, object]] = [
    {},
    {"p_not": 0.0},
    {"p_not": 1.0},
    {"p_not": 0.7, "max_nots": 3},
    {"held_out": "destroy"},
    {"held_out": "preserve", "max_nots": 2, "p_not": 0.9},
]
worlds = pytest.mark.parametrize("world", HARDER, ids=str)


def negation(**world: object) -> Negation:
    return Negation(NegationConfig(**world))  # type: ignore[arg-type]


def test_six_sentences_and_nine_with_double_negation() -> None:
    assert [s.text for s in negation().sentences] == [
        "human consume nature",
        "human not consume nature",
        "human preserve nature",
        "human not preserve nature",
        "human destroy nature",
        "human not destroy nature",
    ]
    collapse, sustain = CLASSES.index("collapse"), CLASSES.index("sustain")
    assert negation().labels == (collapse, sustain, sustain, collapse, collapse, sustain)
    assert len(negation(max_nots=2).sentences) == 9


def test_probabilities_worked_by_hand() -> None:
    single = {s.text: s.probability for s in negation().sentences}
    assert single["human destroy nature"] == pytest.approx(0.65 / 3)
    assert single["human not destroy nature"] == pytest.approx(0.35 / 3)
    double = {s.text: s.probability for s in negation(max_nots=2).sentences}
    assert double["human not destroy nature"] == pytest.approx(0.35 * 0.65 / 3)
    assert double["human not not destroy nature"] == pytest.approx(0.35 * 0.35 / 3)
    shown = {s.text: s.train_probability for s in negation(held_out="destroy").sentences}
    assert shown["human not destroy nature"] == 0
    assert shown["human not consume nature"] == pytest.approx(0.35 / (2 + 0.65))


@worlds
def test_probabilities_sum_to_one(world: dict[str, object]) -> None:
    sentences = negation(**world).sentences
    assert sum(s.probability for s in sentences) == pytest.approx(1)
    assert sum(s.train_probability for s in sentences) == pytest.approx(1)
    assert all(s.probability >= 0 and s.train_probability >= 0 for s in sentences)


@pytest.mark.parametrize(
    ("text", "max_nots", "label"),
    [
        ("human not preserve nature", 1, 0),
        ("human not not preserve nature", 1, None),
        ("human not not preserve nature", 2, 1),
        ("human not not not preserve nature", 2, None),
        ("nature not preserve human", 1, None),
        ("human preserve", 1, None),
        ("", 1, None),
    ],
)
def test_only_a_sentence_of_this_version_has_a_label(text: str, max_nots: int, label: int | None) -> None:
    assert Negation(NegationConfig(max_nots=max_nots)).label_of(text.split()) == label


def test_true_label_agrees_with_the_labels() -> None:
    for sentence in negation(max_nots=3).sentences:
        assert true_label(sentence.words) == sentence.label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("human not not not not preserve nature", 1),
        ("human not not not not not preserve nature", 0),
        ("human preserve not nature", None),
        ("nature preserve human", None),
        ("human nature", None),
        ("not preserve nature", None),
        ("human human preserve nature", None),
        ("human sustain nature", None),
        ("", None),
    ],
)
def test_true_label_is_none_for_other_sentences(text: str, label: int | None) -> None:
    assert true_label(text.split()) == label


@worlds
def test_sample_contains_only_possible_sentences(world: dict[str, object]) -> None:
    task = negation(**world)
    for seed in range(5):
        assert all(task.sentences[i].train_probability > 0 for i in task.sample("train", seed))
        assert all(task.sentences[i].probability > 0 for i in task.sample("test", seed))


def test_a_held_out_pair_is_only_in_the_test_data() -> None:
    task = negation(held_out="destroy")
    pair = next(i for i, s in enumerate(task.sentences) if s.text == "human not destroy nature")
    assert all(pair not in task.sample("train", seed) for seed in range(8))
    assert all(pair in task.sample("test", seed) for seed in range(8))


def test_sample_follows_the_probabilities() -> None:
    task = negation(train_size=20_000)
    drawn = task.sample("train", 3)
    for index, sentence in enumerate(task.sentences):
        assert drawn.count(index) / 20_000 == pytest.approx(sentence.probability, abs=0.015)


def test_fresh_data_differs_by_seed_and_shared_data_does_not() -> None:
    fresh, shared = negation(), negation(fresh_data=False)
    assert fresh.sample("train", 1) != fresh.sample("train", 2)
    assert shared.sample("train", 1) == shared.sample("train", 2)
    assert negation(data_seed=1).sample("train", 1) != fresh.sample("train", 1)
    assert fresh.sample("train", 1)[:200] != fresh.sample("test", 1)


@pytest.mark.parametrize(
    ("split", "seed", "fingerprint"),
    [
        ("train", 0, "a271c1ff8bfaddfa"),
        ("train", 7, "2a7db8c5162e427c"),
        ("test", 0, "f01fb5217f6ed3bb"),
        ("test", 7, "357c815c6b01d57a"),
    ],
)
def test_samples_are_deterministic(split: str, seed: int, fingerprint: str) -> None:
    sample = negation().sample(split, seed)  # type: ignore[arg-type]
    assert hashlib.sha256(bytes(sample)).hexdigest()[:16] == fingerprint


@worlds
@pytest.mark.parametrize("padding", ["pad", "eos"])
def test_every_row_is_its_padded_sentence(world: dict[str, object], padding: str) -> None:
    task = negation(**world, padding=padding)
    longest = max(task.lengths)
    assert len(set(task.rows)) == len(task.rows)
    for row in task.rows:
        tokens = [VOCABULARY.tokens[i] for i in row.ids]
        counted = [token for token in tokens if token != "<PAD>"]
        words = list(task.sentences[row.sentence].words)
        assert tokens == counted + ["<PAD>"] * (longest - len(counted))
        assert counted == ["<BOS>", *words, *["<EOS>"] * (row.length - len(words) - 1)]
    for index, own in enumerate(task.lengths):
        for beside in range(own, longest + 1):
            row = task.rows[task.row_index(index, beside)]
            assert (row.sentence, row.length) == (index, beside if padding == "eos" else own)


def test_pad_worked_by_hand() -> None:
    assert pad((0, 2, 1), 5, 7) == (0, 2, 1, 1, 1, 10, 10)
    assert pad((0, 2, 1), 3, 2) == (0, 2, 1)


def test_settings_without_training_data_are_refused() -> None:
    with pytest.raises(ValueError, match="p_not = 1 leaves nothing"):
        NegationConfig(p_not=1.0, held_out="consume")


@settings(deadline=None)
@given(st.sampled_from(sorted(OUTCOME)), st.integers(0, 30))
def test_each_not_flips_the_answer(verb: str, nots: int) -> None:
    one = true_label(["human", *["not"] * nots, verb, "nature"])
    other = true_label(["human", *["not"] * (nots + 1), verb, "nature"])
    assert {one, other} == {0, 1}
