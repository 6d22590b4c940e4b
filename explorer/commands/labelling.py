"""`predict` and `inspect` of runs whose models answer at every place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.commands.common import say
from explorer.commands.tables import by_head, number, tell, write_arrays
from explorer.tasks.labelling import LabellingConfig
from explorer.training import store

if TYPE_CHECKING:
    from explorer.inspection.labelling import Answer


def predict_row(stored: store.StoredRun, task: LabellingConfig, text: str, as_json: bool) -> None:
    """What every place of a row says, in the mean over the seeds, and whether it is right where that is known."""
    from explorer.inspection.labelling import answers, row_of
    from explorer.inspection.opening import open_model

    found = answers(open_model(stored), task, row_of(task, text))
    known = [each.right for each in found if each.right is not None]
    if as_json:
        places = [_as_data(place, each) for place, each in enumerate(found)]
        say({"seeds": stored.config.replicas, "places": places, "right": sum(known), "known": len(known)})
        return
    wide, long = (max(map(len, names)) for names in ([e.token for e in found], [e.answer for e in found]))
    for place, each in enumerate(found):
        said = f"{each.answer:{long}} {each.probability:.3f}  {_verdict(each)}" if each.asked else "(not asked)"
        print(f"{place:3} {_seen(each.token):{wide}}  {said}".rstrip())
    if known:
        print(f"{sum(known)} of {len(known)} right")


def _as_data(place: int, each: Answer) -> dict[str, Any]:
    said = {"answer": each.answer, "probability": round(each.probability, 6)} if each.asked else {}
    told = {} if each.wanted is None else {"wanted": each.wanted, "right": each.right}
    return {"place": place, "token": each.token, "asked": each.asked, **said, **told}


def _verdict(each: Answer) -> str:
    if each.right is None:
        return ""
    return "right" if each.right else f"wrong: it is {_seen(each.wanted or '')}"


def _seen(token: str) -> str:
    return "␣" if token == " " else token


def inspect_row(
    stored: store.StoredRun,
    task: LabellingConfig,
    text: str,
    out: Path | None,
    replica: int,
    step: int | None,
    as_json: bool,
) -> None:
    """The habits of every head while one seed reads a row; of a model without attention, its vectors: how long each
    is, and how far from the one before it."""
    import numpy as np

    from explorer.inspection.heads import habits
    from explorer.inspection.labelling import inside, row_of
    from explorer.inspection.opening import open_model

    row = row_of(task, text)
    found = inside(open_model(stored, step).alone(replica), row.ids)
    tokens = [task.vocabulary[id] for id in row.ids]
    if out is not None:
        write_arrays(out, found.taps | {"tokens": np.array(tokens), "states": found.states})
    if found.weights is not None:
        return tell(by_head(habits(found.weights, row.ids)), out, as_json)
    moved = [math.nan, *np.linalg.norm(np.diff(found.states, axis=0), axis=-1).tolist()]
    rows = [
        {
            "kind": "state",
            "place": place,
            "token": token if as_json else _seen(token),
            "length": number(float(np.linalg.norm(state))),
            "moved": number(far),
        }
        for place, (token, state, far) in enumerate(zip(tokens, found.states, moved, strict=True))
    ]
    tell(rows, out, as_json)
