from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.attention.logit_attribution import LogitAttribution
from explorer.inspection.attention.patching import Patching
from explorer.labs.attention import findings
from explorer.labs.attention.changed_texts import COUNTERPARTS
from explorer.labs.attention.logit_attribution import MAX_PARTS, attribute_answer, largest_parts
from explorer.labs.attention.patched_state import PatchedState, check_patched_state, parse_patched_state
from explorer.labs.attention.patching import compute_patching, describe_pair, find_cell, selected_state
from explorer.labs.attention.state import AttentionState
from explorer.ui.training.stored_models import find_model
from tests.words import assert_mentions

TOKENS = ("the", "king / queen", "of")


def as_logs(share: float) -> list[float]:
    """Return log-probabilities of two outcomes whose difference is from -2 (share 0) to 2 (share 1)."""
    odds = np.exp(4 * share - 2)
    return [float(np.log(odds / (1 + odds))), float(np.log(1 / (1 + odds)))]


def make_patching(residual: list[list[float]], heads: list[list[float]]) -> Patching:
    residual_logs, head_logs = (
        np.array([[as_logs(share) for share in row] for row in shares], np.float32) for shares in (residual, heads)
    )
    layers = np.full((len(heads), 3, 2), np.nan, np.float32)
    layers[:, 0] = as_logs(0.5)
    clean, changed = (np.array(as_logs(share), np.float32) for share in (1, 0))
    return Patching(2, (7, 8), clean, changed, (1, 2), residual_logs, head_logs, layers)


MOVES = make_patching([[1.0, 0.0], [0.8, 0.1], [0.2, 0.7], [0.0, 1.0]], [[0.1, 0.2], [0.75, -0.1], [0.0, 0.0]])


def test_the_finding_names_where_the_answer_is_and_the_head_that_moves_it() -> None:
    assert findings.patching_finding(MOVES, TOKENS) == (
        "Up to layer 1 the state at “king / queen” alone restores more than half of the difference; from layer 2 on "
        "the state at “of” does, where the answer is read. Of the 6 heads, layer 2, head 1 restores most: 75\u00a0%."
    )


@pytest.mark.parametrize(
    ("residual", "heads", "expected"),
    [
        ([[1, 0], [0, 1]], [[0.9]], ("In the embedding the state", "from layer 1 on", "The only head restores 90")),
        ([[0.3, 0], [0.4, 1]], [[0.05, 0.02]], ("No single token … half", "None of the 2 heads restores more than 10")),
        ([[0.0, 1], [0, 1]], [[0.0, 0.2]], ("The token that differs is “of”", "layer 1, head 2 restores most: 20")),
        ([[1, 0], [0.4, 0.4], [0, 1]], [[0.3], [0.2]], ("In the embedding", "from layer 2 on … “of”")),
    ],
)
def test_the_finding_is_no_stronger_than_the_shares(
    residual: list[list[float]], heads: list[list[float]], expected: tuple[str, ...]
) -> None:
    finding = findings.patching_finding(make_patching(residual, heads), TOKENS)
    for statement in expected:
        assert_mentions(finding, statement)


def test_the_answers_to_both_texts_are_named() -> None:
    name = {7: "himself", 8: "herself"}.__getitem__
    assert findings.answers_to_both_texts(MOVES, name) == (
        "The first text leads to “himself” (0.88), the changed text to “herself” (0.88)."
    )
    nearly = replace(MOVES, changed=np.array(as_logs(0.95), np.float32))
    sentences = findings.answers_to_both_texts(nearly, name)
    assert_mentions(sentences, "Both texts lead to the same answer: “himself” … 0.88 … 0.86")
    assert_mentions(sentences, "by 0.20 only, so a share of it says little")


def test_chosen_answers_are_not_called_the_most_probable_ones() -> None:
    def logs(*probabilities: float) -> np.ndarray:
        return np.log(np.array(probabilities, np.float32))

    chosen = replace(
        MOVES,
        outcomes=(7, 8, 9),
        residual=np.zeros((4, 2, 3), np.float32),
        heads=np.zeros((3, 2, 3), np.float32),
        layers=np.zeros((3, 3, 3), np.float32),
        clean=logs(0.3, 0.1, 0.6),
        changed=logs(0.05, 0.25, 0.7),
    )
    assert findings.answers_to_both_texts(chosen, {7: "a", 8: "b"}.__getitem__) == (
        "“a” has the probability 0.30 for the first text and 0.05 for the changed text, “b” 0.10 and 0.25."
    )
    other = replace(chosen, clean=logs(0.6, 0.1, 0.3))
    assert "leads to" not in findings.answers_to_both_texts(other, {7: "a", 8: "b"}.__getitem__)


def test_one_state_is_described_by_probability_and_share() -> None:
    names = ["himself", "herself"]
    sentence = findings.patched_state_finding(MOVES, MOVES.heads[1, 0], names)
    assert_mentions(sentence, "“himself” goes from 0.12 to 0.73 (0.88 for the first text): 75\u00a0% of the difference")
    assert_mentions(findings.patched_state_finding(MOVES, MOVES.changed, names), "stays 0.12 (0.88 for the first text)")


def test_captions_say_which_tokens_are_left_out() -> None:
    caption = findings.stream_caption(MOVES, ("a", "b"), 3)
    assert_mentions(caption, "“a” and “b” … 0 … changed text, 1 … first text")
    assert_mentions(caption, "Tokens before the first one … change nothing")
    assert "Tokens before" not in findings.stream_caption(MOVES, ("a", "b"), 2)
    some = replace(MOVES, positions=(3, 40))
    assert_mentions(findings.stream_caption(some, ("a", "b"), 41), "Shown are 2 tokens: those that differ")
    assert findings.token_pair(" a", " b") == "a / b" and findings.token_pair("a", "a") == "a"
    assert findings.token_pair(" ", "\n") == "␣ / ↵" and findings.token_pair("a", " a") == "a / ␣a"


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("head.0.2", PatchedState("head", 0, 2)),
        ("stream.3.12", PatchedState("stream", 3, 12)),
        ("attention.1", PatchedState("attention", 1)),
        ("feedforward.0", PatchedState("feedforward", 0)),
        ("layer.29", PatchedState("layer", 29)),
    ],
)
def test_the_url_names_a_state(name: str, state: PatchedState) -> None:
    assert parse_patched_state(name) == state and state.url == name
    check_patched_state(name)


@pytest.mark.parametrize("name", ["head.0", "layer.1.2", "head.-1.0", "x", "stream.99999.1", "head.0.1 "])
def test_another_name_is_no_state(name: str) -> None:
    assert parse_patched_state(name) is None
    with pytest.raises(InvalidSetting, match=r"names no state of a model. Write head\.LAYER\.HEAD"):
        check_patched_state(name)


def test_the_head_that_restores_most_is_selected_at_first() -> None:
    assert selected_state(AttentionState(), MOVES) == PatchedState("head", 1, 0)
    assert selected_state(AttentionState(patch="layer.2"), MOVES) == PatchedState("layer", 2)


def test_two_texts_are_described_as_one() -> None:
    assert describe_pair("the king is proud", "the queen is tired") == "the king → queen is proud → tired"
    for first, changed in COUNTERPARTS.items():
        assert first.split()[0] in describe_pair(first, changed)


def test_a_state_has_a_cell_in_a_map() -> None:
    assert find_cell(MOVES, PatchedState("stream", 3, 2)) == ("gaze-stream", 3, 1)
    assert find_cell(MOVES, PatchedState("head", 1, 0)) == ("gaze-heads", 1, 0)
    assert find_cell(MOVES, PatchedState("attention", 2)) == ("gaze-layer-parts", 2, 0)
    for missing in ("stream.4.1", "stream.0.0", "head.3.0", "head.0.2", "attention.3", "feedforward.0", "layer.1"):
        state = parse_patched_state(missing)
        assert state and find_cell(MOVES, state) is None


@pytest.mark.parametrize("model", ["agreement-heads", "text-best", "negation-single-transformer-attending"])
def test_every_pair_of_example_texts_leads_to_different_answers(model: str) -> None:
    stored_model = find_model(model)
    texts = [text for text in stored_model.example_texts if text in COUNTERPARTS]
    assert texts
    for text in texts:
        found = compute_patching(stored_model, AttentionState(model, say=text), COUNTERPARTS[text]).patching
        assert found.metric(found.changed) < 0 < found.metric(found.clean), text


def test_the_subject_of_the_default_sentence_reaches_the_end_by_the_open_head() -> None:
    state = AttentionState()
    stored_model = find_model(state.model)
    texts = compute_patching(stored_model, state, COUNTERPARTS[stored_model.text_or_example(None)])
    found = texts.patching
    shares = found.share(found.residual)
    assert shares[0, found.positions.index(texts.first.tokens.index("king"))] == pytest.approx(1, abs=1e-3)
    heads = found.share(found.heads)
    assert np.unravel_index(heads.argmax(), heads.shape) == (state.layer, state.head) and heads.max() > 0.7


def test_an_answer_is_divided_or_not() -> None:
    state = AttentionState("text-through-training", say="O thou ha")
    found = attribute_answer(find_model(state.model), state).attribution
    assert found and found.contrast is not None and found.logit > 0
    assert sum(value for _, value in found.parts()) == pytest.approx(found.logit, abs=1e-4)
    assert attribute_answer(find_model("agreement-heads"), AttentionState()).attribution is None


def test_small_parts_are_shown_together() -> None:
    parts = [(f"part {i}", (-1) ** i * float(i)) for i in range(MAX_PARTS + 3)]
    shown = largest_parts(parts)
    assert [name for name, _ in shown[:2]] == ["part 14", "part 13"] and shown[-1] == ("3 other parts", 1.0)
    assert sum(value for _, value in shown) == sum(value for _, value in parts)
    assert largest_parts(parts[:2]) == [("part 1", -1.0), ("part 0", 0.0)]


def test_the_largest_part_is_named() -> None:
    found = LogitAttribution(1, 3, 4, 1.5, 0.25, np.array([[0.5, -1.0]]), np.array([1.75]), np.array([0.0]), 0.0)
    assert findings.attribution_finding(found, ("a", "b")) == (
        "The logit of “a” is higher than that of “b” by 1.50. "
        "The feedforward layer of layer 1 adds most to this: +1.75."
    )
    lower = replace(found, logit=-1.5)
    assert findings.attribution_finding(lower, ("a", "b")) == (
        "The logit of “a” is lower than that of “b” by 1.50. Layer 1, head 2 adds most to this: −1.00."
    )
    of_head = replace(found, heads=np.array([[2.5, -1.0]]))
    assert "Layer 1, head 1 adds most to this: +2.50." in findings.attribution_finding(of_head, ("a", "b"))
