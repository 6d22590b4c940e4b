"""Gates and states of one seed of a recurrent model over a sequence that the visitor may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting
from explorer.experiments.recall import RecallVariant
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_flow import show_missing_runs, snapshot_steps
from explorer.labs.memory.state import MAX_SEQUENCE_LENGTH, MemoryState
from explorer.models.configs import TransformerRecallConfig
from explorer.tasks.recall import RecallConfig
from explorer.ui.components.base import register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import empty_panel, escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession, bind_widget, fragment
from explorer.ui.training.run_view import RunView
from explorer.web import array_store

if TYPE_CHECKING:
    from explorer.inspection.recurrent.gates import GateReading

HEIGHT = 620
_FRAGMENT = "memory-inside"
_gates = register("gate_viewer")


@dataclass(frozen=True, eq=False)
class GateActivity:
    """The gates of one seed while it reads a sequence, and the half-lives of the units of all seeds."""

    reading: GateReading
    content: bytes  # the values, for the browser
    half_lives: Mapping[str, Float[ndarray, "replicas units"]]  # by title, the one that is looked into first


def section(session: PageSession[MemoryState], views: Mapping[str, RunView]) -> None:
    """Draw gates and states of one recurrent model. `views` are the run views of the page, by name of their variant."""
    st.header("Inside: gates and states", anchor=False)
    explanation(
        "Each row is a unit, each column a symbol. At the top stand the units that hold on longest. Point at one, and "
        "its line is drawn below; arrow keys move."
    )
    variants = session.state.variants
    recurrent = {
        name: view
        for name, view in views.items()
        if name in variants and not isinstance(view.config.model, TransformerRecallConfig)
    }
    show_missing_runs(recurrent, variants)
    loaded = {name: view for name, view in recurrent.items() if view.loaded_run}
    if not loaded:
        empty_panel("No recurrent net with a run to look into: choose one above and train it.", HEIGHT)
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
    session: PageSession[MemoryState], loaded: Mapping[str, RunView], variants: Mapping[str, RecallVariant]
) -> None:
    name = selected_variant(session.state, loaded)
    view = loaded[name]
    assert view.loaded_run is not None
    steps = snapshot_steps(view.loaded_run)
    _draw_controls(session, loaded, variants, name, steps)
    state = session.state
    step, replica = selected_step(state, steps), min(state.replica, view.config.replicas - 1)
    try:
        ids = _sequence_ids(state.say, view.config.task_as(RecallConfig))
    except InvalidSetting as error:
        show_problems([str(error)])
        return
    others = {
        variants[other].title: each
        for other, each in loaded.items()
        if other != name and each.config.model_name == view.config.model_name != "rnn"
    }
    key = ("memory-gates", *view.cache_key, step, replica, ids, tuple(each.cache_key for each in others.values()))
    results = {name: (key, partial(_compute_gates, variants[name].title, view, step, replica, ids, others))}

    def draw(results: Mapping[str, GateActivity], outdated: frozenset[str]) -> None:
        activity = next(iter(results.values()))
        if name in results:
            _show_activity(activity, variants[name], view, step, replica)

    show_latest("memory-gates", lambda: results, draw, "The net reads the sequence …", HEIGHT)


def _draw_controls(
    session: PageSession[MemoryState],
    loaded: Mapping[str, RunView],
    variants: Mapping[str, RecallVariant],
    name: str,
    steps: list[int],
) -> None:
    """Draw the controls for model, seed, training step and sequence."""
    state, seeds = session.state, loaded[name].config.seeds
    redraw = (_FRAGMENT,)
    with st.container(horizontal=True, vertical_alignment="top"):
        st.selectbox(
            "Model",
            list(loaded),
            format_func=lambda one: variants[one].title,
            width=240,
            **bind_widget(session, "memory.inside", name, lambda s, new: replace(s, inside=new), redraw),
        )
        st.selectbox(
            "Seed",
            list(range(len(seeds))),
            format_func=lambda one: f"{seeds[one]}",
            width=110,
            **bind_widget(
                session,
                "memory.replica",
                min(state.replica, len(seeds) - 1),
                lambda s, new: replace(s, replica=new),
                redraw,
            ),
        )
        if len(steps) > 1:
            st.select_slider(
                "Training step",
                steps,
                format_func=lambda one: f"{one:,}",
                width=280,
                **bind_widget(
                    session,
                    "memory.at",
                    selected_step(state, steps),
                    lambda s, new: replace(s, at=-1 if new == steps[-1] else new),
                    redraw,
                ),
            )
        letters = "a" if state.symbols == 1 else f"a to {chr(ord('a') + state.symbols - 1)}"
        st.text_input(
            f"Sequence, of the letters {letters}",
            placeholder="empty: one is drawn",
            max_chars=MAX_SEQUENCE_LENGTH,
            width=330,
            **bind_widget(session, "memory.say", state.say, lambda s, new: replace(s, say=new.strip()), redraw),
        )


def _sequence_ids(say: str, task: RecallConfig) -> tuple[int, ...]:
    """Return the ids of the visitor's sequence, or of a random one. Raises InvalidSetting."""
    from explorer.inspection.recurrent.gates import parse_symbols, random_sequence

    ids = parse_symbols(say, task.symbols) or parse_symbols(random_sequence(task), task.symbols)
    return ids[:MAX_SEQUENCE_LENGTH]


def _compute_gates(
    title: str, view: RunView, step: int, replica: int, ids: tuple[int, ...], others: Mapping[str, RunView]
) -> GateActivity:
    """Run one seed on a sequence, and compute the half-lives of all seeds. Raises DamagedRun.

    title: the title of the variant.
    step: the snapshot.
    replica: the seed that reads.
    ids: the sequence.
    others: run views of the same architecture, by title; their half-lives are compared.
    """
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.gates import half_lives, has_keep_gate, mean_keep_rates, read_gates

    assert view.loaded_run is not None
    model = load_model(view.loaded_run, step)
    reading = read_gates(model, ids, replica)
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
            other_model = load_model(each.loaded_run, own_step)
            if has_keep_gate(other_model):
                half_lives_by_title[name] = half_lives(np.log(mean_keep_rates(other_model)))
    return GateActivity(reading, array_store.pack(arrays), half_lives_by_title)


def _show_activity(activity: GateActivity, variant: RecallVariant, view: RunView, step: int, replica: int) -> None:
    from explorer.inspection.recurrent.gates import ALPHABET

    reading = activity.reading
    letters = ALPHABET[: view.config.task_as(RecallConfig).symbols]
    assert view.loaded_run is not None
    is_last_step = step == snapshot_steps(view.loaded_run)[-1]
    when = "before training" if step == 0 else "after training" if is_last_step else f"after {step:,} steps"
    st.subheader(escape_markdown(findings.half_life_finding(activity.half_lives, when)), anchor=False)
    last = reading.answers[-1]
    st.markdown(
        escape_markdown(
            findings.answer_finding(
                variant.title,
                letters[reading.ids[0]],
                float(last[reading.ids[0]]),
                letters[int(last.argmax())],
                len(reading.ids),
                1 / len(letters),
            )
        )
    )
    _gates(
        data={
            "symbols": [letters[i] for i in reading.ids],
            "letters": list(letters),
            "parts": [{"title": each.title, "signed": each.signed} for each in reading.traces],
            "address": array_store.register_array(activity.content),
            "colour": MODELS[variant.model].colour,
            "title": variant.title,
            "file": f"memory-gates-{variant.name}-step-{step}-seed-{view.config.seeds[replica]}",
        },
        key="memory-gates-figure",
    )
    st.caption(
        "A unit’s half-life follows from the share f that it keeps at a step (the LSTM’s forget gate, the GRU’s update "
        "gate, a geometric mean over the sequence): ln ½ / ln f. The sentence above is about all units of all seeds. A "
        "short half-life need not mean forgetting: what a gate lets go, the candidate may write again. The gradient "
        "above counts both ways."
        if reading.half_lives is not None
        else "A plain RNN has no gates to show: its state is all there is, and it is rewritten at every symbol."
    )
