"""Gates and states of one seed of a recurrent model over a sequence that the visitor may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_lowercase

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.model_variant import ModelVariant
from explorer.inspection import load_model
from explorer.inspection.recurrent import gates
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_flow import snapshot_steps
from explorer.labs.memory.state import MAX_SEQUENCE_LENGTH, MemoryState
from explorer.models.configs import TransformerRecallConfig
from explorer.tasks.recall import RecallConfig
from explorer.tokenization.words import Reading, fold_word, read_characters
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation, show_problems
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession, fragment
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.web.results import pack, register_arrays

HEIGHT = 620
_FRAGMENT = "memory-inside"


@dataclass(frozen=True, eq=False)
class GateActivity:
    """The gates of one seed while it reads a sequence, and the half-lives of the units of all seeds."""

    reading: gates.GateReading
    content: bytes  # the values, for the browser
    half_lives: Mapping[str, Float[ndarray, "replicas units"]]  # by title, the one that is looked into first


def section(session: PageSession[MemoryState], views: Mapping[str, RunView]) -> None:
    """Draw gates and states of one recurrent model. `views` are the run views of the page, by name of their variant."""
    explanation(
        "Rows: units, those with the longest half-life first; columns: symbols. Point at a unit, or use the arrow "
        "keys, to draw its values as a line."
    )
    variants = session.state.variants
    recurrent = {
        name: view
        for name, view in views.items()
        if name in variants and not isinstance(view.config.model, TransformerRecallConfig)
    }
    loaded = {name: view for name, view in recurrent.items() if view.loaded_run}
    if not loaded:
        untrained_panel(recurrent, "No recurrent network has a finished run: select one above and train it.", HEIGHT)
        return
    fragment(session, _FRAGMENT, lambda: _draw_gates(session, loaded, variants))


def selected_variant(state: MemoryState, loaded: Mapping[str, RunView]) -> str:
    """Return the selected variant; by default the first with open gates, else the first with gates."""
    if state.inside in loaded:
        return state.inside
    gated = [name for name, view in loaded.items() if view.config.model_name != "rnn"]
    return next((name for name in gated if name.endswith("chrono")), (gated or list(loaded))[0])


def selected_step(state: MemoryState, steps: list[int]) -> int:
    """Return the selected snapshot step, or the last one before it."""
    if state.at < 0:
        return steps[-1]
    return max((step for step in steps if step <= state.at), default=steps[0])


def _draw_gates(
    session: PageSession[MemoryState], loaded: Mapping[str, RunView], variants: Mapping[str, ModelVariant]
) -> None:
    name = selected_variant(session.state, loaded)
    view = loaded[name]
    assert view.loaded_run is not None
    steps = snapshot_steps(view.loaded_run)
    _draw_controls(session, loaded, variants, name, steps)
    state = session.state
    step, replica = selected_step(state, steps), min(state.replica, view.config.replicas - 1)
    others = {
        variants[other].title: each
        for other, each in loaded.items()
        if other != name and each.config.model_name == view.config.model_name != "rnn"
    }
    compared = tuple(each.cache_key for each in others.values())
    key = ("memory-gates", *view.cache_key, step, replica, state.say, compared)
    job = key, partial(_compute_gates, variants[name].title, view, step, replica, state.say, others)
    when = "before training" if step == 0 else "after training" if step == steps[-1] else f"after {step:,} steps"
    file = f"memory-gates-{name}-step-{step}-seed-{view.config.seeds[replica]}"
    draw = partial(_draw_activity, variants[name], view.config.task_as(RecallConfig).symbols, when, file)
    result_section("memory-gates", {"gates": job}, draw, "The network reads the sequence …", HEIGHT)


def _draw_controls(
    session: PageSession[MemoryState],
    loaded: Mapping[str, RunView],
    variants: Mapping[str, ModelVariant],
    name: str,
    steps: list[int],
) -> None:
    """Draw the controls for model, seed, training step and sequence."""
    state, seeds = session.state, loaded[name].config.seeds
    redraw = (_FRAGMENT,)
    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {one: variants[one].title for one in loaded}
        bind_widget(session, "inside", st.selectbox, shown=name, redraw=redraw, options=titles, width=240)
        bind_widget(
            session,
            "replica",
            st.selectbox,
            shown=min(state.replica, len(seeds) - 1),
            redraw=redraw,
            options=dict(enumerate(map(str, seeds))),
            width=110,
        )
        if len(steps) > 1:
            bind_widget(
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
        bind_widget(
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
        show_problems(filter(None, [_read_symbols(state.say, state.symbols).describe_unread("a random sequence")]))


def _read_symbols(say: str, symbols: int) -> Reading:
    """Return the symbols of a typed sequence, and what is not read of it."""
    return read_characters("".join(fold_word(say).split()), ascii_lowercase[:symbols], MAX_SEQUENCE_LENGTH)


def _sequence_ids(say: str, task: RecallConfig) -> tuple[int, ...]:
    """Return the ids of the symbols in the visitor's sequence, or of a random one."""
    typed = _read_symbols(say, task.symbols).text
    return gates.parse_symbols(typed or gates.random_sequence(task), task.symbols)[:MAX_SEQUENCE_LENGTH]


def _compute_gates(
    title: str, view: RunView, step: int, replica: int, say: str, others: Mapping[str, RunView]
) -> GateActivity:
    """Run one seed on a sequence, and compute the half-lives of all seeds. Raises InvalidSetting and DamagedRun.

    title: the title of the variant.
    step: the snapshot.
    replica: the seed that reads.
    say: the sequence; empty: a random one.
    others: run views of the same architecture, by title; their half-lives are compared.
    """
    assert view.loaded_run is not None
    model = load_model.load_model(view.loaded_run, step)
    reading = gates.read_gates(model, _sequence_ids(say, view.config.task_as(RecallConfig)), replica)
    arrays = {
        "values": np.stack([each.values for each in reading.traces]).astype(np.float32),
        "answers": reading.answers.astype(np.float32),
    }
    half_lives_by_title = {}
    if reading.half_lives is not None:
        arrays["lives"] = reading.half_lives.astype(np.float32)
        is_last_step = step == snapshot_steps(view.loaded_run)[-1]
        for name, each in {title: view, **others}.items():
            assert each.loaded_run is not None
            steps = snapshot_steps(each.loaded_run)
            own_step = steps[-1] if is_last_step else max(s for s in steps if s <= step)
            other_model = load_model.load_model(each.loaded_run, own_step)
            if gates.has_keep_gate(other_model):
                half_lives_by_title[name] = gates.half_lives(np.log(gates.mean_keep_rates(other_model)))
    return GateActivity(reading, pack(arrays), half_lives_by_title)


def _draw_activity(
    variant: ModelVariant,
    symbols: int,
    when: str,
    file: str,
    document: Document,
    results: Mapping[str, GateActivity],
) -> None:
    """Write the findings and the gates.

    symbols: the number of symbols of the task.
    when: the training step, in words.
    file: the name under which the visitor saves the figure.
    """
    activity = results["gates"]
    reading, letters = activity.reading, gates.ALPHABET[:symbols]
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
            "address": register_arrays(activity.content),
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
