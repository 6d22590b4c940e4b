"""The answers of all models to one sentence, with a headline; the home page shows them too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import streamlit as st

from explorer.labs.negation.findings import FILE, GRAMMAR, ModelAnswer, answers_finding
from explorer.labs.negation.predictions import class_probabilities, classes_of, word_effects
from explorer.labs.negation.state import negation_task
from explorer.models.configs import FeedforwardConfig, TransformerEncoderConfig
from explorer.tasks.negation import Negation, NegationConfig
from explorer.tasks.own_sentences import Language
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

FindWords: TypeAlias = Callable[[], tuple[str, ...]]  # returns the words of the sentence as it is now


def measure_answer(view: RunView, words: tuple[str, ...], length: int | None = None) -> ModelAnswer:
    """Return the answer of a model that has a stored run; the sentence is padded to `length`. Raises DamagedRun."""
    run = view.loaded_run
    assert run
    effects = () if isinstance(run.config.task, NegationConfig) else word_effects(run, words)
    classes = classes_of(run)
    return ModelAnswer(view.row.title, view.row.colour, class_probabilities(run, words, length), classes, effects)


def answers_section(
    views: Mapping[str, RunView], find_words: FindWords, task: NegationConfig | None, name: str
) -> None:
    """Draw the finding, then the tokens, then a bar for each model; `task` is None for English sentences."""
    trained = {model: view for model, view in views.items() if view.loaded_run}
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

    first = next(iter(trained.values())).loaded_run
    assert first
    data = negation_task(task) if task else Language.from_json(first.tokenizer)
    draw = partial(_draw_answers, windows, data, name)
    height = 130 + (50 if task else 54) * len(trained)
    result_section(name, requests, draw, "The models read the sentence …", height, pool="quick")


def _measure(view: RunView, words: tuple[str, ...]) -> tuple[tuple[str, ...], ModelAnswer]:
    return words, measure_answer(view, words)


def _draw_answers(
    windows: Mapping[str, int],
    task: Negation | Language,
    key: str,
    document: Document,
    results: Mapping[str, tuple[tuple[str, ...], ModelAnswer]],
) -> None:
    """Write the answers to a sentence; see `labs/negation/components/verdicts/view.js`.

    windows: the context windows of the models that have one, in tokens, by title
    task: the data, with the true classes; or the language of models that read any English sentence
    key: the key of the component, and the name of its files
    document: what the section shows
    results: the words of the sentence and the answer, by model
    """
    words = next(iter(results.values()))[0]
    answers = [answer for _, answer in results.values()]
    truth, own = (task.label_of(words), task.config.corpus == "own") if isinstance(task, Negation) else (None, False)
    document.finding(answers_finding(answers, truth, FILE if own else GRAMMAR))
    if isinstance(task, Negation) and own:
        document.text(_place_in_file(task, words))
    elif isinstance(task, Negation) and truth is None:
        document.text("The grammar cannot make this sentence, so no answer is right or wrong.")
    vocabulary, classes = task.vocabulary, task.classes
    tokens = (vocabulary.first, *words, vocabulary.last)
    short = {title: window for title, window in windows.items() if window < len(tokens)}
    visible = min(short.values(), default=len(tokens))
    count, two = len(answers[0].probabilities), len(classes) == 2
    document.component(
        "verdicts",
        {
            "tokens": [
                {
                    "text": token,
                    "kind": "beyond" if i >= visible else "marker" if token in vocabulary.markers else "word",
                }
                for i, token in enumerate(tokens)
            ],
            "token_note": _window_note(short),
            "ends": [f"← {classes[0]}", "undecided", f"{classes[1]} →"]
            if two
            else ["0", "probability of the answer", "1"],
            "origin": 0.5 if two else 0.0,
            "truth": None if truth is None else {"name": classes[truth], "end": 2 * truth if two else None},
            "authority": f"{capitalize(FILE if own else GRAMMAR)} says: ",
            "rows": [
                {
                    "name": v.title,
                    "colour": v.colour,
                    "values": [round(float(p), 4) for p in v.shown_probabilities],
                    "of": classes[v.shown_class],
                    "answer": v.name,
                    "probability": f"{v.probability:.2f}",
                    "right": None if truth is None else v.answer == truth,
                    "note": v.note(truth),
                    "words": [{"text": word, "value": round(value, 3)} for word, value in v.effects],
                }
                for v in answers
            ],
            "caption": (
                f"Bar: mean probability over {count_seeds(count)}. Dots: the seeds." if count > 1 else "One seed."
            )
            + (_EFFECTS if answers[0].effects else ""),
            "file": key,
        },
        key,
    )
    untrained = sorted({word for word in words if word in classes})
    if untrained and not own:
        quoted = join_words([f"“{word}”" for word in untrained])
        document.caption(
            f"{quoted} is in the vocabulary but in no training sentence, so its weights are those of the random "
            "initialization."
        )
    unknown = list(dict.fromkeys(word for word in words if own and word not in vocabulary.words))
    if unknown:
        quoted = join_words([f"“{word}”" for word in unknown[:6]]) + (" and others" if len(unknown) > 6 else "")
        document.caption(
            f"{quoted} {'is' if len(unknown) == 1 else 'are'} not in the vocabulary of the models. They read "
            f"{'it' if len(unknown) == 1 else 'them'} as {vocabulary.unknown}."
        )


_EFFECTS = (
    " Colour of a word: what it adds to positive (teal) or negative (brown), as a share of the strongest word. In a "
    "bag of words that is its weight, in a network the change without the word."
)


def _place_in_file(task: Negation, words: tuple[str, ...]) -> str:
    """Return a sentence that names the part of a file in which the typed sentence is."""
    found = next((s for s in task.sentences if s.words == words), None)
    if found is None:
        return "Your file does not have this sentence, so no answer is right or wrong."
    if found.train_probability:
        return "This sentence is in the training part: the models have learned its class."
    return "This sentence is held out: training never shows it."


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
