"""Word vectors and contextual vectors, their similarities and maps, compared with slow reference computations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import load_model
from explorer.inspection.words import sense_vectors, word_vectors
from explorer.models.taps import record
from explorer.run_store import store
from explorer.tasks.sequence_labelling.homographs import HOMOGRAPHS, SENSES, evaluation_sentences, word_ids
from explorer.tasks.word_similarity import unit_vectors
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

WORDS = ("<unk>", "he", "she", "king", "queen", "father", "mother", "bank")
GRID = np.array(
    [[9, 9, 9, 9], [0, 1, 0, 0], [0, -1, 0, 0], [1, 1, 0, 0], [1, -1, 0, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 0, 0, 1]],
    float,
)


def small_table() -> word_vectors.WordTable:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    vectors = np.stack([GRID, 3 * GRID @ turn])  # another seed: other axes and lengths, the same angles
    index = {word: i for i, word in enumerate(WORDS)}
    config = WordVectorsConfig(corpus="tinyshakespeare")
    return word_vectors.WordTable(config, WORDS, vectors, unit_vectors(vectors), index)


def test_neighbours_analogies_pairs_and_leans_do_not_depend_on_the_axes_of_a_seed() -> None:
    table = small_table()
    first = word_vectors.neighbours(table, "king", 2)
    assert {each.word for each in first} in ({"he", "father"}, {"he", "queen"})
    for each in word_vectors.neighbours(table, "king", 6):
        assert each.cosines[0] == pytest.approx(each.cosines[1]) and each.word not in ("king", "<unk>")
    answer = word_vectors.analogy(table, "king", "queen", "father")
    assert answer.answers == ("mother", "mother")
    assert {each.word for each in answer.candidates if each.excluded} <= {"king", "queen", "father"}
    accuracy = word_vectors.analogy_accuracy(table)
    assert accuracy is not None and accuracy.questions == 4 and (accuracy.excluded == 1).all()
    near = [each.word for each in word_vectors.neighbours(table, "king", 20)]
    assert sorted(near) == sorted({*WORDS} - {"<unk>", "king"})
    assert "<unk>" not in [each.word for each in word_vectors.analogy(table, "king", "queen", "father", 20).candidates]
    with pytest.raises(InvalidSetting, match=r"“kin” has no vector.*Nearest in spelling: king"):
        word_vectors.neighbours(table, "kin")
    with pytest.raises(InvalidSetting, match="Known are, for example, he, she"):
        word_vectors.analogy(table, "king", "queen", "zzzz")
    pair = word_vectors.pair_similarity(table, "he", "she")
    assert pair.cosines.tolist() == pytest.approx([-1, -1]) and pair.ranks.tolist() == [6, 6]
    leans = word_vectors.lean(table, ["king", "queen", "bank"], ("he", "she"))
    np.testing.assert_allclose(leans, [[2**0.5, -(2**0.5), 0]] * 2, atol=1e-6)


def test_a_map_keeps_the_largest_differences() -> None:
    table = small_table()
    projection = word_vectors.project(table, ["king", "queen", "father", "mother"], 0)
    assert projection.explained == pytest.approx(1)  # four corners of a rectangle
    distance = np.linalg.norm(projection.points[0] - projection.points[1])
    assert distance == pytest.approx(np.linalg.norm(table.unit[0, 3] - table.unit[0, 4]))
    other = word_vectors.project(table, ["king", "queen", "father", "mother"], 5)  # the last seed
    np.testing.assert_allclose(np.abs(other.points), np.abs(projection.points), atol=1e-6)


def test_an_included_run_has_neighbours_that_seeds_share_more_often_for_frequent_words() -> None:
    run = store.find("words-grammar-cbow")
    table = word_vectors.load_table(run)
    assert table.unit.shape == (8, 277, 24) and word_vectors.load_table(store.find("words-grammar-cbow")) is table
    effects = word_vectors.frequency_effects(run)
    assert effects.groups == ("48–100", "101–360", "445–1,748", "2,212–4,656") and len(effects.counts) == 276
    assert len(effects.groups) == 4 and effects.lengths.shape == (8, 276)
    nearest = []
    for unit in table.unit[:2]:
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -9)
        cosines[:, 0] = -9
        nearest.append([set(row) for row in np.argsort(-cosines, axis=1)[1:, :10].tolist()])
    shares = np.array([len(a & b) / 10 for a, b in zip(*nearest, strict=True)])
    assert effects.agreement is not None and effects.agreement.shape == (7, 4)
    for group, (low, high) in enumerate([(48, 100), (101, 360), (445, 1_748), (2_212, 4_656)]):
        members = (effects.counts >= low) & (effects.counts <= high)
        assert effects.agreement[0, group] == pytest.approx(shares[members].mean())


LOAN = "the bank is near the loan and the cash"
BOAT = "the bank is near the boat and the reed"
BANK = [(LOAN.split(), 1), (BOAT.split(), 1)]


def tiny_model(task: str = "gloss", **changes: object) -> torch.nn.Module:
    sizes = {"model.width": 8, "heads": 2, "hidden": 8, "replicas": 1, **changes}
    return build_model(with_settings(default_config(task, "transformer"), sizes)).requires_grad_(False)


@pytest.fixture(autouse=True)
def fewer_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sense_vectors, "SENTENCES", 64)


def test_layer_vectors_are_the_embeddings_and_block_outputs() -> None:
    model, ids = tiny_model(), torch.tensor([word_ids(BANK[0][0])])
    vectors = sense_vectors.layer_vectors(model, ids)
    assert vectors.shape == (3, 1, 9, 8)
    with record(model) as trace:
        model(ids)
    assert torch.equal(vectors[0], trace["embedded"]) and torch.equal(vectors[2], trace["blocks.1.output"])
    torch.testing.assert_close(vectors[2], model.features(ids))


def test_sense_similarity_is_the_mean_over_all_pairs() -> None:
    model, texts = tiny_model(), evaluation_sentences(64, ambiguous=True)
    vectors = [sense_vectors.layer_vectors(model, torch.tensor([word_ids(each.words)]))[:, 0] for each in texts]
    centre = torch.cat(vectors, dim=1).mean(dim=1)
    of_topics = [own[:, each.position] for own, each in zip(vectors, texts, strict=True)]
    unit = [torch.nn.functional.normalize(vector - centre, dim=-1) for vector in of_topics]
    same, other, near = [], [], []
    for word in HOMOGRAPHS:
        rows = [i for i, each in enumerate(texts) if each.topic in SENSES[word]]
        pairs = [(texts[i].topic, texts[j].topic, (unit[i] * unit[j]).sum(-1)) for i, j in combinations(rows, 2)]
        same += [torch.stack([c for a, b, c in pairs if a == b == topic]).mean(0) for topic in SENSES[word]]
        other.append(torch.stack([c for a, b, c in pairs if a != b]).mean(0))
        best = [max((j for j in rows if j != i), key=lambda j: float(unit[i][2] @ unit[j][2])) for i in rows]
        near.append(np.mean([texts[i].topic == texts[j].topic for i, j in zip(rows, best, strict=True)]))
    similarity = sense_vectors.sense_similarity(model, 1)
    assert similarity.same_sense.shape == similarity.other_sense.shape == similarity.neighbour_agreement.shape == (1, 3)
    np.testing.assert_allclose(similarity.same_sense[0], torch.stack(same).mean(0), atol=1e-5)
    np.testing.assert_allclose(similarity.other_sense[0], torch.stack(other).mean(0), atol=1e-5)
    assert similarity.neighbour_agreement[0, 2] == pytest.approx(np.mean(near), abs=1e-6)


def test_similarities_of_a_stack_equal_those_of_each_replica() -> None:
    stack, one = tiny_model("gist", replicas=2), tiny_model("gist", seed=1)
    of_stack, alone = sense_vectors.sense_similarity(stack, 2), sense_vectors.sense_similarity(one, 1)
    np.testing.assert_allclose(of_stack.same_sense[1], alone.same_sense[0], atol=1e-5)
    np.testing.assert_allclose(of_stack.other_sense[1], alone.other_sense[0], atol=1e-5)
    # Without attention both senses have the same vector at a position.
    cosines = sense_vectors.cosines_between(tiny_model(attention=False), BANK)
    np.testing.assert_allclose(cosines, np.ones((3, 2, 2)), atol=1e-5)
    similarity = sense_vectors.cosines_between(tiny_model(), BANK)
    np.testing.assert_allclose(similarity[0], np.ones((2, 2)), atol=1e-5)
    assert similarity[2, 0, 1] < 0.9999 and sense_vectors.cosines_between(tiny_model(), []).shape == (3, 0, 0)


def test_a_sense_map_shows_principal_components_and_typed_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sense_vectors, "MAP_SENTENCES", 4)
    model = tiny_model()
    sense_map = sense_vectors.sense_map(model, "bank", BANK)
    layers, count, _ = sense_map.points.shape
    assert layers == 3 and count == 2 * (4 + 2) == len(sense_map.senses)
    assert set(sense_map.senses) == {"money", "river"} and set(sense_map.kinds) == {"bank", "lender", "shore"}
    assert all(kind in sentence.split() for kind, sentence in zip(sense_map.kinds, sense_map.sentences, strict=True))
    vectors = []
    for kind, sentence in zip(sense_map.kinds, sense_map.sentences, strict=True):
        words = sentence.split()
        vectors.append(sense_vectors.layer_vectors(model, torch.tensor([word_ids(words)]))[2, 0, words.index(kind)])
    centred = torch.stack(vectors) - torch.stack(vectors).mean(0)
    variance = torch.linalg.svdvals(centred).square()
    np.testing.assert_allclose(sense_map.shares[2], variance[:2] / variance.sum(), rtol=1e-4)
    np.testing.assert_allclose(sense_map.points[2].var(axis=0) * count, variance[:2], rtol=1e-3)
    for layer in (1, 2):  # the sign of each direction is chosen so that points keep their side
        assert ((sense_map.points[layer] * sense_map.points[layer - 1]).sum(axis=0) >= 0).all()
    first = sense_map.sentences[0].split()
    typed_map = sense_vectors.sense_map(model, "bank", [(first, first.index(sense_map.kinds[0]))])
    np.testing.assert_allclose(typed_map.typed_points[:, 0], sense_map.points[:, 0], atol=1e-4)
    assert sense_vectors.sense_map(model, "bat", []).typed_points.shape == (3, 0, 2)


@pytest.mark.parametrize("name", ["gloss-two", "gist-two"])
def test_the_included_models_tell_the_senses_apart(name: str) -> None:
    run = store.find(name)
    model = load_model(run).single_replica(0)
    views = [sense_vectors.read_sentence(model, run.config, words) for words, _ in BANK]
    assert views[0].weights.shape == (2, 4, 9, 9) and views[0].vectors.shape == (3, 9, 48)
    np.testing.assert_allclose(views[0].weights.sum(axis=-1), 1, atol=1e-5)
    assert [each.answers[0][0] for each in views] == ["money", "river"]
    if name == "gloss-two":
        assert all(each.answers[0][1] > 0.8 for each in views)
        alone = sense_vectors.read_sentence(tiny_model(attention=False), run.config, ["the", "shore"])
        assert alone.weights.shape[0] == 0 and alone.answers == ()


def test_homographs_and_synonyms_are_found() -> None:
    assert sense_vectors.homograph_positions(["the", "shore", "and", "the", "bank"]) == [1, 4]
    assert [sense_vectors.homograph_of(word) for word in ("bank", "shore", "coil")] == ["bank", "bank", "spring"]
