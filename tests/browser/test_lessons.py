"""A newcomer walks every lesson; a class of two and its teacher go through a question together."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from explorer.lessons.lesson import Step
from explorer.lessons.parse import read_lessons
from tests.browser.steps import RETRIES, origin, wait_until_idle

pytestmark = pytest.mark.slow

# How far the page is wider than the window.
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def card(page: Page) -> Any:
    return page.locator(".st-key-lesson-card")


def predict(page: Page, step: Step, place: int) -> None:
    """As a newcomer does: sometimes right, sometimes not, sometimes without a guess."""
    if place == 2:
        card(page).get_by_role("button", name="Show me without a guess").click()
        return
    scale = step.question.scale
    if scale is None:
        card(page).get_by_text(step.question.choices[place % len(step.question.choices)].text, exact=True).click()
    else:
        field = card(page).get_by_role("spinbutton")
        field.fill(f"{scale.low + scale.step:g}")
        field.press("Tab")
    card(page).get_by_role("button", name="That is my prediction").click()


def test_a_newcomer_walks_every_lesson(visit: Any) -> None:
    page = visit("/lessons")
    for lesson in read_lessons():
        page.locator(f".st-key-lessons-start-{lesson.name}").get_by_role("button", name="Start").click()
        for place, step in enumerate(lesson.steps, start=1):
            expect(card(page).get_by_text(f"step {place} of {len(lesson.steps)}")).to_be_visible()
            expect(page.get_by_role("heading", level=1)).to_have_text(
                [step.title]
            )  # the page would give the answer away
            predict(page, step, place)
            expect(card(page).locator(".answer .verdict")).to_have_text(
                re.compile("^Measured: .* You (said|did not)|So you")
            )
            expect(card(page).locator(".answer .why")).to_have_text(re.compile(r"^Why: .+\w"))
            expect(card(page).locator(".answer .opinion")).to_have_count(0)
            expect(page.get_by_role("heading", level=1)).not_to_have_text(step.title)
            wait_until_idle(page)  # whoever reads the answer gives the page time
            last = place == len(lesson.steps)
            card(page).get_by_role("button", name="That was the last step" if last else "Next step").click()
        expect(page.get_by_role("heading", name="What do you expect, and what is it really?")).to_be_visible()


def test_a_class_predicts_and_sees_the_answer_together(visit: Any) -> None:
    teacher = visit("/memory?who=rnn-usual&lesson=gradients&part=1")
    teacher.get_by_role("button", name="Give it to a class").click()
    teacher.wait_for_url(re.compile("class=[A-Z]{5}"))
    code = teacher.url.split("class=")[1][:5]
    board = teacher.locator(".lineage-classroom")
    expect(board.get_by_role("img", name=re.compile(f"QR code of .*class={code}")).first).to_be_visible()
    teacher.reload()
    expect(board.get_by_role("button", name="Show the answer to all")).to_be_enabled()  # still the teacher

    ada = visit(f"/?class={code}", 390, 844)
    bob = visit("/lessons", 390, 844, "dark")
    bob.get_by_label("Join a class").fill(code.lower())
    bob.get_by_role("button", name="Join").click()
    for student, answer in ((ada, "Less than a billionth"), (bob, "A thousandth to a tenth")):
        expect(student.locator(".lineage-classroom legend")).to_be_visible()
        expect(student.get_by_role("heading", level=1)).to_have_text(["The way back"])
        student.get_by_label(answer).check()
        student.get_by_role("button", name="Send my prediction").click()
        expect(student.locator(".say").first).to_have_text(re.compile("^Your prediction has arrived"))
        assert student.evaluate(WIDER) <= 0
    expect(board.locator(".say").first).to_have_text("2 of 2 have answered")
    expect(board.locator(".bars .one b")).to_have_text(["0", "1", "0", "1"])
    bob.get_by_label("A billionth to a thousandth").check()
    bob.get_by_role("button", name="Change my prediction").click()
    expect(board.locator(".bars .one b")).to_have_text(["0", "0", "1", "1"])

    ada.reload()
    expect(ada.get_by_role("button", name="Change my prediction")).to_be_visible()
    expect(ada.get_by_label("Less than a billionth")).to_be_checked()

    board.get_by_role("button", name="Show the answer to all").click()
    bob.wait_for_function("() => document.querySelector('.answer .verdict')")
    bob.reload()  # the prediction is still shown beside the answer
    for page, words in (
        (ada, "So you said"),
        (bob, "You said “A billionth to a thousandth” instead"),
        (teacher, "8 seeds)."),
    ):
        expect(page.locator(".answer .verdict")).to_contain_text(words)
        expect(page.get_by_role("heading", name="How long does a net remember?")).to_be_visible()
    for page in (teacher, ada, bob):
        wait_until_idle(page)
    board.get_by_role("button", name="Next step").click()
    for page in (teacher, ada, bob):
        expect(page.get_by_role("heading", level=1)).to_have_text(["Fifty terms"])
    reveal = f"{origin(ada)}/class/{code}/reveal"
    refused = ada.request.post(reveal, data={"number": 2}, headers={"X-Lineage": "1"}, max_retries=RETRIES)
    assert refused.status == 403
    ada.get_by_role("spinbutton").fill("3")
    ada.get_by_role("button", name="Send my prediction").click()
    expect(board.locator(".say").first).to_have_text("1 of 2 have answered")
    bob.route("**/answer", lambda route: route.fulfill(json={"problem": "This answer came too late."}))
    bob.get_by_role("spinbutton").fill("4")
    bob.get_by_role("button", name="Send my prediction").click()
    expect(bob.locator(".say").first).to_have_text("This answer came too late.")
    bob.wait_for_timeout(2_500)  # the page polls each second
    expect(bob.locator(".say").first).to_have_text("This answer came too late.")

    wait_until_idle(teacher)
    board.get_by_role("button", name="End the class").click()
    board.get_by_role("button", name="End it, and forget all answers?").click()
    for page in (teacher, ada, bob):
        expect(page.get_by_text("The class has ended")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_a_page_is_given_without_some_of_its_controls(visit: Any) -> None:
    teacher = visit("/negation?models=bag_of_words,rnn")
    teacher.get_by_role("button", name="Give this page to a class").click()
    expect(teacher.get_by_role("heading", name="For your class: Negation")).to_be_visible()
    wait_until_idle(teacher)
    controls = teacher.get_by_role("combobox", name="Hide these controls from the class")
    controls.press("ArrowDown")
    controls.fill("Type a sent")  # the list shows a few at a time
    teacher.get_by_role("option", name="Type a sentence").click()
    teacher.keyboard.press("Tab")
    expect(teacher.locator("[data-tag]")).to_have_count(1)
    wait_until_idle(teacher)
    teacher.get_by_role("button", name="Begin the class").click()
    teacher.wait_for_url(re.compile("class=[A-Z]{5}"))
    expect(teacher.locator(".st-key-say")).to_be_visible()
    student = visit(f"/?class={teacher.url.split('class=')[1][:5]}")
    expect(student.get_by_role("heading", level=1)).to_contain_text("sum of word weights")
    expect(student.locator(".st-key-say")).to_be_attached()
    expect(student.get_by_label("Type a sentence")).to_be_hidden()
