"""A sentence through the models: the verdict rows with their headline, as home and the lab show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from explorer.models.configs import FeedforwardConfig, TransformerEncoderConfig
from explorer.tasks.negation import CLASSES, VOCABULARY, grammar_says
from explorer.ui import runs
from explorer.ui.components import verdicts as draw_verdicts
from explorer.ui.findings import Verdict, listed, number, seeds, verdict_finding
from explorer.ui.runs import Lane


def verdicts_of(lanes: Mapping[str, Lane], words: tuple[str, ...], length: int | None = None) -> list[Verdict]:
    """What each model that has been trained says."""
    return [
        Verdict(lane.row.title, lane.row.colour, runs.sustain(lane.stored, words, length))
        for lane in lanes.values()
        if lane.stored
    ]


def show_verdicts(
    lanes: Mapping[str, Lane], words: tuple[str, ...], key: str, heading: Callable[..., object] = st.subheader
) -> None:
    """The finding as a heading, then the tokens, then a bar for each model."""
    truth = grammar_says(words)
    found = verdicts_of(lanes, words)
    heading(verdict_finding(found, truth), anchor=False)
    if not found:
        return
    tokens = (VOCABULARY.first, *words, VOCABULARY.last)
    windows = {
        lane.row.title: lane.config.model.window
        for lane in lanes.values()
        if lane.stored and isinstance(lane.config.model, FeedforwardConfig | TransformerEncoderConfig)
    }
    short = {title: window for title, window in windows.items() if window < len(tokens)}
    seen = min(short.values(), default=len(tokens))
    count = len(found[0].sustain)
    draw_verdicts(
        {
            "tokens": [
                {
                    "text": token,
                    "kind": "beyond" if i >= seen else "marker" if token in VOCABULARY.markers else "word",
                }
                for i, token in enumerate(tokens)
            ],
            "token_note": _window_note(short),
            "classes": list(CLASSES),
            "truth": None if truth is None else CLASSES[truth],
            "rows": [
                {
                    "name": v.title,
                    "colour": v.colour,
                    "values": [round(float(p), 4) for p in v.sustain],
                    "answer": CLASSES[v.answer],
                    "probability": f"{v.probability:.2f}",
                    "right": None if truth is None else v.answer == truth,
                    "note": v.note(truth),
                }
                for v in found
            ],
            "caption": f"Bar: mean probability over {seeds(count)}. Dots: the seeds." if count > 1 else "One seed.",
            "file": key,
        },
        key=key,
    )
    untrained = sorted({word for word in words if word in CLASSES})
    if untrained:
        st.caption(
            f"{listed([f'“{word}”' for word in untrained])} is in the vocabulary, but no sentence of this world holds "
            "it: what the models know of it is still their random start."
        )


def _window_note(short: Mapping[str, int]) -> str | None:
    """Which models do not see the end of the sentence."""
    if not short:
        return None
    by_size: dict[int, list[str]] = {}
    for title, window in short.items():
        by_size.setdefault(window, []).append(title)
    parts = [
        f"{listed(titles)} see{'s' if len(titles) == 1 else ''} {number(size)} tokens"
        for size, titles in by_size.items()
    ]
    return f"Greyed: beyond a window. {listed(parts)}."
