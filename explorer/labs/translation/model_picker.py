"""The choice of a model and its seed, the same in every section of the translation page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import streamlit as st

from explorer import ui
from explorer.experiments.model_variant import ModelVariant
from explorer.labs.translation.state import TranslationState
from explorer.run_store.store import StoredRun
from explorer.training.record import Record

Run: TypeAlias = StoredRun | Record


def loaded_runs(views: Mapping[str, ui.RunView], variants: Mapping[str, ModelVariant]) -> dict[str, Run]:
    """Return the finished runs of variants."""
    return {name: run for name, view in views.items() if name in variants and (run := view.loaded_run)}


def has_attention(variant: ModelVariant) -> bool:
    """Return whether the decoder of a variant attends to the source."""
    return variant.model != "encoder_decoder" or variant.settings.get("attention", "none") != "none"


def selected_variant(state: TranslationState, loaded: Mapping[str, Run]) -> str:
    """Return the selected variant; by default the first with attention, else the first."""
    if state.inside in loaded:
        return state.inside
    return next((name for name in loaded if has_attention(state.variants[name])), next(iter(loaded)))


def model_picker(session: ui.PageSession[TranslationState], loaded: Mapping[str, Run], key: str) -> str:
    """Draw the choice of model and seed; return the name of the variant. `key` begins the keys of both widgets."""
    name, variants = selected_variant(session.state, loaded), session.state.variants
    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {one: variants[one].title for one in loaded}
        ui.bind_widget(
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


def seed_picker(session: ui.PageSession[TranslationState], run: Run, key: str, label: str = "Seed") -> None:
    """Draw the choice of the seed."""
    ui.bind_widget(
        session,
        "replica",
        st.selectbox,
        key=f"{key}-replica",
        shown=selected_replica(session.state, run),
        options=dict(enumerate(map(str, run.config.seeds))),
        label=label,
        width=110 if label == "Seed" else "stretch",
    )


def selected_replica(state: TranslationState, run: Run) -> int:
    """Return the selected replica, within those of the run."""
    return min(state.replica, run.config.replicas - 1)
