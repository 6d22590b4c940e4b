"""Sections whose event does not reach their page: they ask the server again instead of waiting forever."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.steps import wait_until_settled

# A click on a link to another page that is never opened, because the visitor does something else at the same moment.
CLICK_WITHOUT_EFFECT = """() => {
  const link = document.createElement("a");
  link.href = "/memory";
  link.onclick = (event) => event.preventDefault();
  document.body.append(link);
  link.click();
}"""


def wait_less(route: Any) -> None:
    """Shorten the time that the browser waits for the other page, and for a reaction of this one."""
    answer = route.fetch()
    text = answer.text().replace("OPENING = 10_000", "OPENING = 1_500").replace("REACTION = 3000", "REACTION = 300")
    route.fulfill(response=answer, body=text)


@pytest.mark.parametrize("lost", [{"status": 410}, {"status": 200, "json": {"rerun": True}}], ids=["gone", "rerun"])
def test_a_section_asks_again_if_the_page_does_not_react(visit: Any, profile: Any, lost: dict[str, Any]) -> None:
    profile.route(re.compile(r"/(runtime/mount|section/view)\.js"), wait_less)
    page = visit("/negation?language=words", ignored_errors=("410",))
    profile.unroute_all()
    page.route("**/results/*?shown=*", lambda route: route.fulfill(**lost), times=1)
    page.evaluate(CLICK_WITHOUT_EFFECT)
    field = page.get_by_label("Type a sentence")
    with page.expect_response(lambda response: "/results/" in response.url):
        field.fill("human not destroy nature")
        field.press("Enter")
    wait_until_settled(page)
