from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.experiments.labelling import VARIANTS
from explorer.inspection.pretrained.senses import SenseNeighbours
from explorer.inspection.words.sense_vectors import SenseSimilarity
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.encoder import layers_view
from explorer.labs.sentence_encoder.real_encoder import senses_view, word_chart, word_view
from explorer.labs.sentence_encoder.state import (
    EXAMPLES,
    MAX_REAL_SENTENCES,
    MAX_SENTENCES,
    SentenceEncoderState,
    parse_sentences,
)
from explorer.lessons.measures import MOST_SENTENCES
from explorer.run_store.store import find
from explorer.tasks.sequence_labelling.homographs import HOMOGRAPHS
from explorer.training.config import key
from explorer.ui.document import Document
from explorer.ui.state import url_codec
from tests.words import assert_mentions, assert_states


def test_the_trained_models_depend_on_task_and_layers() -> None:
    assert (
        SentenceEncoderState().variant_names == ("gloss-two", "gloss-alone")
        and SentenceEncoderState(layers=1).variant_names[0] == "gloss-one"
    )
    configs = SentenceEncoderState(task="gist").configs
    assert configs == {name: VARIANTS[name].config() for name in ("gist-two", "gist-alone")}
    other = SentenceEncoderState(seeds=2, seed=7, steps=9, rate=0.02).configs["gloss-two"]
    assert (other.replicas, other.seed, other.steps, other.optimiser.learning_rate) == (2, 7, 9, 0.02)
    with pytest.raises(InvalidSetting):
        SentenceEncoderState().with_settings(steps=10**9)


def test_a_run_in_the_url_is_shown_if_possible() -> None:
    assert SentenceEncoderState(run=find("gist-one").key).with_run() == SentenceEncoderState(task="gist", layers=1)
    with pytest.raises(InvalidSetting, match="stands on another page: Positions"):
        SentenceEncoderState(run=find("echo-none").key).with_run()
    with pytest.raises(InvalidSetting, match="no encoder of one or two layers with attention"):
        SentenceEncoderState(run=key(VARIANTS["gloss-alone"].config())).with_run()


def test_typed_sentences_are_never_lost() -> None:
    many = "\n".join(["the bank"] * 12)
    state = SentenceEncoderState(chosen=9).with_sentences(many)
    found = parse_sentences(state.lines)
    assert "\n".join(state.lines) == many and len(found.words) == MAX_SENTENCES
    assert_states(found.problems[0], "12 sentences … first 10 …")
    assert SentenceEncoderState().with_sentences("") == SentenceEncoderState()
    assert SentenceEncoderState().with_sentences("\n".join(EXAMPLES)).say == ""
    assert SentenceEncoderState(chosen=9).with_sentences("the bank").chosen == 0
    divided = SentenceEncoderState().with_sentences("the bank\nthe bark / is by the dog")
    assert url_codec.read(SentenceEncoderState, url_codec.write(divided)) == (divided, ())
    changed = SentenceEncoderState(layers=1, seeds=2, steps=4).with_sentences("the bank")
    assert changed.reset() == SentenceEncoderState().with_sentences("the bank")


def test_unreadable_sentences_are_reported_and_the_others_are_read() -> None:
    found = parse_sentences(("the bnak is near", "the Bark.", "!!", " ".join(["the"] * 60)))
    assert found.words == {0: ("the", "is", "near"), 1: ("the", "bark"), 3: ("the",) * 40}
    assert_mentions(found.problems[0], "Sentence 1: The models never saw “bnak” … “bnak” bank")
    assert found.problems[1].startswith("Sentence 3 is left out") and "first 40 of 60" in found.problems[2]
    found = parse_sentences(EXAMPLES)
    assert len(found.words) == len(EXAMPLES) == MAX_SENTENCES and found.problems == ()
    for word in HOMOGRAPHS:
        assert sum(word in words for words in found.words.values()) >= 2, "the examples have both senses"


FLAT = np.full((3, 3), 0.9)
FALLING = np.array([[0.9, 0.8, 0.4], [0.91, 0.7, 0.5], [0.89, 0.75, 0.45]])


def test_sentences(snapshot: SnapshotAssertion) -> None:
    uneven = FALLING.copy()
    uneven[2] = 0.9
    one = np.ones((1, 2))
    eight = np.tile(FALLING, (3, 1))[:8] + np.linspace(0, 0.01, 8)[:, None]
    flat = np.full((8, 3), 0.9)
    right, new = (np.array([0.98, 0.96]), np.array([0.5, 0.7]))
    real = np.zeros((4, 3, 3))
    real[0, 0] = 1, 0.1, 0.9  # the embedding does not count
    real[1:, 0] = [(1, 0.5, 0.2), (1, 0.6, 0.1), (1, 0.1, 0.3)]
    random = np.zeros((4, 3, 3))
    random[1:, 0, 2] = 0.5
    assert [
        findings.similarity_verdict(FLAT, FALLING),
        findings.similarity_note(FLAT, FALLING),
        findings.similarity_verdict(FLAT, FLAT),
        findings.similarity_note(FLAT, FLAT),
        findings.similarity_note(FLAT, uneven),
        findings.similarity_verdict(FLAT[:1, :2], FALLING[:1, [1, 2]]),
        findings.similarity_note(one, one * 0),
        findings.controls_finding((FLAT, FALLING), (FLAT, FLAT), (FLAT, FLAT - 0.01)),
        findings.controls_finding((flat, eight), (flat, flat), (flat, flat)),
        findings.nearest_neighbour_finding(FLAT, FLAT - 0.1),
        findings.nearest_neighbour_finding(FLAT, FLAT * 0 + 0.5),
        findings.word_sense_finding(right, new, 0.49),
        findings.word_sense_finding(right, right, None),
        findings.masked_word_finding(right, right * 0 + 0.9, 0.5),
        findings.masked_word_finding(right, right * 0 + 0.5, None),
        findings.format_sense(True, "money", "lender", 0.987),
        findings.format_sense(False, "money", "lender", -0.2),
        findings.word_in_sentences_finding("bank", 0, real, None),
        findings.word_in_sentences_finding("bank", 0, real, random),
    ] == snapshot


def figures_of(document: Document) -> list[dict[str, object]]:
    (data,) = [block["data"] for block in document.blocks if block["kind"] == "component"]
    return data["figures"]  # type: ignore[index, no-any-return]


def test_the_layers_are_shown_when_the_encoder_and_both_controls_are_measured() -> None:
    each, document = SenseSimilarity(FLAT, FALLING, FLAT), Document()
    layers_view(document, {"After training": each})
    assert document.blocks == []
    layers_view(document, dict.fromkeys(("After training", "Before training", "Without attention"), each))
    assert [block["kind"] for block in document.blocks] == ["finding", "component", "text", "caption"]
    assert figures_of(document)[1]["alt"] == (
        "Before training: cosine similarity of a word in two sentences, by layer: same sense from 0.9 to 0.9; "
        "other sense from 0.9 to 0.45."
    )


def test_a_real_encoder_is_compared_with_random_networks_as_soon_as_there_are_any() -> None:
    same = np.array([[True, False, False, False], [True, True, True, False]])
    real, document = SenseNeighbours(same, ("bank", "bank", "bat", "bat"), 0.4), Document()
    senses_view(document, {"random 0": real})
    assert document.blocks == []
    senses_view(document, {"real": real, "random 0": real})
    finding, _, caption = document.blocks
    assert "0.25" in str(finding["text"]) and "bank 1.00, bat 0.50" in str(caption["text"])
    (figure,) = figures_of(document)
    assert str(figure["alt"]).endswith("this encoder from 0.25 to 0.75; random weights from 0.25 to 0.75.")


def test_each_of_the_visitors_sentences_has_a_line_of_its_own() -> None:
    assert MAX_REAL_SENTENCES == MOST_SENTENCES, "a lesson measures as many sentences as the page reads"
    cosines = np.full((13, MAX_REAL_SENTENCES, MAX_REAL_SENTENCES), 0.5)
    chart = word_chart("BERT", "--soft", cosines, 1)
    assert len({line.dash for line in chart.lines}) == MAX_REAL_SENTENCES - 1
    assert "sentence 2" not in [line.label for line in chart.lines]
    document = Document()
    word_view(document, {"random": cosines}, "BERT", "bank", 1)
    assert document.blocks == []
    word_view(document, {"real": cosines, "random": cosines}, "BERT", "bank", 1)
    assert [figure["title"] for figure in figures_of(document)] == ["BERT", "Random weights, same sizes"]
