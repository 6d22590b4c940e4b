"""The choice of a model and its seed, the same in every section of the translation page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from explorer.experiments.translation import TranslationVariant
from explorer.labs.translation.state import TranslationState
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.session import PageSession, bind_widget
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words


def loaded_views(views: Mapping[str, RunView], variants: Mapping[str, TranslationVariant]) -> dict[str, RunView]:
    """Return the views of variants with a loaded run."""
    return {name: view for name, view in views.items() if name in variants and view.loaded_run}


def show_missing_runs(views: Mapping[str, RunView], variants: Mapping[str, TranslationVariant]) -> None:
    """Show which variants have no run, if others have one."""
    words = [variants[name].words for name, view in views.items() if name in variants and not view.loaded_run]
    if words and len(words) < len(views):
        st.caption(escape_markdown(f"No run yet of {join_words(words)}: train above, and they stand here too."))


def has_attention(variant: TranslationVariant) -> bool:
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
        binding = bind_widget(session, f"{key}-inside", name, lambda s, new: replace(s, inside=new, at=-1))
        st.selectbox("Model", list(loaded), format_func=lambda one: variants[one].title, width=280, **binding)
        seed_picker(session, loaded[name], key)
    return name


def seed_picker(session: PageSession[TranslationState], view: RunView, key: str) -> None:
    """Draw the choice of the seed."""
    seeds = view.config.seeds
    binding = bind_widget(
        session, f"{key}-replica", selected_replica(session.state, view), lambda s, new: replace(s, replica=new)
    )
    st.selectbox("Seed", list(range(len(seeds))), format_func=lambda one: f"{seeds[one]}", width=110, **binding)


def selected_replica(state: TranslationState, view: RunView) -> int:
    """Return the selected replica, within those of the run."""
    return min(state.replica, view.config.replicas - 1)
