"""The commands `predict` and `inspect` with a real model, hub:NAME."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import explorer
from explorer.cli.program import print_json
from explorer.cli.tables import head_rows, print_rows, round_or_none, write_arrays
from explorer.hub.allowed import PREFIX
from explorer.inspection.attention import attend, head_scores, logit_lens
from explorer.lazy_libraries import np
from explorer.visible_text import escape_invisible

_SHOWN = 10  # most probable tokens


def is_real_model(run: str) -> bool:
    """Return whether a name is that of a real model."""
    return run.startswith(PREFIX)


def predict_with_real_model(name: str, text: str, as_json: bool) -> None:
    """Print the most probable next tokens of a decoder, those at each mask of an encoder, or a translation.

    Raises InvalidSetting for a model that predicts nothing, and for a text without a mask.
    """
    table = explorer.load(name).predict(text)
    if "output" in table:
        (row,) = table.to_dict("records")
        answer = {"target": str(row["output"]), "probability": round_or_none(row["probability"])}
        if as_json:
            print_json({"kind": "prediction", "source": text, "answers": [answer]})
        else:
            print(f"{answer['target']}  {answer['probability']:.3f}")
        return
    masked = table.groupby("position", sort=False) if "position" in table else [(None, table)]
    for position, rows in masked:
        best = rows.head(_SHOWN)
        probabilities = {str(token): round_or_none(p) for token, p in zip(best.token, best.probability, strict=True)}
        if as_json:
            at = {} if position is None else {"position": int(position)}
            print_json({"kind": "prediction", "text": text, **at, "probabilities": probabilities})
            continue
        if position is not None:
            print(f"at token {position}:")
        width = max(9, *(len(escape_invisible(token)) for token in probabilities))
        for token, share in probabilities.items():
            print(f"{escape_invisible(token):{width}} {share:.3f} {'█' * round(40 * (share or 0))}")


def inspect_real_model(
    name: str, text: str, out: Path | None, step: int | None, force: bool, as_json: bool
) -> attend.TokenizedInput:
    """Print the scores of every head on a text; of an encoder–decoder its translation and where each token attends.

    out: the file for all intermediate values, if they are written
    force: whether this file may be replaced

    Return the tokens of the text. Raises InvalidSetting.
    """
    from explorer.inspection.pretrained.reader import find_reader

    reader = find_reader(name)
    given, at = reader.tokenize(text), reader.check_step(step)
    part, queries = reader.attention_part("", given.ids, step=at)
    found = attend.attend(part, given.ids)
    if out is not None:
        write_arrays(out, logit_lens.tap_arrays(part, given.ids) | {"tokens": np.array(given.tokens)}, force)
    if reader.parts:
        weights, tokens = found.weights.mean(axis=(0, 1)), reader.token_texts(reader.translate(given.ids, at))
        rows = [_token_row(tokens[i + 1], weights[i], given.tokens) for i in range(len(queries))]
        _print_alignment(rows, out, as_json)
    else:
        print_rows(head_rows(head_scores.score_heads(found.weights, given.ids)), out, as_json)
    return given


def _token_row(token: str, weights: Any, source: tuple[str, ...]) -> dict[str, Any]:
    most = int(weights.argmax())
    return {
        "kind": "token",
        "token": token,
        "looks_at": most,
        "source_token": source[most],
        "weight": round_or_none(weights[most]),
    }


def _print_alignment(rows: list[dict[str, Any]], out: Path | None, as_json: bool) -> None:
    for row in rows:
        if as_json:
            print_json(row)
        else:
            token, source = (escape_invisible(row[name]) for name in ("token", "source_token"))
            print(f"{token:12} {row['weight']:.3f} at {row['looks_at']} “{source}”")
    if out is not None and not as_json:
        print(f"{out}, {out.stat().st_size:,} bytes")
