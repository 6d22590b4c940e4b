"""Word vectors and their similarities, compared with slow reference computations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from explorer.inspection.load_model import load_model
from explorer.inspection.words import sense_vectors
from explorer.models.taps import record
from explorer.run_store import store
from explorer.tasks.sequence_labelling.homographs import HOMOGRAPHS, SENSES, word_ids
from explorer.tasks.sequence_labelling.homographs_rows import evaluation_sentences
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

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
    all_vectors, topic_vectors = [], []
    for each in texts:
        own = sense_vectors.layer_vectors(model, torch.tensor([word_ids(each.words)]))[:, 0]
        all_vectors.append(own)
        topic_vectors.append(own[:, each.position])
    centre = torch.cat(all_vectors, dim=1).mean(dim=1)
    unit = [torch.nn.functional.normalize(vector - centre, dim=-1) for vector in topic_vectors]
    same, other, near = [], [], []
    for word in HOMOGRAPHS:
        rows = [i for i, each in enumerate(texts) if each.topic in SENSES[word]]
        pairs = [(texts[i].topic, texts[j].topic, (unit[i] * unit[j]).sum(-1)) for i, j in combinations(rows, 2)]
        same += [torch.stack([c for a, b, c in pairs if a == b == topic]).mean(0) for topic in SENSES[word]]
        other.append(torch.stack([c for a, b, c in pairs if a != b]).mean(0))
        for layer in (2,):
            best = [
                max((j for j in rows if j != i), key=lambda j: float(unit[i][layer] @ unit[j][layer])) for i in rows
            ]
            near.append(np.mean([texts[i].topic == texts[j].topic for i, j in zip(rows, best, strict=True)]))
    similarity = sense_vectors.sense_similarity(model, 1)
    assert similarity.same_sense.shape == similarity.other_sense.shape == similarity.neighbour_agreement.shape == (1, 3)
    np.testing.assert_allclose(similarity.same_sense[0], torch.stack(same).mean(0), atol=1e-5)
    np.testing.assert_allclose(similarity.other_sense[0], torch.stack(other).mean(0), atol=1e-5)
    assert similarity.neighbour_agreement[0, 2] == pytest.approx(np.mean(near), abs=1e-6)


def test_similarities_of_a_stack_equal_those_of_each_replica() -> None:
    config = with_settings(
        default_config("gist", "transformer"), {"model.width": 8, "heads": 2, "hidden": 8, "replicas": 2}
    )
    of_stack = sense_vectors.sense_similarity(build_model(config).requires_grad_(False), 2)
    one = sense_vectors.sense_similarity(
        build_model(with_settings(config, {"replicas": 1, "seed": 1})).requires_grad_(False), 1
    )
    np.testing.assert_allclose(of_stack.same_sense[1], one.same_sense[0], atol=1e-5)
    np.testing.assert_allclose(of_stack.other_sense[1], one.other_sense[0], atol=1e-5)


def test_without_attention_both_senses_have_the_same_vector_at_a_position() -> None:
    cosines = sense_vectors.cosines_between(tiny_model(attention=False), BANK)
    np.testing.assert_allclose(cosines, np.ones((3, 2, 2)), atol=1e-5)
    similarity = sense_vectors.cosines_between(tiny_model(), BANK)
    np.testing.assert_allclose(similarity[0], np.ones((2, 2)), atol=1e-5)
    assert similarity[2, 0, 1] < 0.9999 and sense_vectors.cosines_between(tiny_model(), []).shape == (3, 0, 0)


def test_a_sense_map_shows_principal_components_and_typed_sentences() -> None:
    model = tiny_model()
    sense_map = sense_vectors.sense_map(model, "bank", BANK)
    layers, count, _ = sense_map.points.shape
    assert layers == 3 and count == len(sense_map.senses) == len(sense_map.kinds) == len(sense_map.sentences)
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
    typed_map = sense_vectors.sense_map(
        model, "bank", [(sense_map.sentences[0].split(), sense_map.sentences[0].split().index(sense_map.kinds[0]))]
    )
    np.testing.assert_allclose(typed_map.typed_points[:, 0], sense_map.points[:, 0], atol=1e-4)
    assert sense_vectors.sense_map(model, "bat", []).typed_points.shape == (3, 0, 2)


def test_read_sentence_returns_weights_vectors_and_senses() -> None:
    run = store.find("gloss-two")
    model = load_model(run).single_replica(0)
    views = [sense_vectors.read_sentence(model, run.config, words) for words, _ in BANK]
    assert views[0].weights.shape == (2, 4, 9, 9) and views[0].vectors.shape == (3, 9, 48)
    np.testing.assert_allclose(views[0].weights.sum(axis=-1), 1, atol=1e-5)
    assert [each.answers[0][0] for each in views] == ["money", "river"] and all(e.answers[0][1] > 0.8 for e in views)
    alone = sense_vectors.read_sentence(tiny_model(attention=False), run.config, ["the", "shore"])
    assert alone.weights.shape[0] == 0 and alone.answers == ()


def test_a_masked_word_model_predicts_the_nearer_synonym() -> None:
    run = store.find("gist-two")
    model = load_model(run).single_replica(0)
    answers = [sense_vectors.read_sentence(model, run.config, words).answers[0] for words, _ in BANK]
    assert [topic for topic, _ in answers] == ["money", "river"] and all(-1 <= cosine <= 1 for _, cosine in answers)


def test_the_pretrained_runs_support_the_claims_of_the_page() -> None:
    for name in ("gloss-two", "gist-two"):
        run = store.find(name)
        trained = sense_vectors.sense_similarity(load_model(run).stack, 5)
        assert (trained.same_sense[:, -1] - trained.other_sense[:, -1] > 0.3).all()
        assert np.abs(trained.same_sense[:, 0] - trained.other_sense[:, 0]).max() < 0.06
        untrained = sense_vectors.sense_similarity(build_model(run.config).requires_grad_(False), 5)
        assert np.abs(untrained.same_sense[:, -1] - untrained.other_sense[:, -1]).max() < 0.06
        assert (untrained.neighbour_agreement[:, -1] > 0.5).all(), "which is why the nearest neighbour proves nothing"


def test_homographs_and_synonyms_are_found() -> None:
    assert sense_vectors.homograph_positions(["the", "shore", "and", "the", "bank"]) == [1, 4]
    assert [sense_vectors.homograph_of(word) for word in ("bank", "shore", "coil")] == ["bank", "bank", "spring"]
