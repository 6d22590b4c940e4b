from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.tasks.translation import spelled
from explorer.training.recorder import record_run
from explorer.training.translation_runs import CONTESTANTS
from explorer.ui import translation_alignment as view
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession
from explorer.ui.translation import Translation
from explorer.ui.translation_alignment import Aligned
from tests.pages.screen import calm, drawn, headings, said, settled

STATE = Translation(longest=4, say="3141")
KINDS = ("vector", "additive", "transformer")


@lru_cache
def lane(name: str) -> Lane:
    config = CONTESTANTS[name].config("reverse", longest=4, iterations=2, replicas=2)
    return Lane(config, None, None, private=record_run(config))


def aligned(name: str, replica: int = 1) -> Aligned:
    return view.aligned(lane(name), STATE.settings, replica, spelled(STATE.settings, STATE.say))


@pytest.mark.parametrize("name", KINDS)
def test_everything_of_one_seed_and_one_source_travels_at_once(name: str) -> None:
    found = aligned(name)
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


@pytest.mark.parametrize("look", ["source", "encoder", "decoder"])
def test_scores_are_what_the_softmax_was_given(look: str) -> None:
    arrays = aligned("transformer").arrays
    scores = arrays[f"{look}_scores"].astype(float)
    if look == "decoder":
        scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    e = np.exp(scores)
    np.testing.assert_allclose(arrays[look], e / e.sum(axis=-1, keepdims=True), atol=1e-5)


def test_seeds_write_and_look_in_ways_of_their_own() -> None:
    assert not np.allclose(aligned("additive", 0).arrays["contexts"][0], aligned("additive", 1).arrays["contexts"][0])


def test_it_opens_at_the_head_that_looks_best() -> None:
    found = aligned("transformer")
    weights = found.arrays["source"]
    layer, head = view.opened(STATE, found)
    places = range(weights.shape[-1] - 1, -1, -1)
    rights = (weights[..., : len(places), :].argmax(axis=-1) == np.array(places)).sum(axis=-1)
    assert rights[layer, head] == rights.max()


def test_a_head_that_is_not_there_is_the_last_one() -> None:
    found = aligned("transformer")
    assert view.opened(replace(STATE, layer=1, head=2), found) == (1, 2)
    assert view.opened(replace(STATE, layer=7, head=15), found) == (1, 3)
    assert view.opened(replace(STATE, layer=7, head=15), aligned("additive")) == (0, 0)


@pytest.mark.parametrize(
    ("name", "said", "changed"),
    [
        ("look", "decoder", {"look": "decoder"}),
        ("look", "elsewhere", {}),
        ("open", [1, 2], {"layer": 1, "head": 2}),
        ("open", [1, -2], {}),
        ("open", "12", {}),
        ("at", 0, {"at": 0}),
        ("at", -1, {}),
        ("at", 10_000, {}),
        ("at", True, {}),
    ],
)
def test_what_comes_from_the_instrument_is_checked(
    monkeypatch: pytest.MonkeyPatch, name: str, said: object, changed: dict[str, object]
) -> None:
    monkeypatch.setattr(view, "heard", lambda key, asked: said if asked == name else None)
    monkeypatch.setattr(view, "write_address", lambda session: None)
    session = PageSession(STATE)
    view.hear(session, aligned("transformer"))
    assert session.state == replace(STATE, **changed)  # type: ignore[arg-type]


# ---- on the screen


def script() -> None:
    import streamlit as st

    from explorer.ui.session import page_session
    from explorer.ui.translation import Translation
    from explorer.ui.translation_alignment import alignment_section

    alignment_section(page_session("translation", Translation), st.session_state["lanes"])


def screen(**address: str) -> AppTest:
    """The section by itself, of the contestants that were trained."""
    at = AppTest.from_function(script, default_timeout=60)
    untrained = Lane(STATE.configs["wide"], None, None)
    at.session_state["lanes"] = {"wide": untrained, **{name: lane(name) for name in KINDS}}
    for name, value in {"longest": "4", "say": STATE.say, **address}.items():
        at.query_params[name] = value
    return settled(calm(at.run()))


@pytest.mark.parametrize("name", KINDS)
def test_the_section_shows_the_one_who_is_asked_for(name: str) -> None:
    at = screen(inside=name, at="0", replica="1")
    (data,) = drawn(at, "alignment")
    assert (data["kind"], data["title"], data["colour"]) == (name, CONTESTANTS[name].title, CONTESTANTS[name].colour)
    assert (data["target"], data["at"]) == (list(aligned(name).target), 0)
    assert CONTESTANTS[name].words in headings(at)[1]
    assert "No run yet of the one whose vector is twice as wide: train above" in said(at).replace("\\", "")
    assert at.latex


def test_the_worked_numbers_are_those_of_the_row_that_is_kept() -> None:
    at = screen(inside="transformer", look="decoder", layer="1", head="3", at="1")
    arrays = aligned("transformer", 0).arrays
    best = int(arrays["decoder"][1, 3, 1, :2].argmax())
    score = float(arrays["decoder_scores"][1, 3, 1, best])
    assert f"e_{{2,{best + 1}}}" in at.latex[1].value and f"= {score:.2f}" in at.latex[1].value
    rest = 1 / float(arrays["decoder"][1, 3, 1, best]) - 1  # without what is masked
    assert rf"\frac{{1}}{{1 + {rest:.3f}}}" in at.latex[1].value
    assert drawn(at, "alignment")[0]["open"] == [1, 3]


def test_a_source_that_cannot_be_read_is_said_elsewhere_and_no_run_is_said_here() -> None:
    assert headings(screen(say="3x1")) == []
    at = AppTest.from_function(script, default_timeout=60)
    at.session_state["lanes"] = {"wide": Lane(STATE.configs["wide"], None, None)}
    assert "No run to look into yet" in said(calm(at.run())).replace("\\", "")
