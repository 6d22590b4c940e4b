"""The smallest language model, trained for whoever types a string: with its state, and with the state cut."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.figures.comparison import Line
from explorer.figures.memory_string import string_losses
from explorer.tasks.strings import LONGEST, Slip, ambiguous, check, floor, slips
from explorer.training.config import RunConfig, changed, default
from explorer.training.record import Curves
from explorer.ui import memory_string_findings as findings
from explorer.ui.components import Panel, frame, register, table, tracks
from explorer.ui.memory import Memory, Speller
from explorer.ui.page import empty_panel, explanation, plain, problems
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import Pool, latest

SEEDS = 8
EXAMPLES = ("abca abca abca ", "hello hello hello ", "banana", "to be or not to be ", "abcabcabc", "aaaaaa")
QUICK = 40  # characters that are learned in a moment; a longer string takes seconds
HEIGHT = 320
NOTE = (
    "Framed: a slip. What stands before it, as far back as the string has it too, goes on otherwise there. The first "
    "character is given. After the string's very end nothing was taught: what comes there is judged by what goes on "
    "elsewhere."
)
_slips = register("slips")


@dataclass(frozen=True)
class Learned:
    """One string learned with the state and without: what both trainings told."""

    text: str
    model: str
    kept: Curves
    cut: Curves
    seconds: float  # of both


def configs(text: str, model: str) -> tuple[RunConfig, RunConfig]:
    """The run that keeps its state, and the one whose state is cut. Raises InvalidSetting."""
    whole = changed(default("string", model), {"text": text, "replicas": SEEDS})
    return whole, changed(whole, {"recurrent": False})


def learn(text: str, model: str) -> Learned:
    """Train both now, as any run is trained, and keep nothing on disk."""
    from explorer.training.recorder import record_run  # before the clock: the first time it loads torch

    began = time.perf_counter()
    kept, cut = (record_run(config).curves for config in configs(text, model))
    return Learned(text, model, kept, cut, time.perf_counter() - began)


def string_section(session: PageSession[Memory]) -> None:
    """A string, who learns it, how that goes, and what is written then."""
    st.header("The smallest language model", anchor=False)
    explanation(
        "Type a string: a small network learns it here and now, character by character. Beside it learns the same "
        "network with its memory cut: the state is not fed back, so it sees one character and no more."
    )
    _inputs(session)
    memory = session.state
    try:
        text = check(memory.text)
    except LineageError as error:
        problems([str(error)])
        empty_panel("Give a string above: it is learned at once.", HEIGHT)
        return
    if len(set(text)) == 1:
        st.subheader(plain(findings.worth(text)), anchor=False)
        empty_panel("The floor is 0, and so is every loss. Add another character.", HEIGHT)
        return
    wanted = {"string": (("memory-string", text, memory.text_model), partial(learn, text, memory.text_model))}

    def draw(found: Mapping[str, Learned], old: frozenset[str]) -> None:
        _show(session, found["string"], bool(old))

    pool: Pool = "quick" if len(text) <= QUICK and memory.text_model == "rnn" else "usual"
    latest("memory-string", lambda: wanted, draw, "Your string is being learned …", 900, pool=pool)


def _inputs(session: PageSession[Memory]) -> None:
    """The string, examples of one, and who learns it."""
    memory = session.state

    def typed(state: Memory, text: str | None) -> Memory:
        # One character stays one, however a keyboard composes it.
        return state if text is None else replace(state, text=unicodedata.normalize("NFC", text))

    with st.container(horizontal=True, vertical_alignment="top"):
        st.text_input("A string", width=330, max_chars=LONGEST, **bound(session, "memory.text", memory.text, typed))
        ties = bound(
            session,
            "memory.text_model",
            memory.text_model,
            lambda s, model: replace(s, text_model=model or s.text_model),
        )
        models = get_args(Speller)
        st.segmented_control("Who learns it", models, format_func=lambda model: MODELS[model].title, **ties)
    ties = bound(session, "memory.text_pick", memory.text if memory.text in EXAMPLES else None, typed)
    st.caption(findings.about(memory.text))
    st.pills(
        "Take a string",
        EXAMPLES,
        format_func=lambda text: plain(text.strip()),
        label_visibility="collapsed",
        wrap=True,
        width="content",
        **ties,
    )


def _show(session: PageSession[Memory], learned: Learned, old: bool) -> None:
    """Everything that follows from the two trainings; `old`: of the string before, while another one is learned."""
    title, low = MODELS[learned.model].title, floor(learned.text)
    kept, cut = learned.kept, learned.cut
    st.subheader(plain(findings.worth(learned.text)), anchor=False)
    transitions = len(learned.text) - 1
    said = (
        findings.ended(title, kept.last("loss"), cut.last("loss"), low),
        findings.learned(kept.evaluated, kept.metrics["accuracy"], transitions),
    )
    explanation(plain(" ".join(said)))
    took = findings.took(learned.seconds, SEEDS)
    st.caption("Your string is being learned. What stands here is the one before." if old else took)
    frame([_losses(learned, low)], key="memory-string", height=HEIGHT, narrow_height=260, columns=1)
    _written(session, learned)
    _theory(learned.text)


def _losses(learned: Learned, low: float) -> Panel:
    """Both losses over the steps, and the floor."""
    row = MODELS[learned.model]
    lines: list[Line] = []
    for label, name, dash, curves in (
        ("kept", "state fed back", "solid", learned.kept),
        ("cut", "state cut", "2px,4px", learned.cut),
    ):
        steps, losses = curves.evaluated[1:], curves.metrics["loss"][1:]  # a logarithmic axis has no step 0
        means = losses.mean(axis=1), losses.min(axis=1), losses.max(axis=1)
        lines.append(Line(label, f"{row.title}, {name}", row.colour, dash, np.asarray(steps, float), *means))
    last = int(learned.kept.evaluated[-1])
    return Panel(
        "string-losses",
        string_losses(lines, last, (low, f"floor {low:.3f}")),
        alt=f"Loss over {last} steps, the state fed back and cut. "
        f"{findings.ended(row.title, learned.kept.last('loss'), learned.cut.last('loss'), low)} "
        f"The floor without memory is {low:.3f}.",
        title="Loss",
        caption="The line is the mean of eight seeds, the band reaches from the lowest to the highest.",
        tracks=tracks([(line.title, line.colour) for line in lines], 3),
    )


def _written(session: PageSession[Memory], learned: Learned) -> None:
    """What one seed of each writes, with every slip; and how often all of them slip."""
    first, row = learned.text[0], MODELS[learned.model]
    texts = {"state fed back": learned.kept.samples[-1], "state cut": learned.cut.samples[-1]}
    every = {name: [slips(learned.text, text) for text in written] for name, written in texts.items()}
    characters = len(learned.kept.samples[-1][0])
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("What they write", anchor=False)
        seed = min(session.state.text_seed, SEEDS - 1)
        ties = bound(session, "memory.text_seed", seed, lambda s, n: replace(s, text_seed=n))
        st.selectbox("Seed", range(SEEDS), width=100, **ties)
    explanation(findings.slipped(characters, len(learned.text) - 1, *every.values()))
    data = {
        "texts": [
            {
                "title": f"{row.title}, {name}",
                "detail": f"{len(every[name][seed])} slips" if len(every[name][seed]) != 1 else "1 slip",
                "colour": row.colour,
                "first": first,
                "runs": _runs(texts[name][seed], every[name][seed], first),
                "label": f"What seed {seed} of the {row.title} writes, {name}",
            }
            for name in texts
        ],
        "note": NOTE,
        "file": "string-texts",
    }
    _slips(data=data, key="memory-string-texts")


def _runs(written: str, found: list[Slip], first: str) -> list[dict[str, str | None]]:
    """The text in pieces: what is right, and each slip by itself."""
    runs: list[dict[str, str | None]] = []
    done = 0
    for slip in found:
        if slip.at > done:
            runs.append({"text": written[done : slip.at], "why": None})
        runs.append({"text": written[slip.at], "why": findings.hint(slip, written, first)})
        done = slip.at + 1
    return [*runs, {"text": written[done:], "why": None}] if done < len(written) else runs


def _theory(text: str) -> None:
    """Where the floor comes from, with this string's own counts."""
    st.subheader("Where the floor comes from", anchor=False)
    explanation(
        "Who sees one character can do no better than the counts: after each character c, guess what follows as often "
        "as it does. What stays open then is the entropy of the next character, weighed by how often c stands there. "
        "Over the N transitions of the string that is, in nats:"
    )
    st.latex(findings.formula(text))
    several = ambiguous(text)
    if not several:
        explanation("Every character of this string has one continuation, so nothing stays open.")
        return
    count = len(text) - 1
    table(
        [
            {"key": "name", "label": "after", "kind": "text"},
            {"key": "follow", "label": "comes", "kind": "text"},
            {"key": "share", "label": "n / N", "kind": "number", "align": "right"},
            {"key": "entropy", "label": "H in nats", "kind": "number", "align": "right"},
            {"key": "part", "label": "of the floor", "kind": "number", "align": "right"},
        ],
        [
            {
                "cells": {
                    "name": {"text": findings.named(context.character)},
                    "follow": {"text": findings.follows(context)},
                    "share": {"text": f"{context.count} / {count}"},
                    "entropy": {"text": findings.entropy_words(context)},
                    "part": {"text": f"{context.count * context.entropy / count:.3f}"},
                }
            }
            for context in several
        ],
        key="memory-string-contexts",
        label="The characters that go on in several ways",
        caption="Only characters that are followed by different ones; every other one leaves nothing open.",
    )
