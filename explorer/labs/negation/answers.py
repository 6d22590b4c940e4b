"""The answers of all models to one sentence, with a headline; the home page shows them too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import streamlit as st

from explorer.labs.negation.findings import ModelAnswer, answers_finding
from explorer.labs.negation.predictions import sustain_probabilities
from explorer.labs.negation.state import negation_task
from explorer.models.configs import FeedforwardConfig, TransformerEncoderConfig
from explorer.tasks.negation import CLASSES, VOCABULARY, NegationConfig
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds, join_words, number_word

FindWords: TypeAlias = Callable[[], tuple[str, ...]]  # returns the words of the sentence as it is now


def measure_answer(view: RunView, words: tuple[str, ...], length: int | None = None) -> ModelAnswer:
    """Return the answer of a model that has a stored run; `length` is the padded length. Raises DamagedRun."""
    assert view.stored
    return ModelAnswer(view.row.title, view.row.colour, sustain_probabilities(view.stored, words, length))


def answers_section(views: Mapping[str, RunView], find_words: FindWords, task: NegationConfig, name: str) -> None:
    """Draw the finding, then the tokens, then a bar for each model."""
    trained = {model: view for model, view in views.items() if view.stored}
    if not trained:
        live = any(view.live for view in views.values())
        st.subheader(
            "The models are training; their answers follow." if live else answers_finding([], None), anchor=False
        )
        return
    windows = {
        view.row.title: view.config.model.window
        for view in trained.values()
        if isinstance(view.config.model, FeedforwardConfig | TransformerEncoderConfig)
    }

    def requests() -> dict[str, Request[tuple[tuple[str, ...], ModelAnswer]]]:
        words = find_words()
        return {
            model: (("verdict", words, *view.cache_key), partial(_measure, view, words))
            for model, view in trained.items()
        }

    draw = partial(_draw_answers, windows, task, name)
    height = 130 + 50 * len(trained)
    result_section(name, requests, draw, "The models read the sentence …", height, pool="quick")


def _measure(view: RunView, words: tuple[str, ...]) -> tuple[tuple[str, ...], ModelAnswer]:
    return words, measure_answer(view, words)


def _draw_answers(
    windows: Mapping[str, int],
    task: NegationConfig,
    key: str,
    document: Document,
    results: Mapping[str, tuple[tuple[str, ...], ModelAnswer]],
) -> None:
    """Write the answers to a sentence; see `static/components/verdicts/view.js`. `windows` maps titles to sizes."""
    words = next(iter(results.values()))[0]
    answers = [answer for _, answer in results.values()]
    truth = negation_task(task).label_of(words)
    document.finding(answers_finding(answers, truth))
    if truth is None:
        document.text("The grammar cannot make this sentence, so no answer is right or wrong.")
    tokens = (VOCABULARY.first, *words, VOCABULARY.last)
    short = {title: window for title, window in windows.items() if window < len(tokens)}
    visible = min(short.values(), default=len(tokens))
    count = len(answers[0].sustain)
    document.component(
        "verdicts",
        {
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
                for v in answers
            ],
            "caption": f"Bar: mean probability over {count_seeds(count)}. Dots: the seeds."
            if count > 1
            else "One seed.",
            "file": key,
        },
        key,
    )
    untrained = sorted({word for word in words if word in CLASSES})
    if untrained:
        quoted = join_words([f"“{word}”" for word in untrained])
        document.caption(
            f"{quoted} is in the vocabulary but in no training sentence, so its weights are those of the random "
            "initialization."
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
    return f"Crossed out: tokens beyond a context window. {join_words(parts)}."
