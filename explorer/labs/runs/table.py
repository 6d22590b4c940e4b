"""The table of the Runs page and its filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from explorer.catalogue import MODELS, TASKS
from explorer.labs.runs.descriptions import (
    describe_end,
    describe_measurement,
    describe_settings,
    display_name,
    format_age,
    format_result,
)
from explorer.labs.runs.state import RunsState
from explorer.number_format import format_bytes, format_duration
from explorer.run_store import index
from explorer.run_store.index import Entry
from explorer.ui.components.table import draw_table
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.web.visitors import Visitor


def filters_row(session: PageSession[RunsState]) -> None:
    """Draw the filters above the table."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(
            session,
            "text",
            st.text_input,
            update=lambda s, text: replace(s, text=text.strip()),
            placeholder="a name, a tag, a key",
            width=210,
        )
        titles = {
            "models": {name: row.title for name, row in MODELS.items()},
            "tasks": {name: row.title for name, row in TASKS.items()},
            "tags": {tag: tag for tag in index.all_tags()},
        }
        for name, options in titles.items():
            selected = [value for value in getattr(session.state, name) if value in options]
            if options:
                bind_widget(
                    session, name, st.multiselect, shown=selected, options=options, placeholder="all", width=210
                )
        bind_widget(session, "when", st.selectbox, width=150)
        bind_widget(session, "whose", st.selectbox, width=150)


def runs_table(session: PageSession[RunsState], entries: Sequence[Entry], visitor: Visitor) -> None:
    """Draw a row for each run. A click on its name opens it, a tick selects it."""
    state = session.state
    shown = draw_table(
        [
            {"key": "title", "label": "run", "kind": "open", "align": "left", "sort": True},
            {"key": "settings", "label": "settings", "kind": "brief", "align": "left"},
            {"key": "accuracy", "label": "accuracy, or loss", "kind": "strip", "align": "left", "sort": True},
            {"key": "seconds", "label": "trained in", "kind": "number", "align": "right", "sort": True},
            {"key": "created", "label": "when", "kind": "text", "align": "left", "sort": True},
            {"key": "tags", "label": "tags", "kind": "tags", "align": "left"},
            {"key": "bytes", "label": "size", "kind": "number", "align": "right", "sort": True},
            {"key": "owner", "label": "whose", "kind": "text", "align": "left", "sort": True},
        ],
        [_row(entry, visitor) for entry in entries],
        key="runs-table",
        label="Runs kept on this server",
        caption="Accuracy on negation: every sentence of the grammar, weighted by its probability; on recall: of 256 "
        "fresh sequences; of a translation: exact match on fresh sources; a dot for each seed. Loss of a language "
        "model: nats a token over everything held out. Losses of different tokens or contexts are not comparable, so "
        "only accuracies are sorted.",
        chosen=[run for run in state.runs if any(entry.key == run for entry in entries)],
        sort=state.sort,
    )
    session.state = replace(state, runs=shown.chosen, sort=shown.sort or "-created", run=shown.opened or state.run)


def _row(entry: Entry, visitor: Visitor) -> dict[str, object]:
    accuracies = index.accuracy(entry.metrics).get("values", [])
    dots = [round(value, 4) for value in accuracies if value is not None]
    seeds = f"{entry.replicas} seeds" if entry.replicas > 1 else f"seed {entry.seed}"
    name = entry.folder if entry.shipped else entry.key
    detail = ", ".join(part for part in (entry.title if entry.name else "", seeds, describe_end(entry), name) if part)
    mean = entry.accuracy
    owner = "yours" if entry.owner == visitor.id else "a visitor's" if entry.owner else "the operator's"
    owner = "ships" if entry.shipped else owner
    return {
        "key": entry.key,
        "cells": {
            "title": {"text": display_name(entry), "colour": MODELS[entry.model].colour, "detail": detail},
            "settings": {"text": describe_settings(entry)},
            "accuracy": {
                "text": format_result(entry),
                "detail": describe_measurement(entry),
                "values": dots,
                "sort": "" if mean is None else mean,
            },
            "seconds": {"text": format_duration(entry.seconds), "sort": entry.seconds},
            "created": {"text": format_age(entry.created), "sort": entry.created.timestamp()},
            "tags": {"tags": list(entry.tags)},
            "bytes": {"text": format_bytes(entry.bytes), "sort": entry.bytes},
            "owner": {"text": f"{owner}{', pinned' if entry.pinned else ''}"},
        },
    }
