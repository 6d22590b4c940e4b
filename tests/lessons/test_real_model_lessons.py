"""Lessons about real models: what is shown without one, and that the measured answers are the expected ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.hub import memory, opened
from explorer.hub.suitable import suitable_models
from explorer.inspection.pretrained import opened_model
from explorer.lessons.grading import grade_step
from explorer.lessons.lesson import Lesson
from explorer.lessons.measure import measure
from explorer.lessons.measures import MEASURES
from explorer.lessons.parse import read_lessons
from explorer.web import lesson_results
from tests import needs
from tests.hub import real_models

LESSONS = {lesson.name: lesson for lesson in read_lessons()}
SETTINGS = {
    "real_head_score": {"head": "previous"},
    "real_loss_without": {"removed": "control"},
    "real_first_token": {"texts": "removed"},
    "real_first_value": {},
    "real_same_sense": {"weights": "random", "depth": 1},
    "real_meaning_of_it": {"nouns": "chance"},
    "real_answer_depth": {},
    "real_answer_rank": {"before_end": 2},
    "real_answer_rise": {},
}


@pytest.fixture(autouse=True)
def forget_models(home: Path) -> Iterator[None]:
    yield
    memory.reset()


def test_every_measure_of_real_models_is_tested_here() -> None:
    assert set(SETTINGS) == {name for name, each in MEASURES.items() if each.real_model}


@pytest.mark.parametrize("name", SETTINGS)
def test_without_an_open_model_a_measure_says_how_to_get_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.hub.suitable.is_installed", lambda: True)
    with pytest.raises(InvalidSetting, match=f"No real {MEASURES[name].real_model} is open.*lineage open"):
        measure(name, SETTINGS[name])


def test_a_lesson_says_which_steps_measure_a_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.hub.suitable.is_installed", lambda: True)
    describe = lesson_results.describe_real_models
    assert describe(LESSONS["counting"]) == ""
    assert describe(LESSONS["induction"]).startswith("Steps 5 and 6 measure a real language model. No real language")
    assert describe(LESSONS["senses"]).startswith("This lesson measures a real encoder. No real encoder is open")
    assert lesson_results.missing_model(LESSONS["counting"].steps[0]) == ""
    assert "lineage open" in lesson_results.missing_model(LESSONS["senses"].steps[0])
    assert lesson_results.result_pool("senses", 1) == "patient" and lesson_results.result_pool("counting", 1) == "quick"


@needs.transformers
def test_a_tiny_model_that_is_open_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.hub.tiny_tokenizers import open_tiny

    monkeypatch.setattr(opened_model, "SENTENCES", ("abcdef", "ghijkl", "mnopqr", "stuvwx", "yzabcd"))
    before = lesson_results.result_key("first-token", 1)
    open_tiny("llama", tmp_path)
    assert lesson_results.describe_real_models(LESSONS["first-token"]).endswith("a real language model: tiny-llama.")
    assert lesson_results.result_key("first-token", 1) != before, "a new model is measured anew"
    shares = measure("real_first_token", {"texts": "unchanged"})
    found = opened_model.attention_to_first_token(suitable_models("language model")[0], "unchanged")
    assert shares == pytest.approx((found.shares > 0.5).mean(axis=(1, 2))) and len(shares) == 5
    whole, without = (np.array(measure("real_loss_without", {"removed": each})) for each in ("none", "best"))
    assert whole.shape == (16,) and not np.allclose(whole, without)


def _check_lesson(lesson: Lesson, steps: slice = slice(None)) -> None:
    for step in lesson.steps[steps]:
        result = grade_step(step, measure)
        assert result.agrees and len(result.right) <= 1, (step.title, result.right, result.value)
        assert "{" not in result.why


@needs.minilm
def test_the_lesson_about_senses_has_the_expected_answers() -> None:
    opened.open_model(str(real_models.minilm_folder()))
    _check_lesson(LESSONS["senses"])


@needs.smollm2
@pytest.mark.slow
def test_the_lessons_about_a_language_model_have_the_expected_answers() -> None:
    opened.open_model(str(real_models.smollm2_folder()))
    _check_lesson(LESSONS["answer-depth"])
    _check_lesson(LESSONS["first-token"])
    _check_lesson(LESSONS["induction"], slice(4, None))
