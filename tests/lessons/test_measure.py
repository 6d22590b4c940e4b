"""What lessons measure is what the pages show, and every lesson is as its author expects."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.attention import head_scores
from explorer.inspection.attention.alignment import exact_match_under
from explorer.inspection.load_model import load_model
from explorer.inspection.recurrent.input_gradients import input_gradient_norms
from explorer.inspection.seq2seq.decoding import require_translator
from explorer.inspection.transformer.softmax_scaling import KEYS, WIDTHS
from explorer.lessons import measure as lessons_measure
from explorer.lessons.grading import grade_step
from explorer.lessons.lesson import Lesson
from explorer.lessons.measure import measure
from explorer.lessons.measures import MEASURES, find_measure
from explorer.lessons.parse import read_lessons
from explorer.run_store import store
from explorer.tasks.recall import evaluation_lengths
from explorer.tasks.sequence_labelling import delayed_copy
from explorer.tasks.text import corpora, rows, token_arrays
from tests import needs
from tests.words import assert_mentions

EVERY = read_lessons()


def asked(name: str, **given: object) -> list[float] | list[str]:
    return measure(name, find_measure(name).parse_settings({key: str(value) for key, value in given.items()}))


def test_every_measure_can_be_measured() -> None:
    assert set(lessons_measure._FUNCTIONS) == set(MEASURES)


@pytest.mark.parametrize("lesson", EVERY, ids=lambda lesson: lesson.name)
def test_every_lesson_is_as_its_author_expects(lesson: Lesson) -> None:
    for step in lesson.steps:
        found = grade_step(step, measure)
        assert found.agrees, (step.title, found.right, found.value)
        assert all(row.count for row in found.rows) and "{" not in found.why
        assert len(found.right) <= 1, "a question with several right answers is none"


def test_what_stands_on_the_card_is_taken_from_it() -> None:
    run = store.find("recall-50-rnn-usual")
    accuracy = run.card.metrics["accuracy"].values
    assert asked("score", run="recall-50-rnn-usual", metric="accuracy") == accuracy
    assert asked("solved", run="recall-50-rnn-usual") == [sum(value >= 0.95 for value in accuracy)]
    place = evaluation_lengths(50).index(1_000)
    found = asked("at_length", run="recall-50-rnn-usual", length=1_000)
    assert found == pytest.approx(run.curves.answers["by_length"][-1][:, place])
    one, two = (np.array(asked("score", run=f"text-window-{width}", metric="perplexity")) for width in (1, 2))
    fall = asked("fall", run="text-window-2", other="text-window-1", metric="perplexity")
    assert fall == pytest.approx(one - two) and min(fall) > 0


def test_seeds_that_come_so_far_are_counted() -> None:
    right = store.find("echo-raw").card.metrics["exact"].values
    for least in (0.05, 0.95):
        found = asked("reached", run="echo-raw", metric="exact", least=least)
        assert found == [sum(value >= least for value in right if value is not None)]
    assert asked("reached", run="echo-raw", metric="exact") == found, "0.95 is usual"
    by_length = store.find("echo-rotary").curves.answers["by_length"][-1]
    place = delayed_copy.evaluation_lengths(delayed_copy.DelayedCopyConfig()).index(14)
    assert asked("at_length", run="echo-rotary", length=14) == pytest.approx(by_length[:, place])


def test_sentences_are_answered_by_the_model() -> None:
    says = asked("says", run="negation-single-rnn", sentence="human not preserve nature")
    shares = asked("sustain", run="negation-single-rnn", sentence="human not preserve nature")
    assert says == ["sustain" if share > 0.5 else "collapse" for share in shares] == ["collapse"] * 8
    pair = {"sentence": "human not preserve nature", "other": "human preserve nature"}
    other = asked("sustain", run="negation-single-rnn", sentence=pair["other"])
    assert asked("apart", run="negation-single-rnn", **pair) == pytest.approx(np.abs(np.subtract(shares, other)))


def test_gradients_and_gates() -> None:
    along = input_gradient_norms(load_model(store.find("recall-50-gru-chrono"), 0))
    found = asked("gradient", run="recall-50-gru-chrono", step=0)
    assert found == pytest.approx(along[:, 0] / along[:, -1])
    assert found != asked("gradient", run="recall-50-gru-chrono")
    usual, chrono = (asked("kept", run=f"recall-50-lstm-{start}") for start in ("usual", "chrono"))
    assert max(usual) < min(chrono) <= 1


def test_the_terms_of_one_gradient() -> None:
    usual, chrono = (asked("terms", run=f"recall-50-{name}", step=0) for name in ("rnn-usual", "gru-chrono"))
    assert len(usual) == 8 and max(usual) < min(chrono) <= 49, "the first state is 0: its term is none"
    fewer = asked("terms", run="recall-50-rnn-usual", step=0, share=0.5)
    assert all(1 <= few <= many for few, many in zip(fewer, usual, strict=True)) and fewer != usual


@needs.tiny_shakespeare
def test_the_included_head_importance_is_that_of_its_runs() -> None:
    for key, shipped in lessons_measure.included_head_importance().items():
        run = store.find(key)
        assert len(shipped) == run.config.replicas
        for replica, values in enumerate(shipped):
            assert head_scores.head_importance(run, replica).importance == pytest.approx(np.array(values), abs=1e-5)
    given = {"run": "text-through-training", "layer": 1, "head": 2}
    assert asked("head_off", **given) == [replica[1][2] for replica in shipped]


def test_every_lesson_is_answered_without_tiny_shakespeare(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(cache: object) -> bytes:
        raise AssertionError("a lesson asks for the text")

    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    monkeypatch.setattr(corpora, "_download", fail)
    for module in (corpora, token_arrays, rows):
        module.reset()
    for lesson in EVERY:
        for step in lesson.steps:
            assert grade_step(step, measure).rows


def test_what_a_gate_leaves_needs_no_run() -> None:
    assert asked("left", gate=0.5, steps=3) == [0.25]
    assert asked("left", gate=0.9) == pytest.approx([0.9**49])
    assert asked("left", gate=1) == [1.0]


def test_random_vectors_and_one_weight() -> None:
    raw, divided = (
        [asked("strongest", width=width, divided=word)[0] for width in WIDTHS[::5]] for word in ("no", "yes")
    )
    assert raw[0] == divided[0], "of one number the root is 1"
    assert raw == sorted(raw) and raw[-1] > 0.95
    assert all(1 / KEYS < each < 0.2 for each in divided)


def test_the_order_of_words() -> None:
    pair = {"sentence": "the dog bit the man", "other": "The man bit the dog"}
    far = {
        (kind, sees): asked("order", **pair, positions=kind, sees=sees)
        for kind in ("none", "learned")
        for sees in ("all", "past")
    }
    assert max(far["none", "all"]) < 1e-5 < min(far["none", "past"] + far["learned", "all"])
    same = {"sentence": "a b", "other": "a b"}
    assert asked("order", **same, positions="none", sees="past") == [0.0] * 8


ORDER = {"sentence": "a", "other": "b", "positions": "none", "sees": "all"}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("strongest", {"width": 60, "divided": "no"}, "width = 60 is not possible. Give one of 1, "),
        ("strongest", {"width": 64, "divided": "0"}, "divided = “0” … not … yes, no"),
        (
            "order",
            ORDER | {"positions": "sines"},
            "positions = “sines” is not possible",
        ),
        ("order", ORDER | {"sees": "left"}, "sees = “left” is not possible"),
        (
            "order",
            ORDER | {"sentence": "a " * 21},
            "has 21 words. Give 1 to 20",
        ),
        ("left", {"gate": 1.5}, "gate = 1.5 is not possible"),
        ("left", {"gate": 0.5, "run": "echo-raw"}, "“left” has no setting “run”"),
        (
            "reached",
            {"run": "echo-raw", "metric": "perplexity"},
            "metric = “perplexity” … not … exact",
        ),
        ("terms", {"run": "echo-raw"}, "“terms” … recall … “echo-raw” … echo"),
        ("at_length", {"run": "echo-raw", "length": 99}, "was not evaluated at length 99"),
    ],
)
def test_what_cannot_be_measured_is_said(name: str, given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        asked(name, **given)
    assert_mentions(str(error.value), words)


def test_attention() -> None:
    text = {"run": "text-through-training", "text": "First Citizen", "layer": 1, "head": 2}
    assert [asked("visible", **text, place=place) for place in (1, 5)] == [[1.0], [5.0]]
    (spread,), (before,) = (asked("habit", **text, habit="spread", step=step) for step in (-1, 0))
    assert 1 <= spread < before <= 13
    (looks,) = asked("mirror", run="reverse-additive", digits="2718281828")[:1]
    assert 0.5 < looks <= 1
    assert asked("touched", run="reverse-additive", touch="none", length=5) == [1.0, 1.0, 1.0]
    opened = load_model(store.find("reverse-vector"))
    every = exact_match_under(require_translator(opened.stack), opened.config.task, "none")[:, 7]
    assert asked("touched", run="reverse-vector", touch="none", length=8) == pytest.approx(every)


def test_writing() -> None:
    prompt = {"run": "text-transformer", "prompt": "Romeo"}
    cold, usual = (asked("likeliest", **prompt, temperature=t) for t in (0, 1))
    assert cold == [1.0] * 3 and all(0 < share < 1 for share in usual)
    half = np.array(asked("likeliest", **prompt, temperature=0.5))
    assert asked("grows", **prompt, temperature=0.5, other=1) == pytest.approx(half / usual)
    assert asked("choices_left", **prompt, top_p=1) == [65.0] * 3
    assert asked("choices_left", **prompt, top_p=0.01) == [1.0] * 3
    few = {**prompt, "tokens": 40}
    assert asked("in_common", **few, temperature=0.7, other=0.7) == [40.0] * lessons_measure.SAMPLES
    assert (
        asked("repeats", **few, temperature=0) == [asked("repeats", **few, temperature=0)[0]] * lessons_measure.SAMPLES
    )
