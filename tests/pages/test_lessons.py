"""Lessons on the pages: a prediction, then the measurement, then the open page."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.web import predictions
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.lesson_results import all_lessons, find_part
from explorer.web.visitors import Visitor
from tests.pages.screen import (
    assert_no_errors,
    component_data,
    findings,
    headings,
    open_page,
    page,
    page_text,
    url_params,
    wait_until_ready,
    warnings_of,
    widget,
)


def open_lesson(name: str, step: int, file: str = "negation.py", **more: str) -> AppTest:
    found = find_part(name, step)
    return open_page(file, {**found.state, **more, "lesson": name, "part": str(step)}, visitor="ada")


def press(at: AppTest, label: str) -> AppTest:
    button = next(each for each in at.button if each.label.replace("\\", "") == label)
    return wait_until_ready(assert_no_errors(button.click().run()))


def answer_data(at: AppTest) -> Mapping[str, object]:
    (data,) = component_data(at, "lesson_answer")
    return data


def page_style(at: AppTest) -> str:
    """Return the styles that a lesson gives to its page."""
    return " ".join(str(each.proto) for each in at.get("html"))


def predict_number(at: AppTest, number: object) -> AppTest:
    at.session_state["lesson.setup: predicted"] = number
    return wait_until_ready(assert_no_errors(at.run()))


def asks_for_prediction(at: AppTest) -> bool:
    return any(each.label == "Show the answer" for each in at.button)


@pytest.fixture(autouse=True)
def reset_stores() -> None:
    store.reset()


def test_all_lessons_are_offered_and_one_begins() -> None:
    at = page("lessons.py", visitor="ada")
    assert all(each.title in page_text(at) for each in all_lessons().values()) and warnings_of(at) == []
    at.session_state["lessons.progress.counting: continue"] = 1
    at = assert_no_errors(at.run())
    assert url_params(at)["lesson"] == "counting" and url_params(at)["part"] == "1"
    assert asks_for_prediction(at) and url_params(at)["say"] == "human preserve nature", "another sentence"
    (setup,) = component_data(at, "lesson_setup")
    assert setup["tokens"] == ["human", "not", "preserve", "nature"] and setup["marked"] == [1]
    assert "24 parameters" in setup["networks"][0]
    assert component_data(at, "verdicts") and "blur" not in page_style(at)


def test_a_prediction_is_shown_with_the_measurement_and_the_page_opens() -> None:
    at = press(open_lesson("counting", 1), "Collapse: this would be right")
    assert "say" not in url_params(at), "the page has its default, which is the sentence of the question"
    data = answer_data(at)
    assert (data["said"], data["right"]) == ("collapse", ["sustain"])
    assert data["verdict"] == "You said: collapse. Measured: sustain (with all 8 seeds)."
    assert (data["lesson"], data["step"]) == ("counting", 1)
    assert data["opinion"] == "" and str(data["why"]).startswith("“not” has one weight")
    assert component_data(at, "verdicts") and not asks_for_prediction(at)
    assert any("Bag of words says sustain" in each for each in headings(at))
    again = open_lesson("counting", 1)
    assert answer_data(again)["said"] == "collapse", "a reload keeps the prediction"
    again = press(again, "Predict again")
    assert asks_for_prediction(again) and not component_data(again, "lesson_answer")


def test_before_the_prediction_a_section_without_another_state_is_blurred() -> None:
    at = open_lesson("gradients", 4, "memory.py")
    assert "blur" in page_style(at) and ".st-key-page-section-lengths" in page_style(at)
    assert "blur" not in page_style(press(at, "Show the answer"))
    assert "blur" not in page_style(open_lesson("counting", 2)), "another section is shown"


def test_a_link_to_the_answer_opens_the_page_as_it_is_before_the_prediction() -> None:
    at = open_lesson("counting", 1, say="human not preserve nature")
    assert asks_for_prediction(at) and url_params(at)["say"] == "human preserve nature"
    at = open_page("negation.py", {"lesson": "counting", "part": "1"}, visitor="ada")
    assert url_params(at)["models"] == "bag_of_words"


def test_an_answer_to_an_earlier_question_of_a_step_shows_the_measured_one() -> None:
    predictions.store_prediction("ada", "counting", 1, 70.0)
    data = answer_data(open_lesson("counting", 1))
    assert data["said"] is None and str(data["verdict"]).startswith("Measured: sustain")


def test_a_number_can_be_predicted_and_a_step_can_be_skipped() -> None:
    at = open_lesson("counting", 2)
    (setup,) = component_data(at, "lesson_setup")
    assert (setup["scale"]["low"], setup["scale"]["high"], setup["scale"]["step"]) == (0, 100, 1)
    assert asks_for_prediction(predict_number(at, 101)), "a browser can send anything"
    at = predict_number(at, 70)
    verdict = "You said 70 %: 18.3 points too low. Measured: 88.3 %, the same in all 8 seeds."
    assert answer_data(at)["verdict"] == verdict
    at = press(at, "Next step")
    assert url_params(at)["part"] == "3" and asks_for_prediction(at)
    at = press(at, "Show the answer")
    assert answer_data(at)["said"] is None
    assert answer_data(at)["verdict"] == "Measured: fewer, under 85 % (77.2 %, the same in all 8 seeds)."
    at = press(at, "Previous step")
    assert answer_data(at)["said"] == 70


def test_the_last_step_leads_to_a_task_and_a_question_about_the_reason() -> None:
    at = press(open_lesson("counting", 6), "Show the answer")
    assert not any(each.label == "Next step" for each in at.button)
    assert all_lessons()["counting"].steps[5].question.text in page_text(at), "it stands above the measurement"
    at = press(at, "Finish: a task of your own")
    assert url_params(at)["part"] == "7" and component_data(at, "verdicts"), "the page of the task is open"
    reason = widget(at.radio, "lesson.reason.counting")
    at = wait_until_ready(assert_no_errors(reason.set_value("data").run()))
    assert any(each.value.startswith("Not quite.") for each in at.info)
    at = wait_until_ready(assert_no_errors(widget(at.radio, "lesson.reason.counting").set_value("weights").run()))
    assert any(each.value.startswith("Right.") for each in at.success)
    assert "Not yet." in findings(at) and "the answer is “sustain”" in page_text(at)
    assert component_data(at, "lesson_setup")[0]["watched"] == ["say"], "the page reruns when the sentence changes"
    at = open_lesson("counting", 7, say="human consume nature")
    assert "Done." in findings(at)
    at = press(at, "Back to all lessons")
    assert "lesson" not in url_params(at) and all_lessons()["counting"].title in page_text(at)


def test_the_list_says_what_is_needed_and_continues_a_lesson() -> None:
    at = page("lessons.py", visitor="ada")
    assert [data["lesson"] for data in component_data(at, "lesson_progress")] == [*all_lessons(), ""]
    assert "First do “What cross-entropy" in page_text(at)
    at.session_state["lessons.progress.window: continue"] = 3
    at = assert_no_errors(at.run())
    assert (url_params(at)["lesson"], url_params(at)["part"]) == ("window", "3") and asks_for_prediction(at)


def test_an_invalid_url_parameter_is_reported_and_the_page_is_shown(snapshot: object) -> None:
    parts = [{"lesson": "counting", "part": part} for part in ("99", "two")]
    pages = [open_page("negation.py", each) for each in ({"lesson": "countng", "class": "ABCDE"}, *parts)]
    assert [warnings_of(at) for at in pages] == snapshot and all(component_data(at, "verdicts") for at in pages)


def test_a_lesson_opened_on_another_page_links_to_its_page() -> None:
    at = open_page("runs.py", {"lesson": "counting", "part": "1"}, visitor="ada")
    assert not asks_for_prediction(at) and not component_data(at, "lesson_setup")[0]["step"]
    at = press(at, "Go to the page of this step")
    assert component_data(at, "lesson_setup")[0]["step"], "a new name gets the keyboard focus"
    assert asks_for_prediction(at) and url_params(at)["models"] == "bag_of_words"


def test_a_teacher_shares_a_step_and_then_another_question() -> None:
    at = press(open_lesson("counting", 1), "Give it to a class")
    (data,) = component_data(at, "classroom")
    assert (
        data["teaches"]
        and data["lesson"] == {"name": "counting", "step": 1, "steps": 6}
        and data["qr"]
        and not data["open"]
    )
    room = store.find_classroom(str(data["code"]))
    assert url_params(at)["class"] == room.code and "lesson" not in url_params(at)
    student = open_page("home.py", {"class": room.code}, visitor="bob")
    assert "appears here when your teacher shows the answer" in page_text(student)
    (seen,) = component_data(student, "classroom")
    assert not seen["teaches"] and seen["qr"] is None and url_params(student)["models"] == "bag_of_words"
    assert not component_data(student, "verdicts")
    actions.reveal_answer(room.code, Visitor("ada"), 1)
    student = wait_until_ready(assert_no_errors(student.run()))
    assert component_data(student, "verdicts")
    actions.show_question("ada", ClassroomQuestion("negation", {"max_nots": "2"}, ("say",)))
    student = wait_until_ready(assert_no_errors(student.run()))
    assert url_params(student) == {"max_nots": "2", "lock": "say", "class": room.code}
    assert component_data(student, "verdicts")
    assert any("st-key-say" in str(each.proto) for each in student.get("html")), student
    store.reset()
    student = wait_until_ready(assert_no_errors(student.run()))
    assert any("The class has ended" in each for each in warnings_of(student))


def test_a_teacher_shares_a_page_with_a_custom_question() -> None:
    at = page("lessons.py", {"give": "memory?length=10"}, visitor="ada")
    assert "For your class: Memory" in page_text(at)
    at = assert_no_errors(widget(at.segmented_control, "give.kind").set_value("a choice").run())
    at = assert_no_errors(at.button(key="give.start").click().run())
    assert any("Write a question and two to six choices" in each for each in warnings_of(at))
    widget(at.text_input, "give.text").set_value("Which model remembers?")
    widget(at.text_area, "give.choices").set_value("RNN\nGRU\n\n")
    at = wait_until_ready(assert_no_errors(at.button(key="give.start").click().run()))
    (data,) = component_data(at, "classroom")
    assert data["teaches"] and url_params(at)["length"] == "10"
    assert "“Memory” appears here when you show the result" in page_text(at)
    student = open_page("home.py", {"class": str(data["code"])}, visitor="bob")
    assert "“Memory” appears here when your teacher shows the result" in page_text(student)


def test_a_class_collects_sentences_at_a_task_and_the_teacher_opens_one() -> None:
    assert not any(each.label == "Collect sentences in the class" for each in open_lesson("counting", 7).button)
    code = actions.show_question("ada", ClassroomQuestion("memory", {})).code
    at = press(open_lesson("counting", 7), "Collect sentences in the class")
    (data,) = component_data(at, "classroom")
    assert data["code"] == code and data["open"] and data["question"]["collects"] == 200
    assert "answers collapse. Then" in data["question"]["text"], "the marks of bold text are left out"
    actions.record_answer(code, "bob", 2, "<b>human</b> consume nature")
    at.session_state["class: sentence"] = "human consume nature"
    at = wait_until_ready(assert_no_errors(at.run()))
    params = url_params(at)
    assert (params["say"], params["models"], params["class"]) == ("human consume nature", "bag_of_words", code)
    assert any("says collapse" in each or "say collapse" in each for each in headings(at))


def test_the_form_offers_sentences_and_leaves_the_page_open() -> None:
    at = page("lessons.py", {"give": "masks"}, visitor="ada")
    at = assert_no_errors(widget(at.segmented_control, "give.kind").set_value("sentences").run())
    at = assert_no_errors(at.button(key="give.start").click().run())
    assert any("Write what the sentences should be about" in each for each in warnings_of(at))
    widget(at.text_input, "give.text").set_value("What surprised you?")
    at = wait_until_ready(assert_no_errors(at.button(key="give.start").click().run()))
    (data,) = component_data(at, "classroom")
    assert data["open"] and data["question"]["collects"] and data["page"] is None, "the page Masks reads no sentence"


def test_a_page_that_cannot_be_shared_is_reported() -> None:
    for bad, words in (("lessons", "There is no page"), ("memory?lenght=1", "This page has no “lenght”")):
        assert any(words in each for each in warnings_of(page("lessons.py", {"give": bad})))
