from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer import ui
from explorer.experiments.translation import VARIANTS
from explorer.inspection.attention.alignment import AlignmentArrays, align_with
from explorer.labs.translation import alignment as alignment
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.config import source_ids
from explorer.training.recorder import record_run
from explorer.ui.components import base
from explorer.ui.state.session import PageSession
from explorer.ui.training.run_view import RunView
from tests.pages.screen import assert_no_errors, component_data, page_text, wait_until_ready

STATE = TranslationState(longest=4, say="3141")
KINDS = ("vector", "additive", "transformer")


@lru_cache
def make_view(name: str) -> RunView:
    config = VARIANTS[name].config("reverse", longest=4, iterations=2, replicas=2)
    return RunView(config, None, None, private=record_run(config))


def make_alignment(name: str, replica: int = 1) -> AlignmentArrays:
    run = make_view(name).loaded_run
    assert run is not None
    return align_with(run, STATE.task_config, replica, source_ids(STATE.task_config, STATE.say))


@pytest.mark.parametrize("name", KINDS)
def test_all_arrays_of_one_seed_and_source_are_sent_together(name: str) -> None:
    found = make_alignment(name)
    written = len(found.target)
    assert (found.source, found.right) == (tuple("3141"), (*"1413", "<EOS>"))
    assert found.arrays["probabilities"].shape == (written, 12)
    np.testing.assert_allclose(found.arrays["probabilities"].sum(axis=-1), 1, atol=1e-5)
    assert all(array.dtype == np.float32 for array in found.arrays.values())
    shapes = {key: value.shape for key, value in found.arrays.items() if key != "probabilities"}
    if name == "vector":
        assert shapes == {"vector": (64,), "moved": (4,)}
    elif name == "additive":
        look = (1, 1, written, 4)
        assert shapes == {"source": look, "source_scores": look, "contexts": (written, 128)}
    else:
        sizes = {"source": (written, 4), "encoder": (4, 4), "decoder": (written, written)}
        expected = {each: (2, 4, *size) for each, size in sizes.items()}
        assert shapes == expected | {f"{each}_scores": size for each, size in expected.items()}


def test_scores_are_what_the_softmax_was_given_and_seeds_differ() -> None:
    arrays = make_alignment("transformer").arrays
    for look in ("source", "encoder", "decoder"):
        scores = arrays[f"{look}_scores"].astype(float)
        if look == "decoder":
            scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
        e = np.exp(scores)
        np.testing.assert_allclose(arrays[look], e / e.sum(axis=-1, keepdims=True), atol=1e-5)
    first, second = (make_alignment("additive", replica).arrays["contexts"][0] for replica in (0, 1))
    assert not np.allclose(first, second)


def test_the_default_is_the_best_head_and_a_missing_one_selects_the_last() -> None:
    found = make_alignment("transformer")
    weights = found.arrays["source"]
    layer, head = alignment.selected_head(STATE, found)
    positions = range(weights.shape[-1] - 1, -1, -1)
    rights = (weights[..., : len(positions), :].argmax(axis=-1) == np.array(positions)).sum(axis=-1)
    assert rights[layer, head] == rights.max()
    assert alignment.selected_head(replace(STATE, layer=1, head=2), found) == (1, 2)
    assert alignment.selected_head(replace(STATE, layer=7, head=15), found) == (1, 3)
    assert alignment.selected_head(replace(STATE, layer=7, head=15), make_alignment("additive")) == (0, 0)


def test_events_of_the_component_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    valid = [("look", "decoder", {"look": "decoder"}), ("open", [1, 2], {"layer": 1, "head": 2}), ("at", 0, {"at": 0})]
    invalid = [("look", "elsewhere"), ("open", [1, -2]), ("open", "12"), ("at", -1), ("at", 10_000), ("at", True)]
    for name, value, changed in [*valid, *((*each, {}) for each in invalid)]:
        for module in (ui, base):
            monkeypatch.setattr(module, "pop_event", lambda key, event, n=name, v=value: v if event == n else None)
        session = PageSession(STATE)
        assert alignment.apply_events(session) == bool(changed)
        assert session.state == replace(STATE, **changed)  # type: ignore[arg-type]


def script() -> None:
    import streamlit as st

    from explorer.labs.translation.alignment import formula_section, section
    from explorer.labs.translation.state import TranslationState
    from explorer.ui.state.session import page_session

    session = page_session("translation", TranslationState)
    section(session, st.session_state["lanes"])
    formula_section(session.state, st.session_state["lanes"])


def open_section(**address: str) -> AppTest:
    """Return the section alone, with the trained model variants."""
    at = AppTest.from_function(script, default_timeout=600)
    untrained = RunView(STATE.configs["wide"], None, None)
    at.session_state["lanes"] = {"wide": untrained, **{name: make_view(name) for name in KINDS}}
    session = PageSession(TranslationState(), "translation")
    session.read({"longest": "4", "say": STATE.say, **address})
    at.session_state["lineage.translation"] = session  # the URL is read by the map of all pages only
    return wait_until_ready(assert_no_errors(at.run()))


@pytest.mark.parametrize("name", KINDS)
def test_the_section_shows_the_selected_model(name: str) -> None:
    at = open_section(inside=name, at="0", replica="1")
    (data,) = component_data(at, "alignment")
    assert (data["kind"], data["title"], data["colour"]) == (name, VARIANTS[name].title, VARIANTS[name].colour)
    assert (data["target"], data["at"]) == (list(make_alignment(name).target), 0)
    assert VARIANTS[name].words in page_text(at).lower().replace("transformer", "Transformer")
    assert at.latex


def test_the_example_has_the_numbers_of_the_selected_row() -> None:
    at = open_section(inside="transformer", look="decoder", layer="1", head="3", at="1")
    arrays = make_alignment("transformer", 0).arrays
    best = int(arrays["decoder"][1, 3, 1, :2].argmax())
    score = float(arrays["decoder_scores"][1, 3, 1, best])
    assert f"e_{{2,{best + 1}}}" in at.latex[1].value and f"= {score:.2f}" in at.latex[1].value
    rest = 1 / float(arrays["decoder"][1, 3, 1, best]) - 1  # without what is masked
    assert rf"\frac{{1}}{{1 + {rest:.3f}}}" in at.latex[1].value
    assert component_data(at, "alignment")[0]["open"] == [1, 3]


def test_a_source_that_cannot_be_read_is_read_in_part_and_a_missing_run_is_reported() -> None:
    assert page_text(open_section(say="3x1")) == page_text(open_section(say="31")) != ""
    at = AppTest.from_function(script, default_timeout=600)
    at.session_state["lanes"] = {"wide": RunView(STATE.configs["wide"], None, None)}
    assert "No finished run yet" in page_text(assert_no_errors(at.run())).replace("\\", "")
