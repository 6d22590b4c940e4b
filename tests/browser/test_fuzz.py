"""A visitor who does random things on every page and changes pages quickly; see `fuzzing.py`.

`python -m benchmarks.fuzz` does the same for longer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.fuzzing import Fuzzer, differences

pytestmark = pytest.mark.slow


def test_random_gestures_leave_no_page_blank_and_the_url_says_what_is_shown(
    browser: Any, server: str, home: Path
) -> None:
    context = browser.new_context()
    fuzzer = Fuzzer(context, server, home / "server.log", "negation", seed=0, patience=1_000)
    fuzzer.visit_pages(pages=5, gestures=2)
    fuzzer.check_state(browser.new_context)
    fuzzer.check_log()
    fuzzer.close()
    context.close()
    assert not fuzzer.failures, "\n".join(map(str, fuzzer.failures))


def test_differences_are_found_except_in_what_the_url_does_not_hold() -> None:
    shown = {"title": "A", "widgets": {"say": "a", "say 2": "b", "x-code": "1"}, "findings": {"one": ["It is 1."]}}
    same = {**shown, "widgets": {**shown["widgets"], "x-code": "2"}}
    assert differences(shown, same) == []
    assert len(differences(shown, {**same, "widgets": {"say": "a"}, "findings": {"one": ["It is 2."]}})) == 2
    assert len(differences(shown, {**shown, "title": "B"})) == 1
