"""The texts of the studio: a prompt through every model at every temperature, under one slider."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Int32, UInt16
from numpy import ndarray

from explorer.ui import packed, slowly
from explorer.ui.at_hand import AtHand
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import visible
from explorer.ui.session import PageSession, write_address
from explorer.ui.studio import Studio
from explorer.ui.studio_models import Prompt, choice, end_of, focused, read, sampling, tensor, tokenizer_of, writer

MARKS = ((0, "always the likeliest"), (0.7, ""), (1, "as learned"), (1.2, ""), (2, "differences halved"))
PLACE = "the place that is shown"  # no run has such a name
Work: TypeAlias = "tuple[tuple[Hashable, ...], Callable[[], Texts | Place]]"
_KEY = "temperature"
_temperature = register(_KEY)


@dataclass(frozen=True, eq=False)
class Texts:
    """What one model writes after a prompt, at every temperature."""

    prompt: Prompt
    ids: Int32[ndarray, "temperatures tokens"]
    # Of each place the two likeliest tokens, and how surprising they are as learned, in nats.
    likeliest: UInt16[ndarray, "temperatures tokens 2"]
    surprises: Float32[ndarray, "temperatures tokens 2"]
    pieces: tuple[str, ...]  # the different ones
    content: bytes  # everything that the browser needs of it


def names(hand: AtHand, studio: Studio) -> tuple[Hashable, ...]:
    """What names a model's texts; with an own text's SHA-256, by which they are forgotten."""
    return ("studio-texts", *hand.stamp, studio.prompt, studio.tokens, *choice(studio))


def texts(hand: AtHand, studio: Studio) -> Texts:
    """What a model writes; a second of work at most. Raises DamagedRun, TextError."""
    from explorer.generation.scrubbing import SURPRISE_UNIT, scrubbed
    from explorer.tokenization.text import pieces

    prompt, tokenizer = read(hand, studio.prompt), tokenizer_of(hand)
    found = scrubbed(writer(hand), tensor(prompt.ids), studio.tokens, sampling(studio))
    different: dict[str, int] = {}
    places = [
        [different.setdefault(piece, len(different)) for piece in pieces(tokenizer, row, prompt.ids)]
        for row in found.ids.tolist()
    ]
    arrays = {
        "ids": found.ids,
        "piece": np.array(places, dtype=np.uint16),
        **{name: getattr(found, name) for name in ("surprise", "chosen", "entropy", "spread", "top", "top_surprise")},
    }
    surprises = (found.top_surprise[..., :2] / SURPRISE_UNIT).astype(np.float32)
    likeliest = found.top[..., :2].copy()  # and not a view that holds on to all of them
    return Texts(prompt, found.ids, likeliest, surprises, tuple(different), packed.pack(arrays))


@dataclass(frozen=True, eq=False)
class Place:
    """The token whose distribution is shown, with all its logits."""

    context: str  # the end of what stands before it
    content: bytes  # logits and noise, for the browser


def place(hand: AtHand, studio: Studio, told: Texts) -> Place:
    """A whole text read once more at most. Raises LineageError."""
    from explorer.generation.scrubbing import position

    before = told.ids[studio.of, : studio.at].tolist()
    found = position(writer(hand), tensor(told.prompt.ids), tensor(before), sampling(studio))
    content = packed.pack({"logits": found.logits, "noise": found.noise})
    return Place(end_of(tokenizer_of(hand).decode([*told.prompt.ids, *before])), content)


def wanted(hands: Mapping[str, AtHand], studio: Studio) -> dict[str, Work]:
    """What the slider needs: every model's texts, and once they are there the place that is shown."""
    each: dict[str, Work] = {name: (names(hand, studio), partial(texts, hand, studio)) for name, hand in hands.items()}
    focus = focused(hands, studio)
    future = slowly.work(*each[focus])
    if future.done() and not future.cancelled() and not future.exception():
        told = future.result()
        if isinstance(told, Texts) and studio.at < told.ids.shape[1]:
            key = ("studio-place", *names(hands[focus], studio)[1:], studio.of, studio.at)
            each[PLACE] = key, partial(place, hands[focus], studio, told)
    return each


def likeliest(hand: AtHand, studio: Studio, told: Texts) -> tuple[str, str]:
    """The two likeliest tokens of the place that is shown."""
    names = tokenizer_of(hand).tokens
    first, second = (visible(names[id]) for id in told.likeliest[studio.of, studio.at].tolist())
    return first, second


def formulas(studio: Studio, told: Texts) -> list[str]:
    """What the temperature does to these two."""
    first, second = told.surprises[studio.of, studio.at]
    gap = float(second - first)
    lines = [
        r"\frac{p_1}{p_2} = e^{(l_1 - l_2) / \tau}",
        rf"\tau = 1: \quad e^{{{gap:.2f}}} = {power_of_e(gap)}",
    ]
    if studio.t not in (0, 1):
        lines.append(rf"\tau = {studio.t:.2f}: \quad e^{{{gap:.2f} / {studio.t:.2f}}} = {power_of_e(gap / studio.t)}")
    return lines


def power_of_e(nats: float) -> str:
    """e to a power of 0 or more, which may be too large for a number."""
    if nats < math.log(1e4):
        value = math.exp(nats)
        return f"{value:.2f}" if value < 100 else f"{value:,.0f}".replace(",", r"{,}")
    power, rest = divmod(nats / math.log(10), 1)
    mantissa = f"{10**rest:.1f}"
    if mantissa == "10.0":
        power, mantissa = power + 1, "1.0"
    return rf"{mantissa} \cdot 10^{{{power:.0f}}}"


def show(
    session: PageSession[Studio], hands: Mapping[str, AtHand], found: Mapping[str, Texts | Place], old: frozenset[str]
) -> None:
    """The texts under their slider; see `assets/temperature.js`."""
    studio = session.state
    each = {name: one for name, one in found.items() if isinstance(one, Texts)}
    focus = focused({name: hands[name] for name in each}, studio)
    here = found.get(PLACE) if PLACE not in old else None
    units = {hands[name].unit for name in each}
    data = {
        "temperatures": [round(float(t), 2) for t in temperatures()],
        "temperature": float(studio.t),
        "marks": [list(mark) for mark in MARKS],
        "models": [
            {
                "name": name,
                "title": hands[name].title,
                "colour": hands[name].row.colour,
                "unit": hands[name].unit,
                "address": packed.offer(one.content, hands[name].stamp),
                "pieces": list(one.pieces),
                "tokens": list(tokenizer_of(hands[name]).tokens),
                "prompt": one.prompt.text,
                "note": one.prompt.note,
            }
            for name, one in each.items()
        ],
        "focus": focus,
        "position": {
            "model": focus,
            "of": studio.of,
            "at": studio.at,
            "address": packed.offer(here.content, hands[focus].stamp) if isinstance(here, Place) else None,
            "context": here.context if isinstance(here, Place) else "",
        }
        if studio.at < each[focus].ids.shape[1]
        else None,
        "cut": {
            "greedy": studio.greedy,
            "top_k": int(studio.top_k),
            "top_p": float(studio.top_p),
            "min_p": float(studio.min_p),
        },
        "unit": units.pop() if len(units) == 1 else "token",
        "file": "temperature",
    }
    _temperature(data=data, key=_KEY, **ears(_KEY, "temperature", "position"))


def hear(session: PageSession[Studio], hands: Mapping[str, AtHand]) -> None:
    """Take in what the visitor did with the slider and the texts."""
    studio = session.state
    if isinstance(said := heard(_KEY, "temperature"), int | float) and 0 <= said <= 2:
        studio = replace(studio, t=round(float(said), 2))
    said = heard(_KEY, "position")
    if isinstance(said, dict) and said.get("model") in hands:
        of, at = said.get("of"), said.get("at")
        if type(of) is int and type(at) is int and 0 <= of < len(temperatures()) and 0 <= at < studio.tokens:
            studio = studio.at_place(said["model"], of, at)
    if studio != session.state:
        session.state = studio
        write_address(session)


def temperatures() -> Sequence[float]:
    from explorer.generation.scrubbing import TEMPERATURES

    return TEMPERATURES
