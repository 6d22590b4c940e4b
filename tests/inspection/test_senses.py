"""What a word's vectors come to, against slow and plain ways to the same numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from explorer.inspection import senses
from explorer.inspection.opening import open_model
from explorer.models.taps import record
from explorer.tasks.meanings import HOMOGRAPHS, SENSES, ids_of
from explorer.tasks.meanings_rows import fresh_sentences
from explorer.training import store
from explorer.training.building import build
from explorer.training.config import changed, default

LOAN = "the bank is near the loan and the cash"
BOAT = "the bank is near the boat and the reed"
BANK = [(LOAN.split(), 1), (BOAT.split(), 1)]


def tiny(task: str = "gloss", **changes: object) -> torch.nn.Module:
    sizes = {"model.width": 8, "heads": 2, "hidden": 8, "replicas": 1, **changes}
    return build(changed(default(task, "transformer"), sizes)).requires_grad_(False)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senses, "ASKED", 64)


def test_vectors_are_the_embeddings_and_what_every_block_gives() -> None:
    model, ids = tiny(), torch.tensor([ids_of(BANK[0][0])])
    found = senses.vectors(model, ids)
    assert found.shape == (3, 1, 9, 8)
    with record(model) as trace:
        model(ids)
    assert torch.equal(found[0], trace["embedded"]) and torch.equal(found[2], trace["blocks.1.output"])
    torch.testing.assert_close(found[2], model.features(ids))


def test_likeness_is_the_mean_over_all_pairs() -> None:
    model, said = tiny(), fresh_sentences(64, ambiguous=True)
    every, mine = [], []
    for each in said:
        own = senses.vectors(model, torch.tensor([ids_of(each.words)]))[:, 0]
        every.append(own)
        mine.append(own[:, each.place])
    centre = torch.cat(every, dim=1).mean(dim=1)
    unit = [torch.nn.functional.normalize(vector - centre, dim=-1) for vector in mine]
    same, other, near = [], [], []
    for word in HOMOGRAPHS:
        rows = [i for i, each in enumerate(said) if each.topic in SENSES[word]]
        pairs = [(said[i].topic, said[j].topic, (unit[i] * unit[j]).sum(-1)) for i, j in combinations(rows, 2)]
        same += [torch.stack([c for a, b, c in pairs if a == b == topic]).mean(0) for topic in SENSES[word]]
        other.append(torch.stack([c for a, b, c in pairs if a != b]).mean(0))
        for layer in (2,):
            best = [
                max((j for j in rows if j != i), key=lambda j: float(unit[i][layer] @ unit[j][layer])) for i in rows
            ]
            near.append(np.mean([said[i].topic == said[j].topic for i, j in zip(rows, best, strict=True)]))
    found = senses.alike(model, 1)
    assert found.same.shape == found.other.shape == found.neighbour.shape == (1, 3)
    np.testing.assert_allclose(found.same[0], torch.stack(same).mean(0), atol=1e-5)
    np.testing.assert_allclose(found.other[0], torch.stack(other).mean(0), atol=1e-5)
    assert found.neighbour[0, 2] == pytest.approx(np.mean(near), abs=1e-6)


def test_seeds_side_by_side_are_as_alike_as_each_alone() -> None:
    config = changed(default("gist", "transformer"), {"model.width": 8, "heads": 2, "hidden": 8, "replicas": 2})
    both = senses.alike(build(config).requires_grad_(False), 2)
    one = senses.alike(build(changed(config, {"replicas": 1, "seed": 1})).requires_grad_(False), 1)
    np.testing.assert_allclose(both.same[1], one.same[0], atol=1e-5)
    np.testing.assert_allclose(both.other[1], one.other[0], atol=1e-5)


def test_without_attention_both_senses_have_the_same_vector_in_the_same_place() -> None:
    cosines = senses.cosines_between(tiny(attention=False), BANK)
    np.testing.assert_allclose(cosines, np.ones((3, 2, 2)), atol=1e-5)
    apart = senses.cosines_between(tiny(), BANK)
    np.testing.assert_allclose(apart[0], np.ones((2, 2)), atol=1e-5)
    assert apart[2, 0, 1] < 0.9999 and senses.cosines_between(tiny(), []).shape == (3, 0, 0)


def test_a_map_shows_the_directions_of_most_variance_and_puts_typed_sentences_on_it() -> None:
    model = tiny()
    found = senses.word_map(model, "bank", BANK)
    layers, count, _ = found.points.shape
    assert layers == 3 and count == len(found.senses) == len(found.kinds) == len(found.said)
    assert set(found.senses) == {"money", "river"} and set(found.kinds) == {"bank", "lender", "shore"}
    assert all(kind in said.split() for kind, said in zip(found.kinds, found.said, strict=True))
    given = []
    for kind, said in zip(found.kinds, found.said, strict=True):
        words = said.split()
        given.append(senses.vectors(model, torch.tensor([ids_of(words)]))[2, 0, words.index(kind)])
    centred = torch.stack(given) - torch.stack(given).mean(0)
    variance = torch.linalg.svdvals(centred).square()
    np.testing.assert_allclose(found.shares[2], variance[:2] / variance.sum(), rtol=1e-4)
    np.testing.assert_allclose(found.points[2].var(axis=0) * count, variance[:2], rtol=1e-3)
    for layer in (1, 2):  # each direction is turned so that points stand as they did
        assert ((found.points[layer] * found.points[layer - 1]).sum(axis=0) >= 0).all()
    again = senses.word_map(model, "bank", [(found.said[0].split(), found.said[0].split().index(found.kinds[0]))])
    np.testing.assert_allclose(again.own[:, 0], found.points[:, 0], atol=1e-4)
    assert senses.word_map(model, "bat", []).own.shape == (3, 0, 2)


def test_a_reading_holds_weights_vectors_and_the_sense() -> None:
    run = store.find("gloss-two")
    model = open_model(run).alone(0)
    found = [senses.reading(model, run.config, words) for words, _ in BANK]
    assert found[0].weights.shape == (2, 4, 9, 9) and found[0].vectors.shape == (3, 9, 48)
    np.testing.assert_allclose(found[0].weights.sum(axis=-1), 1, atol=1e-5)
    assert [each.answers[0][0] for each in found] == ["money", "river"] and all(e.answers[0][1] > 0.8 for e in found)
    alone = senses.reading(tiny(attention=False), run.config, ["the", "shore"])
    assert alone.weights.shape[0] == 0 and alone.answers == ()


def test_on_gist_the_nearer_synonym_says_the_sense() -> None:
    run = store.find("gist-two")
    model = open_model(run).alone(0)
    found = [senses.reading(model, run.config, words).answers[0] for words, _ in BANK]
    assert [topic for topic, _ in found] == ["money", "river"] and all(-1 <= cosine <= 1 for _, cosine in found)


def test_the_shipped_runs_say_what_the_page_says() -> None:
    for name in ("gloss-two", "gist-two"):
        run = store.find(name)
        trained = senses.alike(open_model(run).stack, 5)
        assert (trained.same[:, -1] - trained.other[:, -1] > 0.3).all()
        assert np.abs(trained.same[:, 0] - trained.other[:, 0]).max() < 0.06
        untrained = senses.alike(build(run.config).requires_grad_(False), 5)
        assert np.abs(untrained.same[:, -1] - untrained.other[:, -1]).max() < 0.06
        assert (untrained.neighbour[:, -1] > 0.5).all(), "which is why the nearest neighbour proves nothing"


def test_homographs_and_synonyms_are_found() -> None:
    assert senses.occurrences(["the", "shore", "and", "the", "bank"]) == [1, 4]
    assert [senses.homograph_of(word) for word in ("bank", "shore", "coil")] == ["bank", "bank", "spring"]
