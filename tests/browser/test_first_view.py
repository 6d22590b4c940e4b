"""The benchmark of the first view: what counts as a picture and as a complete page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.first_view import WATCH
from tests.browser.steps import NEXT_FRAMES

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
    """Return what the benchmark finds within two frames on a page with these elements, which need not stay complete."""
    page.set_content(PAGE.format(state=state, parts=parts))
    page.evaluate(WATCH.replace("SETTLED = 1000, EVERY = 50", "SETTLED = 0, EVERY = 0"))
    page.evaluate(NEXT_FRAMES)
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
    found = watch(page, '<div class="lineage lineage-section">' + COMPONENT.format(content) + "</div>")
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
