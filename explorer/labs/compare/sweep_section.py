"""The search for good settings: a form that starts sweeps, their progress, their picture and their result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

import streamlit as st

from explorer import charts, ui
from explorer.catalogue import model_row
from explorer.errors import LineageError
from explorer.jobs.service import service
from explorer.labs.compare.state import Comparison
from explorer.labs.compare.sweep_choices import (
    MOST_SETTINGS,
    MOST_SWEEPS,
    chosen_models,
    chosen_space,
    chosen_sweeps,
    possible_models,
    searchable_settings,
    with_settings_searched,
    with_task,
    with_values,
)
from explorer.number_format import format_duration
from explorer.sweeps import stored
from explorer.sweeps.controller import Plan, TrialStatus
from explorer.sweeps.driver import check_limits, estimated_seconds, look_at, sweep_driver
from explorer.sweeps.findings import (
    describe_state,
    describe_sweep,
    estimate_sentence,
    format_measured,
    progress_sentence,
    result_details,
    result_finding,
    rule_sentences,
)
from explorer.sweeps.picture import describe_figure, picked_trial, sweep_chart
from explorer.sweeps.results import ranked
from explorer.sweeps.space import Sweep
from explorer.sweeps.stored import StoredSweep
from explorer.ui.state.session import open_page
from explorer.ui.state.visitor import count_action, current_visitor
from explorer.web import rate_limits

_NAME, _FIGURE, _TABLE = "sweeps", "sweep-figure", "sweep-trials"
_HEIGHT = 640  # pixels of the results, before they have arrived
_SECONDS = 1.0  # between two requests while a sweep runs
_INTERRUPTED = {  # what a visitor does with a search that is not finished
    "running": "",
    "stopped": "It was stopped; “Continue” trains the rest.",
    "finished": "Runs of it were deleted; “Search” with the same settings trains them again.",
}
_ROWS = 6  # of the table; the runs page lists all
_VALUES = {  # how they are written
    "grid": "Separate values by commas: every combination is a trial, a run that is stored.",
    "random": "Separate values by commas, or give a range: 0.0001:0.1, or 0.0001:0.1:log to draw on a logarithmic "
    "scale. Each trial, a run that is stored, draws a value of each setting.",
}


def sweep_section(session: ui.PageSession[Comparison]) -> None:
    """Draw the form, the searches that are shown, and their results."""
    ui.explanation(f"Choose models, settings and their values. {_VALUES[session.state.sweep_search]}")
    _draw_form(session)
    _draw_estimate(session.state)
    found, problems = _find_sweeps(session.state.sweeps)
    _draw_buttons(session, found)
    _draw_choice(session, found)
    ui.show_problems([*problems, *(sweep.problem for sweep in found if sweep.problem)])
    if found:
        _draw_results(found)


def _draw_form(session: ui.PageSession[Comparison]) -> None:
    state = session.state
    models = chosen_models(state)
    settings = searchable_settings(state.sweep_task, models)
    space = chosen_space(state)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "sweep_task", st.selectbox, update=with_task, width=200)
        ui.bind_widget(
            session,
            "sweep_models",
            st.multiselect,
            shown=list(models),
            options=possible_models(state.sweep_task),
            max_selections=MOST_SWEEPS,
            width=320,
        )
        ui.bind_widget(
            session,
            "sweep_settings",
            st.multiselect,
            shown=list(space),
            update=with_settings_searched,
            label="Settings to search",
            options=settings,
            max_selections=MOST_SETTINGS,
            width=320,
        )
        ui.bind_widget(session, "sweep_seeds", st.number_input, step=1, width=110)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, values in space.items():
            ui.bind_widget(
                session,
                f"sweep_values.{name}",
                st.text_input,
                shown=values,
                update=partial(with_values, name),
                label=f"{settings[name]}: values",
                max_chars=100,
                width=240,
            )
        ui.bind_widget(session, "sweep_search", st.segmented_control)
        if state.sweep_search == "random":
            ui.bind_widget(session, "sweep_trials", st.number_input, step=1, width=110)
        ui.bind_widget(session, "sweep_halving", st.toggle)


def _draw_estimate(state: Comparison) -> None:
    """Draw how long the search takes, or why it is not possible."""
    form = {each.name: getattr(state, each.name) for each in fields(state) if each.name.startswith("sweep_")}
    call = ui.Call(_estimate, Comparison(**form))  # without what has no effect on the estimate
    ui.show("sweep.estimate", call, estimate_view, waiting="Estimating", height=60)


def _estimate(state: Comparison) -> tuple[str, str]:
    """Return how long each search takes, and the rule of all. Raises InvalidSetting."""
    sweeps = chosen_sweeps(state).values()
    estimates = [
        f"{sweep.base.title}: {estimate_sentence(check_limits(sweep), estimated_seconds(sweep))}" for sweep in sweeps
    ]
    return " ".join(estimates), rule_sentences(*sweeps)


def estimate_view(document: ui.Document, sentences: tuple[str, str]) -> None:
    """Write each sentence as a paragraph."""
    for sentence in sentences:
        document.text(sentence)


def _find_sweeps(keys: Sequence[str]) -> tuple[list[StoredSweep], list[str]]:
    """Return the sweeps of these keys, and a sentence for each that is not here."""
    found, problems = [], []
    for key in keys[:MOST_SWEEPS]:
        try:
            found.append(stored.find(key))
        except LineageError as error:
            problems.append(str(error))
    return found, problems


def _draw_buttons(session: ui.PageSession[Comparison], found: Sequence[StoredSweep]) -> None:
    me = current_visitor()
    mine = [sweep for sweep in found if sweep.state == "running" and (me.operator or sweep.owner == me.id)]
    stopped = [sweep for sweep in found if sweep.state == "stopped"]
    with st.container(horizontal=True):
        st.button("Search", icon=":material/manage_search:", key="sweep.start", on_click=_start, args=(session,))
        if mine:
            st.button("Stop", icon=":material/stop:", key="sweep.stop", on_click=_stop, args=(session, mine))
        if stopped:
            st.button(
                "Continue",
                icon=":material/play_arrow:",
                key="sweep.continue",
                on_click=_continue,
                args=(session, [sweep.sweep for sweep in stopped]),
            )


def _start(session: ui.PageSession[Comparison]) -> None:
    """Start a sweep for each chosen model, and show these."""

    def start() -> None:
        sweeps = list(chosen_sweeps(session.state).values())
        _carry_out(sweeps)
        session.state = replace(session.state, sweeps=tuple(sweep.key for sweep in sweeps))

    session.attempt(start)


def _continue(session: ui.PageSession[Comparison], sweeps: Sequence[Sweep]) -> None:
    session.attempt(partial(_carry_out, sweeps))


def _carry_out(sweeps: Sequence[Sweep]) -> None:
    """Start sweeps, or continue them. Raises LineageError, and then starts none, if a run is too large."""
    for sweep in sweeps:
        check_limits(sweep)
    count_action(rate_limits.SWEEPS)
    for sweep in sweeps:
        stored.start(sweep, current_visitor().id)
    sweep_driver.wake()


def _stop(session: ui.PageSession[Comparison], sweeps: Sequence[StoredSweep]) -> None:
    me = current_visitor()

    def stop() -> None:
        for sweep in sweeps:
            stored.stop(sweep.key, me.id, me.operator)
        sweep_driver.wake()

    session.attempt(stop)


def _draw_choice(session: ui.PageSession[Comparison], found: Sequence[StoredSweep]) -> None:
    every = {sweep.key: describe_sweep(sweep.sweep) for sweep in (*found, *stored.newest())}
    if every:
        ui.bind_widget(
            session,
            "sweeps",
            st.multiselect,
            shown=[sweep.key for sweep in found],
            options=every,
            max_selections=MOST_SWEEPS,
            placeholder="Choose an earlier search",
        )


def _draw_results(found: Sequence[StoredSweep]) -> None:
    running = any(sweep.state == "running" for sweep in found)
    visitor = current_visitor().id
    sweeps = {sweep.key: sweep.sweep for sweep in found}

    def open_trial() -> None:
        picked = ui.pop_event(_FIGURE, "pick")
        opened = [event for key in sweeps if isinstance(event := ui.pop_event(_table_key(key), "open"), str)]
        run = opened[0] if opened else ""
        if isinstance(picked, dict) and (sweep := sweeps.get(str(picked.get("figure")))):
            place = picked.get("x"), picked.get("y")
            if all(isinstance(number, int | float) and math.isfinite(number) for number in place):
                status = picked_trial(sweep, look_at(sweep, service, visitor), float(place[0]), float(place[1]))  # type: ignore[arg-type]
                run = (status.run.curves is not None and status.trial.key) or "" if status else ""
        if run:
            open_page("runs", {"run": run})

    ui.live_section(
        _NAME,
        partial(_write_results, list(sweeps.values()), visitor),
        _HEIGHT,
        events={_FIGURE: ("pick",)} | {_table_key(key): ("open",) for key in sweeps},
        apply_events=open_trial,
        has_begun=lambda: running,
    )
    for sweep in found:
        st.page_link(
            "runs.py",
            label=f"All runs of this search ({sweep.sweep.base.title})",
            query_params={"sweep": sweep.key},
            icon=":material/list:",
        )


def _table_key(sweep_key: str) -> str:
    return f"{_TABLE}.{sweep_key}"


def _write_results(sweeps: Sequence[Sweep], visitor: str, document: ui.Document) -> float | None:
    """Write the finding, the picture and the best trials of each sweep; return the seconds until the next ones."""
    states = [stored.find(sweep.key).state for sweep in sweeps]  # before the runs: these have then ended as well
    plans = [look_at(sweep, service, visitor) for sweep in sweeps]
    for sweep, plan, state in zip(sweeps, plans, states, strict=True):
        sentence = result_finding(sweep, plan)
        title = f"{sweep.base.title}: " if len(sweeps) > 1 else ""
        document.finding(title + (sentence[:1].lower() + sentence[1:] if title else sentence))
        note = "" if plan.finished else _INTERRUPTED[state]
        document.text(result_details(sweep, plan) or f"{progress_sentence(sweep, plan)} {note}".strip())
    panels = [
        ui.Panel(
            sweep.key,
            sweep_chart(sweep, plan),
            title=sweep.base.title,
            colour=model_row(sweep.base.model).colour,
            pickable=True,
        )
        for sweep, plan in zip(sweeps, plans, strict=True)
    ]
    document.figures(_FIGURE, panels, height=340, narrow_height=300, columns=min(len(panels), 2))
    document.caption(" ".join(dict.fromkeys(describe_figure(sweep) for sweep in sweeps)))
    for sweep, plan in zip(sweeps, plans, strict=True):
        _write_table(document, sweep, plan)
    training = any(status.run.state == "running" for plan in plans for status in (*plan.trials, *plan.finalists))
    return _SECONDS if training or "running" in states else None


def _write_table(document: ui.Document, sweep: Sweep, plan: Plan) -> None:
    """Write the best trials, a row for each; a click opens its run."""
    metric, key = sweep.metric.replace("_", " "), _table_key(sweep.key)
    confirmed = {status.trial.number: status.mean for status in plan.finalists if status.state == "finished"}
    order = ranked(sweep, plan)
    columns = {
        "trial": charts.Column("settings", "open", wrap=True),
        "mean": charts.Column(metric, "number"),
        "spread": charts.Column("over seeds", "number", minor=True),
        "confirmed": charts.Column("with new seeds", "number"),
        "state": charts.Column("trained", minor=True),
        "seconds": charts.Column("time", "number", minor=True),
    }
    rows = [_row(sweep, status, confirmed) for status in order[:_ROWS]]
    more = f" {len(order) - _ROWS} more trials are not listed." if len(order) > _ROWS else ""
    caption = f"Mean {metric} over the seeds, with its range.{more}"
    keys = [status.trial.key for status in order[:_ROWS]]
    document.table(key, charts.Table(columns, rows, f"The best settings of the {sweep.base.title}", caption, keys))


def _row(sweep: Sweep, status: TrialStatus, confirmed: Mapping[int, float]) -> dict[str, str]:
    known, number = math.isfinite(status.mean), status.trial.number
    words = describe_state(sweep, status).replace("finished", "to the end")
    return {
        "trial": status.trial.label,
        "mean": format_measured(status.mean) if known else "–",
        "spread": f"{format_measured(status.values.min())} to {format_measured(status.values.max())}" if known else "",
        "confirmed": format_measured(confirmed[number]) if number in confirmed else "",
        "state": f"{words}, step {status.step:,}" if status.step and "step" not in words else words,
        "seconds": format_duration(status.run.seconds) if status.run.seconds else "",
    }
