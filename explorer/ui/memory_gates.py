"""Gates and states: one seed of one recurrent net reads a sequence that the visitor may write."""

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
from explorer.models.configs import TransformerRecallConfig
from explorer.tasks.recall import RecallConfig
from explorer.training.recall_runs import Contestant
from explorer.ui import memory_why_findings as findings
from explorer.ui import packed
from explorer.ui.components import register
from explorer.ui.memory import LONGEST_TYPED, Memory
from explorer.ui.memory_why import snapshot_steps, without
from explorer.ui.page import empty_panel, explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound, part
from explorer.ui.slowly import latest

if TYPE_CHECKING:
    from explorer.inspection.gates import Reading

HEIGHT = 620
_PART = "memory-inside"
_gates = register("gates")


@dataclass(frozen=True, eq=False)
class Looked:
    """One seed that has read a sequence, and how long the units of all seeds hold on there."""

    reading: Reading
    content: bytes  # the values, for the browser
    lives: Mapping[str, Float[ndarray, "replicas units"]]  # by title, the one that is looked into first


def gates_section(session: PageSession[Memory], lanes: Mapping[str, Lane]) -> None:
    """The whole section. `lanes` are those of the page, by the name of their contestant."""
    st.header("Inside: gates and states", anchor=False)
    explanation(
        "Each row is a unit, each column a symbol. At the top stand the units that hold on longest. Point at one, and "
        "its line is drawn below; arrow keys move."
    )
    contestants = session.state.contestants
    recurrent = {
        name: lane
        for name, lane in lanes.items()
        if name in contestants and not isinstance(lane.config.model, TransformerRecallConfig)
    }
    without(recurrent, contestants)
    known = {name: lane for name, lane in recurrent.items() if lane.kept}
    if not known:
        empty_panel("No recurrent net with a run to look into: choose one above and train it.", HEIGHT)
        return
    part(session, _PART, lambda: _inside(session, known, contestants))


def chosen(state: Memory, known: Mapping[str, Lane]) -> str:
    """Who is looked into: the one asked for, else the first whose gates started open, else the first with gates."""
    if state.inside in known:
        return state.inside
    gated = [name for name, lane in known.items() if lane.config.model_name != "rnn"]
    return next((name for name in gated if name.endswith("chrono")), (gated or list(known))[0])


def step_of(state: Memory, steps: list[int]) -> int:
    """The snapshot that is looked into: the asked one, else the last before it."""
    if state.at < 0:
        return steps[-1]
    return max((step for step in steps if step <= state.at), default=steps[0])


def _inside(session: PageSession[Memory], known: Mapping[str, Lane], contestants: Mapping[str, Contestant]) -> None:
    name = chosen(session.state, known)
    lane = known[name]
    assert lane.kept is not None
    steps = snapshot_steps(lane.kept)
    _choices(session, known, contestants, name, steps)
    state = session.state
    step, replica = step_of(state, steps), min(state.replica, lane.config.replicas - 1)
    try:
        ids = _read(state.say, lane.config.on(RecallConfig))
    except InvalidSetting as error:
        problems([str(error)])
        return
    others = {
        contestants[other].title: each
        for other, each in known.items()
        if other != name and each.config.model_name == lane.config.model_name != "rnn"
    }
    key = ("memory-gates", *lane.stamp, step, replica, ids, tuple(each.stamp for each in others.values()))
    wanted = {name: (key, partial(_looked, contestants[name].title, lane, step, replica, ids, others))}

    def draw(found: Mapping[str, Looked], old: frozenset[str]) -> None:
        looked = next(iter(found.values()))
        if name in found:
            _show(looked, contestants[name], lane, step, replica)

    latest("memory-gates", lambda: wanted, draw, "The net reads the sequence …", HEIGHT)


def _choices(
    session: PageSession[Memory],
    known: Mapping[str, Lane],
    contestants: Mapping[str, Contestant],
    name: str,
    steps: list[int],
) -> None:
    """Who, which seed, after how much training, and what is read."""
    state, seeds = session.state, known[name].config.seeds
    redraw = (_PART,)
    with st.container(horizontal=True, vertical_alignment="top"):
        st.selectbox(
            "Model",
            list(known),
            format_func=lambda one: contestants[one].title,
            width=240,
            **bound(session, "memory.inside", name, lambda s, new: replace(s, inside=new), redraw),
        )
        st.selectbox(
            "Seed",
            list(range(len(seeds))),
            format_func=lambda one: f"{seeds[one]}",
            width=110,
            **bound(
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
                **bound(
                    session,
                    "memory.at",
                    step_of(state, steps),
                    lambda s, new: replace(s, at=-1 if new == steps[-1] else new),
                    redraw,
                ),
            )
        letters = "a" if state.symbols == 1 else f"a to {chr(ord('a') + state.symbols - 1)}"
        st.text_input(
            f"Sequence, of the letters {letters}",
            placeholder="empty: one is drawn",
            max_chars=LONGEST_TYPED,
            width=330,
            **bound(session, "memory.say", state.say, lambda s, new: replace(s, say=new.strip()), redraw),
        )


def _read(say: str, task: RecallConfig) -> tuple[int, ...]:
    """What is read: the visitor's letters, or a sequence that is drawn. Raises InvalidSetting."""
    from explorer.inspection.gates import drawn, typed

    ids = typed(say, task.symbols) or typed(drawn(task), task.symbols)
    return ids[:LONGEST_TYPED]


def _looked(
    title: str, lane: Lane, step: int, replica: int, ids: tuple[int, ...], others: Mapping[str, Lane]
) -> Looked:
    """Let one seed read, and ask all units of all seeds how much they keep. Raises DamagedRun."""
    from explorer.inspection.gates import gated, half_lives, kept_shares, reading
    from explorer.inspection.opening import open_model

    assert lane.kept is not None
    found = open_model(lane.kept, step)
    seen = reading(found, ids, replica)
    arrays = {
        "values": np.stack([each.values for each in seen.parts]).astype(np.float32),
        "answers": seen.answers.astype(np.float32),
    }
    lives = {}
    if seen.half_lives is not None:
        arrays["lives"] = seen.half_lives.astype(np.float32)
        ended = step == snapshot_steps(lane.kept)[-1]
        for name, each in {title: lane, **others}.items():
            assert each.kept is not None
            steps = snapshot_steps(each.kept)
            own = steps[-1] if ended else max(s for s in steps if s <= step)
            opened = open_model(each.kept, own)
            if gated(opened):
                lives[name] = half_lives(np.log(kept_shares(opened)))
    return Looked(seen, packed.pack(arrays), lives)


def _show(looked: Looked, contestant: Contestant, lane: Lane, step: int, replica: int) -> None:
    from explorer.inspection.gates import ALPHABET

    seen = looked.reading
    letters = ALPHABET[: lane.config.on(RecallConfig).symbols]
    assert lane.kept is not None
    ended = step == snapshot_steps(lane.kept)[-1]
    when = "before training" if step == 0 else "after training" if ended else f"after {step:,} steps"
    st.subheader(plain(findings.half_life_finding(looked.lives, when)), anchor=False)
    last = seen.answers[-1]
    st.markdown(
        plain(
            findings.answer_finding(
                contestant.title,
                letters[seen.ids[0]],
                float(last[seen.ids[0]]),
                letters[int(last.argmax())],
                len(seen.ids),
                1 / len(letters),
            )
        )
    )
    _gates(
        data={
            "symbols": [letters[i] for i in seen.ids],
            "letters": list(letters),
            "parts": [{"title": each.title, "signed": each.signed} for each in seen.parts],
            "address": packed.offer(looked.content),
            "colour": MODELS[contestant.model].colour,
            "title": contestant.title,
            "file": f"memory-gates-{contestant.name}-step-{step}-seed-{lane.config.seeds[replica]}",
        },
        key="memory-gates-figure",
    )
    st.caption(
        "A unit’s half-life follows from the share f that it keeps at a step (the LSTM’s forget gate, the GRU’s update "
        "gate, a geometric mean over the sequence): ln ½ / ln f. The sentence above is about all units of all seeds. A "
        "short half-life need not mean forgetting: what a gate lets go, the candidate may write again. The gradient "
        "above counts both ways."
        if seen.half_lives is not None
        else "A plain RNN has no gates to show: its state is all there is, and it is rewritten at every symbol."
    )
