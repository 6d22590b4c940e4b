"""Variety, repetition and likelihood of whole texts against temperature, beside text that people wrote."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import Float, Integer
from numpy import ndarray

from explorer.figures.temperature import PER_LINE, Course, by_temperature
from explorer.tasks.text import TextConfig
from explorer.ui import studio_findings as findings
from explorer.ui import texts
from explorer.ui.at_hand import AtHand
from explorer.ui.components import Panel, frame
from explorer.ui.page import explanation, plain
from explorer.ui.session import PageSession
from explorer.ui.slowly import each_eventually
from explorer.ui.studio import Studio
from explorer.ui.studio_models import choice, read, sampling, tensor, writer

if TYPE_CHECKING:
    from explorer.generation.measures import ByTemperature

SEEDS = 8  # texts of a model at each temperature
HEIGHT = 300


@dataclass(frozen=True, eq=False)
class Measured:
    """One model's texts, and the text that it learned from, by the same measures."""

    written: ByTemperature
    people: Float[ndarray, " measures"] | None  # mean over pieces of the text; None where it is not here
    held_out: bool  # whether that text was never learned from


def section(session: PageSession[Studio], hands: Mapping[str, AtHand]) -> None:
    """The same prompt eight times at every temperature, in three numbers."""
    st.header("Repetitive or drifting, in numbers", anchor=False)
    explanation(
        "The cold text goes round in circles, the hot one drifts away. Three numbers say how far. **Distinct-4**: the "
        "share of four-token pieces that are different. **Repetition**: the share of eight-token pieces that stood "
        "there before. **Log-probability**: how likely the model holds its own text, in nats a token."
    )
    studio = session.state
    wanted = {name: (_key(hand, studio), partial(measured, hand, studio)) for name, hand in hands.items()}

    def draw(found: Mapping[str, Measured]) -> None:
        named = [(hands[name].title, each) for name, each in found.items()]
        st.subheader(plain(findings.coldest(named)), anchor=False)
        if not studio.greedy and studio.top_k != 1:  # then no temperature changes anything
            explanation(plain(findings.like_people(named)))
        panels = [_panel(i, hands, found, float(session.state.t)) for i in range(3)]
        frame(panels, key="studio-measures", height=HEIGHT, columns=3)
        st.caption(plain(findings.how_measured(named, studio)))

    meanwhile = "Every model writes eight texts at eleven temperatures; that takes a few seconds …"
    each_eventually("studio-measures", wanted, draw, meanwhile, HEIGHT + 60, pool="patient")


def _key(hand: AtHand, studio: Studio) -> tuple[Hashable, ...]:
    return ("studio-measures", *hand.stamp, studio.prompt, studio.tokens, *choice(studio))


def measured(hand: AtHand, studio: Studio) -> Measured:
    """A second or two of work. Raises LineageError."""
    from explorer.generation.measures import by_temperature as over_temperatures
    from explorer.generation.measures import of_text

    task, own = hand.config.on(TextConfig), writer(hand)
    prompt = tensor(read(hand, studio.prompt).ids)
    written = over_temperatures(own, prompt, studio.tokens, sampling(studio), seeds=SEEDS)
    if not texts.readable(task):
        return Measured(written, None, False)
    ids, held_out = _of_people(task)
    places = np.linspace(0, max(0, len(ids) - studio.tokens - 2), findings.WINDOWS).astype(int)
    rows = []
    for place in places.tolist():
        piece = ids[place : place + 1 + studio.tokens].astype(np.int64).tolist()
        if len(piece) > 1:
            one = of_text(own, tensor(piece[:1]), tensor(piece[1:]))
            rows.append([one.distinct4, one.repetition8, one.log_probability])
    return Measured(written, np.mean(rows, axis=0) if rows else None, held_out)


def _of_people(task: TextConfig) -> tuple[Integer[ndarray, " tokens"], bool]:
    """The tokens of a text, of its held-out end if it has one, and whether that is what they are."""
    from explorer.tasks import corpora
    from explorer.tasks.tokens import tokens_of

    arrays = tokens_of(task, corpora.text_of(task)).arrays
    return (arrays["held_out"], True) if "held_out" in arrays else (arrays["training"], False)


def _panel(which: int, hands: Mapping[str, AtHand], found: Mapping[str, Measured], here: float) -> Panel:
    """One of the three measures, of every model."""
    title, name = (("distinct-4", "distinct4"), ("repetition", "repetition8"), ("log-probability", "log_probability"))[
        which
    ]
    courses: list[Course] = []
    for n, each in found.items():
        row = hands[n].row
        again = any(course.colour == row.colour for course in courses)  # two runs of one architecture
        courses.append(
            Course(hands[n].title, row.colour, "2px,4px" if again else row.dash, getattr(each.written, name))
        )
    people = _people(which, hands, found)
    low = min(float(c.values.min()) for c in courses)
    limits = (-0.02, 1.04) if which < 2 else (min(low, *(height for _, height in people), -0.5) * 1.05, 0.0)
    temperatures = np.array(next(iter(found.values())).written.temperatures)
    return Panel(
        f"studio-{name}",
        by_temperature(courses, temperatures, here, people, limits),
        alt=f"{title} against temperature.",
        title=title[0].upper() + title[1:],
        rest=here,
        tracks=[
            {
                "trace": PER_LINE * i + 2,
                "low": PER_LINE * i,
                "high": PER_LINE * i + 1,
                "title": c.title,
                "colour": c.colour,
            }
            for i, c in enumerate(courses)
        ],
    )


def _people(which: int, hands: Mapping[str, AtHand], found: Mapping[str, Measured]) -> list[tuple[str, float]]:
    """A measure of what people wrote: in ink where it is the same for all models, else in each model's colour."""
    each = [(hands[n].row.colour, float(one.people[which])) for n, one in found.items() if one.people is not None]
    if len(each) == len(found) and len({height for _, height in each}) == 1:
        return [("--ink", each[0][1])]
    return each
