"""The models of the page and their settings."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS, models_of
from explorer.experiments.presets import PRESETS
from explorer.labs.text import equal_budget
from explorer.labs.text.state import TextLab
from explorer.labs.text.text_choice import text_settings
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.open_experiment import setting_value
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.widgets import bind_widget, draw_choice, reset_button, setting_widget

TEXT_PRESETS = {name: each for name, each in PRESETS.items() if each.task == "text"}


def models_row(session: ExperimentSession[TextLab]) -> None:
    """Draw the choice of the models, the number of seeds and steps, and the settings."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "models", st.pills, selection_mode="multi")
        setting_widget(session, "replicas", section="row", width=110)
        _steps_input(session)
        with st.popover("Same budget", icon=":material/balance:"):
            equal_budget.budget_form(session)
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
            st.caption(escape_markdown(about.about))
    with st.container(horizontal=True):
        for name in ("seed", "stop_at", "patience", "keep", "sample"):
            setting_widget(session, name, section="race", width=150)
    titles = {model: MODELS[model].title for model in models_of("text")}
    model = draw_choice(st.selectbox, "Settings of one model", titles, key="text.settings-of")
    left, right = st.columns(2)
    for i, name in enumerate(TextLab.own_settings(model)):
        with (left, right)[i % 2]:
            setting_widget(session, name, model=model, section="race")
    if session.experiment != session.experiment.reset():
        reset_button(session)


def _matches_preset(lab: TextLab, name: str) -> bool:
    """Return whether a model has the settings of a preset."""
    chosen = PRESETS[name]
    names = (*lab.own_settings(chosen.model), *(lab.SHARED if chosen.chooses_text else ()))
    now, then = lab.config(chosen.model), chosen.config()
    return chosen.model in lab.models and all(setting_value(now, n) == setting_value(then, n) for n in names)
