"""Who of the translators is looked into, and which of its seeds: the same choice in every section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from explorer.training.translation_runs import Contestant
from explorer.ui.findings import listed
from explorer.ui.page import plain
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.translation import Translation


def with_runs(lanes: Mapping[str, Lane], contestants: Mapping[str, Contestant]) -> dict[str, Lane]:
    """Those that can be asked."""
    return {name: lane for name, lane in lanes.items() if name in contestants and lane.kept}


def without_runs(lanes: Mapping[str, Lane], contestants: Mapping[str, Contestant]) -> None:
    """Say who has no run to ask, if others have."""
    words = [contestants[name].words for name, lane in lanes.items() if name in contestants and not lane.kept]
    if words and len(words) < len(lanes):
        st.caption(plain(f"No run yet of {listed(words)}: train above, and they stand here too."))


def attends(contestant: Contestant) -> bool:
    """Whether its half that writes looks back at the source."""
    return contestant.model != "encoder_decoder" or contestant.settings.get("attention", "none") != "none"


def chosen(state: Translation, known: Mapping[str, Lane]) -> str:
    """Who is looked into: the one asked for, else the first of those that attend, else the first."""
    if state.inside in known:
        return state.inside
    return next((name for name in known if attends(state.contestants[name])), next(iter(known)))


def model_choice(session: PageSession[Translation], known: Mapping[str, Lane], key: str) -> str:
    """Who is looked into, and which seed of it. `key` begins the names of the two widgets."""
    name, contestants = chosen(session.state, known), session.state.contestants
    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, f"{key}-inside", name, lambda s, new: replace(s, inside=new, at=-1))
        st.selectbox("Model", list(known), format_func=lambda one: contestants[one].title, width=280, **ties)
        seed_choice(session, known[name], key)
    return name


def seed_choice(session: PageSession[Translation], lane: Lane, key: str) -> None:
    """Which seed is asked."""
    seeds = lane.config.seeds
    ties = bound(session, f"{key}-replica", replica_of(session.state, lane), lambda s, new: replace(s, replica=new))
    st.selectbox("Seed", list(range(len(seeds))), format_func=lambda one: f"{seeds[one]}", width=110, **ties)


def replica_of(state: Translation, lane: Lane) -> int:
    """The seed that is asked, within those that there are."""
    return min(state.replica, lane.config.replicas - 1)
