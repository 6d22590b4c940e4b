"""What a model answers before and after its heads are touched, and what each head is worth."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.figures import attention as figures
from explorer.figures.style import signed
from explorer.tasks.text import TextConfig
from explorer.ui import attention_findings as findings
from explorer.ui import slowly, texts
from explorer.ui.at_hand import AtHand
from explorer.ui.attention_views import Looked, asked, outcome
from explorer.ui.components import Panel, frame
from explorer.ui.gaze import Gaze
from explorer.ui.page import explanation, plain

if TYPE_CHECKING:
    from explorer.inspection.heads import Worth

MOST = 8  # answers that are drawn


def finding(gaze: Gaze, hand: AtHand, found: Looked) -> None:
    """What it says, and what the touches made of it, as a sentence."""
    said = findings.answer(found, _row(gaze, hand, found), partial(outcome, hand, found), hand.tokenizer is not None)
    st.subheader(plain(said), anchor=False)


def _row(gaze: Gaze, hand: AtHand, found: Looked) -> int:
    """Which answer is looked at: after the token that asks, or the only one of a sentence."""
    return 0 if hand.tokenizer is None else asked(hand, gaze, len(found.read.ids))


def section(gaze: Gaze, hand: AtHand, found: Looked) -> None:
    """What it answers now, beside what it says untouched."""
    row, touched = _row(gaze, hand, found), found.gaze.touched
    now, before = np.exp(found.answers[row]), np.exp(found.untouched[row])
    shown = np.argsort(-np.maximum(now, before), kind="stable")[:MOST]
    labels = [outcome(hand, found, int(i)) for i in shown]
    said = ", ".join(f"{name} {p:.2f}" for name, p in zip(labels, now[shown], strict=True))
    st.header("What it answers", anchor=False)
    after = "What it expects after the token that asks." if hand.tokenizer else "Read off at <BOS>."
    behind = "Solid: with what you touched; pale: untouched. " if touched else ""
    with st.container(width=640):
        frame(
            [
                Panel(
                    "gaze-answers",
                    figures.answers(labels, now[shown], before[shown] if touched else None, hand.row.colour),
                    alt=f"The likeliest answers: {said}.",
                    caption=behind + after,
                )
            ],
            key="gaze-answers",
            height=40 + 40 * len(labels),
            columns=1,
        )


def worth_so_far(hand: AtHand, gaze: Gaze) -> Worth | None:
    """What each head is worth, for the grid, if it is measured already; if not, that begins now."""
    if not _measurable(hand):
        return None
    future = slowly.work(_worth_key(hand, gaze), lambda: _measured(hand, gaze), "patient")
    if not future.done() or future.cancelled() or future.exception():
        return None
    return future.result()


def _measurable(hand: AtHand) -> bool:
    """Whether the text that it is measured on is here."""
    task = hand.config.task
    return not isinstance(task, TextConfig) or texts.readable(task)


def _worth_key(hand: AtHand, gaze: Gaze) -> tuple[Hashable, ...]:
    return ("gaze-worth", *hand.stamp, gaze.seed)


def _measured(hand: AtHand, gaze: Gaze) -> Worth:
    from explorer.inspection.heads import worth

    return worth(hand.kept, gaze.seed)


def _targets(hand: AtHand) -> int:
    """How many targets are held out; the text is in tokens already, since something was measured on it."""
    from explorer.tasks.windows import text_data

    return text_data(hand.config.on(TextConfig)).held_out_targets


def worth_section(gaze: Gaze, hand: AtHand, shown: bool) -> None:
    """What is lost on held-out text, head by head. `shown`: whether the grid has these numbers too."""
    st.header("What each head is worth", anchor=False)
    of_text = isinstance(hand.config.task, TextConfig)
    explanation(
        "Switch off one head at a time, ask the model about "
        + ("text that it never learned from" if of_text else "every sentence of the grammar")
        + ", and see by how much its loss rises. A head may look at interesting places and be worth nothing; another "
        "may seem dull and be needed."
    )
    if gaze.step is not None or gaze.touched:
        st.caption("This is measured at the end of the training, with nothing touched.")
    if not _measurable(hand):
        st.caption("The text it would be measured on is not on this machine.")
        return

    def draw(found: Worth) -> None:
        if not shown:
            st.rerun()
        layers, heads = found.loss.shape
        total = _targets(hand) if of_text else 0
        labels = [f"layer {i + 1}, head {j + 1}" for i in range(layers) for j in range(heads)]
        st.subheader(plain(findings.worth(found, labels)), anchor=False)
        values, errors = found.worth.reshape(-1), found.error.reshape(-1)
        frame(
            [
                Panel(
                    "gaze-worth",
                    figures.worth(labels, values, errors, hand.row.colour, f"rise of the {found.metric}"),
                    alt=", ".join(f"{n} {signed(float(v), 3)}" for n, v in zip(labels, values, strict=True)),
                    caption=findings.how_measured(found, of_text, total),
                )
            ],
            key="gaze-worth",
            height=90 + 30 * len(labels),
            columns=1,
        )

    slowly.eventually(
        "gaze-worth",
        _worth_key(hand, gaze),
        lambda: _measured(hand, gaze),
        draw,
        "The model is asked once more for each head; that takes a few seconds …",
        300,
        pool="patient",
    )
