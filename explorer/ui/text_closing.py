"""Who keeps track of what is open: marks closed rightly on the text of brackets, by how far back they were opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures import reach as figures
from explorer.tasks.text import TextConfig
from explorer.ui.components import Panel
from explorer.ui.findings import listed
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.slowly import each_eventually
from explorer.ui.text_lines import (
    HEIGHT,
    absent,
    band,
    bands,
    framed,
    line_of,
    names_of,
    stack_of,
    tracks,
    with_weights,
)

if TYPE_CHECKING:
    from explorer.inspection.closing import Closings

_FAR = 16  # characters that neither counts nor a short window reach


def closing_section(lanes: Mapping[str, Lane], choose_brackets: Callable[[], None]) -> None:
    """Marks closed rightly, by how far back they were opened; on the text that is made for it."""
    st.header("Who keeps track of what is open?", anchor=False)
    task = next((lane.config.on(TextConfig) for lane in lanes.values()), None)
    if task is None or not can_be_asked(task):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                "That can be counted on a text of nested brackets and quotes, in characters, with its end held out."
            )
            st.button("Choose it", icon=":material/data_object:", on_click=choose_brackets, key="text-brackets")
        return
    asked = with_weights(lanes)
    if not asked:
        empty_panel("No model here has been trained on the brackets yet. Train some above.", HEIGHT)
        return
    each_eventually(
        "text-closing",
        {name: (("closing", *names_of(lane)), partial(_closings, lane)) for name, lane in asked.items()},
        lambda found: _draw_closing(lanes, found),
        "The models are being asked to close brackets; that takes a few seconds …",
        HEIGHT + 120,
    )
    explanation(
        "Which mark must close is decided by the last one still open, however much stands between. Counts of n tokens "
        "see it only if it is among the last n − 1. A recurrent net has to remember: a pile of open marks, in a state "
        "that every letter changes. Attention can look the mark up, but has to work out which of them is still open."
    )


def can_be_asked(task: TextConfig) -> bool:
    """Whether it is the text for this, in characters, with an end that training never saw."""
    return (task.corpus, task.tokenizer, task.rows, task.split) == ("brackets", "char", "blocks", "end")


def _closings(lane: Lane) -> Closings:
    from explorer.inspection.closing import closing  # here: the page must not wait for torch

    return closing(stack_of(lane), lane.config)


def _draw_closing(lanes: Mapping[str, Lane], found: Mapping[str, Closings]) -> None:
    sound = {name: each for name, each in found.items() if len(each.right) and len(each.last)}
    first = next(iter(found.values()))
    if not first.asked.sum():
        st.caption("No mark closes in the held-out end of this text. Hold out more of it, or make it longer.")
        return
    if sound:
        st.subheader(plain(closing_finding({MODELS[name].title: e for name, e in sound.items()})), anchor=False)
        lines = []
        for name, each in sound.items():
            lines.append(line_of(name, each.last, each.mean, *np.clip(band(each.right, each.error), 0, 1)))
        figure = figures.accuracy_by_distance(
            lines,
            first.usual,
            f"always {first.usual_mark}",
            first.context,
            max(int(each.last[-1]) for each in sound.values()),
        )
        alt = "; ".join(
            f"{line.name} {line.y[0]:.2f} at the shortest, {line.y[-1]:.2f} at the longest" for line in lines
        )
        framed(
            [Panel("accuracy-by-distance", figure, f"Marks closed rightly: {alt}.", tracks=tracks(lines))],
            "text-closing",
        )
    st.caption(plain(_how_closing_was_measured(lanes, found)))


def closing_finding(found: Mapping[str, Closings]) -> str:
    """Who still knows what is open when it was opened long ago; by title.

    A model that reads less was asked at fewer places, and may have no bin where another one has.
    """
    first = next(iter(found.values()))
    floor = _FAR if any((each.last > _FAR).any() for each in found.values()) else 0
    near = [int(last) for each in found.values() for last in each.last[each.last <= floor]]
    where = f"From {max(near) + 1} characters on" if near else "At these distances"
    usual = f"Always answering “{first.usual_mark}” gets {first.usual:.2f}"
    # Who was asked nothing so far back (NaN) is left out.
    every = [(each.over(each.last > floor), title) for title, each in found.items()]
    shares = sorted((pair for pair in every if not np.isnan(pair[0][0])), key=lambda pair: -pair[0][0])
    told = [title for (share, error), title in shares if share > found[title].usual + 2 * error]
    guessing = [f"{title} {share:.2f}" for (share, _), title in shares if title not in told]
    knowing = [f"{title} {share:.2f}" for (share, _), title in shares if title in told]
    if not knowing:
        rest = listed(guessing)
        return f"{where} nobody knows what is open: {rest} of the marks are closed rightly. {usual}."
    said = f"{where} {_closes(knowing)} of the marks rightly"
    if guessing:
        said += f"; {listed(guessing)} {'is' if len(guessing) == 1 else 'are'} no better than one answer for all"
    return f"{said}. {usual}."


def _closes(names: Sequence[str]) -> str:
    first, *rest = names
    title, _, share = first.rpartition(" ")
    return listed([f"{title} closes {share}", *rest])


def _how_closing_was_measured(lanes: Mapping[str, Lane], found: Mapping[str, Closings]) -> str:
    first = next(iter(found.values()))
    which = "Every place" if all(each.whole for each in found.values()) else "An evenly spread part of the places"
    asked = sorted({int(each.asked.sum()) for each in found.values()})
    many = f"{asked[0]:,}" if len(asked) == 1 else f"{asked[0]:,} to {asked[-1]:,}, fewer where more seeds read"
    return " ".join(
        [
            f"{which} of the held-out end where a mark closes another ({many}). Every model reads the "
            f"{first.context} characters before it from a cold start, recurrent nets too; its answer is the likeliest "
            "of the four marks that close.",
            bands([len(each.right) for each in found.values()], "one standard error of a share (binomial)"),
            *absent(lanes, {name: each.diverged for name, each in found.items()}),
        ]
    )
