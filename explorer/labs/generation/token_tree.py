"""Token by token: the candidates at every position of a generated text, and other continuations from each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.labs.generation.models import (
    encode_prompt,
    focused_model,
    id_tensor,
    sampling_key,
    sampling_settings,
    tokenizer_of,
)
from explorer.labs.generation.state import MAX_PATH_LENGTH, GenerationState
from explorer.model.model import Model
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section, show_when_ready
from explorer.ui.state.session import PageSession, write_url

if TYPE_CHECKING:
    from explorer.generation.temperature_grid import Candidate

FIRST_TOKENS = 8  # of the path until the visitor chooses one
_KEY = "tree"
_MORE = "lineage.tree.more"  # a path, and how many tokens the visitor wants to be sampled after it


def section(session: PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw the candidates at every position of a path through the tokens."""
    state = session.state
    stored_model = models[focused_model(models, state)]
    explanation(
        f"The {stored_model.title}, one {stored_model.unit} at a time. Each column has the most probable candidates; "
        "press one to choose it, or let the random numbers choose."
    )
    state = _validate(session, stored_model)
    path, more = requested_path(state)
    key = ("studio-tree", *stored_model.cache_key, state.prompt, path, more, float(state.t), *sampling_key(state))
    make = partial(tree_data, stored_model, state, path, more)

    def requests() -> Mapping[str, Request[dict[str, Any]]]:
        if _apply_events(session, stored_model.vocabulary_size):
            st.rerun()
        return {"tree": (key, make)}

    message = "The probabilities are being computed …"
    result_section(
        "studio-tree", requests, partial(_draw_tree), message, 420, pool=stored_model.pool, events={_KEY: ("path",)}
    )
    if more and state.path is not None:
        show_when_ready(
            "studio-tree-path", key, make, partial(_store_path, session, path), "", 0, lambda _: None, stored_model.pool
        )


def _draw_tree(document: Document, results: Mapping[str, dict[str, Any]]) -> None:
    document.component("token_tree", results["tree"], _KEY)


def requested_path(state: GenerationState) -> tuple[tuple[int, ...], int]:
    """Return the tokens of the path, and how many tokens are to be sampled after them."""
    if state.path is None:
        return (), FIRST_TOKENS
    path, more = st.session_state.get(_MORE, ((), 0))
    return state.path, more if path == state.path else 0


def _store_path(session: PageSession[GenerationState], path: tuple[int, ...], tree: dict[str, Any]) -> None:
    """Store the sampled tokens in the state, unless the visitor has taken another path meanwhile."""
    if session.state.path == path:
        st.session_state.pop(_MORE, None)
        session.state = replace(session.state, path=tuple(step["id"] for step in tree["steps"]))
        write_url(session)


def _validate(session: PageSession[GenerationState], stored_model: Model) -> GenerationState:
    """Return the state without a path that contains token ids outside of the model's vocabulary."""
    state, count = session.state, stored_model.vocabulary_size
    unknown_ids = [id for id in state.path or () if id >= count]
    if unknown_ids:
        session.problems += (
            f"path names token {unknown_ids[0]:,}, but this model has 0 to {count - 1:,}. The path was reset.",
        )
        session.state = replace(state, path=None)
        st.rerun()  # problems are shown at the top of the page
    return state


def tree_data(stored_model: Model, state: GenerationState, path: tuple[int, ...], more: int) -> dict[str, Any]:
    """Return the data of the component: a path, `more` tokens sampled after it, and the candidates at every position.

    Raises LineageError.
    """
    from explorer.generation.temperature_grid import trace_path
    from explorer.tokenization.text import pieces

    prompt, tokenizer = encode_prompt(stored_model, state.prompt), tokenizer_of(stored_model)
    path = (*path, *sample_tokens(stored_model, state, path, more)) if more else path
    found = trace_path(stored_model.text_generator(), id_tensor(prompt.ids), id_tensor(path), sampling_settings(state))
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
        "colour": stored_model.colour,
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
                "sampled": step.sampled,
            }
            for i, (piece, step) in enumerate(zip(added, found.steps, strict=True))
        ],
        "here": {"candidates": candidates(path, found.next_choice.candidates), "sampled": found.next_choice.sampled},
        "temperature": float(state.t),
        "most_surprising": found.most_surprising,
        "most": MAX_PATH_LENGTH,
        "full": math.log(max(2, len(tokenizer.tokens))),
        "file": "step-by-step",
    }


def _apply_events(session: PageSession[GenerationState], vocabulary: int) -> bool:
    """Apply the component's event, a path and how many tokens to sample after it; return whether there was a valid one.

    Every value is checked: a browser can send anything.
    """
    event = pop_event(_KEY, "path")
    path, more = (event.get("path"), event.get("more")) if isinstance(event, dict) else (None, None)
    if not isinstance(path, list) or len(path) > MAX_PATH_LENGTH or type(more) is not int or more < 0:
        return False
    if not all(type(id) is int and 0 <= id < vocabulary for id in path):
        return False
    session.state = replace(session.state, path=tuple(path))
    st.session_state[_MORE] = session.state.path, min(more, MAX_PATH_LENGTH - len(path))
    return True


def sample_tokens(stored_model: Model, state: GenerationState, path: tuple[int, ...], tokens: int) -> tuple[int, ...]:
    """Sample `tokens` more tokens after a path. Raises LineageError."""
    from explorer.generation.temperature_grid import continue_path

    prompt = id_tensor(encode_prompt(stored_model, state.prompt).ids)
    return tuple(
        continue_path(stored_model.text_generator(), prompt, id_tensor(path), tokens, sampling_settings(state)).tolist()
    )
