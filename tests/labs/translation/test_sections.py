"""Answers and decoding steps: from a run to the data of the components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.translation import VARIANTS
from explorer.generation.seq2seq_decoding import MAX_BEAM_WIDTH
from explorer.inspection.seq2seq.decoding import GreedyTranslation, greedy_translations, require_translator
from explorer.labs.translation import answers, decoding_steps
from explorer.labs.translation.answers import SeedAnswers
from explorer.labs.translation.model_picker import selected_variant
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.config import EOS, source_ids
from explorer.training.recorder import record_run
from explorer.ui.state.session import PageSession
from explorer.ui.training.run_view import RunView
from tests.pages.screen import assert_no_errors, component_data, findings, texts, wait_until_ready, warnings_of
from tests.words import assert_mentions

TINY: dict[str, object] = {"longest": 3, "iterations": 4, "replicas": 2}
STATE = TranslationState(longest=3, steps=4, seeds=2, who=("vector", "additive"))

END = 11  # the token


@pytest.fixture(scope="module")
def views() -> Mapping[str, RunView]:
    """Return views of two variants with a run and one without."""
    found = {}
    for name in ("vector", "additive", "transformer"):
        config = VARIANTS[name].config("reverse", **TINY)
        record = record_run(config) if name != "transformer" else None
        found[name] = RunView(config, None, None, private=record)
    return found


def test_every_seed_answers(views: Mapping[str, RunView]) -> None:
    source = source_ids(STATE.task_config, "12")
    found = answers.compute_answers(views["vector"], STATE.task_config, source)
    assert (found.source, len(found.answers)) == (source, 2)
    model = answers.load_view_model(views["vector"])
    replicas = [require_translator(model.single_replica(replica)) for replica in (0, 1)]
    alone = [greedy_translations(replica, STATE.task_config, source)[0] for replica in replicas]
    for found_answer, answer in zip(found.answers, alone, strict=True):
        assert found_answer.ids == answer.ids
        assert found_answer.probabilities == pytest.approx(answer.probabilities, rel=1e-4)
    assert alone[0].probabilities != pytest.approx(alone[1].probabilities, rel=1e-2), "two different seeds"


def test_a_wrong_token_has_the_right_one() -> None:
    def wanted(*ids: int, right: str | None = "21") -> list[str | None]:
        answer = GreedyTranslation(ids, (0.5,) * len(ids))
        return [token["wanted"] for token in answers._tokens(STATE.task_config, answer, right)]  # type: ignore[misc]

    assert wanted(2, 3, END) == [None, "1", None]
    assert wanted(2, END)[1] == "1"
    assert wanted(2, 1, 0, 0) == [None, None, "end", ""]
    assert set(wanted(2, 3, END, right=None)) == {None}
    answer = GreedyTranslation((2, 3, END), (0.5, 0.25, 1.0))
    assert [token["text"] for token in answers._tokens(STATE.task_config, answer, "21")] == ["2", "3", "end"]
    assert answers._text_with_end(STATE.task_config, answer) == "23" + EOS


def test_a_row_is_right_only_with_its_end() -> None:
    whole, open_end = GreedyTranslation((2, 1, END), (0.5, 0.5, 0.4)), GreedyTranslation((2, 1), (0.5, 0.5))
    each = SeedAnswers(STATE.task_config, (1, 2), (whole, open_end), None)
    rows = [answers._row(VARIANTS["vector"], each, one, "21") for one in each.answers]
    assert [(row["right"], row["sure"], row["note"]) for row in rows] == [
        (True, "0.10", "right in 1 of 2 seeds"),
        (False, "0.25", "right in 1 of 2 seeds"),
    ]
    assert answers._row(VARIANTS["vector"], each, whole, None)["right"] is None


def test_the_default_is_the_first_variant_with_attention(views: Mapping[str, RunView]) -> None:
    two = {name: views[name] for name in ("vector", "additive")}
    for inside, variant in (("", "additive"), ("vector", "vector"), ("wide", "additive")):
        assert selected_variant(replace(STATE, inside=inside), two) == variant
    assert selected_variant(replace(STATE, inside="additive"), {"vector": views["vector"]}) == "vector"
    untrained = {"vector": views["vector"], "transformer": views["transformer"]}
    assert selected_variant(replace(STATE, who=tuple(VARIANTS)), untrained) == "transformer"


def test_lengths_are_trained_ones_and_a_few_beyond() -> None:
    assert decoding_steps.selectable_lengths(TranslationState()) == [5, 10, 15, 20, 21, 25]
    assert decoding_steps.selectable_lengths(TranslationState(longest=1)) == [1, 2, 6]
    states = [
        TranslationState(),
        TranslationState(fed=21),
        TranslationState(fed=7),
        TranslationState(task="dates", fed=21),
    ]
    assert [decoding_steps.selected_length(state) for state in states] == [20, 21, 20, 0]
    assert answers.longest_trained(STATE.task_config) == 3
    longest = answers.longest_trained(TranslationState(task="dates").task_config)
    assert longest == len("wednesday the 10th of september 1997")


def test_every_width_is_sent_and_seeds_differ(views: Mapping[str, RunView]) -> None:
    source, view = source_ids(STATE.task_config, "12"), views["additive"]
    first, second = (decoding_steps.compute_beams(view, STATE.task_config, source, replica) for replica in (0, 1))
    assert len(first.best) == len(first.starts) - 1 == MAX_BEAM_WIDTH
    assert first.content != second.content
    found = decoding_steps.compute_exposure(view, STATE.task_config, 2)
    assert found.free_running_accuracy.shape == (2, 3) and np.isfinite(found.teacher_forced_loss).all()


def screen() -> None:
    import streamlit as st

    from explorer.labs.translation import answers, decoding_steps
    from explorer.ui.page_sections import show_problems

    session, views = st.session_state["page"], st.session_state["lanes"]
    answers.input_row(session)
    show_problems(session.problems)
    answers.section(session, views)
    decoding_steps.section(session, views)


def open_sections(views: Mapping[str, RunView], state: TranslationState = STATE) -> AppTest:
    at = AppTest.from_function(screen, default_timeout=600)
    at.session_state["page"], at.session_state["lanes"] = PageSession(state, "translation"), views
    return wait_until_ready(assert_no_errors(at.run()))


def test_both_sections_are_drawn(views: Mapping[str, RunView]) -> None:
    at = open_sections(views, replace(STATE, who=("vector", "additive", "transformer"), say="12"))
    (data,) = component_data(at, "translation_answers")
    assert [row["title"] for row in data["rows"]] == ["One vector", "Additive attention"]
    assert ["".join(head["tokens"]) for head in data["head"]] == ["12", "21"]
    (tree,) = component_data(at, "beam_search")
    assert (tree["title"], tree["source"], tree["right"], tree["width"]) == ("Additive attention", "12", "21", 3)
    (curves,) = component_data(at, "plot_frame")
    assert [figure["title"] for figure in curves["figures"]] == ["Accuracy", "Loss, nats"]
    assert warnings_of(at) == []
    at.selectbox(key="translation.steps-inside").set_value("vector")
    at = wait_until_ready(assert_no_errors(at.selectbox(key="translation.fed").set_value(4).run()))
    state = at.session_state["page"].state
    assert (state.inside, state.fed, component_data(at, "beam_search")[0]["title"]) == ("vector", 4, "One vector")
    assert len(component_data(at, "plot_frame")[0]["figures"][0]["plot"]["data"][2]["x"]) == 5
    at = wait_until_ready(assert_no_errors(at.text_input(key="translation.say").set_value("1212").run()))
    assert "4 digits instead of at most 3" in component_data(at, "translation_answers")[0]["caption"]
    at = wait_until_ready(assert_no_errors(at.text_input(key="translation.say").set_value("12a").run()))
    assert warnings_of(at) == ["The models never saw “a”."]
    assert component_data(at, "beam_search")[0]["source"] == "12"


def test_the_width_selected_in_the_browser_is_kept(views: Mapping[str, RunView]) -> None:
    at = open_sections(views)
    for width_event, width in ((7, 7), (9, 7), ("2", 7), (1, 1)):
        at.session_state["translation-beams: width"] = width_event
        at = wait_until_ready(assert_no_errors(at.run()))
        assert at.session_state["page"].state.width == component_data(at, "beam_search")[0]["width"] == width


def test_dates_have_no_length_selection_and_without_a_run_nothing_is_drawn() -> None:
    config = VARIANTS["vector"].config("dates", iterations=1, replicas=1)
    view = RunView(config, None, None, private=record_run(config))
    at = open_sections({"vector": view}, TranslationState(task="dates", who=("vector",), say="31 february 1999"))
    (data,) = component_data(at, "translation_answers")
    assert [head["title"] for head in data["head"]] == ["source"]
    assert (data["rows"][0]["right"], data["rows"][0]["note"]) == (None, "one seed")
    assert_mentions("\n".join(findings(at)), "no such date … february 1999 … 28 days, not 31")
    assert any(text.startswith("The model with one vector writes") for text in texts(at))
    assert component_data(at, "beam_search")[0]["right"] is None
    steps = component_data(at, "plot_frame")[0]["figures"][0]["plot"]["data"][2]["x"]
    assert len(steps) == 11, "ten characters and the end"
    with pytest.raises(KeyError):
        at.selectbox(key="translation.fed")
    at = open_sections({"vector": RunView(config, None, None)}, TranslationState(task="dates", who=("vector",)))
    assert component_data(at, "translation_answers") == component_data(at, "beam_search") == []
    assert any("No finished run yet" in part.value for part in at.markdown)
