"""Lessons about real models: what is shown without one, and that the measured answers are the expected ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.hub import memory, opened
from explorer.hub.allowed import allowed_models
from explorer.hub.suitable import how_to_get, suitable_models
from explorer.inspection.pretrained import opened_model
from explorer.lessons.grading import TaskResult, check_task, grade_step
from explorer.lessons.lesson import Lesson
from explorer.lessons.measures import MEASURES, measure
from explorer.lessons.parse import fill_settings, read_lessons
from explorer.program_files import LESSONS as FOLDER
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
    "real_own_first_token": {"model": "", "text": "", "layer": 0, "head": 0},
    "real_own_senses": {"model": "", "sentences": "", "word": "bank"},
    "real_own_answer_depth": {"model": "", "text": ""},
}


@pytest.fixture(autouse=True)
def forget_models(home: Path) -> Iterator[None]:
    yield
    memory.reset()


@pytest.fixture(scope="module")
def smollm2_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the language model is open: tests share what has been measured of it, which takes minutes."""
    folder = tmp_path_factory.mktemp("smollm2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINEAGE_HOME", str(folder))
        opened.open_model(str(real_models.smollm2_folder()))
    return folder


@pytest.fixture
def smollm2(home: Path, smollm2_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_HOME", str(smollm2_home))


def test_lessons_and_hints_name_models_that_can_be_opened_without_further_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("explorer.hub.suitable.is_installed", lambda: True)
    files = [path.read_text() for path in sorted(FOLDER.glob("*.yaml"))]
    texts = [*files, how_to_get("language model"), how_to_get("encoder")]
    named = {name for text in texts for name in re.findall(r"(?:hub:|lineage open )([\w.-]+)", text)}
    assert len(named) >= 2 and named <= set(allowed_models())


@pytest.mark.parametrize("name", SETTINGS)
def test_without_an_open_model_a_measure_says_how_to_get_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.hub.suitable.is_installed", lambda: True)
    with pytest.raises(InvalidSetting, match=f"No real {MEASURES[name].real_model} is open.*lineage open"):
        measure(name, SETTINGS[name])


def test_a_lesson_says_which_steps_measure_a_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.hub.suitable.is_installed", lambda: True)
    describe = lesson_results.describe_real_models
    assert describe(LESSONS["counting"]) == ""
    assert describe(LESSONS["induction"]).startswith("Steps 6 and 7 measure a real language model. No real language")
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
@pytest.mark.usefixtures("smollm2")
def test_the_lessons_about_a_language_model_have_the_expected_answers() -> None:
    _check_lesson(LESSONS["answer-depth"])
    _check_lesson(LESSONS["first-token"], slice(1))  # the steps after it and the last one of induction take a minute
    _check_lesson(LESSONS["induction"], slice(4, 5))


def _check(name: str, **given: str) -> TaskResult:
    """Check the task of a lesson with its first state, the name of the opened model, and what a visitor has changed."""
    task = LESSONS[name].task
    assert task is not None
    field = "real" if name == "senses" else "model"
    (card,) = suitable_models("encoder" if name == "senses" else "language model")
    return check_task(task, {**task.state, field: f"{opened.PREFIX}{card.name}", **given}, measure)


def _solve(name: str) -> TaskResult:
    task = LESSONS[name].task
    assert task is not None
    return _check(name, **task.solution)


def test_the_result_of_a_task_belongs_to_the_real_model() -> None:
    task, counting = LESSONS["senses"].task, LESSONS["counting"].task
    assert task and counting
    assert lesson_results.task_pool(task) == "patient" and lesson_results.task_pool(counting) == "quick"
    assert lesson_results.task_key(counting, "counting", {"say": "a"}) == ("lesson task", "counting", ("say", "a"))


@pytest.mark.parametrize("count", [0, 2, 5, 10])
def test_sentences_that_have_no_equal_halves_are_refused(count: int) -> None:
    task = LESSONS["senses"].task
    assert task is not None
    settings = fill_settings(task.settings, {**task.state, "read": "/".join(["A bank."] * count)})
    with pytest.raises(InvalidSetting, match=f"You have {count} sentences. Write 4, 6 or 8"):
        task.measure.parse_settings(settings)


@needs.smollm2
@pytest.mark.usefixtures("smollm2")
def test_the_task_about_the_first_token_is_done_with_a_repetition_and_not_with_ordinary_sentences() -> None:
    first = _check("first-token")
    assert not first.is_done and first.text.startswith("With your settings")
    assert _solve("first-token").is_done
    assert not _check("first-token", say="Zebra one two three four five six seven eight").is_done
    assert not _check("first-token", head="3").is_done, "this head attends less to it in all texts of the length"
    for changed, message in (
        ({"layer": "0", "head": "0"}, "Head 1 of layer 1 gives 14 % .* Choose a head that gives it more than half"),
        ({"layer": "40"}, "has no head 7 in layer 41"),
        ({"say": "too short"}, "has 2 tokens. Write a text of 8 to 64 tokens"),
        ({"say": "the the the the the the the the the"}, "Cannot tell: “the” is the first token and occurs again"),
        ({"model": "agreement-heads"}, "“agreement-heads” is no real language model .*: smollm2"),
    ):
        with pytest.raises(InvalidSetting, match=message):
            _check("first-token", **changed)
