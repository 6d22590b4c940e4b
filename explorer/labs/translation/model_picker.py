"""The choice of a model and its seed, the same in every section of the translation page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from explorer.experiments.model_variant import ModelVariant
from explorer.labs.translation.state import TranslationState
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView


def loaded_views(views: Mapping[str, RunView], variants: Mapping[str, ModelVariant]) -> dict[str, RunView]:
    """Return the views of variants with a finished run."""
    return {name: view for name, view in views.items() if name in variants and view.loaded_run}


def has_attention(variant: ModelVariant) -> bool:
    """Return whether the decoder of a variant attends to the source."""
    return variant.model != "encoder_decoder" or variant.settings.get("attention", "none") != "none"


def selected_variant(state: TranslationState, loaded: Mapping[str, RunView]) -> str:
    """Return the selected variant; by default the first with attention, else the first."""
    if state.inside in loaded:
        return state.inside
    return next((name for name in loaded if has_attention(state.variants[name])), next(iter(loaded)))


def model_picker(session: PageSession[TranslationState], loaded: Mapping[str, RunView], key: str) -> str:
    """Draw the choice of model and seed; return the name of the variant. `key` begins the keys of both widgets."""
    name, variants = selected_variant(session.state, loaded), session.state.variants
    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {one: variants[one].title for one in loaded}
        bind_widget(
            session,
            "inside",
            st.selectbox,
            key=f"{key}-inside",
            shown=name,
            update=lambda s, new: replace(s, inside=new, at=-1),
            options=titles,
            width=280,
        )
        seed_picker(session, loaded[name], key)
    return name


def seed_picker(session: PageSession[TranslationState], view: RunView, key: str, label: str = "Seed") -> None:
    """Draw the choice of the seed."""
    bind_widget(
        session,
        "replica",
        st.selectbox,
        key=f"{key}-replica",
        shown=selected_replica(session.state, view),
        options=dict(enumerate(map(str, view.config.seeds))),
        label=label,
        width=110 if label == "Seed" else "stretch",
    )


def selected_replica(state: TranslationState, view: RunView) -> int:
    """Return the selected replica, within those of the run."""
    return min(state.replica, view.config.replicas - 1)
