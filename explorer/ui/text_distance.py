"""How far back the models of the Language models page look: the loss by how much could be read, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

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
    from explorer.inspection.reach import Reach


def distance_section(lanes: Mapping[str, Lane]) -> None:
    """Loss by how many tokens could be read."""
    st.header("How far back does it look?", anchor=False)
    asked = with_weights(lanes)
    if not asked:
        empty_panel("No model here has been trained yet. Train some above, and this place shows it.", HEIGHT)
        return
    each_eventually(
        "text-reach",
        {name: (("reach", *names_of(lane)), partial(_reach, lane)) for name, lane in asked.items()},
        lambda found: _draw_distance(lanes, found),
        "The models are reading the held-out text; that takes a few seconds …",
        HEIGHT + 120,
    )
    explanation(
        "At the first place of a row a model has read one token, at the next two, and so on. A perfect model would "
        "gain at each step exactly what the token further back says about the next one, beyond the i tokens h between:"
    )
    st.latex(r"L(i) - L(i+1) = I\,(w_t \,;\, w_{t-i-1} \mid h)")
    explanation(
        "Counts and a window end somewhere, and whatever stands before does not exist for them. A recurrent net pours "
        "everything into one state of fixed size, which new tokens write over. Attention keeps every token of the row "
        "apart: none is lost on the way, but it has to learn which ones to look at."
    )


def _reach(lane: Lane) -> Reach:
    from explorer.inspection.reach import reach  # here: the page must not wait for torch

    return reach(stack_of(lane), lane.config)


def _draw_distance(lanes: Mapping[str, Lane], found: Mapping[str, Reach]) -> None:
    sound = {name: each for name, each in found.items() if len(each.losses)}
    if sound:
        st.subheader(distance_finding({MODELS[name].title: each for name, each in sound.items()}), anchor=False)
        lines = [line_of(name, each.last, each.mean, *band(each.losses, each.error)) for name, each in sound.items()]
        context = max(int(each.last[-1]) for each in sound.values())
        alt = "; ".join(
            f"{line.name} {line.y[0]:.2f} after one token, {line.y[-1]:.2f} after {line.x[-1]}" for line in lines
        )
        figure = figures.loss_by_context(lines, context)
        framed([Panel("loss-by-context", figure, f"Loss in nats a token: {alt}.", tracks=tracks(lines))], "text-reach")
    st.caption(plain(_how_far_was_measured(lanes, found)))


def distance_finding(found: Mapping[str, Reach]) -> str:
    """Who still gains from more tokens at the end of a row, and who stopped before; by title."""
    if all(len(each.last) == 1 for each in found.values()):
        return "A row gives one token to read here, so nobody can look further back."
    stopped: dict[tuple[int, bool], list[str]] = {}
    for title, each in found.items():
        if not each.gains_to_the_end and not each.suffers:
            blind = each.limit is not None and each.enough >= each.limit
            stopped.setdefault((each.enough, blind), []).append(title)
    parts: list[str] = []
    for tokens, blind in sorted(stopped):
        titles = stopped[tokens, blind]
        one = len(titles) == 1
        verb = f" gain{'s' * one} nothing measurable" if not parts else ""
        sees = f", as far as {'it sees' if one else 'they see'}" if blind else ""
        parts.append(f"{listed(titles)}{verb} beyond {tokens if parts else _tokens(tokens)}{sees}")
    said = [f"{'; '.join(parts)}."] if parts else []
    for title, each in found.items():
        if each.suffers:
            best = int(each.mean.argmin())
            few = _tokens(int(each.last[best]))
            ends = f"{each.mean[best]:.2f} nats after {few}, {each.mean[-1]:.2f} after {each.last[-1]}"
            said.append(f"{title} even does worse with more: {ends}.")
    gaining = [title for title, each in found.items() if each.gains_to_the_end and not each.suffers]
    if gaining:
        one, end = len(gaining) == 1, max(int(found[title].last[-1]) for title in gaining)
        who = f"{listed(gaining)} still gain{'s' * one} when {'it has' if one else 'they have'}"
        said.append(f"{who} read {end} tokens, all that a row gives.")
    return " ".join(said)


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _how_far_was_measured(lanes: Mapping[str, Lane], found: Mapping[str, Reach]) -> str:
    first = next(iter(found.values()))
    tasks = {name: lane.config.on(TextConfig) for name, lane in lanes.items() if name in found}
    task = next(iter(tasks.values()))
    whole = all(each.whole for each in found.values())
    targets = f"All {first.targets.sum():,}" if whole else "An evenly spread part of all"
    row = "rows of" if task.rows == "blocks" else "lines of up to" if task.rows == "sentences" else "prefixes of up to"
    said = [
        f"{targets} held-out targets, in {row} {task.context} tokens, each row read from a cold start; neighbouring "
        "places share a dot."
    ]
    carried = [MODELS[name].title for name, each in tasks.items() if each.batches == "contiguous" and name != "ngram"]
    if carried:
        whom = "it" if len(carried) == 1 else "them"
        said.append(f"{listed(carried)} learned with carried state, so a cold start is new to {whom}.")
    said.append(bands([len(each.losses) for each in found.values()], "one standard error, whole rows drawn at random"))
    if task.rows != "blocks":
        said.append("In a line some places are easier than others for anybody; that too bends the curves.")
    return " ".join([*said, *absent(lanes, {name: each.diverged for name, each in found.items()})])
