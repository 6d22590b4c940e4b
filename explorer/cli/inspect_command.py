"""The command `inspect`: what every attention head of a run or of a real model does on a text."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from explorer.atomic_files import check_new_file, write_new_file
from explorer.cli.common import Force, Json, RunOrRealModel, argument, find_model, option
from explorer.cli.program import print_json
from explorer.cli.tables import head_rows, print_rows, round_or_none, visible_token
from explorer.errors import InvalidSetting
from explorer.generation import generate
from explorer.hub.allowed import PREFIX
from explorer.inspection.attention import alignment, attend, head_scores, logit_lens
from explorer.inspection.words import labelling
from explorer.lazy_libraries import np
from explorer.model import model as models
from explorer.model import real_model, run_model
from explorer.tasks.seq2seq.config import TRANSLATION_CONFIGS, source_ids, source_vocabulary, target_vocabulary
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.visible_text import escape_invisible


def inspect(
    run: RunOrRealModel,
    text: Annotated[str, argument("INPUT", "Input of the model.")],
    out: Annotated[
        Path | None, option("FILE", "Write all intermediate values of the forward pass to this npz file, by tap name.")
    ] = None,
    replica: Annotated[int, option("NUMBER", "Index of the seed, counted from 0.")] = 0,
    step: Annotated[int | None, option("STEP", "Training step of the weights. Default: the last.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Print what every attention head of a run or of a real model does on a text.

    Translation: each generated token and the source token with the highest attention weight. Sequence labelling without
    attention: the norm of the state at each token, and its distance from the previous one.
    """
    if out is not None:
        check_new_file(out, force)
    model = find_model(run)
    if isinstance(model, real_model.RealModel) and replica:
        raise InvalidSetting(f"replica = {replica} is not possible: a real model has one state. Leave it out.")
    if isinstance(model, run_model.RunModel):
        task = model.config.task
        if not isinstance(task, (LabellingConfig, *TRANSLATION_CONFIGS)):
            attend.check_attention(model.config)
        _check_replica_and_step(model, replica, step)
        if isinstance(task, LabellingConfig):
            rows, arrays = _inspect_labelling(model, task, text, replica, step, as_json)
        elif isinstance(task, TRANSLATION_CONFIGS):
            rows, arrays = _inspect_translation(model, task, text, replica, step)
        else:
            rows, arrays = _inspect_text(model, text, replica, step, with_arrays=out is not None)
    else:
        rows, arrays = _inspect_text(model, text, 0, step, with_arrays=out is not None)
    if out is not None:
        file = io.BytesIO()
        np.savez(file, **arrays)  # no tap is called "file", the only reserved name
        write_new_file(out, file.getvalue(), force)
    if rows[0]["kind"] == "token":
        _print_tokens(rows, as_json, width=12 if run.startswith(PREFIX) else 5)
    else:
        print_rows(rows, as_json)
    if out is not None and not as_json:
        print(f"{out}, {out.stat().st_size:,} bytes")


def _inspect_text(
    model: models.Model, text: str, replica: int, step: int | None, with_arrays: bool
) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Return the scores of every head, of an encoder–decoder where each token of its translation attends."""
    given = model.tokenize(text)
    if isinstance(model, real_model.RealModel):
        step = model.check_step(step)
    found = model.attention(given, "", replica, step)
    weights = attend.attend(found.model, given.ids).weights
    arrays: dict[str, Any] = {}
    if with_arrays:
        arrays = logit_lens.tap_arrays(found.model, given.ids) | {"tokens": np.array(given.tokens)}
    _warn_about_input(given)
    if isinstance(model, real_model.RealModel) and model.parts:
        tokens = model.token_texts(model.translate(given.ids, step)[1:])
        mean = weights.mean(axis=(0, 1))
        return [_token_row(tokens[i], mean[i], given.tokens) for i in range(len(mean))], arrays
    return head_rows(head_scores.score_heads(weights, given.ids)), arrays


def _inspect_translation(
    model: run_model.RunModel, task: Any, text: str, replica: int, step: int | None
) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    module: Any = model.module(replica, step)
    found = alignment.align(module, task, source_ids(task, text))
    source = [source_vocabulary(task)[i] for i in found.source]
    target = [target_vocabulary(task)[i] for i in found.target]
    weights = None if found.weights is None else found.weights.mean(axis=(0, 1))
    rows = [
        _token_row(
            token,
            None if weights is None else weights[i],
            source,
            {"probability": round(float(found.probabilities[i, found.target[i]]), 6)},
        )
        for i, token in enumerate(target)
    ]
    names = {"source": source, "target": target, "candidates": target_vocabulary(task)}
    arrays = {name: np.array(tokens) for name, tokens in names.items()}
    return rows, {**arrays, "probabilities": found.probabilities, **found.taps}


def _inspect_labelling(
    model: run_model.RunModel, task: LabellingConfig, text: str, replica: int, step: int | None, as_json: bool
) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Return the scores of every head on a row; without attention, the norm of the state at each position.

    `moved` is the distance from the previous state.
    """
    ids = labelling.parse_row(task, text).ids
    found = labelling.row_activations(model.module(replica, step), ids)
    tokens = [task.vocabulary[id] for id in ids]
    arrays = found.taps | {"tokens": np.array(tokens), "states": found.states}
    if found.weights is not None:
        return head_rows(head_scores.score_heads(found.weights, ids)), arrays
    moved = [math.nan, *np.linalg.norm(np.diff(found.states, axis=0), axis=-1).tolist()]
    rows = [
        {
            "kind": "state",
            "place": place,
            "token": token if as_json else visible_token(token),
            "length": round_or_none(float(np.linalg.norm(state))),
            "moved": round_or_none(far),
        }
        for place, (token, state, far) in enumerate(zip(tokens, found.states, moved, strict=True))
    ]
    return rows, arrays


def _token_row(
    token: str, weights: Any | None, source: Sequence[str], more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": "token", "token": token, **(more or {})}
    if weights is None:
        return row
    most = int(weights.argmax())
    return row | {"looks_at": most, "source_token": source[most], "weight": round_or_none(weights[most])}


def _print_tokens(rows: list[dict[str, Any]], as_json: bool, width: int) -> None:
    for row in rows:
        if as_json:
            print_json(row)
            continue
        probability = f"{row['probability']:.3f}  " if "probability" in row else ""
        source = escape_invisible(row.get("source_token", ""))
        where = f"{row['weight']:.3f} at {row['looks_at']} “{source}”" if "weight" in row else ""
        print(f"{escape_invisible(row['token']):{width}} {probability}{where}".rstrip())


def _check_replica_and_step(model: run_model.RunModel, replica: int, step: int | None) -> None:
    replicas, steps = model.config.replicas, model.steps
    if not 0 <= replica < replicas:
        possible = "0: this run has one seed" if replicas == 1 else f"a whole number from 0 to {replicas - 1}"
        raise InvalidSetting(f"replica = {replica} is not possible. Give {possible}.")
    if step is not None and step not in steps:
        kept = ", ".join(f"{kept:,}" for kept in steps)
        raise InvalidSetting(f"This run has no weights of step {step:,}. Give one of {kept}.")


def _warn_about_input(given: attend.TokenizedInput) -> None:
    """Print on standard error where the model's input differs from the typed text."""
    if given.lowercased:
        print("The model knows lower-case letters only: the text is lower-cased.", file=sys.stderr)
    if given.unread:
        print(given.unread, file=sys.stderr)
    if given.empty:
        print(generate.FROM_NOTHING, file=sys.stderr)
