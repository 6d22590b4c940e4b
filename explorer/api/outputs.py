"""What models predict and write for a text, as pandas tables and texts; see `model/predictions.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from explorer.api.arguments import require_text, require_whole_number, warn
from explorer.errors import InvalidSetting
from explorer.generation.generate import continue_prompt
from explorer.generation.sampling import Sampling
from explorer.inspection.language.perplexity import windowed_surprisals
from explorer.model.model import Model
from explorer.model.predictions import (
    Distribution,
    Output,
    Translation,
    describe_unseen,
    predict,
    predict_with_real_model,
)
from explorer.model.real_model import RealModel
from explorer.model.run_model import RunModel
from explorer.tasks.text.config import TextConfig

MAX_TOKENS = 1_000_000  # of one text; `generate` keeps their noise in memory


def require_texts_to_predict(text: object) -> list[str]:
    """Return one text or several as a list. Raises InvalidSetting for none, and for another kind of value."""
    texts = [text] if isinstance(text, str) or not isinstance(text, Iterable) else list(text)
    checked = [require_text(each) for each in texts]
    if not checked:
        raise InvalidSetting("There is no text to predict. Give at least one.")
    return checked


def prediction_table(model: Model, text: str, step: int | None, replicas: Sequence[int]) -> pd.DataFrame:
    """Return the prediction of these replicas for one text; see `InspectedModel.predict`. Raises LineageError."""
    if isinstance(model, RealModel):
        return _real_prediction_table(model, text, step)
    assert isinstance(model, RunModel), "every other model is a run"
    found = predict(model, text, step, replicas)
    if isinstance(found, Distribution):
        return _distribution_table(found)
    if isinstance(found, Translation):
        outputs = [each.text for each in found.outputs]
        return pd.DataFrame(
            {
                "seed": [model.seeds[replica] for replica in replicas],
                "output": outputs,
                "probability": [each.probability for each in found.outputs],
                "correct": [None if found.expected is None else output == found.expected for output in outputs],
            }
        )
    return pd.DataFrame(
        {
            "position": np.arange(len(found)),
            "token": [each.token for each in found],
            "label": [each.answer for each in found],
            "probability": [each.probability for each in found],
            "expected": [each.target for each in found],
            "correct": [each.is_correct for each in found],
            "in_loss": [each.in_loss for each in found],
        }
    ).astype({"expected": object, "correct": object})


def _real_prediction_table(model: RealModel, text: str, step: int | None) -> pd.DataFrame:
    found = predict_with_real_model(model, text, step)
    if isinstance(found, Output):
        table = pd.DataFrame({"output": [found.text], "probability": [found.probability]})
    else:
        tables = [_distribution_table(each) for each in found]
        for each, one in zip(found, tables, strict=True):
            if each.position is not None:
                one.insert(0, "position", each.position)
        table = pd.concat(tables, ignore_index=True)
    table.attrs["unread"] = model.tokenize(text).unread
    return table


def _distribution_table(found: Distribution) -> pd.DataFrame:
    shares = found.probabilities
    columns: dict[str, Any] = {found.kind: list(found.outcomes), "probability": shares.mean(axis=0).astype(float)}
    if len(shares) > 1:
        columns |= {"lowest": shares.min(axis=0).astype(float), "highest": shares.max(axis=0).astype(float)}
    table = pd.DataFrame(columns).sort_values("probability", ascending=False, kind="stable", ignore_index=True)
    table.attrs["unread"] = found.unread
    return table


def read_prompt(model: Model, text: str) -> list[int]:
    """Return the ids of a text to continue. Warns about parts of it that are not in the vocabulary."""
    ids, unseen = model.read_prompt(text)
    warn(describe_unseen(model, unseen))
    return ids


def generate_text(model: Model, prompt: str, tokens: int, sampling: Sampling, replica: int, step: int | None) -> str:
    """Return the prompt and its continuation; see `InspectedModel.generate`. Raises LineageError."""
    generator = model.text_generator(replica, step)
    tokens = require_whole_number("tokens", tokens, 1, MAX_TOKENS)
    assert model.tokenizer, "a language model has one"
    found = continue_prompt(generator, model.tokenizer, prompt, tokens, sampling, lower=model.lowercase)
    warn(describe_unseen(model, (*found.dropped, *found.unknown)))
    return found.whole[0]


def surprisal_table(model: Model, text: str, step: int | None, replicas: Sequence[int]) -> pd.DataFrame:
    """Return -log p of every token of a text but the first; see `InspectedModel.surprisal`. Raises LineageError."""
    model.check_generates_text()  # the error of a run of another task comes first
    window = 0
    if isinstance(model, RunModel):
        task = model.config.task
        if not isinstance(task, TextConfig) or task.rows == "prefixes":
            raise InvalidSetting(
                "The loss of a text needs a language model that predicts at every position: a run of the task text "
                "whose rows are blocks or sentences."
            )
        window = task.context
    generators = [model.text_generator(replica, step) for replica in replicas]
    ids = np.array(read_prompt(model, text))
    if len(ids) < 2:
        raise InvalidSetting(
            "This text has fewer than two tokens, so none is predicted from another. Give a longer one."
        )
    window = window or min(generators[0].context or len(ids), len(ids) - 1)
    values = np.stack([windowed_surprisals(each.model, ids, window, max(1, window // 2)) for each in generators])
    table = pd.DataFrame(
        {
            "position": np.arange(1, len(ids)),
            "token": model.token_texts(ids.tolist())[1:],
            "surprisal": values.mean(axis=0),
        }
    )
    if len(values) > 1:
        table["lowest"], table["highest"] = values.min(axis=0), values.max(axis=0)
    return table
