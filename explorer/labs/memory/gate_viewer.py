"""Gates and states of one seed of a recurrent model over a sequence that the visitor may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from string import ascii_lowercase

import numpy as np
import streamlit as st

from explorer import ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.recurrent import gates
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.state import MAX_SEQUENCE_LENGTH, MemoryState
from explorer.models.configs import TransformerRecallConfig
from explorer.tokenization.words import Reading, fold_word, read_characters
from explorer.ui.state.session import fragment
from explorer.web.results import pack, register_arrays

HEIGHT = 620
_FRAGMENT = "memory-inside"


def section(session: ui.PageSession[MemoryState], views: Mapping[str, ui.RunView]) -> None:
    """Draw gates and states of one recurrent model."""
    ui.explanation(
        "Rows: units, those with the longest half-life first; columns: symbols. Point at a unit, or use the arrow "
        "keys, to draw its values as a line."
    )
    variants = session.state.variants
    recurrent = {
        name: view
        for name, view in views.items()
        if name in variants and not isinstance(view.config.model, TransformerRecallConfig)
    }
    sentence = "No recurrent network has a finished run: select one above and train it."
    if runs := ui.loaded_runs(recurrent, sentence, HEIGHT):
        fragment(session, _FRAGMENT, lambda: _draw_gates(session, runs, variants))


def selected_variant(state: MemoryState, runs: Mapping[str, ui.Run]) -> str:
    """Return the selected variant; by default the first with open gates, else the first with gates."""
    if state.inside in runs:
        return state.inside
    gated = [name for name, run in runs.items() if run.config.model_name != "rnn"]
    return next((name for name in gated if name.endswith("chrono")), (gated or list(runs))[0])


def selected_step(state: MemoryState, steps: list[int]) -> int:
    """Return the selected snapshot step, or the last one before it."""
    if state.at < 0:
        return steps[-1]
    return max((step for step in steps if step <= state.at), default=steps[0])


def _draw_gates(
    session: ui.PageSession[MemoryState], runs: Mapping[str, ui.Run], variants: Mapping[str, ModelVariant]
) -> None:
    name = selected_variant(session.state, runs)
    run = runs[name]
    steps = run.snapshot_steps()
    _draw_controls(session, runs, variants, name, steps)
    state = session.state
    step, replica = selected_step(state, steps), min(state.replica, run.config.replicas - 1)
    others = {each: other for each, other in runs.items() if other.config.model_name == run.config.model_name != "rnn"}
    compared = tuple((variants[each].title, other) for each, other in {name: run, **others}.items())
    letters = read_symbols(state.say, state.symbols).text
    when = "before training" if step == 0 else "after training" if step == steps[-1] else f"after {step:,} steps"
    ui.show(
        "memory-gates",
        ui.Call(gates.measure_gates, compared, step, replica, letters, MAX_SEQUENCE_LENGTH),
        gates_view,
        variants[name],
        state.symbols,
        when,
        f"memory-gates-{name}-step-{step}-seed-{run.config.seeds[replica]}",
        waiting="The network reads the sequence …",
        height=HEIGHT,
    )


def _draw_controls(
    session: ui.PageSession[MemoryState],
    runs: Mapping[str, ui.Run],
    variants: Mapping[str, ModelVariant],
    name: str,
    steps: list[int],
) -> None:
    state, seeds = session.state, runs[name].config.seeds
    redraw = (_FRAGMENT,)
    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {one: variants[one].title for one in runs}
        ui.bind_widget(session, "inside", st.selectbox, shown=name, redraw=redraw, options=titles, width=240)
        replica, options = min(state.replica, len(seeds) - 1), dict(enumerate(map(str, seeds)))
        ui.bind_widget(session, "replica", st.selectbox, shown=replica, redraw=redraw, options=options, width=110)
        if len(steps) > 1:
            ui.bind_widget(
                session,
                "at",
                st.select_slider,
                shown=selected_step(state, steps),
                update=lambda s, new: replace(s, at=-1 if new == steps[-1] else new),
                redraw=redraw,
                options={step: f"{step:,}" for step in steps},
                width=280,
            )
        letters = "a" if state.symbols == 1 else f"a to {chr(ord('a') + state.symbols - 1)}"
        ui.bind_widget(
            session,
            "say",
            st.text_input,
            update=lambda s, new: replace(s, say=new.strip()),
            redraw=redraw,
            label=f"Sequence of the letters {letters}",
            longest=MAX_SEQUENCE_LENGTH,
            placeholder="empty: a random sequence",
            width=330,
        )
    if state.say:
        ui.show_problems(filter(None, [read_symbols(state.say, state.symbols).describe_unread("a random sequence")]))


def read_symbols(say: str, symbols: int) -> Reading:
    """Return the symbols of a typed sequence, and what is not read of it."""
    return read_characters("".join(fold_word(say).split()), ascii_lowercase[:symbols], MAX_SEQUENCE_LENGTH)


def gates_view(
    document: ui.Document, activity: gates.GateActivity, variant: ModelVariant, symbols: int, when: str, file: str
) -> None:
    """Write the findings and the gates.

    symbols: the number of symbols of the task.
    when: the training step, in words.
    file: the name under which the visitor saves the figure.
    """
    reading, letters = activity.reading, gates.ALPHABET[:symbols]
    arrays = {"values": np.stack([each.values for each in reading.traces]), "answers": reading.answers}
    if reading.half_lives is not None:
        arrays["lives"] = reading.half_lives
    document.finding(findings.half_life_finding(activity.half_lives, when))
    last = reading.answers[-1]
    document.text(
        findings.answer_finding(
            variant.title,
            letters[reading.ids[0]],
            float(last[reading.ids[0]]),
            letters[int(last.argmax())],
            len(reading.ids),
            1 / len(letters),
        )
    )
    document.component(
        "gate_viewer",
        {
            "symbols": [letters[i] for i in reading.ids],
            "letters": list(letters),
            "parts": [{"title": each.title, "signed": each.signed} for each in reading.traces],
            "address": register_arrays(pack({name: each.astype(np.float32) for name, each in arrays.items()})),
            "colour": variant.colour,
            "title": variant.title,
            "file": file,
        },
        key="memory-gates-figure",
    )
    document.caption(
        "A unit’s half-life follows from the share f that its gate keeps at a step (LSTM: forget gate; GRU: update "
        "gate; geometric mean over the sequence): ln ½ / ln f. Median over all units of all seeds; the longest is "
        f"{findings.longest_half_life(next(iter(activity.half_lives.values())))}. A unit may also write again what its "
        "gate lets go."
        if activity.half_lives
        else "A plain RNN has no gates: its state is all that it has, and it is rewritten at every symbol."
    )
