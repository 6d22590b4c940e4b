"""Where the heads of one seed attend on the row, over training, and with changed heads."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeAlias, Union, get_args, get_type_hints

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import ui
from explorer.inspection.attention import attend, head_ablation
from explorer.inspection.transformer import induction
from explorer.inspection.words import labelling
from explorer.labs.induction import findings
from explorer.labs.induction.row_input import finished_runs
from explorer.labs.induction.state import MAX_CHARACTERS, InductionState
from explorer.model.run_model import RunModel
from explorer.models.configs import TransformerTaggerConfig
from explorer.tasks.sequence_labelling.induction import LETTERS, InductionConfig
from explorer.ui.training.model_input import clamp_heads, parse_head_event, parse_heads, parse_heads_event
from explorer.web.background import submit
from explorer.web.results import Content, Section, pack, register, register_arrays

_KEY = "induction-heads-component"
_EVENTS = ("open", "asked", "scale", "sort", "view", "step", "touch", "kind")
_OPTIONS = {name: get_args(get_type_hints(InductionState)[name]) for name in ("scale", "sort", "view")}
_MIN_SNAPSHOTS = 3  # fewer do not make a slider


@dataclass(frozen=True, eq=False)
class HeadReading:
    """The attention of one seed on a row, and the scores of its heads."""

    ids: tuple[int, ...]
    symbols: str
    content: bytes  # the packed attention weights, for the browser
    probability: tuple[float, float]  # mean of the symbols that follow as before: with the changes, and unchanged
    repeated: int  # how many symbols follow as before


Result: TypeAlias = Union[HeadReading, "induction.HeadMeasurements"]


def heads_section(session: ui.PageSession[InductionState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the choice of a model and a seed, and the attention of its heads."""
    ui.explanation(
        "A previous-token head attends to the token before: its matrix has a line one below the diagonal. An induction "
        "head attends, in the second copy, to the token after the earlier occurrence."
    )
    runs = finished_runs(views)
    if not runs:
        return
    state = session.state
    name = state.shown_model if state.shown_model in runs else next(iter(runs))
    run = runs[name]
    titles = {each: state.variants[each].title for each in runs}
    seeds = {i: f"seed {seed}" for i, seed in enumerate(run.config.seeds)}
    replica = min(state.replica, len(seeds) - 1)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        update = InductionState.with_model
        ui.bind_widget(session, "look", st.segmented_control, shown=name, update=update, options=titles)
        update_seed = InductionState.with_replica
        ui.bind_widget(session, "replica", st.selectbox, shown=replica, update=update_seed, options=seeds, width=120)
    stored_model = RunModel(run, run.key, f"{titles[name]}, seed {run.config.seeds[replica]}")
    shown = _normalize(state, stored_model, replica)
    changes = shown.off, shown.flat, shown.unplaced
    calls: dict[str, ui.Call[Result]] = {
        "reading": ui.Call(_read_heads, stored_model, replica, shown.step, shown.text, *changes),
        "scores": ui.Call(induction.measure_heads, run),
    }
    ui.show_each(
        "induction-heads",
        calls,
        heads_view,
        shown,
        stored_model,
        ui.tab_token("induction-snapshots"),
        waiting="The model reads the row …",
        height=640,
        events={_KEY: _EVENTS},
        on_event=lambda: _apply_events(session, stored_model),
    )


def _size(stored_model: RunModel) -> tuple[int, int]:
    model = stored_model.config.model
    assert isinstance(model, TransformerTaggerConfig)
    return model.layers, model.heads


def _normalize(state: InductionState, stored_model: RunModel, replica: int) -> InductionState:
    """Return the state with heads, a step and a seed that the model has."""
    layers, heads = _size(stored_model)
    fits = state.layer is not None and state.head is not None and state.layer < layers and state.head < heads
    return replace(
        state,
        replica=replica,
        step=state.step if state.step in stored_model.steps else None,
        layer=state.layer if fits else None,
        head=state.head if fits else None,
        off=clamp_heads(state.off, layers, heads),
        flat=clamp_heads(state.flat, layers, heads),
        unplaced=state.unplaced and _has_positions(stored_model),
    )


def _has_positions(stored_model: RunModel) -> bool:
    return getattr(stored_model.config.model, "positions", "none") != "none"


def _parse_row(stored_model: RunModel, text: str) -> labelling.TypedRow:
    return labelling.parse_row(stored_model.config.task_as(InductionConfig), text)


def _read_heads(
    stored_model: RunModel,
    replica: int,
    step: int | None,
    text: str,
    off: tuple[str, ...],
    flat: tuple[str, ...],
    unplaced: bool,
) -> HeadReading:
    """Run one seed on the row after a training step, with changed heads (see `InductionState`). Raises LineageError."""
    ablation = head_ablation.Ablation(parse_heads(off), parse_heads(flat), no_positions=unplaced)
    row, model = _parse_row(stored_model, text), stored_model.module(replica, step)
    unchanged = attend.attend(model, row.ids)
    changed = attend.attend(model, row.ids, ablation) if off or flat or unplaced else unchanged
    known = [t for t, id in enumerate(row.ids[1:]) if row.targets[t] == id]
    right = [row.ids[t + 1] for t in known]
    changed_mean, unchanged_mean = (
        float(np.exp(found.log_probabilities[known, right]).mean()) if known else 0.0 for found in (changed, unchanged)
    )
    symbols = "".join(LETTERS[id] for id in row.ids)
    content = pack({"weights": attend.pack_weights(changed.weights, stored_model.is_causal)})
    return HeadReading(row.ids, symbols, content, (changed_mean, unchanged_mean), len(known))


def heads_view(
    document: ui.Document,
    results: Mapping[str, Result],
    state: InductionState,
    stored_model: RunModel,
    token: str,
) -> None:
    """Write which heads of the seed are of the two kinds, and the component with the attention of all.

    token: secret of the browser tab, for the attention during training
    """
    reading, measured = results.get("reading"), results.get("scores")
    if not isinstance(reading, HeadReading) or not isinstance(measured, induction.HeadMeasurements):
        return
    roles = measured.roles[state.replica]
    before, after = (scores[state.replica] for scores in (measured.scores.previous, measured.scores.induction))
    if roles:
        before, after = _only(before, roles["previous"]), _only(after, roles["induction"])
    seed = stored_model.config.seeds[state.replica]
    document.finding(findings.heads_finding(seed, before, after))
    if state.is_ablated:
        document.text(findings.changed_row_text(*reading.probability, reading.repeated))
    document.component("attention_heads", _component_data(state, stored_model, token, reading, measured), _KEY)
    document.caption(
        "The scores in the sentence above and the change of the loss without a head are measured on new rows after "
        "training, the scores beside the matrix on this row."
    )


def _only(scores: Float[ndarray, "layers heads"], head: head_ablation.Head) -> Float[ndarray, "layers heads"]:
    kept = np.zeros_like(scores)
    kept[head] = scores[head]
    return kept


def _component_data(
    state: InductionState,
    stored_model: RunModel,
    token: str,
    reading: HeadReading,
    measured: induction.HeadMeasurements,
) -> dict[str, object]:
    layers, heads = _size(stored_model)
    steps, count = stored_model.steps, len(reading.ids)
    opened = (
        measured.roles[state.replica].get("induction", (0, 0)) if state.layer is None else (state.layer, state.head)
    )
    return {
        "tokens": list(reading.symbols),
        "ids": list(reading.ids),
        "layers": layers,
        "heads": heads,
        "causal": stored_model.is_causal,
        "masked": [],
        "address": register_arrays(reading.content, stored_model.cache_key),
        "open": list(opened),
        "asked": state.at if state.at is not None and state.at < count else count - 1,
        "scale": state.scale,
        "sort": state.sort,
        "view": state.view,
        "snapshots": _snapshot_data(state, stored_model, token),
        "step": steps[-1] if state.step is None else state.step,
        "touch": {
            "off": sorted(map(list, parse_heads(state.off))),
            "flat": sorted(map(list, parse_heads(state.flat))),
            "unmasked": False,
            "unplaced": state.unplaced,
        },
        "can": {"mask": False, "positions": _has_positions(stored_model)},
        "worth": np.round(measured.importance[state.replica], 5).tolist(),
        "worth_error": None,
        "worth_of": "the second copy",
        "unit": "symbol",
        "colour": stored_model.colour,
        "title": stored_model.title,
        "file": f"induction-{stored_model.name}",
    }


def _snapshot_data(state: InductionState, stored_model: RunModel, token: str) -> dict[str, object] | None:
    """Return the steps of the training slider; None if the run has too few snapshots."""
    steps = stored_model.steps
    if len(steps) < _MIN_SNAPSHOTS:
        return None
    call = ui.Call(_read_snapshots, stored_model, state.replica, state.text)

    def answer(futures: Mapping[str, Future[bytes]]) -> Content:
        return {"address": register_arrays(futures["snapshots"].result(), stored_model.cache_key)}

    section = Section(lambda: {"snapshots": submit(call.key, call)}, answer)
    address = register(f"{token}{hash(call.key):x}", section, call.key)  # computed once the browser fetches it
    curves = stored_model.run.curves
    losses = np.round(curves.metrics["second_copy_loss"][:, state.replica], 4)
    curve = {"steps": curves.evaluated.tolist(), "losses": losses.tolist()}
    return {"steps": steps, "curve": curve, "unit": "nats", "address": address}


def _read_snapshots(stored_model: RunModel, replica: int, text: str) -> bytes:
    """Return the packed attention weights of one seed at every snapshot. Raises LineageError."""
    ids = _parse_row(stored_model, text).ids
    weights = [
        attend.pack_weights(attend.attend(stored_model.module(replica, step), ids).weights, stored_model.is_causal)
        for step in stored_model.steps
    ]
    return pack({"weights": np.stack(weights)})


def _apply_events(session: ui.PageSession[InductionState], stored_model: RunModel) -> None:
    """Apply the component's events to the state, and rerun the page if it has changed.

    Every value is checked: a browser can send anything.
    """
    before, size = session.state, _size(stored_model)
    state = before
    if head := parse_head_event(ui.pop_event(_KEY, "open"), size):
        state = replace(state, layer=head[0], head=head[1])
    if type(value := ui.pop_event(_KEY, "asked")) is int and 0 <= value <= MAX_CHARACTERS:
        state = replace(state, at=value)
    for name, options in _OPTIONS.items():
        if (value := ui.pop_event(_KEY, name)) in options:
            state = replace(state, **{name: value})
    steps = stored_model.steps
    if type(value := ui.pop_event(_KEY, "step")) is int and value in steps:
        state = replace(state, step=None if value == steps[-1] else value)
    if isinstance(value := ui.pop_event(_KEY, "touch"), dict):
        off, flat = (parse_heads_event(value.get(name), size) for name in ("off", "flat"))
        state = replace(state, off=off, flat=flat, unplaced=value.get("unplaced") is True)
    if state != before:
        session.state = state
        ui.write_url(session)
        st.rerun()
