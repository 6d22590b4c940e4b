"""The benchmark of the first view: what counts as a picture and as a complete page, and a measurement of one page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.__main__ import list_benchmarks
from benchmarks.first_view import WATCH
from tests.serving import ROOT

PAGE = '<div data-testid="stApp" data-test-script-state="{state}"><div data-testid="stMain">{parts}</div></div>'
DRAWING = '<svg width="300" height="100"><rect width="200" height="50"/></svg>'
COMPONENT = '<div class="lineage lineage-masks">{}</div>'
TABLE = "<table><thead><tr><th>model</th></tr></thead><tbody>{}</tbody></table>"
FIGURE = '<svg class="main-svg" width="300" height="100">{}</svg>'
TRACE = '<g class="overplot"><g class="trace"><path d="M0 0L99 99"/></g></g>'
AXIS = '<g class="xaxislayer-above"><path d="M0 0L99 9"/></g>'
PLACEHOLDER = '<div data-testid="stMarkdown">The model is reading …</div>'


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    yield page
    page.close()


def watch(page: Any, parts: str, state: str = "notRunning") -> dict[str, Any]:
    """Return what the benchmark finds within 1.5 seconds on a page with these elements."""
    page.set_content(PAGE.format(state=state, parts=parts))
    page.evaluate(WATCH)
    page.wait_for_timeout(1500)
    return page.evaluate("window.firstView")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "content",
    [
        DRAWING,
        FIGURE.format(AXIS + TRACE),
        TABLE.format("<tr><td>RNN</td></tr>"),
        '<canvas width="90" height="90"></canvas><script>document.querySelector("canvas").getContext("2d")'
        ".fillRect(0, 0, 50, 50)</script>",
    ],
)
def test_a_drawing_and_a_row_are_a_picture(page: Any, content: str) -> None:
    watch(page, '<div class="lineage lineage-section">' + COMPONENT.format(content) + "</div>")
    found = page.wait_for_function("() => window.firstView.complete && window.firstView").json_value()
    assert found["shown"] == "masks"
    assert found["picture"] <= found["complete"]


@pytest.mark.parametrize(
    "parts",
    [
        DRAWING,  # Streamlit's own
        '<div class="lineage lineage-jobs-panel">' + DRAWING + "</div>",
        COMPONENT.format(FIGURE.format(AXIS)),
        COMPONENT.format('<canvas width="90" height="90"></canvas>'),
        COMPONENT.format(TABLE.format("<tr><td>The model is reading …</td></tr>")),
        COMPONENT.format(TABLE.format("")),
        COMPONENT.format('<svg width="16" height="16"><rect width="9" height="9"/></svg>'),
        '<div style="height: 3000px"></div>' + COMPONENT.format(DRAWING),
        '<div style="opacity: 0">' + COMPONENT.format(DRAWING) + "</div>",
        '<div aria-busy="true">' + COMPONENT.format(DRAWING) + "</div>",
        '<div class="lineage-outdated">' + COMPONENT.format(DRAWING) + "</div>",
    ],
)
def test_what_waits_is_empty_or_out_of_sight_is_no_picture(page: Any, parts: str) -> None:
    found = watch(page, parts)
    assert (found["picture"], found["complete"]) == (None, None)


@pytest.mark.parametrize(
    ("rest", "state"),
    [
        (PLACEHOLDER, "notRunning"),
        (COMPONENT.format(""), "notRunning"),
        ('<div data-testid="stSkeleton"></div>', "notRunning"),
        ('<div aria-busy="true"></div>', "notRunning"),
        ("", "running"),
    ],
)
def test_a_page_of_which_a_part_waits_is_not_complete(page: Any, rest: str, state: str) -> None:
    found = watch(page, COMPONENT.format(DRAWING) + rest, state)
    assert found["picture"] is not None
    assert found["complete"] is None


@pytest.mark.slow
def test_the_benchmark_is_listed_and_measures_a_page(browser: Any) -> None:
    assert "benchmarks.first_view" in list_benchmarks()
    command = [sys.executable, "-m", "benchmarks.first_view", "--pages", "home", "--repeat", "1"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    (row,) = re.findall(r"^home +(.*)$", process.stdout, re.MULTILINE)
    *seconds, visits, _, component = row.split()
    assert len(seconds) == 5
    assert all(0 < float(each) < 60 for each in seconds)
    assert visits == "1"
    assert component in ("home-timeline", "verdicts")
