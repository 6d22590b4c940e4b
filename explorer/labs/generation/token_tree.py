"""Token by token: the candidates at every position of a generated text, and other continuations from each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer import ui
from explorer.generation import sampling
from explorer.labs.generation.models import encode_prompt, focused_model, id_tensor, sampling_settings, tokenizer_of
from explorer.labs.generation.state import MAX_PATH_LENGTH, GenerationState
from explorer.model.model import Model

if TYPE_CHECKING:
    from explorer.generation.temperature_grid import Candidate

FIRST_TOKENS = 8  # of the path until the visitor chooses one
_KEY = "tree"
_MORE = "lineage.tree.more"  # a path, and how many tokens the visitor wants to be sampled after it


def section(session: ui.PageSession[GenerationState], models: Mapping[str, Model]) -> None:
    """Draw the candidates at every position of a path through the tokens."""
    state = session.state
    stored_model = models[focused_model(models, state)]
    ui.explanation(
        f"The {stored_model.title}, one {stored_model.unit} at a time. Each column has the most probable candidates; "
        "press one to choose it, or let the random numbers choose."
    )
    state = _validate(session, stored_model)
    path, more = requested_path(state)
    call = ui.Call(tree_data, stored_model, state.prompt, path, more, sampling_settings(state, state.t))

    def rerun_after_event() -> None:
        if _apply_events(session, stored_model.vocabulary_size):
            st.rerun()

    ui.show(
        "studio-tree",
        call,
        tree_view,
        waiting="The probabilities are being computed …",
        height=420,
        pool=stored_model.pool,
        events={_KEY: ("path",)},
        on_event=rerun_after_event,
    )
    if more and state.path is not None:
        store = partial(_store_path, session, path)
        ui.show_when_ready("studio-tree-path", call.key, call, store, "", 0, lambda _: None, stored_model.pool)


def tree_view(document: ui.Document, tree: dict[str, Any]) -> None:
    """Write the candidates at every position of the path."""
    document.component("token_tree", tree, _KEY)


def requested_path(state: GenerationState) -> tuple[tuple[int, ...], int]:
    """Return the tokens of the path, and how many tokens are to be sampled after them."""
    if state.path is None:
        return (), FIRST_TOKENS
    path, more = st.session_state.get(_MORE, ((), 0))
    return state.path, more if path == state.path else 0


def _store_path(session: ui.PageSession[GenerationState], path: tuple[int, ...], tree: dict[str, Any]) -> None:
    """Store the sampled tokens in the state, unless the visitor has taken another path meanwhile."""
    if session.state.path == path:
        st.session_state.pop(_MORE, None)
        session.state = replace(session.state, path=tuple(step["id"] for step in tree["steps"]))
        ui.write_url(session)


def _validate(session: ui.PageSession[GenerationState], stored_model: Model) -> GenerationState:
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


def tree_data(
    stored_model: Model, prompt_text: str, path: tuple[int, ...], more: int, settings: sampling.Sampling
) -> dict[str, Any]:
    """Return the data of the component: a path, `more` tokens sampled after it, and the candidates at every position.

    Raises LineageError.
    """
    from explorer.generation.temperature_grid import trace_path
    from explorer.tokenization.text import pieces

    prompt, tokenizer = encode_prompt(stored_model, prompt_text), tokenizer_of(stored_model)
    path = (*path, *sample_tokens(stored_model, prompt.ids, path, more, settings)) if more else path
    found = trace_path(stored_model.text_generator(), id_tensor(prompt.ids), id_tensor(path), settings)
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
                "surprise": round(step.surprisal, 4),
                "candidates": candidates(path[:i], step.candidates),
                "sampled": step.sampled,
            }
            for i, (piece, step) in enumerate(zip(added, found.steps, strict=True))
        ],
        "here": {"candidates": candidates(path, found.next_choice.candidates), "sampled": found.next_choice.sampled},
        "temperature": settings.temperature,
        "most_surprising": found.most_surprising,
        "most": MAX_PATH_LENGTH,
        "full": math.log(max(2, len(tokenizer.tokens))),
        "file": "step-by-step",
    }


def _apply_events(session: ui.PageSession[GenerationState], vocabulary: int) -> bool:
    """Apply the component's event, a path and how many tokens to sample after it; return whether there was a valid one.

    Every value is checked: a browser can send anything.
    """
    event = ui.pop_event(_KEY, "path")
    path, more = (event.get("path"), event.get("more")) if isinstance(event, dict) else (None, None)
    if not isinstance(path, list) or len(path) > MAX_PATH_LENGTH or type(more) is not int or more < 0:
        return False
    if not all(type(id) is int and 0 <= id < vocabulary for id in path):
        return False
    session.state = replace(session.state, path=tuple(path))
    st.session_state[_MORE] = session.state.path, min(more, MAX_PATH_LENGTH - len(path))
    return True


def sample_tokens(
    stored_model: Model, prompt: tuple[int, ...], path: tuple[int, ...], tokens: int, settings: sampling.Sampling
) -> tuple[int, ...]:
    """Sample `tokens` more tokens after a path. Raises LineageError."""
    from explorer.generation.temperature_grid import continue_path

    ids = continue_path(stored_model.text_generator(), id_tensor(prompt), id_tensor(path), tokens, settings)
    return tuple(ids.tolist())
