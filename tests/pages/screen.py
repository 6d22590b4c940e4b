"""Open pages of the app with Streamlit's AppTest and read what they show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget, WidgetList
from streamlit.util import calc_hash

from explorer.catalogue import PAGES
from explorer.jobs.service import service
from explorer.labs.negation.state import NegationLab
from explorer.training.config import key
from explorer.ui.state.open_experiment import OpenExperiment
from explorer.ui.state.url_codec import read
from explorer.ui.state.widgets import original_key
from explorer.web import background, results
from tests.pages.typedefs import check_fields
from tests.waiting import wait_until

AnyWidget = TypeVar("AnyWidget", bound=Widget)
TEXT_KINDS = ("finding", "text", "markdown", "caption", "code", "problem", "empty")  # of blocks in a section
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


def open_page(file: str, params: Mapping[str, str] | None = None, visitor: str = "") -> AppTest:
    """Open a page, and wait until no section of Streamlit's own elements waits for a result."""
    return wait_until_ready(page(file, params, visitor))


def negation_page(params: Mapping[str, str] | None = None, visitor: str = "") -> AppTest:
    """Open the negation page in the language of six words, with these URL parameters."""
    return page("negation.py", {"language": "words", **(params or {})}, visitor)


def visit_url(at: AppTest, page: str, params: Mapping[str, str]) -> AppTest:
    """Go back or forward to a URL of the open page (its path); the component `address` reports it to the server."""
    at.query_params.clear()
    for name, value in params.items():
        at.query_params[name] = value
    search = f"?{urlencode(params)}" if params else ""
    at.session_state["address: visited"] = {"path": page, "search": search}
    return assert_no_errors(at.run())


def widget(widgets: WidgetList[AnyWidget], key: str) -> AnyWidget:
    """Return the widget with this key, whatever its version is (see `widgets.bind_widget`)."""
    found = [each for each in widgets if original_key(each.key or "") == key]
    assert len(found) == 1, f"{len(found)} widgets have the key {key}"
    return found[0]


def assert_no_errors(at: AppTest) -> AppTest:
    """Check that the page raised no exception and sent its components the data they declare, and return it."""
    assert [error.value for error in at.exception] == []
    _components(at)
    return at


def wait_until_ready(at: AppTest) -> AppTest:
    """Rerun the page until no section of Streamlit's own elements waits for a result any more."""
    while any(answer.get("rerun") for answer in section_answers(at)):
        wait(list(background.results().values()))
        at = assert_no_errors(at.run())
    return at


def _components(at: AppTest) -> list[tuple[str, dict[str, Any]]]:
    """Return name and data of the Streamlit components on the page, from top to bottom; each is checked."""
    found = []
    for element in at.get("bidi_component"):
        name, data = element.proto.component_name.removeprefix("lineage_"), json.loads(element.proto.json)
        check_fields(name, data)
        found.append((name, data))
    return found


def _section_answer(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a section shows, as the browser receives it when all results are computed."""
    section = results.find(data["address"].rpartition("/")[2])
    assert isinstance(section, results.Section), "the section is not registered"
    futures = section.submit()
    wait(futures.values())
    answer: dict[str, Any] = json.loads(json.dumps(section.draw(futures), allow_nan=False))
    for block in _flatten(answer.get("blocks", ())):
        if block["kind"] == "component":
            check_fields(block["name"], block["data"])
    return answer


def _draw_components(at: AppTest) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return name, data and, of a section, answer of each component; drawn once per run of the page."""
    drawn_tree, drawn = at.__dict__.get("drawn_components", (None, []))
    if drawn_tree is not at._tree:
        drawn = [(name, data, _section_answer(data) if name == "section" else {}) for name, data in _components(at)]
        at.__dict__["drawn_components"] = at._tree, drawn
    return drawn


def section_answers(at: AppTest) -> list[dict[str, Any]]:
    """Return what every section of the page shows, from top to bottom."""
    return [answer for name, _, answer in _draw_components(at) if name == "section"]


def _flatten(blocks: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["kind"] == "columns":
            yield from (inner for part in block["parts"] for inner in _flatten(part))
        else:
            yield block


def blocks(at: AppTest, *kinds: str) -> list[dict[str, Any]]:
    """Return the blocks of these kinds in all sections of the page, from top to bottom."""
    found = [block for answer in section_answers(at) for block in _flatten(answer.get("blocks", ()))]
    return [block for block in found if block["kind"] in kinds]


def component_data(at: AppTest, component: str) -> list[dict[str, Any]]:
    """Return the data of every component of this name, in and outside sections, from top to bottom."""
    found = []
    for name, data, answer in _draw_components(at):
        if name == component:
            found.append(data)
        found += [b["data"] for b in _flatten(answer.get("blocks", ())) if b.get("name") == component]
    return found


def findings(at: AppTest) -> list[str]:
    """Return the findings of the page: Streamlit's subheaders without Markdown escapes, and those of sections."""
    return [*map(_unescape, (one.value for one in at.subheader)), *(block["text"] for block in blocks(at, "finding"))]


def captions(at: AppTest) -> list[str]:
    """Return the captions of the page without Markdown escapes."""
    return [*map(_unescape, (one.value for one in at.caption)), *(block["text"] for block in blocks(at, "caption"))]


def texts(at: AppTest) -> list[str]:
    """Return the paragraphs of the page without Markdown escapes; Markdown in a section is HTML."""
    inside = [block.get("text") or without_links(block["html"]) for block in blocks(at, "text", "markdown", "empty")]
    return [*map(_unescape, (one.value for one in at.markdown)), *inside]


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", without_links(text))


def without_links(text: str) -> str:
    """Return a text (Markdown or HTML) without its links to the glossary."""
    return re.sub(r'\[([^]]*)\]\(#glossary-[^)]*\)|<a href="#glossary-[^"]*">(.*?)</a>', r"\1\2", text)


def plot_frame_figures(at: AppTest, file: str) -> list[dict[str, Any]]:
    """Return the figures of the plot frame with this file name."""
    return next(data["figures"] for data in component_data(at, "plot_frame") if data["file"] == file)


def table(at: AppTest, file: str) -> list[dict[str, Any]]:
    """Return the cells of each row of the table with this file name."""
    return next([row["cells"] for row in data["rows"]] for data in component_data(at, "table") if data["file"] == file)


def headings(at: AppTest) -> list[str]:
    """Return the headings of the page, the questions of its folds, and the findings."""
    parts = [_unescape(heading.value) for heading in (*at.header, *at.subheader)]
    parts += [fold.label for fold in at.expander]
    return [*parts, *(block["text"] for block in blocks(at, "finding"))]


def page_text(at: AppTest) -> str:
    """Return all text of the page."""
    parts = (*at.title, *at.header, *at.subheader, *at.markdown, *at.caption, *at.latex, *at.warning)
    inside = [block.get("text") or block.get("html") or "" for block in blocks(at, *TEXT_KINDS)]
    return without_links("\n".join([*(part.value for part in parts), *inside]))


def warnings_of(at: AppTest) -> list[str]:
    """Return the warnings of the page without Markdown escapes."""
    inside = [block["text"] for block in blocks(at, "problem")]
    return [*(_unescape(warning.value) for warning in at.warning), *inside]


def url_params(at: AppTest) -> dict[str, str]:
    """Return the URL parameters; AppTest returns a list for each one that the page has written."""
    params = at.query_params.items()
    return {name: value[0] if isinstance(value, list) else value for name, value in params}


def wait_for_keys(keys: Iterable[str], visitor: str = "") -> None:
    """Wait until the runs with these keys are trained; `visitor` is needed for runs on an own text."""
    keys = list(keys)
    wait_until(lambda: all((job := service.find(each, visitor)) and job.view().done for each in keys), 600)


def wait_for_training(at: AppTest, kind: type[OpenExperiment] = NegationLab, visitor: str = "") -> AppTest:
    """Wait until every job of the page has ended, and rerun the page."""
    lab, _ = read(kind, url_params(at))
    wait_for_keys(map(key, lab.configs.values()), visitor)
    return assert_no_errors(at.run())
