"""What every model answers, and step by step: from a run to what the browser draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.generation.translating import WIDEST
from explorer.tasks.translation import EOS, spelled
from explorer.training.recorder import record_run
from explorer.training.translation_runs import CONTESTANTS
from explorer.ui import runs, translation_answers, translation_steps
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession
from explorer.ui.translation import Translation
from explorer.ui.translation_answers import Answered
from explorer.ui.translation_choices import chosen
from tests.pages.screen import calm, drawn, settled, told

TINY: dict[str, object] = {"longest": 3, "iterations": 4, "replicas": 2}
STATE = Translation(longest=3, steps=4, seeds=2, who=("vector", "additive"))


@pytest.fixture(scope="module")
def lanes() -> Mapping[str, Lane]:
    """Two with a run, and one without."""
    found = {}
    for name in ("vector", "additive", "transformer"):
        config = CONTESTANTS[name].config("reverse", **TINY)
        known = record_run(config) if name != "transformer" else None
        found[name] = Lane(config, None, None, private=known)
    return found


# ---- answers


def test_every_seed_answers(lanes: Mapping[str, Lane]) -> None:
    source = spelled(STATE.settings, "12")
    found = translation_answers.answered(lanes["vector"], STATE.settings, source)
    assert (found.source, len(found.answers)) == (source, 2)
    assert (
        found.answers[0].ids != found.answers[1].ids or found.answers[0].probabilities != found.answers[1].probabilities
    )


def test_a_wrong_token_says_what_would_be_right() -> None:
    from explorer.inspection.translating import Answer

    end = 11
    answer = Answer((2, 3, end), (0.5, 0.25, 1.0))
    tokens = translation_answers._tokens(STATE.settings, answer, "21")
    assert [(token["text"], token["wanted"]) for token in tokens] == [("2", None), ("3", "1"), ("end", None)]
    early = translation_answers._tokens(STATE.settings, Answer((2, end), (0.5, 0.5)), "21")
    assert early[1]["wanted"] == "1"
    late = translation_answers._tokens(STATE.settings, Answer((2, 1, 0, 0), (0.5,) * 4), "21")
    assert [token["wanted"] for token in late] == [None, None, "end", ""]
    assert translation_answers._whole(STATE.settings, answer) == "23" + EOS
    assert {token["wanted"] for token in translation_answers._tokens(STATE.settings, answer, None)} == {None}


def test_a_row_is_right_only_with_its_end() -> None:
    from explorer.inspection.translating import Answer

    whole, open_end = Answer((2, 1, 11), (0.5, 0.5, 0.4)), Answer((2, 1), (0.5, 0.5))
    each = Answered(STATE.settings, (1, 2), (whole, open_end))
    rows = [translation_answers._row(CONTESTANTS["vector"], each, one, "21") for one in each.answers]
    assert [row["right"] for row in rows] == [True, False]
    assert {row["note"] for row in rows} == {"right in 1 of 2 seeds"}
    assert [row["sure"] for row in rows] == ["0.10", "0.25"]
    assert translation_answers._row(CONTESTANTS["vector"], each, whole, None)["right"] is None


def test_probabilities_are_never_0_or_1() -> None:
    assert [translation_answers.probability(p) for p in (0.001, 0.5, 0.999)] == ["<0.01", "0.50", ">0.99"]


def test_the_longest_source_that_is_trained() -> None:
    assert translation_answers.longest_trained(STATE.settings) == 3
    longest = translation_answers.longest_trained(Translation(task="dates").settings)
    assert longest == len("wednesday the 10th of september 1997")


def test_answers_about_different_sources_never_stand_together(lanes: Mapping[str, Lane]) -> None:
    one, two = (
        translation_answers.answered(lanes["vector"], STATE.settings, spelled(STATE.settings, text))
        for text in ("12", "21")
    )
    found = translation_answers._about_one({"a": one, "b": two, "c": one})
    assert list(found) == ["a", "c"]


# ---- step by step


def test_the_first_that_attends_is_looked_into_until_somebody_asks_for_another(lanes: Mapping[str, Lane]) -> None:
    known = {name: lanes[name] for name in ("vector", "additive")}
    assert chosen(STATE, known) == "additive"
    assert chosen(replace(STATE, inside="vector"), known) == "vector"
    assert chosen(replace(STATE, inside="wide"), known) == "additive"
    assert chosen(replace(STATE, inside="additive"), {"vector": lanes["vector"]}) == "vector"
    every = replace(STATE, who=tuple(CONTESTANTS))
    assert chosen(every, {"vector": lanes["vector"], "transformer": lanes["transformer"]}) == "transformer"


def test_lengths_are_trained_ones_and_a_few_beyond() -> None:
    assert translation_steps.lengths(Translation()) == [5, 10, 15, 20, 21, 25]
    assert translation_steps.lengths(Translation(longest=1)) == [1, 2, 6]
    assert translation_steps.asked_length(Translation()) == 20
    assert translation_steps.asked_length(Translation(fed=21)) == 21
    assert translation_steps.asked_length(Translation(fed=7)) == 20
    assert translation_steps.asked_length(Translation(task="dates", fed=21)) == 0


def test_every_width_travels_and_another_seed_writes_otherwise(lanes: Mapping[str, Lane]) -> None:
    source = spelled(STATE.settings, "12")
    first, second = (
        translation_steps.searched(lanes["additive"], STATE.settings, source, replica) for replica in (0, 1)
    )
    assert len(first.best) == len(first.starts) - 1 == WIDEST
    assert first.content != second.content


def test_exposure_is_asked_of_every_seed(lanes: Mapping[str, Lane]) -> None:
    found = translation_steps.exposed(lanes["additive"], STATE.settings, 2)
    assert found.own_accuracy.shape == (2, 3)
    assert np.isfinite(found.given_loss).all()


# ---- both on a screen


def screen() -> None:
    import streamlit as st

    from explorer.ui.page import problems
    from explorer.ui.translation_answers import answers_section
    from explorer.ui.translation_steps import steps_section

    session, lanes = st.session_state["page"], st.session_state["lanes"]
    problems(session.problems)
    answers_section(session, lanes)
    steps_section(session, lanes)


def shown(lanes: Mapping[str, Lane], state: Translation = STATE) -> AppTest:
    at = AppTest.from_function(screen, default_timeout=60)
    at.session_state["page"], at.session_state["lanes"] = PageSession(state), lanes
    return settled(calm(at.run()))


def test_both_sections_on_a_screen(lanes: Mapping[str, Lane]) -> None:
    at = shown(lanes, replace(STATE, who=("vector", "additive", "transformer"), say="12"))
    (data,) = drawn(at, "answers")
    assert [row["title"] for row in data["rows"]] == ["One vector", "Additive attention"]
    assert ["".join(head["tokens"]) for head in data["head"]] == ["12", "21"]
    assert [caption.value for caption in at.caption if "No run yet" in caption.value] != []
    (tree,) = drawn(at, "beams")
    assert (tree["title"], tree["source"], tree["right"], tree["width"]) == ("Additive attention", "12", "21", 3)
    (curves,) = drawn(at, "frame")
    assert [figure["title"] for figure in curves["figures"]] == ["Accuracy", "Loss, nats"]
    assert told(at) == []
    at = settled(calm(at.selectbox(key="translation.steps-inside").set_value("vector").run()))
    assert at.session_state["page"].state.inside == "vector"
    assert drawn(at, "beams")[0]["title"] == "One vector"
    at = settled(calm(at.selectbox(key="translation.fed").set_value(4).run()))
    assert at.session_state["page"].state.fed == 4
    assert len(drawn(at, "frame")[0]["figures"][0]["plot"]["data"][2]["x"]) == 5


def test_the_width_that_was_chosen_in_the_browser_is_kept(lanes: Mapping[str, Lane]) -> None:
    at = shown(lanes)
    for said, width in ((7, 7), (9, 7), ("2", 7), (1, 1)):
        at.session_state["translation-beams: width"] = said
        at = settled(calm(at.run()))
        assert at.session_state["page"].state.width == drawn(at, "beams")[0]["width"] == width


def test_dates(lanes: Mapping[str, Lane]) -> None:
    config = CONTESTANTS["vector"].config("dates", iterations=1, replicas=1)
    lane = Lane(config, None, None, private=record_run(config))
    at = shown({"vector": lane}, Translation(task="dates", who=("vector",), say="31 february 1999"))
    (data,) = drawn(at, "answers")
    assert [head["title"] for head in data["head"]] == ["source"]
    assert (data["rows"][0]["right"], data["rows"][0]["note"]) == (None, "one seed")
    said = [part.value.replace("\\", "") for part in at.subheader]
    assert said[0].startswith("There is no such date: february 1999 has 28 days, not 31. The model with one vector wri")
    assert drawn(at, "beams")[0]["right"] is None
    assert len(drawn(at, "frame")[0]["figures"][0]["plot"]["data"][2]["x"]) == 11  # ten characters and the end
    with pytest.raises(KeyError):
        at.selectbox(key="translation.fed")


def test_another_source_and_one_that_cannot_be_read(lanes: Mapping[str, Lane]) -> None:
    at = shown(lanes)
    at = settled(calm(at.text_input(key="translation.say").set_value("1212").run()))
    (data,) = drawn(at, "answers")
    assert "Beyond training: this source has 4 digits" in data["caption"]
    at = settled(calm(at.text_input(key="translation.say").set_value("12a").run()))
    assert told(at) == ["The source has “a”, which the model never saw. Give digits from 0 to 9."]
    assert drawn(at, "answers") == drawn(at, "beams") == []


def test_nobody_has_a_run(lanes: Mapping[str, Lane]) -> None:
    at = shown({"transformer": lanes["transformer"]}, replace(STATE, who=("transformer",)))
    assert drawn(at, "answers") == drawn(at, "beams") == []
    assert any("No model with a run" in part.value for part in at.markdown)


def test_a_run_that_is_stored_is_opened_once(monkeypatch: pytest.MonkeyPatch, lanes: Mapping[str, Lane]) -> None:
    asked = []
    monkeypatch.setattr(runs, "opened", lambda run: asked.append(run))
    monkeypatch.setattr(translation_answers, "StoredRun", type(lanes["vector"].kept))
    translation_answers.opened(lanes["vector"])
    assert asked == [lanes["vector"].kept]
