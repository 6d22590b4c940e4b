"""The search of the Runs page, its filters, the table of the tasks and the table of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from explorer import charts, ui
from explorer.catalogue import MODELS, TASKS
from explorer.labs.runs.descriptions import (
    describe_end,
    describe_measurement,
    display_name,
    find_score,
    format_age,
    generated_name,
)
from explorer.labs.runs.state import ROWS, WHOSE_TITLES, RunsState
from explorer.number_format import format_bytes, format_duration
from explorer.run_store import index
from explorer.run_store.index import Entry
from explorer.sweeps import stored
from explorer.sweeps.findings import describe_sweep
from explorer.ui.components.charts import draw_rows
from explorer.web.visitors import Visitor

_OTHERS = "others"  # the row of the table of tasks that opens the runs of other visitors
_OWN_SHOWN = 10  # of the visitor's runs above the table of tasks


def search_row(session: ui.PageSession[RunsState]) -> None:
    """Draw the search field and the filters, which are in a popover."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "text",
            st.text_input,
            update=lambda s, text: s.with_filter(text=text.strip()),
            placeholder="task, model, setting, tag, key",
            width=300,
        )
        count = session.state.filters
        with st.popover(f"Filters ({count})" if count else "Filters", icon=":material/filter_list:"):
            _filters(session)
        if session.state.lists_runs:
            st.button(
                "All tasks",
                icon=":material/arrow_back:",
                on_click=lambda: session.change(RunsState.without_filters),
                key="runs.all",
            )


def _filters(session: ui.PageSession[RunsState]) -> None:
    titles = {
        "tasks": {name: row.title for name, row in TASKS.items()},
        "models": {name: row.title for name, row in MODELS.items()},
        "tags": {tag: tag for tag in index.all_tags()},
    }

    def draw(name: str, widget: object, **more: object) -> None:
        ui.bind_widget(session, name, widget, update=lambda s, value: s.with_filter(**{name: value}), **more)  # type: ignore[arg-type]

    for name, options in titles.items():
        selected = [value for value in getattr(session.state, name) if value in options]
        if options:
            draw(name, st.multiselect, shown=selected, options=options, placeholder="all")
    if sweeps := {sweep.key: describe_sweep(sweep.sweep) for sweep in stored.newest()} | (
        {session.state.sweep: session.state.sweep} if session.state.sweep else {}
    ):
        draw("sweep", st.selectbox, options={"": "all", **sweeps})
    draw("when", st.selectbox)
    draw("whose", st.selectbox, options=WHOSE_TITLES)
    draw("others", st.toggle)


def overview(session: ui.PageSession[RunsState], entries: Sequence[Entry], visitor: Visitor) -> None:
    """Draw the visitor's newest runs, and the tasks of the included runs, each with the number of its runs."""
    state = session.state
    own = [entry for entry in entries if not entry.shipped and entry.owner == visitor.id]
    ticked = [entry for entry in entries if entry.key in state.runs and entry not in own[:_OWN_SHOWN]]
    if own or ticked:
        title = " and ".join(["your runs"] * bool(own) + ["selected runs"] * bool(ticked))
        st.header(ui.capitalize(title), anchor=False)
        _draw_runs(session, [*own[:_OWN_SHOWN], *ticked], entries, visitor)
        if len(own) > _OWN_SHOWN:
            st.button(
                f"All {len(own)} of your runs",
                on_click=lambda: session.change(lambda s: s.with_filter(whose="mine")),
                key="runs.mine",
            )
    st.header("Included runs, by task", anchor=False)
    _tasks_table(session, entries, visitor)


def _tasks_table(session: ui.PageSession[RunsState], entries: Sequence[Entry], visitor: Visitor) -> None:
    counts = Counter(entry.task for entry in entries if entry.shipped)
    counted = {name: (row.title, counts[name]) for name, row in TASKS.items() if counts[name]}
    if others := sum(not entry.shipped and entry.owner != visitor.id for entry in entries):
        counted[_OTHERS] = "Of other visitors", others
    rows = {name: {"title": title, "runs": f"{n:,}"} for name, (title, n) in counted.items()}
    columns = {
        "title": charts.Column("task", "open", wrap=True),
        "runs": charts.Column("runs", "number"),
    }
    table = charts.Table(columns, list(rows.values()), "Tasks with their number of runs", keys=list(rows))
    shown = draw_rows(table, "runs-tasks")
    if shown.opened:
        change: dict[str, Any] = {"others": True} if shown.opened == _OTHERS else {"tasks": (shown.opened,)}
        session.change(lambda s: s.with_filter(**change))
        st.rerun()


def runs_section(session: ui.PageSession[RunsState], entries: Sequence[Entry], visitor: Visitor) -> None:
    """Draw the runs that match, 50 at a time: the visitor's own first, then by task."""
    state = session.state
    pages = -(-len(entries) // ROWS)
    page = min(state.page, pages)
    first = (page - 1) * ROWS
    rows = sort_entries(entries, state.column, visitor)[first : first + ROWS]
    _draw_runs(session, rows, entries, visitor)
    if pages == 1:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        following = f"Next {min(ROWS, len(entries) - first - ROWS)}" if page < pages else "Next"
        for label, number, icon in (
            (f"Previous {ROWS}", page - 1, ":material/chevron_left:"),
            (following, page + 1, ":material/chevron_right:"),
        ):
            st.button(
                label,
                icon=icon,
                disabled=not 1 <= number <= pages,
                on_click=lambda number=number: session.change(lambda s: replace(s, page=number)),
                key=f"runs.page.{'previous' if number < page else 'next'}",
            )
        ui.caption(f"Runs {first + 1:,} to {first + len(rows):,} of {len(entries):,}")


def _draw_runs(
    session: ui.PageSession[RunsState], shown: Sequence[Entry], entries: Sequence[Entry], visitor: Visitor
) -> None:
    """Draw a row for each shown run. A click on its name opens it, a tick selects it.

    `entries` are all runs that match: those of them that are selected stay so although their rows are not shown.
    """
    state = session.state
    with_task = len({entry.task for entry in shown}) > 1
    known = {entry.key for entry in entries}
    columns = {
        "title": charts.Column("run", "open", sort=True, wrap=True),
        "accuracy": charts.Column("score", "strip", sort=True, wrap=True),
        "seconds": charts.Column("trained in", "number", sort=True, minor=True),
        "when": charts.Column("when", sort=True, minor=True),
        "tags": charts.Column("tags", "tags", minor=True),
        "bytes": charts.Column("size", "number", sort=True, minor=True),
        "owner": charts.Column("owner", sort=True, minor=True),
    }
    table = charts.Table(
        columns,
        [_row(entry, visitor, with_task) for entry in shown],
        "Runs on this server",
        "Score: the median over the seeds, and a dot for each seed. Most frequent class, unigram: the score without "
        "reading the input. The fewer bits per byte, the better, on the same held-out text. Losses are in nats; those "
        "of different tokens cannot be compared, so they are not sorted.",
        keys=[entry.key for entry in shown],
    )
    chosen = [run for run in state.runs if run in known]
    drawn = draw_rows(table, "runs-table", chosen=chosen, sort=state.column or None)
    session.state = replace(state, runs=drawn.chosen, sort=drawn.sort or "-created", run=drawn.opened or state.run)
    if session.state.column != state.column:
        st.rerun()  # other runs may be the first ones now


def sort_entries(entries: Sequence[Entry], sort: str, visitor: Visitor) -> list[Entry]:
    """Return runs in the order of a column of the table, those without a value last; by default own runs first."""
    if not sort:
        tasks = list(TASKS)
        included = sorted((e for e in entries if e.shipped), key=lambda e: (tasks.index(e.task), _natural(e)))
        return [*(e for e in entries if not e.shipped and e.owner == visitor.id),
                *(e for e in entries if not e.shipped and e.owner != visitor.id), *included]  # fmt: skip
    key = sort.removeprefix("-")
    values: list[tuple[Any, Entry]] = [(_sort_value(entry, key, visitor), entry) for entry in entries]
    known = [pair for pair in values if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    return [entry for _, entry in (*known, *(pair for pair in values if pair[0] is None))]


def _sort_value(entry: Entry, key: str, visitor: Visitor) -> object:
    return {
        "title": tuple(_natural(entry)),
        "accuracy": find_score(entry).order,
        "seconds": entry.seconds,
        "when": entry.created.timestamp(),
        "bytes": entry.bytes,
        "owner": _owner(entry, visitor),
    }.get(key)


def _natural(entry: Entry) -> list[tuple[int, float, str]]:
    """Return a key that sorts names by their numbers, not by their digits."""
    parts = re.split(r"(\d+(?:\.\d+)?)", display_name(entry).casefold())
    return [(0, float(part), "") if i % 2 else (1, 0.0, part) for i, part in enumerate(parts)]


def _owner(entry: Entry, visitor: Visitor) -> str:
    if entry.shipped:
        return "included"
    owner = "yours" if entry.owner == visitor.id else "a visitor's" if entry.owner else "the operator's"
    return f"{owner}, pinned" if entry.pinned else owner


def _row(entry: Entry, visitor: Visitor, with_task: bool) -> charts.Row:
    score = find_score(entry)
    name = entry.folder if entry.shipped else entry.key
    generated = generated_name(entry) if entry.name else ""
    detail = ", ".join(part for part in (generated, describe_end(entry), name) if part)
    return {
        "title": charts.Cell(display_name(entry, with_task=with_task), MODELS[entry.model].colour, detail=detail),
        "accuracy": charts.Cell(
            score.text,
            values=[round(value, 4) for value in score.values],
            detail=describe_measurement(entry),
            sort="" if score.order is None else score.order,
        ),
        "seconds": charts.Cell(format_duration(entry.seconds), sort=entry.seconds),
        "when": charts.Cell(format_age(entry.created), sort=entry.created.timestamp()),
        "tags": charts.Cell("", tags=entry.tags),
        "bytes": charts.Cell(format_bytes(entry.bytes), sort=entry.bytes),
        "owner": _owner(entry, visitor),
    }
