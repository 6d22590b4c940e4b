"""Lessons measure what the pages show, and the measured answers are those their authors expect."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.attention import head_scores
from explorer.inspection.attention.alignment import exact_match_under
from explorer.inspection.load_model import load_model
from explorer.inspection.recurrent.input_gradients import input_gradient_norms
from explorer.inspection.seq2seq.decoding import require_translator
from explorer.inspection.transformer import induction
from explorer.inspection.transformer.softmax_scaling import KEYS, WIDTHS
from explorer.lessons import measures
from explorer.lessons.grading import grade_step
from explorer.lessons.lesson import Lesson
from explorer.lessons.measures import find_measure, measure
from explorer.lessons.parse import read_lessons
from explorer.run_store import store
from explorer.tasks.recall import evaluation_lengths
from explorer.tasks.sequence_labelling import delayed_copy
from tests import needs

LESSONS = read_lessons()


def measure_with(name: str, **options: object) -> list[float] | list[str]:
    return measure(name, find_measure(name).parse_settings({key: str(value) for key, value in options.items()}))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_lesson_has_the_expected_answers(lesson: Lesson) -> None:
    for step in lesson.steps:
        if step.real_model:
            continue  # see test_real_model_lessons.py
        result = grade_step(step, measure)
        assert result.agrees, (step.title, result.right, result.value)
        assert all(row.count for row in result.rows) and "{" not in result.why
        assert len(result.right) <= 1, "a question has one right answer"


def test_measures_of_the_card_equal_the_stored_metrics() -> None:
    run = store.find("recall-50-rnn-usual")
    accuracy = run.card.metrics["accuracy"].values
    assert measure_with("score", run="recall-50-rnn-usual", metric="accuracy") == accuracy
    assert measure_with("solved", run="recall-50-rnn-usual") == [sum(value >= 0.95 for value in accuracy)]
    position = evaluation_lengths(50).index(1_000)
    measured = measure_with("at_length", run="recall-50-rnn-usual", length=1_000)
    assert measured == pytest.approx(run.curves.answers["by_length"][-1][:, position])
    one, two = (np.array(measure_with("score", run=f"text-window-{width}", metric="perplexity")) for width in (1, 2))
    fall = measure_with("fall", run="text-window-2", other="text-window-1", metric="perplexity")
    assert fall == pytest.approx(one - two) and min(fall) > 0


def test_seeds_that_reach_a_threshold_are_counted() -> None:
    right = store.find("echo-raw").card.metrics["exact"].values
    for least in (0.05, 0.95):
        measured = measure_with("reached", run="echo-raw", metric="exact", least=least)
        assert measured == [sum(value >= least for value in right if value is not None)]
    assert measure_with("reached", run="echo-raw", metric="exact") == measured, "0.95 is the default"
    by_length = store.find("echo-rotary").curves.answers["by_length"][-1]
    position = delayed_copy.evaluation_lengths(delayed_copy.DelayedCopyConfig()).index(14)
    assert measure_with("at_length", run="echo-rotary", length=14) == pytest.approx(by_length[:, position])


def test_answers_and_probabilities_are_those_of_the_model() -> None:
    answers = measure_with("says", run="negation-single-rnn", sentence="human not preserve nature")
    probabilities = measure_with("sustain", run="negation-single-rnn", sentence="human not preserve nature")
    assert (
        answers == ["sustain" if probability > 0.5 else "collapse" for probability in probabilities] == ["collapse"] * 8
    )
    pair = {"sentence": "human not preserve nature", "other": "human preserve nature"}
    other = measure_with("sustain", run="negation-single-rnn", sentence=pair["other"])
    assert measure_with("apart", run="negation-single-rnn", **pair) == pytest.approx(
        np.abs(np.subtract(probabilities, other))
    )


def test_gradient_ratios_and_gate_values() -> None:
    norms = input_gradient_norms(load_model(store.find("recall-50-gru-chrono"), 0))
    measured = measure_with("gradient", run="recall-50-gru-chrono", step=0)
    assert measured == pytest.approx(norms[:, 0] / norms[:, -1])
    assert measured != measure_with("gradient", run="recall-50-gru-chrono")
    default, chrono = (measure_with("kept", run=f"recall-50-lstm-{start}") for start in ("usual", "chrono"))
    assert max(default) < min(chrono) <= 1


def test_the_terms_of_a_gradient_are_counted() -> None:
    default, chrono = (measure_with("terms", run=f"recall-50-{name}", step=0) for name in ("rnn-usual", "gru-chrono"))
    assert len(default) == 8 and max(default) < min(chrono) <= 49, "the first state is 0 and has no term"
    fewer = measure_with("terms", run="recall-50-rnn-usual", step=0, share=0.5)
    assert all(1 <= few <= many for few, many in zip(fewer, default, strict=True)) and fewer != default


@needs.tiny_shakespeare
def test_the_included_head_importance_is_that_of_its_runs() -> None:
    for key, shipped in measures.included_head_importance().items():
        run = store.find(key)
        assert len(shipped) == run.config.replicas
        for replica, values in enumerate(shipped):
            assert head_scores.head_importance(run, replica).importance == pytest.approx(np.array(values), abs=1e-4)
    options = {"run": "text-through-training", "layer": 1, "head": 2}
    assert measure_with("head_off", **options) == [replica[1][2] for replica in shipped]
    assert measure_with("largest_head_importance", run=options["run"]) == [max(map(max, shipped[0]))]


def test_the_power_of_a_gate_needs_no_run() -> None:
    assert measure_with("left", gate=0.5, steps=3) == [0.25]
    assert measure_with("left", gate=0.9) == pytest.approx([0.9**49])
    assert measure_with("left", gate=1) == [1.0]


def test_the_largest_weight_of_random_vectors_depends_on_scaling() -> None:
    raw, divided = (
        [measure_with("strongest", width=width, divided=word)[0] for width in WIDTHS[::5]] for word in ("no", "yes")
    )
    assert raw[0] == divided[0], "the root of width 1 is 1"
    assert raw == sorted(raw) and raw[-1] > 0.95
    assert all(1 / KEYS < each < 0.2 for each in divided)


def test_word_order_needs_positions_or_a_causal_mask() -> None:
    pair = {"sentence": "the dog bit the man", "other": "The man bit the dog"}
    distances = {
        (kind, sees): measure_with("order", **pair, positions=kind, sees=sees)
        for kind in ("none", "learned")
        for sees in ("all", "past")
    }
    assert max(distances["none", "all"]) < 1e-5 < min(distances["none", "past"] + distances["learned", "all"])
    same = {"sentence": "a b", "other": "a b"}
    assert measure_with("order", **same, positions="none", sees="past") == [0.0] * 8


ORDER = {"sentence": "a", "other": "b", "positions": "none", "sees": "all"}


INVALID = [
    ("strongest", {"width": 60, "divided": "no"}),
    ("strongest", {"width": 64, "divided": "0"}),
    ("order", ORDER | {"positions": "sines"}),
    ("order", ORDER | {"sees": "left"}),
    ("order", ORDER | {"sentence": "a " * 21}),
    ("left", {"gate": 1.5}),
    ("left", {"gate": 0.5, "run": "echo-raw"}),
    ("reached", {"run": "echo-raw", "metric": "perplexity"}),
    ("terms", {"run": "echo-raw"}),
    ("at_length", {"run": "echo-raw", "length": 99}),
    ("loss_without", {"run": "induction-two", "role": "first"}),
    ("loss_without", {"run": "induction-one", "role": "previous"}),
    ("perplexity_of", {"probabilities": "0.5 0"}),
    ("stream_gradient", {"residual": "perhaps", "norm": "pre", "layers": 3}),
]


def test_invalid_settings_of_a_measure_are_reported(snapshot: object) -> None:
    messages = []
    for name, options in INVALID:
        with pytest.raises(InvalidSetting) as error:
            measure_with(name, **options)
        messages.append(str(error.value))
    assert messages == snapshot


def test_a_head_is_removed_by_its_role() -> None:
    loaded = load_model(store.find("induction-two"))
    roles = induction.find_roles(induction.measure_scores(loaded))
    losses = induction.head_losses(loaded, "zero")
    for role in ("previous", "induction_control"):
        expected = [losses[replica, *heads[role]] for replica, heads in enumerate(roles)]
        assert measure_with("loss_without", run="induction-two", role=role) == pytest.approx(expected, rel=1e-5)


def test_attention_measures() -> None:
    text = {"run": "text-through-training", "text": "First Citizen", "layer": 1, "head": 2}
    assert [measure_with("visible", **text, place=position) for position in (1, 5)] == [[1.0], [5.0]]
    (trained,), (untrained,) = (measure_with("habit", **text, habit="spread", step=step) for step in (-1, 0))
    assert 1 <= trained < untrained <= 13
    heads = [
        measure_with("habit", **{**text, "layer": layer, "head": head}, habit="previous")[0]
        for layer in range(4)
        for head in range(4)
    ]
    assert measure_with("largest_head_score", run=text["run"], text=text["text"], habit="previous") == [max(heads)]
    (mirrored,) = measure_with("mirror", run="reverse-additive", digits="2718281828")[:1]
    assert 0.5 < mirrored <= 1
    assert measure_with("touched", run="reverse-additive", touch="none", length=5) == [1.0, 1.0, 1.0]
    loaded = load_model(store.find("reverse-vector"))
    expected = exact_match_under(require_translator(loaded.stack), loaded.config.task, "none")[:, 7]
    assert measure_with("touched", run="reverse-vector", touch="none", length=8) == pytest.approx(expected)


def test_generation_measures() -> None:
    prompt = {"run": "text-transformer", "prompt": "Romeo"}
    greedy, sampled = (measure_with("likeliest", **prompt, temperature=t) for t in (0, 1))
    assert greedy == [1.0] * 3 and all(0 < share < 1 for share in sampled)
    half = np.array(measure_with("likeliest", **prompt, temperature=0.5))
    assert measure_with("grows", **prompt, temperature=0.5, other=1) == pytest.approx(half / sampled)
    assert measure_with("choices_left", **prompt, top_p=1) == [65.0] * 3
    assert measure_with("choices_left", **prompt, top_p=0.01) == [1.0] * 3
    few = {**prompt, "tokens": 40}
    assert measure_with("in_common", **few, temperature=0.7, other=0.7) == [40.0] * measures.SAMPLES
    assert measure_with("in_common", **few, temperature=0.7, other=0.7, throws=3) == [40.0] * 3
    assert (
        len(measure_with("repeats", **few, temperature=0)) == 1
        and len(measure_with("repeats", **few, temperature=1)) == measures.SAMPLES
    )


def test_word_pieces_are_counted() -> None:
    assert measure_with("pieces", text="father", vocabulary=500) == [1.0]
    assert measure_with("pieces", text="father", vocabulary=66)[0] > 1.0
    assert measure_with("unknown", text="3.14159", vocabulary=500) == [5.0]
    assert measure_with("setting", value=0.5) == [0.5]


def test_perplexities_are_computed_from_probabilities_and_bits() -> None:
    assert measure_with("perplexity_of", probabilities="0.5 0.25 0.25 0.5") == pytest.approx([8**0.5])
    (bits,) = measure_with("score", run="text-assignment", metric="bits_per_char")
    assert measure_with("per_letter", run="text-assignment") == [2**bits]
    assert measure_with("perplexity_per_unit", perplexity=9, units=2) == [3.0]


def test_the_gradient_of_a_stack_shrinks_without_residuals() -> None:
    without = measure_with("stream_gradient", residual="no", norm="none", layers=3)
    assert max(without) < 0.1 < min(measure_with("stream_gradient", residual="true", norm="pre", layers=3))


def test_costs_follow_their_formulas() -> None:
    assert measure_with("cost_growth", part="feedforward", length=64, width=8) == [2.0]
    assert measure_with("cost_growth", part="attention", length=128, width=64) == [3.0], "half of it is quadratic"
    assert measure_with("cost_crossing", width=32) == [64.0]
    assert measure_with("cost_ratio", part="attention", other="feedforward", length=64, width=32) == [1.0]
    assert measure_with("saved_megabytes", part="fused", length=10, width=2, heads=1) == [4 * (5 * 20 + 10) / 1e6]
