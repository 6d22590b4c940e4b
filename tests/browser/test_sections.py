"""Sections whose event does not reach their page: they ask the server again instead of waiting forever."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.steps import placeholders

# A click on a link to another page that is never opened, because the visitor does something else at the same moment.
CLICK_WITHOUT_EFFECT = """() => {
  const link = document.createElement("a");
  link.href = "/memory";
  link.onclick = (event) => event.preventDefault();
  document.body.append(link);
  link.click();
}"""


@pytest.mark.parametrize("lost", [{"status": 410}, {"status": 200, "json": {"rerun": True}}], ids=["gone", "rerun"])
def test_a_section_asks_again_if_the_page_does_not_react(visit: Any, lost: dict[str, Any]) -> None:
    page = visit("/negation", ignored_errors=("410",))
    expect(placeholders(page)).to_have_count(0)
    page.route("**/results/*?shown=*", lambda route: route.fulfill(**lost), times=1)
    page.evaluate(CLICK_WITHOUT_EFFECT)
    field = page.get_by_label("Type a sentence")
    with page.expect_response(lambda response: "/results/" in response.url):
        field.fill("human not destroy nature")
        field.press("Enter")
    expect(placeholders(page)).to_have_count(0, timeout=60_000)
