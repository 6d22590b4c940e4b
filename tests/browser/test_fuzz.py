"""A visitor who does random things on every page, in a wide window and on a phone; see `fuzzing.py`.

The summary of the tests prints the seed, which is another one each time; LINEAGE_FUZZ_SEED repeats it.
`python -m benchmarks.fuzz` does the same for longer.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.catalogue import PAGES
from tests.browser.conftest import clear
from tests.browser.fuzzing import AFTER_BACK, Fuzzer, differences
from tests.browser.steps import open_page, wait_for_url_params, wait_until_settled


@pytest.mark.parametrize("address", [row.address for row in PAGES])
def test_random_gestures_leave_no_page_blank_and_the_url_says_what_is_shown(
    profile: Any, server: str, home: Path, address: str
) -> None:
    seed = int(os.environ["LINEAGE_FUZZ_SEED"])
    fuzzer = Fuzzer(profile, server, home / "server.log", address, seed, patience=500)
    fuzzer.episode(15)
    clear(profile, server)
    # What a page shows after a quick Back now and then belongs to another address: the benchmark counts it.
    failures = [failure for failure in fuzzer.failures if failure.kind != AFTER_BACK]
    assert not failures, "\n".join(map(str, failures))


def test_a_sentence_that_cannot_be_read_shows_what_its_address_shows(visit: Any) -> None:
    page = visit("/?say=The+film+is+bad")
    answer = page.locator(".st-key-section-one-sentence [data-kind=finding]")
    expect(answer).to_contain_text("Six models say negative")
    page.get_by_label("Type any English sentence").first.fill("?!")
    page.get_by_label("Type any English sentence").first.press("Enter")
    wait_for_url_params(page, say="?!")
    wait_until_settled(page)
    shown = answer.inner_text()
    open_page(page, page.url)
    assert answer.inner_text() == shown


def test_differences_are_found_except_in_what_the_url_does_not_hold() -> None:
    shown = {"title": "A", "widgets": {"say": "a", "say 2": "b", "x-code": "1"}, "findings": {"one": ["It is 1."]}}
    same = {**shown, "widgets": {**shown["widgets"], "x-code": "2"}}
    assert differences(shown, same) == []
    assert len(differences(shown, {**same, "widgets": {"say": "a"}, "findings": {"one": ["It is 2."]}})) == 2
    assert len(differences(shown, {**shown, "title": "B"})) == 1
