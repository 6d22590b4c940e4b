"""Open pages of the app with Streamlit's AppTest and read what they show."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from explorer.catalogue import PAGES
from explorer.jobs.scheduler import service
from explorer.labs.negation.state import NegationLab
from explorer.training.config import RunConfig, key
from explorer.ui.state.experiment_state import ExperimentState, read
from explorer.web import background

MAP = Path(__file__).parents[2] / "pages" / "navigation.py"


def home_page() -> AppTest:
    return assert_no_errors(AppTest.from_file(MAP, default_timeout=600).run())


def page(file: str, params: Mapping[str, str] | None = None, visitor: str = "") -> AppTest:
    """Open a page with these URL parameters, for a visitor of this id."""
    at = AppTest.from_file(MAP, default_timeout=600)
    # `switch_page` would take the page's path for a file name before the first run.
    at._page_hash = calc_hash(next(row.address for row in PAGES if row.file == file))
    if visitor:
        at.session_state["lineage.visitor"] = visitor
    for name, value in (params or {}).items():
        at.query_params[name] = value
    return assert_no_errors(at.run())


def negation_page(params: Mapping[str, str] | None = None, visitor: str = "") -> AppTest:
    """Open the negation page with these URL parameters."""
    return page("negation.py", params, visitor)


def assert_no_errors(at: AppTest) -> AppTest:
    """Check that the page raised no exception, and return it."""
    assert [error.value for error in at.exception] == []
    return at


def wait_until_ready(at: AppTest) -> AppTest:
    """Rerun the page until no section shows a placeholder any more."""
    while any(part.value.endswith("…") for part in at.markdown):
        wait(list(background.results().values()))
        at = assert_no_errors(at.run())
    return at


def component_data(at: AppTest, component: str) -> list[dict[str, Any]]:
    """Return the data of every component of this name, from top to bottom."""
    protos = [element.proto for element in at.get("bidi_component")]
    return [json.loads(proto.json) for proto in protos if proto.component_name == f"lineage_{component}"]


def plot_frame_figures(at: AppTest, file: str) -> list[dict[str, Any]]:
    """Return the figures of the plot frame with this file name."""
    return next(data["figures"] for data in component_data(at, "plot_frame") if data["file"] == file)


def table(at: AppTest, file: str) -> list[dict[str, Any]]:
    """Return the cells of each row of the table with this file name."""
    return next([row["cells"] for row in data["rows"]] for data in component_data(at, "table") if data["file"] == file)


def headings(at: AppTest) -> list[str]:
    return [heading.value for heading in (*at.header, *at.subheader)]


def page_text(at: AppTest) -> str:
    """Return all text of the page."""
    parts = (*at.title, *at.header, *at.subheader, *at.markdown, *at.caption, *at.latex, *at.warning)
    return "\n".join(part.value for part in parts)


def warnings_of(at: AppTest) -> list[str]:
    """Return the warnings of the page without Markdown escapes."""
    return [re.sub(r"\\(.)", r"\1", warning.value) for warning in at.warning]


def url_params(at: AppTest) -> dict[str, str]:
    """Return the URL parameters; AppTest returns a list for each one that the page has written."""
    params = at.query_params.items()
    return {name: value[0] if isinstance(value, list) else value for name, value in params}


def wait_for_runs(configs: Iterable[RunConfig], visitor: str = "") -> None:
    """Wait until these runs are trained; `visitor` is needed for runs on an own text."""
    keys = [key(config) for config in configs]
    deadline = time.monotonic() + 600
    while not all((job := service.find(each, visitor)) and job.view().done for each in keys):
        assert time.monotonic() < deadline, "the training did not end within ten minutes"
        time.sleep(0.02)


def wait_for_training(at: AppTest, kind: type[ExperimentState] = NegationLab, visitor: str = "") -> AppTest:
    """Wait until every job of the page has ended, and rerun the page."""
    lab, _ = read(kind, url_params(at))
    wait_for_runs(lab.configs.values(), visitor)
    return assert_no_errors(at.run())
