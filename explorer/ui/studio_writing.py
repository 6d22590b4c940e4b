"""Whole texts, written on the server while the visitor reads: streamed, side by side, with stop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.ui import streams, studio_findings
from explorer.ui.at_hand import AtHand
from explorer.ui.components import register
from explorer.ui.page import explanation
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import latest
from explorer.ui.studio import LONGEST_TEXT, Studio
from explorer.ui.studio_models import Prompt, read, sampling, tensor, tokenizer_of, writer

if TYPE_CHECKING:
    from explorer.generation.chunks import Chunk

_KEY = "writing"
_writing = register(_KEY)


def section(session: PageSession[Studio], hands: Mapping[str, AtHand]) -> None:
    """A long text of every model, from the same prompt, with the same dice; see `assets/writing.js`."""
    studio = session.state
    st.header("Whole texts", anchor=False)
    explanation(
        "Let them write on. The dice are those of above: at the same temperature a text begins as it stands there."
    )
    ties = bound(session, "studio.length", studio.length, lambda s, n: replace(s, length=n))
    st.number_input("Tokens of each", 100, LONGEST_TEXT, step=100, width=150, **ties)
    wanted = {
        name: (("studio-prompt", *hand.stamp, studio.prompt), partial(read, hand, studio.prompt))
        for name, hand in hands.items()
    }

    def draw(found: Mapping[str, Prompt], old: frozenset[str]) -> None:
        units = {hands[name].unit for name in found}
        data = {
            "models": [
                {
                    "name": name,
                    "title": hands[name].title,
                    "colour": hands[name].row.colour,
                    "address": streams.offer(
                        f"studio.{name}", partial(written, hands[name], studio), hands[name].stamp
                    ),
                    "prompt": prompt.text,
                    "unit": hands[name].unit,
                }
                for name, prompt in found.items()
            ],
            "most": studio.length,
            "cut": studio_findings.cuts(studio),
            "temperature": float(studio.t),
            "seed": studio.seed,
            "full": math.log(max(2, *(len(tokenizer_of(hands[name]).tokens) for name in found))),
            "unit": units.pop() if len(units) == 1 else "token",
            "file": "text",
        }
        _writing(data=data, key=_KEY)

    latest("studio-writing", lambda: wanted, draw, "The prompt is being read …", 420, pool="quick")


def written(hand: AtHand, studio: Studio) -> Iterator[Chunk]:
    """The text of a model, token by token. Raises LineageError."""
    from explorer.generation.chunks import chunks

    prompt = tensor(read(hand, studio.prompt).ids)
    return chunks(writer(hand), tokenizer_of(hand), prompt, studio.length, sampling(studio))
