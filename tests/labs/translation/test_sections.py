"""Answers and decoding steps: from a run to the data of the components."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.translation import VARIANTS
from explorer.generation.seq2seq_decoding import MAX_BEAM_WIDTH
from explorer.inspection.load_model import load_model
from explorer.inspection.seq2seq.copy_control import CopyAccuracy
from explorer.inspection.seq2seq.decoding import (
    ExposureBias,
    GreedyTranslation,
    Outputs,
    exposure_of,
    greedy_translations,
    require_translator,
    search_with,
    translate_with,
)
from explorer.labs.translation import answers, decoding_steps
from explorer.labs.translation.ablation import ablations_view, copying_view
from explorer.labs.translation.controls import selected_variant
from explorer.labs.translation.findings import TranslationResult
from explorer.labs.translation.results import lengths_chart, pairs_view
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.config import source_ids
from explorer.training.recorder import record_run
from explorer.ui.document import Document
from explorer.ui.state.session import PageSession
from explorer.ui.training.run_view import RunView, loaded_runs
from tests.charts.figures import figure_of
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
    run = views["vector"].loaded_run
    assert run is not None
    found = translate_with(run, STATE.task_config, source)
    replicas = [require_translator(load_model(run).single_replica(replica)) for replica in (0, 1)]
    alone = [greedy_translations(replica, STATE.task_config, source)[0] for replica in replicas]
    for found_answer, answer in zip(found, alone, strict=True):
        assert found_answer.ids == answer.ids
        assert found_answer.probabilities == pytest.approx(answer.probabilities, rel=1e-4)
    assert alone[0].probabilities != pytest.approx(alone[1].probabilities, rel=1e-2), "two different seeds"


def test_a_wrong_token_has_the_right_one() -> None:
    def wanted(*ids: int, right: str | None = "21") -> list[str | None]:
        answer = GreedyTranslation(ids, (0.5,) * len(ids))
        return [token["wanted"] for token in answers.answer_tokens(STATE.task_config, answer, right)]  # type: ignore[misc]

    assert wanted(2, 3, END) == [None, "1", None]
    assert wanted(2, END)[1] == "1"
    assert wanted(2, 1, 0, 0) == [None, None, "end", ""]
    assert set(wanted(2, 3, END, right=None)) == {None}
    answer = GreedyTranslation((2, 3, END), (0.5, 0.25, 1.0))
    assert [token["text"] for token in answers.answer_tokens(STATE.task_config, answer, "21")] == ["2", "3", "end"]


def test_a_row_is_right_only_with_its_end() -> None:
    whole, open_end = GreedyTranslation((2, 1, END), (0.5, 0.5, 0.4)), GreedyTranslation((2, 1), (0.5, 0.5))
    each, task = (whole, open_end), STATE.task_config
    rows = [answers.answer_row(VARIANTS["vector"], task, each, one, "21") for one in each]
    assert [(row["right"], row["sure"], row["note"]) for row in rows] == [
        (True, "0.10", "right in 1 of 2 seeds"),
        (False, "0.25", "right in 1 of 2 seeds"),
    ]
    assert answers.answer_row(VARIANTS["vector"], task, each, whole, None)["right"] is None


def test_the_default_is_the_first_variant_with_attention(views: Mapping[str, RunView]) -> None:
    two = loaded_runs(views)
    assert list(two) == ["vector", "additive"], "the third is not trained"
    for inside, variant in (("", "additive"), ("vector", "vector"), ("wide", "additive")):
        assert selected_variant(replace(STATE, inside=inside), two) == variant
    assert selected_variant(replace(STATE, inside="additive"), {"vector": two["vector"]}) == "vector"
    untrained = {"vector": two["vector"], "transformer": two["additive"]}
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
    source, run = source_ids(STATE.task_config, "12"), views["additive"].loaded_run
    assert run is not None
    first, second = (search_with(run, STATE.task_config, source, replica) for replica in (0, 1))
    assert len(first.best) == len(first.starts) - 1 == MAX_BEAM_WIDTH
    assert first.logs.tolist() != second.logs.tolist()
    found = exposure_of(run, STATE.task_config, 2, 200)
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
    assert "There is no right answer; below is what the models write." in texts(at)
    assert component_data(at, "beam_search")[0]["right"] is None
    steps = component_data(at, "plot_frame")[0]["figures"][0]["plot"]["data"][2]["x"]
    assert len(steps) == 11, "ten characters and the end"
    with pytest.raises(KeyError):
        at.selectbox(key="translation.fed")
    at = open_sections({"vector": RunView(config, None, None)}, TranslationState(task="dates", who=("vector",)))
    assert component_data(at, "translation_answers") == component_data(at, "beam_search") == []
    assert any("No finished run yet" in part.value for part in at.markdown)


def figures_of(document: Document) -> list[dict[str, object]]:
    (data,) = [block["data"] for block in document.blocks if block["kind"] == "component"]
    return data["figures"]  # type: ignore[index, no-any-return]


def test_the_lines_by_length_have_labels_and_the_trained_length_a_mark() -> None:
    task = replace(STATE, longest=8).task_config
    each = TranslationResult(VARIANTS["vector"], task, np.ones(2), np.zeros((2, 0)))
    count = len(each.names)
    parts = {last: np.tile(np.arange(1, count + 1) <= last, (2, 1)).astype(float) for last in (3, 8)}
    results = [replace(each, parts=parts[3]), replace(each, variant=VARIANTS["additive"], parts=parts[8])]
    chart = lengths_chart(results, 8)
    labels = [note.text for note in figure_of(chart).layout.annotations]
    assert [re.sub("<.*?>", "", text) for text in labels] == ["one vector", "attention", "trained", "beyond"]
    assert "the model with additive attention 1.00 at 8" in chart.text


def test_an_ablation_that_a_model_does_not_have_has_no_tile() -> None:
    values, document = np.array([[1.0, 0.9], [np.nan, np.nan], [np.nan, np.nan], [0.1, 0.1], [0.0, 0.0]]), Document()
    ablations_view(document, {"vector": values}, "reverse", VARIANTS, 2)
    (figure,) = figures_of(document)
    tiles = figure["plot"]["data"][0]  # type: ignore[index]
    assert tiles["text"] == [["0.95  (0.90–1.00)"], [""], [""], ["0.10  (0.10–0.10)"], ["0.00  (0.00–0.00)"]]
    assert [block["kind"] for block in document.blocks] == ["component", "caption"], "no model has attention"


def test_both_copy_tasks_are_shown_together() -> None:
    curves = CopyAccuracy((0, 5), {True: np.array([[0.05, 0.0], [1.0, 0.9]]), False: np.array([[0.05, 0.1]] * 2)})
    document = Document()
    copying_view(document, {"plain": curves})
    assert document.blocks == []
    copying_view(document, {"plain": curves, "separated": curves})
    assert [figure["title"] for figure in figures_of(document)] == [
        "Repeat the current token",
        "Repeat the sequence after a separator",
    ]


def test_the_loss_after_its_own_tokens_has_an_axis_to_its_highest_value() -> None:
    given, own = np.array([[1.0, 0.5]]), np.array([[1.0, 0.25]])
    for scale, low, high in ((3.0, 3.0, 4.0), (0.0, 0.0, 1.0)):
        document = Document()
        found = ExposureBias(given, own, scale * given, scale * own)
        decoding_steps.exposure_view(document, found, "reverse", VARIANTS["vector"], 2)
        accuracy, loss = (figure["plot"] for figure in figures_of(document))
        start, end = loss["layout"]["yaxis"]["range"]  # type: ignore[index]
        assert start == 0 and low < end < high
        first, second = (accuracy["data"][i]["line"].get("dash") for i in (2, 5))  # type: ignore[index]
        assert first != second


def test_the_pairs_that_most_seeds_get_wrong_come_first() -> None:
    pairs = (("a", "as"), ("b", "bs"), ("c", "cs"))
    outputs, document = Outputs(pairs, (("as", "as"), ("bs", "bss"), (None, "c"))), Document()
    pairs_view(document, {"vector": outputs}, VARIANTS)
    (block,) = document.blocks
    rows = block["data"]["rows"]  # type: ignore[index]
    assert [[cell["text"] for cell in row["cells"].values()] for row in rows] == [
        ["c", "cs", "0 of 2: no end"],
        ["b", "bs", "1 of 2: “bss”"],
    ]
    document = Document()
    pairs_view(document, {"vector": Outputs(pairs[:1], (("as",),))}, VARIANTS)
    assert document.blocks[0]["text"] == "All seeds of all models get all 1 held-out pairs right."
