"""Unrolled: the gradient of the weights that all steps share, as a sum over the steps of real runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.comparison import PER_RUN, Line, comparison
from explorer.training import store
from explorer.training.recall_runs import CONTESTANTS, Contestant
from explorer.ui import shapes_findings as findings
from explorer.ui.components import Panel, frame, tracks
from explorer.ui.page import explanation, plain
from explorer.ui.session import PageSession, bound
from explorer.ui.shapes import NETS, Shapes
from explorer.ui.slowly import each_eventually

if TYPE_CHECKING:
    from explorer.inspection.unrolling import Terms

HEIGHT = 360


def sum_section(session: PageSession[Shapes]) -> None:
    """The whole section."""
    st.header("One matrix, used at every step", anchor=False)
    explanation(
        "Unrolled over time, a recurrent net is a deep net whose layers are all the same. Its recurrent matrix U has "
        "therefore one gradient, and that is a sum: what each step would like it to become. Here every step of a real "
        "run was given a copy of its own, so that the terms can be looked at one by one."
    )
    st.latex(r"\frac{\partial L}{\partial U} = \sum_{t=1}^{T} \frac{\partial L}{\partial U_t}")
    trained = session.state.trained
    ties = bound(
        session, "shapes.trained", "after" if trained else "before", lambda s, v: replace(s, trained=v == "after")
    )
    words = {"before": "before training", "after": "after training"}
    st.segmented_control("When", list(words), format_func=words.__getitem__, required=True, **ties)
    wanted = {name: (("shapes-terms", run, trained), partial(_terms, run, trained)) for name, run in NETS.items()}
    each_eventually(
        "shapes-sum",
        wanted,
        partial(_draw, trained),
        "Every step of the nets is given a copy of the shared weights …",
        HEIGHT + 60,
    )


def _terms(run: str, trained: bool) -> Terms:
    from explorer.inspection.opening import open_model
    from explorer.inspection.unrolling import terms

    return terms(open_model(store.find(run), None if trained else 0))


def _draw(trained: bool, found: Mapping[str, Terms]) -> None:
    nets = [(_words(CONTESTANTS[name]), each.share) for name, each in found.items()]
    st.subheader(plain(findings.sum_finding(nets, trained)), anchor=False)
    frame([_shares(tuple(found.items())), _sizes(tuple(found.items()))], key="shapes-sum", height=HEIGHT, columns=2)
    replicas, steps = next(iter(found.values())).sizes.shape
    off = max(each.off for each in found.values())
    st.caption(f"Line: middle of {replicas} seeds. Band: lowest to highest. {findings.proof(off, replicas, steps)}")


@lru_cache(maxsize=8)
def _shares(found: tuple[tuple[str, Terms], ...]) -> Panel:
    """How much of the whole the last steps make."""
    lines = [_line(CONTESTANTS[name], each.share[:, ::-1].cumsum(axis=1)) for name, each in found]
    told = [f"{_words(CONTESTANTS[name])} {findings.of_the_last(each.share):.2f}" for name, each in found]
    return Panel(
        "shares",
        comparison(lines, "the last so many steps", (-0.05, 1.1), room=110),
        alt=f"Share of the whole gradient that the last steps make. The last two: {'; '.join(told)}.",
        title="Part of the gradient that the last steps make",
        tracks=tracks([(line.label, line.colour) for line in lines], per_line=PER_RUN),
    )


@lru_cache(maxsize=8)
def _sizes(found: tuple[tuple[str, Terms], ...]) -> Panel:
    """How large each term is."""
    lines = [_line(CONTESTANTS[name], np.maximum(each.sizes[:, 1:], 1e-18), first=2) for name, each in found]
    told = [f"{_words(CONTESTANTS[name])} {np.median(each.sizes[:, 1]):.0e}" for name, each in found]
    return Panel(
        "sizes",
        comparison(lines, "step", (1e-18, 1.0), log_y=True, end=float(found[0][1].sizes.shape[1]), room=110),
        alt=f"Size of the term of each step, on a logarithmic axis. At step 2: {'; '.join(told)}.",
        title="Size of each step’s term",
        tracks=tracks([(line.label, line.colour) for line in lines], "power", per_line=PER_RUN),
    )


def _line(who: Contestant, values: np.ndarray, first: int = 1) -> Line:
    x = np.arange(first, first + values.shape[1], dtype=float)
    middle, low, high = np.median(values, axis=0), values.min(axis=0), values.max(axis=0)
    row = MODELS[who.model]
    return Line(f"{row.title} {who.label}", _words(who), row.colour, who.dash, x, middle, low, high)


def _words(who: Contestant) -> str:
    return f"the {MODELS[who.model].title} {who.words}"
