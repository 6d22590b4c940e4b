from __future__ import annotations

import hashlib

import pytest

from explorer.tasks.negation import CLASSES, VOCABULARY, Negation, NegationConfig, pad, true_label

HARDER: list[dict[str, object]] = [
    {"p_not": 0.0},
    {"p_not": 1.0},
    {"p_not": 0.7, "max_nots": 3},
    {"held_out": "preserve", "max_nots": 2, "p_not": 0.9},
]
worlds = pytest.mark.parametrize("world", HARDER, ids=str)


def negation(**world: object) -> Negation:
    return Negation(NegationConfig(**world))  # type: ignore[arg-type]


def test_sentences_and_probabilities_worked_by_hand() -> None:
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
    single = {s.text: s.probability for s in negation().sentences}
    assert single["human destroy nature"] == pytest.approx(0.65 / 3)
    assert single["human not destroy nature"] == pytest.approx(0.35 / 3)
    double = {s.text: s.probability for s in negation(max_nots=2).sentences}
    assert double["human not destroy nature"] == pytest.approx(0.35 * 0.65 / 3)
    assert double["human not not destroy nature"] == pytest.approx(0.35 * 0.35 / 3)
    shown = {s.text: s.train_probability for s in negation(held_out="destroy").sentences}
    assert shown["human not destroy nature"] == 0
    assert shown["human not consume nature"] == pytest.approx(0.35 / (2 + 0.65))
    assert pad((0, 2, 1), 5, 7) == (0, 2, 1, 1, 1, 10, 10)
    assert pad((0, 2, 1), 3, 2) == (0, 2, 1)
    with pytest.raises(ValueError, match="p_not = 1 leaves nothing"):
        NegationConfig(p_not=1.0, held_out="consume")


def test_labels_of_typed_sentences() -> None:
    for text, max_nots, label in (
        ("human not preserve nature", 1, 0),
        ("human not not preserve nature", 1, None),
        ("human not not preserve nature", 2, 1),
        ("human not not not preserve nature", 2, None),
        ("nature not preserve human", 1, None),
        ("human preserve", 1, None),
    ):
        assert negation(max_nots=max_nots).label_of(text.split()) == label
    assert true_label(["human", "not", "not", "not", "not", "preserve", "nature"]) == 1
    assert true_label(["human", "not", "not", "not", "not", "not", "preserve", "nature"]) == 0
    others = ("human preserve not nature", "human nature", "human human preserve nature", "human sustain nature", "")
    assert {true_label(text.split()) for text in others} == {None}
    for sentence in negation(max_nots=3).sentences:
        assert true_label(sentence.words) == sentence.label


@worlds
def test_sample_contains_only_possible_sentences(world: dict[str, object]) -> None:
    task = negation(**world)
    assert sum(s.probability for s in task.sentences) == pytest.approx(1)
    assert sum(s.train_probability for s in task.sentences) == pytest.approx(1)
    assert all(s.probability >= 0 and s.train_probability >= 0 for s in task.sentences)
    for seed in range(3):
        assert {i for i, s in enumerate(task.sentences) if s.train_probability > 0} >= {*task.sample("train", seed)}
        assert {i for i, s in enumerate(task.sentences) if s.probability > 0} == {*task.sample("test", seed)}


def test_samples_are_deterministic_and_differ_by_seed() -> None:
    for split, seed, fingerprint in (("train", 0, "a271c1ff8bfaddfa"), ("test", 7, "357c815c6b01d57a")):
        sample = negation().sample(split, seed)  # type: ignore[arg-type]
        assert hashlib.sha256(bytes(sample)).hexdigest()[:16] == fingerprint
    fresh, shared = negation(), negation(fresh_data=False)
    assert fresh.sample("train", 1) != fresh.sample("train", 2)
    assert shared.sample("train", 1) == shared.sample("train", 2)
    assert negation(data_seed=1).sample("train", 1) != fresh.sample("train", 1)
    assert fresh.sample("train", 1)[:200] != fresh.sample("test", 1)


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
