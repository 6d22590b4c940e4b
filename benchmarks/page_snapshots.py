"""What every page shows, as text, to compare two states of the program: elements, sections, figures and addresses.

    python -m benchmarks.page_snapshots record FILE [--pages NAMES]     with LINEAGE_HOME on an empty folder
    python -m benchmarks.page_snapshots compare FILE FILE

Each page is opened as it is, with every section unfolded, and at the address of each step of a lesson. Every result is
waited for; a section that draws with some of its results is also drawn with the first one. Estimates of time and what
plotly ignores are left out. Both files have to be recorded on the same machine.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Annotated, Any

import typer
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

from explorer.catalogue import PAGES
from explorer.web import background, results
from explorer.web.lesson_results import all_lessons
from tests.pages import screen

app = typer.Typer(add_completion=False)
_OMITTED = re.compile(r"\d[\d.,]* (s|min|h|ms)\b")  # durations
_HIDDEN_KEYS = {"address", "page_run", "version", "hoverinfo", "template", "folder"}


def addresses(pages: set[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the page and the URL parameters of each snapshot."""
    for row in PAGES:
        if pages and row.address not in pages:
            continue
        yield row.address, {}
        folds = [str(fold.proto.id).rpartition("fold.")[2] for fold in _open(row.address, {}).expander]
        if folds := [name for name in folds if name]:
            yield row.address, {"unfold": ",".join(folds)}
    for lesson in all_lessons().values():
        for step in lesson.steps:
            if not pages or step.page in pages:
                yield step.page, dict(step.state)


def record_page(address: str, params: Mapping[str, str]) -> list[str]:
    """Return what a page shows, a line for each number and text."""
    at = _open(address, params)
    lines = [f"url: {sorted(screen.url_params(at).items())}"]
    for element in _elements(at.main):
        lines += _element_lines(element)
    return [_OMITTED.sub("…", line) for line in lines]


def _open(address: str, params: Mapping[str, str]) -> AppTest:
    file = next(row.file for row in PAGES if row.address == address)
    return screen.open_page(file, params, "snapshot")


def _elements(block: Block) -> Iterator[Element | Block]:
    for child in block.children.values():
        if not isinstance(child, Block) or child.type == "expander":
            yield child
        if isinstance(child, Block):
            yield from _elements(child)


def _element_lines(element: Any) -> Iterator[str]:
    if element.type != "bidi_component":
        label, value = getattr(element, "label", ""), getattr(element, "value", "")
        yield f"{element.type}: {label!r} {value!r}"
        return
    name, data = element.proto.component_name.removeprefix("lineage_"), json.loads(element.proto.json)
    yield from _lines(name, data)
    section = results.find(str(data.get("address", "")).rpartition("/")[2]) if name == "section" else None
    if isinstance(section, results.Section):
        futures = section.submit()
        wait(futures.values())
        yield from _lines("content", section.draw(futures))
        if section.partly and len(futures) > 1:
            yield from _lines("first", section.draw(dict([*futures.items()][:1])))


def _lines(path: str, value: Any) -> Iterator[str]:
    """Yield one line for each text, number or list of numbers of a JSON value."""
    if isinstance(value, Mapping):
        if "tickvals" in value:
            value = {key: each for key, each in value.items() if key not in ("nticks", "tickmode")}
        for key in sorted(value, key=str):
            if key not in _HIDDEN_KEYS and value[key] not in (None, "", [], {}, False):
                yield from _lines(f"{path}.{key}", value[key])
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        for i, each in enumerate(value):
            yield from _lines(f"{path}.{i}", each)
    else:
        numbers = (
            [float(f"{each:.4g}") if isinstance(each, float | int) else each for each in value]
            if isinstance(value, list | tuple)
            else value
        )
        yield f"{path}: {json.dumps(numbers, ensure_ascii=False, default=str)}"


@app.command()
def record(
    file: Annotated[Path, typer.Argument()],
    pages: Annotated[str, typer.Option(help="URL paths, with commas; empty for all")] = "",
) -> None:
    """Write the snapshots of all addresses to a file."""
    found = {}
    for address, params in addresses(set(filter(None, pages.split(",")))):
        name = f"{address}?{'&'.join(f'{key}={value}' for key, value in params.items())}"
        found[name] = record_page(address, params)
        background.reset()
        print(f"{len(found[name]):7,} lines  {name[:120]}", flush=True)
    file.write_text(json.dumps(found, ensure_ascii=False, indent=0), "utf-8")


@app.command()
def compare(before: Path, after: Path) -> None:
    """Print the lines that differ, by address."""
    first, second = (json.loads(file.read_text("utf-8")) for file in (before, after))
    for name in [*first, *(name for name in second if name not in first)]:
        changed = [
            line[:240]
            for line in difflib.unified_diff(first.get(name, []), second.get(name, []), n=0, lineterm="")
            if not line.startswith(("---", "+++", "@@"))
        ]
        if changed:
            print(f"== {name}", *changed, sep="\n")


if __name__ == "__main__":
    app()
