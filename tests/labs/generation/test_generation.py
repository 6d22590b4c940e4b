from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.generation.text_statistics import StatisticsByTemperature
from explorer.labs.generation import findings
from explorer.labs.generation.findings import MeasuredTexts
from explorer.labs.generation.state import DEFAULT_MODELS, MAX_PROMPT_LENGTH, GenerationState
from explorer.labs.generation.text_statistics import statistic_chart, statistics_view
from explorer.ui.document import Document
from explorer.ui.state import url_codec
from explorer.ui.training.stored_models import find_run


def test_another_prompt_or_sampling_setting_resets_position_and_path() -> None:
    state = GenerationState(at=12, of=30, path=(1, 2), t=1.2)
    assert state.with_settings(seed=4) == GenerationState(seed=4, t=1.2)
    assert state.with_settings(prompt="O ") == GenerationState(prompt="O ", t=1.2)
    assert state.with_models(["text-rnn"]) == GenerationState(models=("text-rnn",), t=1.2)
    with pytest.raises(InvalidSetting, match=f"at most {MAX_PROMPT_LENGTH:,} characters"):
        state.with_settings(prompt="x" * (MAX_PROMPT_LENGTH + 1))


def test_at_most_three_models_are_selected_and_the_newest_stay() -> None:
    assert GenerationState().with_models([]) == GenerationState()
    assert GenerationState().with_models(["a", "b", "a", "c", "d"]).models == ("b", "c", "d")


def test_the_focused_model_is_one_of_the_selected() -> None:
    assert GenerationState().focused_model == DEFAULT_MODELS[-1]
    assert GenerationState(focus="gone").focused_model == DEFAULT_MODELS[-1]
    assert GenerationState().with_position(DEFAULT_MODELS[0], 3, 5) == GenerationState(
        focus=DEFAULT_MODELS[0], of=3, at=5
    )


def test_the_first_position_is_the_same_in_every_text_and_a_path_belongs_to_its_model() -> None:
    state = GenerationState(path=(1, 2))
    assert state.with_position(DEFAULT_MODELS[-1], 9, 0) == state
    assert state.with_position(DEFAULT_MODELS[-1], 9, 1).path == (1, 2)
    assert state.with_position(DEFAULT_MODELS[0], 9, 1).path is None
    for state in (GenerationState(path=()), GenerationState(path=(3, 1, 4))):
        assert url_codec.read(GenerationState, url_codec.write(state)) == (state, ())


def make_texts(corpus: list[float] | None = None, repeats: float = 0.5, held_out: bool = True) -> MeasuredTexts:
    varied = np.array([[0.2, 0.2], [0.8, 0.9], [1.0, 1.0]])
    repeated = np.array([[repeats, repeats], [0.1, 0.0], [0.0, 0.0]])
    likely = np.array([[-0.2, -0.2], [-1.0, -1.2], [-3.0, -3.2]])
    return MeasuredTexts(
        StatisticsByTemperature((0.0, 1.0, 2.0), varied, repeated, likely), corpus and np.array(corpus), held_out
    )


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = [("n-gram", make_texts([0.86, 0.0, -2.1], 0.88)), ("RNN", make_texts([0.25, 0.0, -0.1]))]
    alone = [("RNN", make_texts())]
    ours, theirs = (("RNN", make_texts([1.0, 0.0, -1.0])), ("GRU", make_texts([1.0, 0.0, -1.0], held_out=False)))
    assert [
        findings.repetition_finding(found),
        findings.corpus_finding(found),
        findings.repetition_finding(alone),
        findings.corpus_finding(alone),
        findings.statistics_caption(alone, GenerationState()),
        *(findings.statistics_caption(each, GenerationState()) for each in ([ours], [theirs], [ours, theirs])),
        findings.describe_sampling(GenerationState()),
        findings.describe_sampling(GenerationState(greedy=True, top_k=3)),
        findings.describe_sampling(GenerationState(top_k=5, top_p=0.9, min_p=0.05)),
    ] == snapshot


def test_human_text_has_one_line_if_it_is_the_same_for_all_models() -> None:
    models = {name: find_run(f"text-{name}") for name in ("ngram", "rnn")}
    same = dict.fromkeys(models, make_texts([0.5, 0.0, -2.0]))
    both = statistic_chart("distinct4", models, same, 0.7)
    assert [rule.text for rule in both.rules] == ["", "people 0.50"] and both.rules[1].far
    each = {"ngram": make_texts([0.5, 0.0, -2.0]), "rnn": make_texts([0.95, 0.0, -4.0])}
    high = statistic_chart("distinct4", models, each, 0.7)
    assert [(rule.text, rule.before) for rule in high.rules[1:]] == [("people 0.50", False), ("people 0.95", True)]
    low, top = statistic_chart("log_probability", models, each, 0.7).y.span or (0, 0)
    assert low < -4 and top == 0, "the axis contains the text of people"
    twice = {"a": models["rnn"], "b": models["rnn"]}
    assert [line.dash for line in statistic_chart("distinct4", twice, dict.fromkeys(twice, make_texts()), 1.0).lines][
        1
    ] == "2px,4px"


def test_what_the_corpus_says_is_left_out_where_temperature_changes_nothing() -> None:
    models, texts = {"rnn": find_run("text-rnn")}, {"rnn": make_texts([0.5, 0.0, -2.0])}
    for state, kinds in (
        (GenerationState(), ["finding", "text", "component", "caption"]),
        (GenerationState(greedy=True), ["finding", "component", "caption"]),
    ):
        document = Document()
        statistics_view(document, texts, models, state)
        assert [block["kind"] for block in document.blocks] == kinds


def test_a_model_that_is_opened_again_is_equal() -> None:
    first, second = find_run("text-rnn"), find_run("text-rnn")
    assert first is not second and first == second and len({first, second}) == 1
    assert first != find_run("text-gru")
