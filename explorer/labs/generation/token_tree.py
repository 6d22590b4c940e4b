"""Token by token: the candidates at every position of a generated text, and other continuations from each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.labs.generation.models import (
    encode_prompt,
    focused_model,
    id_tensor,
    sampling_key,
    sampling_settings,
    text_generator,
    tokenizer_of,
)
from explorer.labs.generation.state import MAX_PATH_LENGTH, GenerationState
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import explanation
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.training.stored_models import StoredModel

if TYPE_CHECKING:
    from explorer.generation.temperature_grid import Candidate

FIRST_TOKENS = 8  # of the path until the visitor chooses one
_KEY = "tree"
_tree = register("token_tree")


def section(session: PageSession[GenerationState], models: Mapping[str, StoredModel]) -> None:
    """Draw the candidates at every position of a path through the tokens."""
    state = session.state
    stored_model = models[focused_model(models, state)]
    st.header("Step by step", anchor=False)
    explanation(
        f"The {stored_model.title} once more, one {stored_model.unit} at a time. Each column holds the likeliest "
        "candidates; press one to go that way, or let the dice choose."
    )
    state = _validate(session, stored_model)
    key = ("studio-tree", *stored_model.cache_key, state.prompt, state.path, float(state.t), *sampling_key(state))

    def draw(found: Mapping[str, dict[str, Any]], old: frozenset[str]) -> None:
        if _apply_events(session, stored_model, tuple(step["id"] for step in found["tree"]["steps"])):
            st.rerun()
        _tree(data=found["tree"], key=_KEY, **event_callbacks(_KEY, "go", "next", "back"))

    show_latest(
        "studio-tree",
        lambda: {"tree": (key, lambda: tree_data(stored_model, state))},
        draw,
        "The model is reading …",
        420,
        pool="quick",
    )


def _validate(session: PageSession[GenerationState], stored_model: StoredModel) -> GenerationState:
    """Return the state without a path that contains token ids outside of the model's vocabulary."""
    state, count = session.state, len(tokenizer_of(stored_model).tokens)
    unknown_ids = [id for id in state.path or () if id >= count]
    if unknown_ids:
        session.problems += (
            f"path names token {unknown_ids[0]:,}, but this model has 0 to {count - 1:,}: the path begins anew.",
        )
        session.state = replace(state, path=None)
        st.rerun()  # problems are shown at the top of the page
    return state


def tree_data(stored_model: StoredModel, state: GenerationState) -> dict[str, Any]:
    """Return the data of the component: the path, and the candidates at every position. Raises LineageError."""
    from explorer.generation.temperature_grid import trace_path
    from explorer.tokenization.text import pieces

    prompt, tokenizer = encode_prompt(stored_model, state.prompt), tokenizer_of(stored_model)
    path = sample_tokens(stored_model, state, (), FIRST_TOKENS) if state.path is None else state.path
    found = trace_path(text_generator(stored_model), id_tensor(prompt.ids), id_tensor(path), sampling_settings(state))
    added = pieces(tokenizer, path, prompt.ids)

    def candidates(before: tuple[int, ...], candidates: tuple[Candidate, ...]) -> list[dict[str, object]]:
        context = (*prompt.ids, *before)[-8:]  # more do not change the text that a token adds
        return [
            {
                "id": each.id,
                "piece": pieces(tokenizer, [each.id], context)[0] or tokenizer.tokens[each.id],
                "p": round(each.probability, 5),
                "learned": round(each.learned, 5),
                "cut": each.cut,
            }
            for each in candidates
        ]

    return {
        "title": stored_model.title,
        "colour": stored_model.row.colour,
        "unit": stored_model.unit,
        "prompt": prompt.text,
        "steps": [
            {
                "piece": piece,
                "id": step.id,
                "p": round(step.probability, 5),
                "learned": round(step.learned, 6),
                "surprise": round(step.surprisal, 4),
                "candidates": candidates(path[:i], step.candidates),
                "dice": step.sampled,
            }
            for i, (piece, step) in enumerate(zip(added, found.steps, strict=True))
        ],
        "here": {"candidates": candidates(path, found.next_choice.candidates), "dice": found.next_choice.sampled},
        "temperature": float(state.t),
        "most_surprising": found.most_surprising,
        "most": MAX_PATH_LENGTH,
        "full": math.log(max(2, len(tokenizer.tokens))),
        "file": "step-by-step",
    }


def _apply_events(session: PageSession[GenerationState], stored_model: StoredModel, shown: tuple[int, ...]) -> bool:
    """Apply the component's events to the path that is shown; return whether the path has changed."""
    state, path = session.state, shown
    event = pop_event(_KEY, "go")
    if isinstance(event, dict):
        at, id = event.get("at"), event.get("id")
        if (
            type(at) is int
            and type(id) is int
            and 0 <= at <= len(path)
            and 0 <= id < len(tokenizer_of(stored_model).tokens)
        ):
            path = (*path[:at], id)
    if type(event := pop_event(_KEY, "back")) is int and event > 0:
        path = path[: max(0, len(path) - event)]
    if type(event := pop_event(_KEY, "next")) is int and 0 < event <= MAX_PATH_LENGTH:
        path = (*path, *sample_tokens(stored_model, state, path, min(event, MAX_PATH_LENGTH - len(path))))
    moved = path != shown
    if moved:
        session.state = replace(state, path=path[:MAX_PATH_LENGTH])
        write_url(session)
    return moved


def sample_tokens(
    stored_model: StoredModel, state: GenerationState, path: tuple[int, ...], tokens: int
) -> tuple[int, ...]:
    """Sample `tokens` more tokens after a path. Raises LineageError."""
    from explorer.generation.temperature_grid import continue_path

    prompt = id_tensor(encode_prompt(stored_model, state.prompt).ids)
    return tuple(
        continue_path(text_generator(stored_model), prompt, id_tensor(path), tokens, sampling_settings(state)).tolist()
    )
