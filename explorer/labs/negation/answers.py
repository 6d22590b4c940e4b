"""The answers of all models to one sentence, which the home page shows too, and what padding changes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import model_row
from explorer.inspection import load_model
from explorer.inspection.words import negation_sentences, word_effects
from explorer.labs.negation import findings
from explorer.labs.negation.findings import FILE, GRAMMAR, ModelAnswer, answers_finding
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.models.configs import FeedforwardConfig, TransformerEncoderConfig
from explorer.tasks.negation import CLASSES, Negation, NegationConfig
from explorer.tasks.own_sentences import Language
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word


def class_probabilities(
    run: ui.Run, words: tuple[str, ...], length: int | None = None
) -> Float[ndarray, "replicas classes"]:
    """Return the probability of each class of a sentence for every seed.

    `length` is the padded length; by default that of the evaluation of the run.
    """
    config = run.config.task
    if length is None and isinstance(config, NegationConfig) and config.corpus == "grammar":
        task = negation_task(config)
        recorded = next((i for i, s in enumerate(task.sentences) if s.words == words), None)
        if recorded is not None:  # the run recorded its answer to this sentence: no model has to be loaded
            sustain = np.asarray(run.curves.answers["sustain"][-1][:, recorded])
            return np.stack([1 - sustain, sustain], axis=1)
    return negation_sentences.class_probabilities(load_model.shared_model(run), words, length)


def classes_of(run: ui.Run) -> tuple[str, ...]:
    """Return the names of the classes that a run answers."""
    return Language.from_json(run.tokenizer).classes


def probabilities_of_sentences(
    run: ui.Run, sentences: tuple[tuple[str, ...], ...]
) -> Float[ndarray, "sentences replicas classes"]:
    """Return the probability of each class of many sentences for every seed."""
    return negation_sentences.probabilities_of_sentences(load_model.shared_model(run), sentences)


def measure_answer(run: ui.Run, words: tuple[str, ...], length: int | None = None) -> ModelAnswer:
    """Return the answer of a model; the sentence is padded to `length`. Raises DamagedRun."""
    row = model_row(run.config.model)
    effects: tuple[tuple[str, float], ...] = ()
    if not isinstance(run.config.task, NegationConfig):
        found = word_effects.word_effects(load_model.shared_model(run), words)
        effects = tuple(zip(found.words, found.values.tolist(), strict=True))
    return ModelAnswer(row.title, row.colour, class_probabilities(run, words, length), classes_of(run), effects, words)


def answers_section(
    views: Mapping[str, ui.RunView], find_words: Callable[[], tuple[str, ...]], task: NegationConfig | None, name: str
) -> None:
    """Draw the finding, then the tokens, then a bar for each model.

    find_words: returns the words of the sentence as it is now
    task: None for English sentences
    """
    runs = ui.loaded_runs(views)
    if not runs:
        live = any(view.live for view in views.values())
        ui.headline("The models are training; their answers follow." if live else answers_finding([], None))
        return
    windows = {
        model_row(run.config.model).title: run.config.model.window
        for run in runs.values()
        if isinstance(run.config.model, FeedforwardConfig | TransformerEncoderConfig)
    }
    ui.show_each(
        name,
        lambda: {model: ui.Call(measure_answer, run, find_words()) for model, run in runs.items()},
        answers_view,
        windows,
        negation_task(task) if task else Language.from_json(next(iter(runs.values())).tokenizer),
        name,
        waiting="The models read the sentence …",
        height=130 + (50 if task else 54) * len(runs),
        pool="quick",
    )


def answers_view(
    document: ui.Document,
    results: Mapping[str, ModelAnswer],
    windows: Mapping[str, int],
    task: Negation | Language,
    key: str,
) -> None:
    """Write the answers to a sentence; see `labs/negation/components/verdicts/view.js`.

    results: the answer of each model
    windows: the context windows of the models that have one, in tokens, by title
    task: the data, with the true classes; or the language of models that read any English sentence
    key: the key of the component, and the name of its files
    """
    answers = list(results.values())
    words = answers[0].words
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
            "tokens": []
            if answers[0].effects  # each row shows the words
            else [
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
            if not answers[0].effects
            else _EFFECTS.format(count=number_word(count)),
            "file": key,
        },
        key,
    )
    untrained = sorted({word for word in words if word in classes})
    if untrained and not own:
        quoted = join_words([f"“{word}”" for word in untrained])
        document.text(
            f"{quoted} is in the vocabulary but in no training sentence, so its weights are those of the random "
            "initialization."
        )
    unknown = list(dict.fromkeys(word for word in words if own and word not in vocabulary.words))
    if unknown:
        quoted = join_words([f"“{word}”" for word in unknown[:6]]) + (" and others" if len(unknown) > 6 else "")
        document.text(
            f"{quoted} {'is' if len(unknown) == 1 else 'are'} not in the vocabulary of the models. They read "
            f"{'it' if len(unknown) == 1 else 'them'} as {vocabulary.unknown}."
        )


_EFFECTS = "Dots: {count} trainings. Colour of a word: what it adds to positive (teal) or negative (brown)."


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


def answer_cell(answer: ModelAnswer, truth: int | None) -> charts.Cell:
    """Return the table cell of a model's answer, marked where it is wrong."""
    return charts.Cell(
        f"{answer.name} {answer.probability:.2f}",
        tone=CLASSES[answer.answer] if len(answer.classes) == 2 else "",
        wrong=truth is not None and answer.answer != truth,
    )


def padding_section(session: NegationSession, views: Mapping[str, ui.RunView]) -> None:
    """Draw what happens when padding is an ordinary token that the models count."""
    ui.explanation(
        "The sentences of a batch must have the same length, so short ones are padded. These models skip "
        "`<PAD>`. If short sentences are padded with `<EOS>` instead, which the models count as a word, the answer to "
        "a sentence depends on its neighbours in the batch."
    )
    on = session.experiment.task.padding == "eos"
    ui.bind_widget(
        session,
        "trap",
        st.toggle,
        shown=on,
        update=lambda lab, on: lab.with_shared(padding="eos" if on else "pad"),
        label="Pad with <EOS> and count it as a word",
    )
    runs = ui.loaded_runs(views, "No model has a finished run with this padding yet.", 160)
    if not runs:
        return
    longest = max(negation_task(session.experiment.task).lengths)

    def calls() -> dict[str, ui.Call[ModelAnswer]]:
        words = session.words
        if len(words) + 2 >= longest:  # no sentence is longer: drop the "not"s
            words = tuple(word for word in words if word != "not")[: longest - 3] or words
        return {
            f"{model}/{name}": ui.Call(measure_answer, run, words, length if on else None)
            for model, run in runs.items()
            for name, length in (("alone", len(words) + 2), ("padded", longest))
        }

    waiting = "The models read both sentences …"
    ui.show_each("trap", calls, paddings_view, session.experiment.task, longest, waiting=waiting, height=320)


def paddings_view(
    document: ui.Document, results: Mapping[str, ModelAnswer], task: NegationConfig, longest: int
) -> None:
    """Write whether padding changes an answer, and a row for each model.

    results: the answer of each model to the sentence "alone" and "padded" to the longest sentence of a batch
    longest: its tokens
    """
    pairs = [
        (alone, padded)
        for name, alone in results.items()
        if name.endswith("/alone") and (padded := results.get(name.replace("/alone", "/padded")))
    ]
    if not pairs:
        return
    words = pairs[0][0].words
    truth, extra = negation_task(task).label_of(words), longest - len(words) - 2
    document.finding(findings.padding_finding([one for one, _ in pairs], [other for _, other in pairs]))
    seeds = charts.Column("seeds, P(sustain)", "strip", range=(0, 1), minor=True)
    longer = f"with a sentence {number_word(extra)} token{'s' if extra > 1 else ''} longer"
    columns = {
        "name": charts.Column(f"“{' '.join(words)[:60]}”", "model", wrap=True),
        "alone": charts.Column("alone", "verdict"),
        "seeds-alone": seeds,
        "beside": charts.Column(longer, "verdict"),
        "seeds-beside": seeds,
    }
    rows = [
        {
            "name": charts.Cell(one.title, one.colour),
            "alone": answer_cell(one, truth),
            "seeds-alone": charts.strip("", one.shown_probabilities),
            "beside": answer_cell(other, truth),
            "seeds-beside": charts.strip("", other.shown_probabilities),
        }
        for one, other in pairs
    ]
    caption = "The answer with its mean probability over the seeds. Framed: wrong."
    document.table(
        "negation-trap", charts.Table(columns, rows, "The same sentence alone and next to a longer one", caption)
    )
