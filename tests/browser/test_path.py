"""The way through the pages: the marks in the menu, the link to the next page, and what this browser remembers."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from explorer.catalogue import next_page
from tests.browser.steps import wait_until_settled

MARK = "link => getComputedStyle(link, '::after').content"
VISITED = '"✓" / ", visited"'


def test_the_menu_marks_the_open_and_the_visited_pages_until_they_are_forgotten(visit: Any) -> None:
    page = visit("/memory", 390, 844)
    page.locator(".st-key-next-page a").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(next_page("memory").question)
    wait_until_settled(page)
    page.get_by_role("button", name="Menu", exact=True).click()
    links = page.get_by_test_id("stSidebarNavLink")
    expect(links.and_(page.locator("[aria-current=page]"))).to_have_text("Gates")

    def read_marks() -> list[str]:
        return [link.inner_text() for link in links.all() if link.evaluate(MARK) == VISITED]

    assert read_marks() == ["Memory", "Gates"]
    links.filter(has_text="Lessons").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Lessons: predict first, then see what was measured")
    page.get_by_role("button", name="Menu", exact=True).click()  # the menu has closed
    page.reload()
    wait_until_settled(page)
    page.get_by_role("button", name="Menu", exact=True).click()
    assert read_marks() == ["Lessons", "Memory", "Gates"]
    page.get_by_role("button", name="Collapse sidebar").click()
    page.get_by_role("button", name="Forget visited pages and lessons").click()
    page.get_by_role("button", name="Menu", exact=True).click()
    assert read_marks() == []
