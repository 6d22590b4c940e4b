from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import TokenizedInput
from explorer.inspection.attention.head_scores import HeadImportance
from explorer.inspection.attention.logit_attribution import LogitAttribution
from explorer.inspection.attention.patching import Patching
from explorer.labs.attention import findings
from explorer.labs.attention.head_importance import MAX_PARTS, attribute_answer, largest_parts
from explorer.labs.attention.measurements import AttentionReading, top_answers
from explorer.labs.attention.patching import compute_patching, describe_pair, find_cell, selected_state
from explorer.labs.attention.state import (
    COUNTERPARTS,
    AttentionState,
    PatchedState,
    check_patched_state,
    parse_patched_state,
)
from explorer.ui.training.stored_models import find_model

DEFAULTS = AttentionState()
AFTER = "after “a↵”"
LABELS = ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1", "layer 2, head 2"]


def make_reading(now: list[float], before: list[float], state: AttentionState = DEFAULTS) -> AttentionReading:
    tokenized = TokenizedInput((1, 2), ("a", "\n"), "", "", (), (), False)
    as_logs = (np.log(np.array([[0.5, 0.5], p], dtype=np.float32)) for p in (now, before))
    return AttentionReading(
        state, tokenized, tokenized.tokens, tokenized.ids, (1, 1), (), b"", top_answers(*as_logs), True
    )


def make_importance(rise: list[float], error: float) -> HeadImportance:
    loss = 1.5 + np.array(rise).reshape(2, 2)
    return HeadImportance("validation loss, nats a token", 1.5, loss, np.full((2, 2), error), 2_048, available=9_000)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = make_reading([0.2, 0.8], [0.2, 0.8])
    letters, classes = ("xy".__getitem__, ["collapse", "sustain"].__getitem__)
    unanswered = replace(make_reading([0.2, 0.8], [0.2, 0.8]), answers=None)
    state = AttentionState(off=("0.0", "1.1"), flat=("0.1",), unmasked=True, unplaced=True)
    one = HeadImportance("loss", 0.001, np.array([[0.7]]), np.zeros((1, 1)), 6, "grammar")
    name = {7: "himself", 8: "herself"}.__getitem__
    nearly = replace(MOVES, changed=np.array(as_logs(0.95), np.float32))

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
    other = replace(chosen, clean=logs(0.6, 0.1, 0.3))
    names = ["himself", "herself"]
    some = replace(MOVES, positions=(3, 40))
    attribution = LogitAttribution(1, 3, 4, 1.5, 0.25, np.array([[0.5, -1.0]]), np.array([1.75]), np.array([0.0]), 0.0)
    lower = replace(attribution, logit=-1.5)
    of_head = replace(attribution, heads=np.array([[2.5, -1.0]]))
    cases: list[tuple[list[list[float]], list[list[float]]]] = [
        ([[1, 0], [0, 1]], [[0.9]]),
        ([[0.3, 0], [0.4, 1]], [[0.05, 0.02]]),
        ([[0.0, 1], [0, 1]], [[0.0, 0.2]]),
        ([[1, 0], [0.4, 0.4], [0, 1]], [[0.3], [0.2]]),
    ]
    assert [
        findings.answer_finding(found, 1, letters, AFTER),
        findings.answer_finding(found, 1, classes, ""),
        findings.answer_finding(unanswered, 1, "xy".__getitem__, AFTER),
        findings.answer_finding(make_reading([0.2, 0.8], [0.2, 0.8]), 1, "xy".__getitem__, AFTER, trained=False),
        findings.text_end(["the", "king", "is", "proud", "of"], " "),
        findings.text_end(["a", "b"], ""),
        findings.text_end(list("abcdefghijklmnopqrst"), ""),
        findings.text_end(["The", " capital", " of", " France", " is"], ""),
        findings.text_end(["internationalization"], ""),
        findings.text_end(["a", "\n"], " "),
        *(
            findings.answer_finding(
                make_reading([1 - now, now], [0.2, 0.8], AttentionState(off=("0.0",))), 1, "xy".__getitem__, AFTER
            )
            for now in [0.8, 0.8049, 0.8051, 0.6, 0.3]
        ),
        findings.describe_ablation(state),
        findings.importance_finding(make_importance([0.1, 0.01, 0.2, 0.001], 0.005), LABELS),
        findings.importance_finding(make_importance([0.1, 0.05, 0.2, -0.04], 0.001), LABELS),
        findings.importance_finding(one, LABELS[:1]),
        findings.importance_finding(make_importance([0.05, -0.2, 0.0, 0.0], 0.001), LABELS),
        findings.importance_caption(one),
        findings.importance_caption(make_importance([0.0] * 4, 0.1)),
        findings.importance_finding(make_importance([0.001, -0.001, 0.0, 0.002], 0.01), LABELS),
        *(
            findings.lens_finding(["the embedding", "layer 1", "layer 2"], np.array([0.1, 0.5, 0.9]), np.array(right))
            for right in [[True, True, True], [True, False, True], [False, True, True]]
        ),
        findings.patching_finding(MOVES, TOKENS),
        findings.answers_to_both_texts(MOVES, name),
        findings.answers_to_both_texts(nearly, name),
        findings.answers_to_both_texts(chosen, {7: "a", 8: "b"}.__getitem__),
        findings.answers_to_both_texts(other, {7: "a", 8: "b"}.__getitem__),
        findings.patched_state_finding(MOVES, MOVES.heads[1, 0], names),
        findings.patched_state_finding(MOVES, MOVES.changed, names),
        findings.stream_caption(MOVES, ("a", "b"), 3),
        findings.stream_caption(MOVES, ("a", "b"), 2),
        findings.stream_caption(some, ("a", "b"), 41),
        findings.token_pair(" a", " b"),
        findings.token_pair("a", "a"),
        findings.token_pair(" ", "\n"),
        findings.token_pair("a", " a"),
        findings.attribution_finding(attribution, ("a", "b")),
        findings.attribution_finding(lower, ("a", "b")),
        findings.attribution_finding(of_head, ("a", "b")),
        *(findings.patching_finding(make_patching(*case), TOKENS) for case in cases),
    ] == snapshot


def test_only_the_most_probable_answers_are_kept() -> None:
    now, before = np.full((1, 9), 0.01), np.full((1, 9), 0.01)
    now[0, 4], before[0, 7], now[0, 2] = 0.9, 0.8, 0.1
    top = top_answers(np.log(now), np.log(before))
    assert top.outcomes[0, :3].tolist() == [4, 7, 2] and top.outcomes.shape == (1, 5)
    assert top.probabilities[0, :2] == pytest.approx([0.9, 0.01]) and top.original[0, :2] == pytest.approx([0.01, 0.8])


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


def test_the_url_names_a_state() -> None:
    names = {"head.0.2": PatchedState("head", 0, 2), "stream.3.12": PatchedState("stream", 3, 12)}
    names |= {f"{kind}.1": PatchedState(kind, 1) for kind in ("attention", "feedforward", "layer")}  # type: ignore[arg-type]
    for name, state in names.items():
        assert parse_patched_state(name) == state and state.url == name
        check_patched_state(name)
    for name in ("head.0", "layer.1.2", "head.-1.0", "x", "stream.99999.1", "head.0.1 "):
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


def test_every_pair_of_example_texts_leads_to_different_answers() -> None:
    for model in ("agreement-heads", "text-best", "negation-single-transformer-attending"):
        stored_model = find_model(model)
        texts = [text for text in stored_model.example_texts if text in COUNTERPARTS]
        assert texts
        for text in texts:
            found = compute_patching(stored_model, AttentionState(model, say=text), COUNTERPARTS[text]).patching
            assert found.metric(found.changed) < 0 < found.metric(found.clean), text


def test_the_subject_of_the_first_sentence_reaches_the_end_by_the_open_head() -> None:
    state = AttentionState("agreement-heads", layer=0, head=0)
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
