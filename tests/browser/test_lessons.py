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
    scale = step.question.scale
    if scale is None:
        card(page).get_by_text(step.question.choices[place % len(step.question.choices)].text, exact=True).click()
    else:
        field = card(page).get_by_role("spinbutton")
        field.fill(f"{scale.low + scale.step:g}")
        field.press("Tab")
    card(page).get_by_role("button", name="That is my prediction").click()


def check_step(page: Page, lesson: Lesson, place: int) -> None:
    """Predict, and check what the step shows before and after."""
    step = lesson.steps[place - 1]
    expect(card(page).get_by_text(f"step {place} of {len(lesson.steps)}")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text([step.title])  # the page would give the answer away
    expect(page.locator(":focus")).to_have_text(step.title)
    predict(page, step, place)
    verdict = card(page).locator(".answer .verdict")
    expect(verdict).to_have_text(re.compile("^(You said|You were right|Measured)"))
    expect(verdict).to_be_focused()
    expect(card(page).locator(".answer .why")).to_have_text(re.compile(r"^Why: .+\w"))
    expect(card(page).locator(".answer .opinion")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).not_to_have_text(step.title)
    wait_until_settled(page)  # whoever reads the answer gives the page time


def test_a_newcomer_walks_a_lesson_with_the_keyboard_at_the_right_place(visit: Any) -> None:
    page = visit("/lessons")
    lesson = read_lessons()[0]
    start = page.locator(f".st-key-lessons-start-{lesson.name}").get_by_role("button", name="Start")
    start.click()
    for place in range(1, len(lesson.steps) + 1):
        check_step(page, lesson, place)
        if place == 1:
            card(page).get_by_role("button", name="Show the figure").click()
            marked = page.locator("[data-lineage-marked]")
            expect(marked).to_be_in_viewport()
            expect(marked).to_be_focused()
            card(page).get_by_role("button", name="Back to the answer").click()
            expect(card(page).locator(".answer .verdict")).to_be_focused()
        last = place == len(lesson.steps)
        card(page).get_by_role("button", name="Finish" if last else "Next step").click()
    expect(page.locator(":focus")).to_have_text("What this lesson has shown")
    wait_until_settled(page)
    card(page).get_by_role("button", name="Check what I have changed").click()
    expect(card(page).get_by_text("Not yet.")).to_be_visible()
    card(page).get_by_role("button", name="Back to all lessons").click()
    progress = page.locator(".lineage-lesson-progress").first
    expect(progress).to_have_text(re.compile("All steps done"))
    assert page.evaluate("name => JSON.parse(localStorage['lineage.lessons'])[name]", lesson.name) == [
        *range(1, len(lesson.steps) + 1)
    ]
