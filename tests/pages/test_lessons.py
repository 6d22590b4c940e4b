"""Lessons on the pages: a prediction, then the measurement beside it, and the page opens."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui import classes, lesson_card
from explorer.ui.classes import Stage
from explorer.ui.lessons import after, every
from tests.pages.screen import address, calm, drawn, headings, page, said, settled, told


def lesson(name: str, step: int, file: str = "negation.py", **more: str) -> AppTest:
    found = every()[name].steps[step - 1]
    return settled(page(file, {**found.state, "lesson": name, "part": str(step), **more}, me="ada"))


def press(at: AppTest, label: str) -> AppTest:
    return settled(calm(next(each for each in at.button if each.label == label).click().run()))


def revealed(at: AppTest) -> Mapping[str, object]:
    (data,) = drawn(at, "lesson")
    return data


def question(at: AppTest) -> bool:
    return any(each.label == "Show me without a guess" for each in at.button)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.ui import predictions

    monkeypatch.setattr(predictions, "_said", type(predictions._said)())
    monkeypatch.setattr(classes, "_rooms", type(classes._rooms)())


def test_all_lessons_are_offered_and_one_begins() -> None:
    at = page("lessons.py", me="ada")
    assert all(each.title in said(at) for each in every().values()) and told(at) == []
    at = calm(at.button(key="lessons.start.counting").click().run())
    assert address(at)["lesson"] == "counting" and address(at)["part"] == "1"
    assert question(at) and "The page opens here once you have predicted" in said(at)
    assert not drawn(at, "verdicts"), "the page would give the answer away"


def test_a_prediction_stands_beside_the_measurement_and_the_page_opens() -> None:
    at = lesson("counting", 1)
    at.radio[0].set_value("collapse")
    at = press(at, "That is my prediction")
    data = revealed(at)
    assert (data["said"], data["right"]) == ("collapse", ["sustain"])
    assert str(data["verdict"]).startswith("Measured: “It says sustain, which is wrong”, by 8 of 8 seeds. You said “It")
    assert data["opinion"] == "" and str(data["why"]).startswith("“not” has one weight")
    assert drawn(at, "verdicts") and not question(at)
    assert any("Bag of words says sustain" in each for each in headings(at))
    again = lesson("counting", 1)
    assert revealed(again)["said"] == "collapse", "a reload keeps it"
    again = press(again, "Predict again")
    assert question(again) and not drawn(again, "lesson")


def test_a_number_and_no_guess() -> None:
    at = lesson("counting", 2)
    at = press(at, "That is my prediction")
    assert any("There is no prediction yet" in each for each in told(at)) and question(at)
    at.number_input[0].set_value(70.0)
    at = press(at, "That is my prediction")
    assert str(revealed(at)["verdict"]).endswith("You said 70 %, 18.3 points too little.")
    at = press(at, "Next step")
    assert address(at)["part"] == "3" and question(at)
    at = press(at, "Show me without a guess")
    assert revealed(at)["said"] is None and str(revealed(at)["verdict"]).endswith("You did not guess.")
    at = press(at, "Step before")
    assert revealed(at)["said"] == 70.0


def test_the_last_step_leads_back_to_all_lessons() -> None:
    at = press(lesson("counting", 5), "Show me without a guess")
    assert not any(each.label == "Next step" for each in at.button)
    at = press(at, "That was the last step: all lessons")
    assert "lesson" not in address(at) and every()["counting"].title in said(at)


def test_the_last_step_leads_to_the_next_lesson_and_the_last_lesson_to_none() -> None:
    at = press(lesson("counting", 5), "Show me without a guess")
    assert every()["counting"].steps[4].question.text in said(at), "what was asked stands above what was measured"
    at = press(at, f"Next lesson: {every()['window'].title}")
    assert (address(at)["lesson"], address(at)["part"]) == ("window", "1") and question(at)
    assert after("temperature") is None and after("nothing") is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"lesson": "countng"}, "There is no lesson “countng”"),
        ({"lesson": "<b>"}, "There is no lesson “<b>”"),
        ({"lesson": "counting", "part": "99"}, "has no step 99. It has 1 to 5"),
        ({"lesson": "counting", "part": "two"}, "The step of a lesson is a whole number"),
        ({"class": "ABCDE"}, "There is no class “ABCDE” here"),
        ({"lock": "nonsense"}, "There is no control “nonsense” on this page"),
    ],
)
def test_a_bad_address_is_said_and_the_page_stands(bad: Mapping[str, str], words: str) -> None:
    at = settled(page("negation.py", bad))
    assert sum(words in sentence for sentence in told(at)) == 1, told(at)
    assert drawn(at, "verdicts")


def test_a_lesson_on_another_page_leads_to_its_own() -> None:
    at = settled(page("runs.py", {"lesson": "counting", "part": "1"}, me="ada"))
    assert not question(at)
    at = press(at, "Go to the page of this step")
    assert question(at) and address(at)["models"] == "bag_of_words"


def test_a_teacher_gives_a_step_and_goes_on() -> None:
    at = press(lesson("counting", 1), "Give it to a class")
    (data,) = drawn(at, "classroom")
    assert data["teaches"] and data["lesson"] == {"step": 1, "steps": 5} and data["qr"] and not data["open"]
    room = classes.find(str(data["code"]))
    assert address(at)["class"] == room.code and "lesson" not in address(at)
    student = settled(page("home.py", {"class": room.code}, me="bob"))
    (seen,) = drawn(student, "classroom")
    assert not seen["teaches"] and seen["qr"] is None and address(student)["models"] == "bag_of_words"
    assert not drawn(student, "verdicts")
    room.revealed = True
    student = settled(calm(student.run()))
    assert drawn(student, "verdicts")
    classes.show("ada", Stage("negation", {"max_nots": "2"}, ("say",)))
    student = settled(calm(student.run()))
    assert address(student) == {"max_nots": "2", "lock": "say", "class": room.code}
    assert drawn(student, "verdicts")
    assert any("st-key-say" in str(each.proto) for each in student.get("html")), student
    classes._rooms.clear()
    student = settled(calm(student.run()))
    assert any("The class has ended" in each for each in told(student))


def test_a_page_is_given_with_a_question_of_the_teachers_own() -> None:
    at = page("lessons.py", {"give": "memory?length=10"}, me="ada")
    assert "For your class: Memory" in said(at)
    at = calm(at.segmented_control(key="give.kind").set_value("a choice").run())
    at = calm(at.button(key="give.start").click().run())
    assert any("Write a question and two to six choices" in each for each in told(at))
    at.text_input(key="give.text").set_value("Who remembers?")
    at.text_area(key="give.choices").set_value("RNN\nGRU\n\n")
    at = settled(calm(at.button(key="give.start").click().run()))
    (data,) = drawn(at, "classroom")
    assert data["teaches"] and address(at)["length"] == "10"


@pytest.mark.parametrize("bad", ["nowhere?x=1", "<b>", "lessons"])
def test_what_cannot_be_given_is_said(bad: str) -> None:
    at = page("lessons.py", {"give": bad})
    assert any("There is no page" in each for each in told(at))
    at = page("lessons.py", {"give": "memory?lenght=1"})
    assert any("This page has no “lenght”" in each for each in told(at))


def test_an_echo_of_the_step_that_was_left_does_not_lead_back(monkeypatch: pytest.MonkeyPatch) -> None:
    at = press(lesson("counting", 1), "Show me without a guess")
    old = address(at)
    at = press(at, "Next step")
    at.query_params.clear()
    for name, value in old.items():
        at.query_params[name] = value
    at = settled(calm(at.run()))
    assert address(at)["part"] == "2" and question(at)
    monkeypatch.setattr(lesson_card, "_ECHO", -1.0)
    at = settled(calm(at.run()))
    for name, value in old.items():
        at.query_params[name] = value
    at = settled(calm(at.run()))
    assert address(at)["part"] == "1", "the browser's back button is a wish"
