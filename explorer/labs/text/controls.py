"""The text of the page, its models and their settings, equal budgets, and what is not trained yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import streamlit as st

from explorer import ui
from explorer.catalogue import MODELS, models_of
from explorer.errors import LineageError
from explorer.experiments import parameter_matching, text_setups
from explorer.experiments.presets import PRESETS
from explorer.inspection.language import line_overlap
from explorer.jobs.limits import fit_to_seconds
from explorer.labs.text.state import TextLab
from explorer.tasks.text import corpora
from explorer.tasks.text.config import SPLITS, TextConfig
from explorer.training.config import RunConfig
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.open_experiment import setting_value
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.widgets import bind_widget, draw_choice, reset_button, setting_widget
from explorer.ui.text_picker import draw_corpus_row, draw_missing_corpus
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
from explorer.ui.wording import capitalize, percentage

TOKENS = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Bytes"}
ROWS = {"blocks": "blocks of the text", "sentences": "lines", "prefixes": "prefixes of lines"}


def text_section(session: ExperimentSession[TextLab]) -> None:
    """Draw the choice of the text."""
    lab = session.experiment
    draw_corpus_row(session)
    if not corpora.is_corpus_available(lab.corpus):
        draw_missing_corpus(session, "The text itself is not on this machine yet. What is shown was trained elsewhere.")
    elif lab.awaiting_text:
        ui.caption("The previous text is shown until you paste or upload a text; training on it takes some minutes.")
    elif lab.corpus == "own":
        try:
            corpora.load_text(lab.task)
        except LineageError as error:
            ui.show_problems([str(error)])


def lines_section(task: TextConfig) -> None:
    """Draw how many held-out lines also occur in the training part, if the text is available."""
    if corpora.is_available(task):
        ui.show("text-lines", ui.Call(_describe_lines, task), ui.Document.caption, waiting="", height=24, pool="quick")


def _describe_lines(task: TextConfig) -> str:
    """Return the note on the lines that both parts have, and on the end of a sorted text."""
    try:
        overlap = line_overlap.measure_line_overlap(task)
        return lines_note(overlap, task.split == "end" and line_overlap.is_sorted(corpora.load_text(task)))
    except LineageError:  # where the rows cannot be made, the training itself says why
        return ""


def lines_note(overlap: line_overlap.LineOverlap | None, is_sorted: bool) -> str:
    """Return how many held-out lines training has read, and whether a sorted text makes the held-out end special."""
    sentences = []
    if overlap and overlap.held_out:
        lines = f"{overlap.held_out:,} held-out line{'s' * (overlap.held_out != 1)}"
        sentence = f"{percentage(overlap.repeated_share)} of the {lines} also occur in the training part"
        if overlap.long_held_out:
            share = percentage(overlap.long_repeated_share)
            sentence += f"; of the {overlap.long_held_out:,} with more than 20 characters, {share}"
        sentences.append(f"{capitalize(sentence)}.")
    if is_sorted:
        sentences.append("The lines of this text are sorted, so its held-out end differs from the training part.")
    return " ".join(sentences)


def text_settings(session: ExperimentSession[TextLab]) -> None:
    """Draw the choice of the tokenizer, of the rows, and of the held-out part."""
    lab = session.experiment
    ui.bind_widget(
        session,
        "tokenizer",
        st.segmented_control,
        shown=lab.task.tokenizer,
        update=TextLab.with_tokenizer,
        label="Tokens",
        options={name: TOKENS[name] for name in lab.tokenizers},
    )
    others = {
        name: f"{title} (needs training)" for name, title in TOKENS.items() if name not in session.experiment.tokenizers
    }
    if others:
        ui.bind_widget(
            session,
            "other_tokenizer",
            st.selectbox,
            shown=None,
            update=TextLab.with_tokenizer,
            label="Other tokenizers",
            options=others,
            placeholder="Choose one, then train",
        )
    if session.experiment.task.tokenizer != "char":
        setting_widget(session, "vocabulary", section="text")
    setting_widget(session, "context", section="text")
    rows = session.experiment.task.rows
    ui.bind_widget(
        session,
        "rows",
        st.selectbox,
        shown=rows,
        update=lambda lab, rows: lab.with_text_settings(rows=rows, split=SPLITS[rows][0]),
        label="Rows",
        options=ROWS,
    )
    ui.bind_widget(
        session,
        "split",
        st.selectbox,
        shown=session.experiment.task.split,
        update=lambda lab, split: lab.with_text_settings(split=split),
        label="Held-out part",
        options=SPLITS[rows],
        help="“windows” and “pairs” leak training text into the held-out part; see the page Text and tokens.",
    )
    for name in ("held_out", "test", "training_share"):
        setting_widget(session, name, section="text")
    if session.experiment.task.split == "sentences" and session.experiment.task.tokenizer != "char":
        setting_widget(session, "tokenizer_from_training", section="text")
    setting_widget(session, "lower", section="text")
    if session.experiment.corpus in ("repeats", "brackets", "toy"):
        setting_widget(session, "size", section="text")
        setting_widget(session, "corpus_seed", section="text")


_SECONDS_KEY = "lineage.text.fit"  # seconds for which the steps of every model are being counted
_PARAMETERS_KEY = "lineage.text.match"  # parameters to which the sizes of every model are being set
ModelConfigs: TypeAlias = tuple[tuple[str, RunConfig], ...]


def budget_form(session: ExperimentSession[TextLab]) -> None:
    """Draw the form for equal time or equal parameters."""
    st.markdown(
        "**Equal training time.** Every network gets as many steps as fit into the time on this server, by the "
        "estimate that the Train button shows."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seconds = st.number_input("Seconds for each network", 1, 3_600, 20, key="text.seconds", width=130)
        if st.button("Set the steps", icon=":material/timer:"):
            st.session_state[_SECONDS_KEY] = float(seconds)
            st.rerun()
    st.markdown(
        "**Equal numbers of parameters.** The hidden units, and the width of the Transformer, are set so that every "
        "network has about this many parameters. The size of an n-gram follows from its text."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = st.number_input(
            "Parameters of each network", 1_000, 5_000_000, 200_000, step=50_000, key="text.match", width=150
        )
        if st.button("Set the sizes", icon=":material/straighten:"):
            st.session_state[_PARAMETERS_KEY] = int(count)
            st.rerun()


def apply_budget(session: ExperimentSession[TextLab]) -> None:
    """Compute the requested budget in the background, then take over its settings."""
    lab = session.experiment
    configs = tuple((model, lab.config(model)) for model in lab.models if model != "ngram")
    for name, compute, what in (
        (_SECONDS_KEY, _fit_steps, "steps for {:g} seconds"),
        (_PARAMETERS_KEY, _match_parameters, "sizes for {:,} parameters"),
    ):
        wanted = st.session_state.get(name)
        if wanted is None:
            continue

        def take(runs: Mapping[str, RunConfig], name: str = name) -> None:
            st.session_state.pop(name, None)
            session.change(lambda lab: lab.with_runs(runs))
            st.rerun()

        def refuse(error: LineageError, name: str = name) -> None:
            st.session_state.pop(name, None)
            session.problems = (str(error),)
            st.rerun()

        call = ui.Call(compute, configs, wanted)
        waiting = f"Computing {what.format(wanted)} …"
        ui.show_when_ready(f"budget-{name}", call.key, call, take, waiting, 60, refuse)


def _fit_steps(configs: ModelConfigs, seconds: float) -> dict[str, RunConfig]:
    return {model: fit_to_seconds(config, seconds, min_evaluations=10) for model, config in configs}


def _match_parameters(configs: ModelConfigs, wanted: int) -> dict[str, RunConfig]:
    return {model: parameter_matching.match_parameters(config, wanted) for model, config in configs}


def offer_training(session: ExperimentSession[TextLab], views: Mapping[str, RunView]) -> None:
    """Draw which models are missing and what their training costs."""
    untrained = [view for view in views.values() if not train_controls.is_finished(view)]
    live = any(view.live for view in untrained)
    request, configs = TrainRequest.for_section(session.experiment.TASK), session.experiment.configs
    request.offers_missing = bool(untrained)
    if untrained and not live and not text_is_available(session.experiment):
        return
    train_controls.draw_missing_runs(request, configs, keys=("train-missing", "stop-missing"))
    if live or not untrained:
        return
    lab = session.experiment
    setup = text_setups.setup_name(lab.task.corpus, lab.task.tokenizer)
    if setup and not lab.awaiting_text and lab.with_setup(setup) != lab:
        st.button(
            "Show the included runs of this text",
            icon=":material/inventory_2:",
            on_click=lambda: session.change(lambda lab: lab.with_setup(setup)),
            key="text.included",
        )


def text_is_available(lab: TextLab) -> bool:
    """Return whether the chosen text can be read now."""
    return not lab.awaiting_text and corpora.is_available(lab.task)


TEXT_PRESETS = {name: each for name, each in PRESETS.items() if each.task == "text"}


def models_row(session: ExperimentSession[TextLab]) -> None:
    """Draw the choice of the models, the number of seeds and steps, and the settings."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "models", st.pills, selection_mode="multi")
        setting_widget(session, "replicas", section="row", width=110)
        _steps_input(session)
        with st.popover("Axes", icon=":material/show_chart:"):
            bind_widget(session, "along", st.segmented_control)
            bind_widget(session, "unit", st.segmented_control)
        with st.popover("Same budget", icon=":material/balance:"):
            budget_form(session)
        with st.popover("Text settings", icon=":material/notes:"):
            text_settings(session)
        with st.popover("Model settings", icon=":material/tune:"):
            _settings(session)


def _steps_input(session: ExperimentSession[TextLab]) -> None:
    """Draw the number of steps; its help names the models that have other numbers."""
    lab = session.experiment
    steps = {model: lab.value("iterations", model) for model in models_of("text") if model != "ngram"}
    most_steps = max(steps.values())
    different = {MODELS[model].title: count for model, count in steps.items() if count != most_steps}
    help_text = "Steps of every model." + "".join(f" {title}: {count:,}." for title, count in different.items())

    def with_steps(lab: TextLab, count: int) -> TextLab:
        every = lab.value("evaluate_every", "transformer")
        every = max(1, min(every, count // 10)) if every else 0
        return lab.with_every_trained(iterations=count, evaluate_every=every)

    bind_widget(
        session,
        "steps",
        st.number_input,
        shown=most_steps,
        update=with_steps,
        label="Steps" + (" at most" if different else ""),
        low=1,
        high=1_000_000,
        step=100,
        width=130,
        help=help_text,
    )


def _settings(session: ExperimentSession[TextLab]) -> None:
    """Draw the presets, early stopping, and all settings of one model."""

    bind_widget(
        session,
        "preset",
        st.selectbox,
        shown=None,
        update=lambda lab, name: lab.with_preset(name),
        label="Preset",
        options={name: f"{MODELS[each.model].title}: {each.title}" for name, each in TEXT_PRESETS.items()},
        placeholder="Settings of a paper, or the best known",
    )
    for name, about in TEXT_PRESETS.items():
        if _matches_preset(session.experiment, name):
            ui.caption(escape_markdown(about.about))
    with st.container(horizontal=True):
        for name in ("seed", "stop_at", "patience", "keep", "sample"):
            setting_widget(session, name, section="race", width=150)
    titles = {model: MODELS[model].title for model in models_of("text")}
    model = draw_choice(st.selectbox, "Settings of one model", titles, key="text.settings-of")
    left, right = st.columns(2)
    for i, name in enumerate(TextLab.own_settings(model)):
        with (left, right)[i % 2]:
            setting_widget(session, name, model=model, section="race")
    reset_button(session)


def _matches_preset(lab: TextLab, name: str) -> bool:
    chosen = PRESETS[name]
    names = (*lab.own_settings(chosen.model), *(lab.SHARED if chosen.chooses_text else ()))
    now, then = lab.config(chosen.model), chosen.config()
    return chosen.model in lab.models and all(setting_value(now, n) == setting_value(then, n) for n in names)
