"""The answers of all models to one sentence, with a headline; the home page shows them too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from explorer.labs.negation.findings import Verdict, verdict_finding
from explorer.labs.negation.predictions import sustain_probabilities
from explorer.models.configs import FeedforwardConfig, TransformerEncoderConfig
from explorer.tasks.negation import CLASSES, VOCABULARY, true_label
from explorer.ui.components.base import register
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds, join_words, number_word

_verdicts = register("verdicts")  # draws a bar with its seeds for each model; see `static/components/verdicts/view.js`


def verdicts_of(views: Mapping[str, RunView], words: tuple[str, ...], length: int | None = None) -> list[Verdict]:
    """Return the answer of each model that has a stored run; `length` is the padded length."""
    return [
        Verdict(view.row.title, view.row.colour, sustain_probabilities(view.stored, words, length))
        for view in views.values()
        if view.stored
    ]


def show_verdicts(
    views: Mapping[str, RunView], words: tuple[str, ...], key: str, heading: Callable[..., object] = st.subheader
) -> None:
    """Draw the finding as a heading, then the tokens, then a bar for each model."""
    truth = true_label(words)
    verdicts = verdicts_of(views, words)
    heading(verdict_finding(verdicts, truth), anchor=False)
    if not verdicts:
        return
    tokens = (VOCABULARY.first, *words, VOCABULARY.last)
    windows = {
        view.row.title: view.config.model.window
        for view in views.values()
        if view.stored and isinstance(view.config.model, FeedforwardConfig | TransformerEncoderConfig)
    }
    short = {title: window for title, window in windows.items() if window < len(tokens)}
    visible = min(short.values(), default=len(tokens))
    count = len(verdicts[0].sustain)
    _verdicts(
        data={
            "tokens": [
                {
                    "text": token,
                    "kind": "beyond" if i >= visible else "marker" if token in VOCABULARY.markers else "word",
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
                for v in verdicts
            ],
            "caption": f"Bar: mean probability over {count_seeds(count)}. Dots: the seeds."
            if count > 1
            else "One seed.",
            "file": key,
        },
        key=key,
    )
    untrained = sorted({word for word in words if word in CLASSES})
    if untrained:
        quoted = join_words([f"“{word}”" for word in untrained])
        st.caption(
            f"{quoted} is in the vocabulary, but no sentence of this world holds "
            "it: what the models know of it is still their random start."
        )


def _window_note(short: Mapping[str, int]) -> str | None:
    """Return which models do not see the end of the sentence; `short` maps titles to windows."""
    if not short:
        return None
    by_size: dict[int, list[str]] = {}
    for title, window in short.items():
        by_size.setdefault(window, []).append(title)
    parts = [
        f"{join_words(titles)} see{'s' if len(titles) == 1 else ''} {number_word(size)} tokens"
        for size, titles in by_size.items()
    ]
    return f"Greyed: beyond a window. {join_words(parts)}."
