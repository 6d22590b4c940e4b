"""Step by step: one token at a time, what might have stood there instead, and another way from any place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.ui.at_hand import AtHand
from explorer.ui.components import ears, heard, register
from explorer.ui.page import explanation
from explorer.ui.session import PageSession, write_address
from explorer.ui.slowly import latest
from explorer.ui.studio import LONGEST_PATH, Studio
from explorer.ui.studio_models import choice, focused, read, sampling, tensor, tokenizer_of, writer

if TYPE_CHECKING:
    from explorer.generation.scrubbing import Candidate

BEGINNING = 8  # tokens of the path before anybody chose one
_KEY = "tree"
_tree = register(_KEY)


def section(session: PageSession[Studio], hands: Mapping[str, AtHand]) -> None:
    """The candidates at every place of a path; see `assets/tree.js`."""
    studio = session.state
    hand = hands[focused(hands, studio)]
    st.header("Step by step", anchor=False)
    explanation(
        f"The {hand.title} once more, one {hand.unit} at a time. Each column holds the likeliest candidates; press "
        "one to go that way, or let the dice choose."
    )
    studio = _known(session, hand)
    key = ("studio-tree", *hand.stamp, studio.prompt, studio.path, float(studio.t), *choice(studio))

    def draw(found: Mapping[str, dict[str, Any]], old: frozenset[str]) -> None:
        if _heard(session, hand, tuple(step["id"] for step in found["tree"]["steps"])):
            st.rerun()
        _tree(data=found["tree"], key=_KEY, **ears(_KEY, "go", "next", "back"))

    latest(
        "studio-tree",
        lambda: {"tree": (key, lambda: pictured(hand, studio))},
        draw,
        "The model is reading …",
        420,
        pool="quick",
    )


def _known(session: PageSession[Studio], hand: AtHand) -> Studio:
    """The state without a path that this model has no tokens for."""
    studio, count = session.state, len(tokenizer_of(hand).tokens)
    strange = [id for id in studio.path or () if id >= count]
    if strange:
        session.problems += (
            f"path names token {strange[0]:,}, but this model has 0 to {count - 1:,}: the path begins anew.",
        )
        session.state = replace(studio, path=None)
        st.rerun()  # the sentence stands at the top of the page
    return studio


def pictured(hand: AtHand, studio: Studio) -> dict[str, Any]:
    """The path of a model, with the candidates at every place. Raises LineageError."""
    from explorer.generation.scrubbing import steps
    from explorer.tokenization.text import pieces

    prompt, tokenizer = read(hand, studio.prompt), tokenizer_of(hand)
    path = by_the_dice(hand, studio, (), BEGINNING) if studio.path is None else studio.path
    found = steps(writer(hand), tensor(prompt.ids), tensor(path), sampling(studio))
    added = pieces(tokenizer, path, prompt.ids)

    def candidates(before: tuple[int, ...], given: tuple[Candidate, ...]) -> list[dict[str, object]]:
        behind = (*prompt.ids, *before)[-8:]  # more do not change what a token adds
        return [
            {
                "id": each.id,
                "piece": pieces(tokenizer, [each.id], behind)[0] or tokenizer.tokens[each.id],
                "p": round(each.probability, 5),
                "learned": round(each.learned, 5),
                "cut": each.cut,
            }
            for each in given
        ]

    return {
        "title": hand.title,
        "colour": hand.row.colour,
        "unit": hand.unit,
        "prompt": prompt.text,
        "steps": [
            {
                "piece": piece,
                "id": step.id,
                "p": round(step.probability, 5),
                "learned": round(step.learned, 6),
                "surprise": round(step.surprise, 4),
                "candidates": candidates(path[:i], step.candidates),
                "dice": step.dice,
            }
            for i, (piece, step) in enumerate(zip(added, found.steps, strict=True))
        ],
        "here": {"candidates": candidates(path, found.here.candidates), "dice": found.here.dice},
        "temperature": float(studio.t),
        "most_surprising": found.most_surprising,
        "most": LONGEST_PATH,
        "full": math.log(max(2, len(tokenizer.tokens))),
        "file": "step-by-step",
    }


def _heard(session: PageSession[Studio], hand: AtHand, shown: tuple[int, ...]) -> bool:
    """Take in where the visitor wants to go from the path that is shown."""
    studio, path = session.state, shown
    said = heard(_KEY, "go")
    if isinstance(said, dict):
        at, id = said.get("at"), said.get("id")
        if type(at) is int and type(id) is int and 0 <= at <= len(path) and 0 <= id < len(tokenizer_of(hand).tokens):
            path = (*path[:at], id)
    if type(said := heard(_KEY, "back")) is int and said > 0:
        path = path[: max(0, len(path) - said)]
    if type(said := heard(_KEY, "next")) is int and 0 < said <= LONGEST_PATH:
        path = (*path, *by_the_dice(hand, studio, path, min(said, LONGEST_PATH - len(path))))
    moved = path != shown
    if moved:
        session.state = replace(studio, path=path[:LONGEST_PATH])
        write_address(session)
    return moved


def by_the_dice(hand: AtHand, studio: Studio, path: tuple[int, ...], tokens: int) -> tuple[int, ...]:
    """So many tokens after a path, as the dice choose them. Raises LineageError."""
    from explorer.generation.scrubbing import onward

    prompt = tensor(read(hand, studio.prompt).ids)
    return tuple(onward(writer(hand), prompt, tensor(path), tokens, sampling(studio)).tolist())
