"""Model and text of the attention explorer, and the checks of what a URL requests."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from explorer import ui
from explorer.catalogue import TYPED_TEXT_TASKS
from explorer.errors import LineageError
from explorer.labs.attention.chosen_answers import keep_possible_answers
from explorer.labs.attention.measurements import tensor_file
from explorer.labs.attention.state import MAX_TOKENS, TRAINING_MODEL, AttentionState
from explorer.model.model import Model
from explorer.model.run_model import RunModel
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sequence_labelling.agreement import AgreementConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig
from explorer.ui.state import url_codec
from explorer.ui.state.widgets import draw_examples
from explorer.ui.training import stored_models
from explorer.ui.training.model_input import HeadSelection
from explorer.ui.training.stored_models import real_model_titles

ATTENTION_TASKS = (*TYPED_TEXT_TASKS, "agreement")
# The included runs of the menu; the other ones are variants of these in experiments, which other pages compare.
MENU = {  # with what tells models of the same description apart
    "sentiment-transformer": "",
    "agreement-heads": "",
    "text-through-training": ", steps of the training",
    "text-transformer": "",
    "text-best": ", larger",
    "text-assignment": "",
    "negation-single-transformer-attending": "",
    "negation-single-transformer": ", small initialization",
    "negation-single-transformer-usual-start": ", standard initialization",
}
_TEXTS = {"tinyshakespeare": "Shakespeare", "own": "your text", "toy": "toy text"}
_UNITS = {"char": "letters", "word": "words", "bpe": "word pieces", "byte": "bytes"}


def attention_model_titles(selected: str) -> dict[str, str]:
    """Return the titles of the models that the page offers, by name: included ones, then other stored runs.

    The selected model is always among them.
    """
    stored = stored_models.model_titles(ATTENTION_TASKS, ("transformer",), selected=(selected,))
    included = frozenset(store.pretrained_folders().values())
    names = [name for name in stored if name not in included or name in MENU or name == selected]
    real = real_model_titles("decoder", "encoder", "encoder-decoder")
    order = {name: i for i, name in enumerate(MENU)}
    titles: dict[str, str] = {}
    for name in sorted((name for name in names if name not in real), key=lambda name: order.get(name, len(order))):
        try:
            model = stored_models.find_run(name)
            title = model.run.card.name if isinstance(model.run, StoredRun) else ""
            title = title or describe_model(model) + MENU.get(name, "")
        except LineageError:
            title = stored[name]  # a model that cannot be read is still the selected one
        count = sum(other == title or other.startswith(f"{title} (") for other in titles.values())
        titles[name] = f"{title} ({count + 1})" if count else title
    return titles | real


def describe_model(model: RunModel) -> str:
    """Return task, text, tokenizer, layers and heads of a model in a few words."""
    try:
        return f"{_describe_task(model.config)} · {model.layout.size}"
    except LineageError:
        return model.config.title


def _describe_task(config: RunConfig) -> str:
    task = config.task
    if isinstance(task, TextConfig):
        return f"{_TEXTS.get(task.corpus, task.corpus.capitalize())}, {_UNITS.get(task.tokenizer, task.tokenizer)}"
    if isinstance(task, AgreementConfig):
        return "Agreement, words"
    if isinstance(task, SentimentConfig):
        return "English sentences, pieces of words"
    return "Negation, words" if isinstance(task, NegationConfig) else config.title


UNNAMED_HEAD = AttentionState.url_base()  # a URL that names no head asks for this one


def text_row(session: ui.PageSession[AttentionState], stored_model: Model | None) -> None:
    """Draw the controls for text, model and seed."""
    state = session.state
    titles = attention_model_titles(state.model)
    examples = stored_model.example_texts if stored_model else ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if stored_model:
            text = examples[0] if state.say is None else state.say
            ui.bind_widget(session, "say", st.text_input, shown=text, update=AttentionState.with_text, width=430)
        with st.popover(titles[state.model], icon=":material/tune:"):
            ui.bind_widget(
                session,
                "model",
                st.selectbox,
                update=lambda s, name: s.with_model(name, examples),
                options=titles,
                width=400,
            )
            if stored_model and len(stored_model.seeds) > 1:
                seeds = {i: f"seed {seed}" for i, seed in enumerate(stored_model.seeds)}
                ui.bind_widget(session, "seed", st.selectbox, options=seeds, width=110)
            others = attention_model_titles(state.beside or state.model)
            others.pop(state.model, None)
            others = {"": "no model", **others}
            ui.bind_widget(session, "beside", st.selectbox, update=AttentionState.with_second_model, options=others)
    if stored_model:
        with st.container(horizontal=True):
            draw_examples(session, "pick", "or choose a text", text, examples[:2], AttentionState.with_text)
            if state.model != TRAINING_MODEL:
                st.button(
                    "Heads during a training",
                    icon=":material/timeline:",
                    key="gaze.training",
                    on_click=lambda: session.change(lambda s: s.with_model(TRAINING_MODEL, examples)),
                )
        if stored_model.summary:
            st.caption(ui.escape_markdown(stored_model.summary))


def numbers_row(state: AttentionState, stored_model: Model) -> None:
    """Offer the computation of the selected head, which the page on scaled dot-product attention shows, and a file of
    all numbers.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        if not stored_model.parts:
            head = HeadSelection(state.model, stored_model.text_or_example(state.say), state.layer, state.head)
            st.page_link(
                "scaled_attention.py",
                label=f"How does layer {state.layer + 1}, head {state.head + 1} compute its weights?",
                icon=":material/arrow_forward:",
                query_params={"source": "model", "model": state.model, **url_codec.write(head)},
            )
        st.download_button(
            "Download all tensors (npz)",
            partial(tensor_file, stored_model, state),
            file_name=f"attention-{stored_model.name}.npz",
            mime="application/octet-stream",
            icon=":material/download:",
            on_click="ignore",
            help="Queries, keys, values, scores and weights of all layers and heads, by tap name.",
        )


def selected_model(session: ui.PageSession[AttentionState]) -> tuple[Model | None, str]:
    """Return the requested model, or None and why it cannot be shown.

    What the state requests and the model does not have becomes a problem of the session, and the default is taken.
    """
    state = session.state
    try:
        stored_model = stored_models.find_model(state.model)
        layout = stored_model.layout
        requested, state = state, state.clamp(layout.layers, layout.heads, MAX_TOKENS)
        state, problems = keep_possible_answers(state, stored_model)
        session.problems += problems
    except LineageError as error:
        return None, str(error)
    missing_heads = {*requested.off, *requested.flat} - {*state.off, *state.flat}
    if (state.layer, state.head) != (requested.layer, requested.head) != (UNNAMED_HEAD.layer, UNNAMED_HEAD.head):
        missing_heads.add(f"{requested.layer}.{requested.head}")
    if missing_heads:
        session.problems += (
            f"This model has no head {', '.join(sorted(missing_heads))}; it has layers 0 to {layout.layers - 1}, heads "
            f"0 to {layout.heads - 1}.",
        )
    if state.kind and state.kind not in stored_model.parts:
        session.problems += (f"This model has one kind of attention only, and no “{state.kind}”.",)
        state = replace(state, kind="")
    if state.seed >= len(stored_model.seeds):
        session.problems += (f"This run has no seed {state.seed:,}, counted from 0; its first seed is shown.",)
        state = replace(state, seed=0)
    if state.step is not None and state.step not in stored_model.steps:
        session.problems += (f"There are no weights of step {state.step:,}; the end of the training is shown.",)
        state = replace(state, step=None)
    session.state = state
    return stored_model, ""


def show_unread(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    """Show what a model of sentences does not read of the text, with similar words to choose."""
    text, words = session.state.say, stored_model.words
    ui.show_problems(stored_model.describe_unread(text))
    if not text or words is None:
        return
    for word in words.read(text).unknown[:3]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{word[:24]} →")
            for near in words.nearest(word):
                better = words.replace_word(text, word, near)
                st.button(
                    near,
                    key=f"gaze.near.{word[:24]}.{near}",
                    on_click=lambda better=better: session.change(lambda state: state.with_text(better)),
                )
