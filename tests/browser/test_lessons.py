"""A newcomer walks a lesson."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from explorer.lessons.lesson import Lesson, Step
from explorer.lessons.parse import read_lessons
from tests.browser.steps import wait_until_settled


def card(page: Page) -> Any:
    return page.locator(".st-key-lesson-card")


def predict(page: Page, step: Step, place: int) -> None:
    if place == 2:
        card(page).get_by_role("button", name="Show the answer").click()
        return
    if choices := step.question.choices:
        card(page).get_by_role("button", name=choices[place % len(choices)].text, exact=True).click()
        return
    card(page).get_by_role("slider").press("ArrowRight")
    card(page).get_by_role("button", name="That is my prediction").click()


def check_step(page: Page, lesson: Lesson, place: int) -> None:
    """Predict, and check what the step shows before and after."""
    step = lesson.steps[place - 1]
    expect(card(page).get_by_text(f"step {place} of {len(lesson.steps)}")).to_be_visible()
    expect(page.locator("[data-testid=stMain] h1")).to_be_visible()  # the page is there before the prediction, too
    expect(page.locator(":focus")).to_have_text(step.title)
    predict(page, step, place)
    verdict = card(page).locator(".answer .verdict")
    expect(verdict).to_have_text(re.compile("^(You said|You were right|Measured)"))
    expect(verdict).to_be_focused()
    expect(card(page).locator(".answer .why")).to_have_text(re.compile(r"^Why: .+\w"))
    expect(card(page).locator(".answer .opinion")).to_have_count(0)
    wait_until_settled(page)  # whoever reads the answer gives the page time


def test_a_newcomer_walks_a_lesson_with_the_keyboard_at_the_right_place(visit: Any) -> None:
    page = visit("/lessons")
    lesson = read_lessons()[0]
    progress = page.locator(f".st-key-lessons-progress-{lesson.name}")
    progress.get_by_role("button", name="Start").click()
    for place in range(1, len(lesson.steps) + 1):
        check_step(page, lesson, place)
        if place == 1:
            expect(page.locator(".st-key-page-section-negation-verdicts")).to_be_in_viewport()
            expect(card(page).locator(".st-key-lesson-try")).to_contain_text("Try it")
            sentence = page.get_by_label("Type a sentence")
            sentence.fill("human not consume nature")
            sentence.press("Enter")
            expect(card(page).locator(".st-key-lesson-try")).to_contain_text("Done")
        last = place == len(lesson.steps)
        card(page).get_by_role("button", name="Finish" if last else "Next step").click()
    expect(page.locator(":focus")).to_have_text("What this lesson has shown")
    wait_until_settled(page)
    expect(card(page).get_by_text("Not yet.")).to_be_visible()
    card(page).get_by_role("button", name="Back to all lessons").click()
    expect(progress.get_by_role("button")).to_have_text(re.compile("Done, again"))
    assert page.evaluate("name => JSON.parse(localStorage['lineage.lessons'])[name]", lesson.name) == [
        *range(1, len(lesson.steps) + 1)
    ]
