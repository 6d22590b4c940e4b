"""The negation page in English: what “not” does to any sentence, how the models learn it, and what they get wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import models_of
from explorer.experiments.default_runs import sentiment_runs
from explorer.experiments.model_variant import released_variants
from explorer.experiments.pretraining import REVIEWS_ALONE
from explorer.labs.negation import findings
from explorer.labs.negation.answers import answers_section
from explorer.labs.negation.model_internals import internals_section, learned_weights_section
from explorer.labs.negation.results import training_settings
from explorer.labs.negation.sentence_input import draw_file_form, draw_sentence_input
from explorer.labs.negation.session import EnglishSession
from explorer.labs.negation.state import MAX_TYPED, EnglishLab
from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.tasks.own_sentences import Language
from explorer.tasks.sentiment.config import TESTED
from explorer.tokenization.words import Words
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.page_sections import lead
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import fragment
from explorer.ui.training.run_view import run_views
from explorer.ui.training.save_offer import save_offer

REDRAW = ("sentence", "verdicts", "insides", "more-insides")
_LEAD = "**Type a sentence with “not”**: which models hear that it turns the meaning round?"
_SHARED = ("replicas", "seed", "iterations", "batch_size", "reviews", "composed", "words")  # settings of all models
_METRICS = {
    "accuracy": [
        ui.Metric("test_accuracy_reviews", "Reviews that were held out"),
        ui.Metric("test_accuracy_negated", "Sentences that a negation turns round"),
    ],
    "loss": [ui.Metric("train_loss", "Training loss", charts.Axis(span=(0.0, 1.0)))],
}
_VARIANTS = released_variants(models_of("sentiment"))


def english_vocabulary(views: Mapping[str, ui.RunView]) -> Words:
    """Return the words that the models read: those of the first run that is there, or else of the included ones."""
    for view in (*views.values(), *run_views(sentiment_runs(("bag_of_words",))).values()):
        if view.loaded_run:
            return Language.from_json(view.loaded_run.tokenizer).vocabulary
    return Words((), "", "", "", "<UNK>")


def english_page(session: EnglishSession) -> None:
    """Draw everything below the choice of the language."""
    lead(_LEAD)
    lab = session.experiment
    request = ui.TrainRequest.for_section(lab.TASK)
    ui.show_problems((*session.problems, *request.problems))
    shown = request.session_with_results(session)
    views = request.views(shown.experiment.configs)
    vocabulary = english_vocabulary(views)

    def draw_input() -> None:
        session.words = draw_sentence_input(
            session, ENGLISH_EXAMPLES[:3], REDRAW, vocabulary, "Examples", longest=MAX_TYPED
        )

    left, right = st.columns([7, 5], gap="large")
    with left, page_section("negation-verdicts", "What do the models answer?", heading=False):
        fragment(session, "sentence", draw_input)
        ui.draw_missing_runs(request, lab.configs, draw_learning=lambda: _learning_section(session))
        ui.draw_earlier_note(request)
        answers_section(views, lambda: session.words, None, "verdicts")
    with right, page_section("negation-internals", "How does each model compute its answer?", heading=False):
        internals_section(shown, views)
    if not request.offers_missing:
        _learning_section(session)
    with page_section("negation-results", "What can the models do, and what not?", heading=False):
        _results_section(shown)
        save_offer(session, views, "your sentences", "their words and classes, but no sentence")
    folded_section(
        "weights", "What does each model know about the words?", lambda: learned_weights_section(shown, views)
    )
    folded_section("own", "Can the models learn from your own sentences?", lambda: _own_section(session))
    folded_section("task", "What do the models learn from?", lambda: _task_section(session, views))
    code_and_papers("code-of", lab.configs.values(), [paper_of(view.row) for view in views.values()])


def _learning_section(session: EnglishSession) -> None:
    with page_section("negation-learning", "How do the models learn it?", heading=False):
        _training_controls(session)
        _learning_curves(session)


def _training_controls(session: EnglishSession) -> None:
    lab, request = session.experiment, ui.TrainRequest.for_section(session.experiment.TASK)

    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("How do the models learn it?", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            ui.bind_widget(session, "metric", st.segmented_control, label_visibility="collapsed")
            with st.popover("Settings", icon=":material/tune:"):
                training_settings(session, _SHARED, "english.settings-of")
                ui.reset_button(session)
            ui.draw_train_controls(request, lab.configs, next_seed=session.next_seed_configs)


def _learning_curves(session: EnglishSession) -> None:
    lab = session.experiment
    band = "Line: median of the seeds. Band: lowest to highest seed. " if lab.value("replicas") > 1 else "One seed. "
    what = (
        "Accuracy on sentences that training never shows; a coin gets 0.5."
        if lab.metric == "accuracy"
        else "Cross-entropy over training sentences, in nats."
    )
    ui.draw_learning_chart(
        "english-race",
        ui.TrainRequest.for_section(lab.TASK),
        lab.configs,
        ui.curve_panels(_METRICS[lab.metric], _VARIANTS),
        band + what,
        run=".".join(lab.configs),
        height=160,
        narrow_height=160,
        columns=2,
    )


def _results_section(session: EnglishSession) -> None:
    """Draw what every model gets right on each part of the test, beside an answer without reading."""
    lab, request = session.experiment, ui.TrainRequest.for_section(session.experiment.TASK)

    def draw() -> None:
        views = request.views(lab.configs)
        results = {view.row.title: view.result for view in views.values() if view.result}
        st.header("What can the models do, and what not?", anchor=False)
        if not results:
            ui.untrained_panel(views, "The results appear here when a training has ended.", 120)
            return
        ends = {
            title: {name.removeprefix("test_accuracy_"): curves.last(name) for name in curves.metrics}
            for title, curves in results.items()
        }
        parameters = {view.row.title: view.parameters for view in views.values()}
        ui.headline(findings.english_finding(ends, parameters))
        shown = {view.row.title: view for view in views.values()} | _learned_from_reviews(lab)
        majority = np.asarray(next(iter(results.values())).answers["majority"][-1][0])
        ui.draw_now(lambda document: document.table("english-results", results_table(shown, majority)))
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            ui.caption(
                "Models “from reviews alone” have read none of the composed sentences. "
                "A real model reads far more than these 10,000 reviews.",
                width=860,
            )
            st.page_link("generation.py", label="Open a real model", icon=":material/arrow_forward:")

    request.add_fragment("english.results", draw)


def _learned_from_reviews(lab: EnglishLab) -> dict[str, ui.RunView]:
    """Return the included runs that learned from reviews and rated words alone, of the models that are shown."""
    without = lab.with_shared(composed=0)
    models = [model for model in REVIEWS_ALONE if model in lab.models and lab.value("composed")]
    return {
        f"{view.row.title}, from reviews alone": view
        for view in run_views({model: without.config(model) for model in models}).values()
        if view.result
    }


def results_table(views: Mapping[str, ui.RunView], majority: Float[ndarray, " parts"]) -> charts.Table:
    """Return a row for each model, by its title, and one for an answer without reading.

    majority: the share of the more frequent class in each part of the test
    """
    rows: list[charts.Row] = []
    for title, view in views.items():
        row: dict[str, charts.Cell | str] = {"name": charts.Cell(title, view.row.colour)}
        for part in TESTED:
            values = view.result.last(f"test_accuracy_{part}") if view.result else ()
            row[part] = charts.strip(f"{np.median(values):.2f}" if view.result else "–", values)
        rows.append(row)
    shares = zip(TESTED, majority, strict=True)
    rows.append({"name": "Always the more frequent class"} | {part: f"{share:.2f}" for part, share in shares})
    columns = {"name": charts.Column("", "model", wrap=True)}
    columns |= {part: charts.Column(label, "strip", range=(0.0, 1.0)) for part, label in TESTED.items()}
    return charts.Table(
        columns,
        rows,
        "Accuracy on each part of the test, a row for each model",
        "Median over the seeds, and a dot for each seed. No sentence of these parts is in the training data. "
        "New adjectives, new forms: composed sentences with words, or in forms, that training never shows.",
        ruled=[len(views)],
    )


def _own_section(session: EnglishSession) -> None:
    ui.explanation(
        "Give sentences with the labels positive and negative. The models then learn from them besides the others, in "
        "a short training."
    )
    draw_file_form(session)


def _task_section(session: EnglishSession, views: Mapping[str, ui.RunView]) -> None:
    ui.explanation(
        "The models learn from three parts. **Reviews**: sentences about films and products whose mean rating by "
        "twenty people is beyond ±0.5; a tenth is held out for the test, and another tenth chooses the learning rates. "
        "**Composed sentences**: a grammar puts rated words into everyday sentences and turns a third of them round, "
        "with “not”, “never”, “nobody”, “hardly”, “far from” and others; a fifth of its adjectives and some of its "
        "forms are kept for the test. **Rated words**, as sentences of one word. Reviews and ratings are by [Hutto and "
        "Gilbert 2014](https://ojs.aaai.org/index.php/ICWSM/article/view/14550) (MIT licence)."
    )
    draw_learning_rates({view.row.title: view.config for view in views.values()})
