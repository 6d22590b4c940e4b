"""`predict` and `inspect` for sequence labelling runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from explorer.cli.program import print_json
from explorer.cli.tables import head_rows, print_rows, round_or_none, write_arrays
from explorer.inspection import load_model
from explorer.inspection.attention import head_scores
from explorer.inspection.words import labelling
from explorer.lazy_libraries import np
from explorer.run_store import store
from explorer.tasks.sequence_labelling.config import LabellingConfig


def predict_row(stored: store.StoredRun, task: LabellingConfig, text: str, as_json: bool) -> None:
    """Print the prediction at every position, averaged over the seeds, and whether it is right where the answer is
    known.
    """
    found = labelling.predict_positions(load_model.load_model(stored), task, labelling.parse_row(task, text))
    known = [each.is_correct for each in found if each.is_correct is not None]
    if as_json:
        places = [_as_data(place, each) for place, each in enumerate(found)]
        print_json(
            {
                "kind": "prediction",
                "seeds": stored.config.replicas,
                "places": places,
                "right": sum(known),
                "known": len(known),
            }
        )
        return
    wide, long = (max(map(len, names)) for names in ([e.token for e in found], [e.answer for e in found]))
    for place, each in enumerate(found):
        said = (
            f"{each.answer:{long}} {each.probability:.3f}  {_describe_correctness(each)}"
            if each.in_loss
            else "(not asked)"
        )
        print(f"{place:3} {_visible_token(each.token):{wide}}  {said}".rstrip())
    if known:
        print(f"{sum(known)} of {len(known)} right")


def _as_data(place: int, each: labelling.PositionAnswer) -> dict[str, Any]:
    said = {"answer": each.answer, "probability": round(each.probability, 6)} if each.in_loss else {}
    told = {} if each.target is None else {"wanted": each.target, "right": each.is_correct}
    return {"place": place, "token": each.token, "asked": each.in_loss, **said, **told}


def _describe_correctness(each: labelling.PositionAnswer) -> str:
    if each.is_correct is None:
        return ""
    return "right" if each.is_correct else f"wrong: it is {_visible_token(each.target or '')}"


def _visible_token(token: str) -> str:
    return "␣" if token == " " else token


def inspect_row(
    stored: store.StoredRun,
    task: LabellingConfig,
    text: str,
    out: Path | None,
    replica: int,
    step: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print the scores of every head of one seed on a row.

    For a model without attention, print the norm of its vector at each position, and the distance from the previous
    one.

    stored: the run
    task: its task
    text: the row
    out: the file for all intermediate values, if they are written
    replica: the index of the seed
    step: the training step of the weights; None is the last
    force: whether the file may be replaced
    as_json: whether the scores are printed as JSON

    Raises LineageError for a row that the model cannot read, or a file that cannot be written.
    """
    row = labelling.parse_row(task, text)
    found = labelling.row_activations(load_model.load_model(stored, step).single_replica(replica), row.ids)
    tokens = [task.vocabulary[id] for id in row.ids]
    if out is not None:
        write_arrays(out, found.taps | {"tokens": np.array(tokens), "states": found.states}, force)
    if found.weights is not None:
        return print_rows(head_rows(head_scores.score_heads(found.weights, row.ids)), out, as_json)
    moved = [math.nan, *np.linalg.norm(np.diff(found.states, axis=0), axis=-1).tolist()]
    rows = [
        {
            "kind": "state",
            "place": place,
            "token": token if as_json else _visible_token(token),
            "length": round_or_none(float(np.linalg.norm(state))),
            "moved": round_or_none(far),
        }
        for place, (token, state, far) in enumerate(zip(tokens, found.states, moved, strict=True))
    ]
    print_rows(rows, out, as_json)
