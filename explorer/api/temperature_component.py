"""The temperature slider as a component for notebooks: its data, and the answers of the model."""

from __future__ import annotations

from typing import Any

import torch

from explorer.api.arguments import require_whole_number
from explorer.api.components import NotebookComponent
from explorer.api.embedding import arrays_address
from explorer.api.outputs import read_prompt
from explorer.catalogue import task_row
from explorer.errors import InvalidSetting
from explorer.generation.sampling import Sampling
from explorer.generation.temperature_grid import (
    TEMPERATURES,
    component_arrays,
    compute_temperature_grid,
    sampling_inputs,
)
from explorer.hub.allowed import PREFIX
from explorer.model.model import Model
from explorer.model.run_model import RunModel
from explorer.tasks.text.config import TextConfig

MAX_TOKENS = 400
_MARKS = [[0, "greedy"], [0.7, ""], [1, "unchanged"], [1.2, ""], [2, "more random"]]


def temperature_component(
    model: Model, replica: int, step: int | None, prompt: str, tokens: int, sampling: Sampling, live: bool
) -> NotebookComponent:
    """Return the component for a prompt; see `InspectedModel.temperature`. Raises InvalidSetting."""
    if isinstance(model, RunModel) and not isinstance(model.config.task, TextConfig):
        raise InvalidSetting(
            f"This run learned the task {task_row(model.config.task).name}. The temperature slider needs a run of the "
            'task text, such as explorer.load("text-transformer").'
        )
    generator, key = model.text_generator(replica, step), model.name.removeprefix(PREFIX)
    tokens = require_whole_number("tokens", tokens, 1, MAX_TOKENS)
    if sampling.temperature > TEMPERATURES[-1]:
        raise InvalidSetting(f"temperature = {sampling.temperature:g} is not possible. Give a number from 0 to 2.")
    tokenizer = model.tokenizer
    assert tokenizer, "a language model has one"
    ids = torch.tensor(read_prompt(model, prompt))
    given = ids[len(generator.start) :].tolist()
    grid = compute_temperature_grid(generator, ids, tokens, sampling)
    arrays, pieces = component_arrays(grid, tokenizer, given)
    nearest = min(range(len(TEMPERATURES)), key=lambda i: abs(TEMPERATURES[i] - sampling.temperature))

    def position(of: int, at: int) -> dict[str, object]:
        before = torch.from_numpy(grid.ids[of, :at].astype("int64"))
        found = sampling_inputs(generator, ids, before, sampling)
        text = tokenizer.decode([*given, *before.tolist()]).replace("\n", "↵")
        address = arrays_address({"logits": found.logits, "noise": found.noise})
        return {"model": key, "of": of, "at": at, "address": address, "context": text[-24:]}

    data: dict[str, object] = {
        "temperatures": [round(t, 2) for t in TEMPERATURES],
        "temperature": sampling.temperature,
        "marks": _MARKS,
        "models": [
            {
                "name": key,
                "title": model.title,
                "colour": model.colour,
                "unit": model.unit,
                "address": arrays_address(arrays),
                "pieces": list(pieces),
                "tokens": list(tokenizer.tokens),
                "prompt": tokenizer.decode(given),
                "note": "",
            }
        ],
        "focus": key,
        "position": position(nearest, 0),
        "cut": {"greedy": False, "top_k": sampling.top_k, "top_p": sampling.top_p, "min_p": sampling.min_p},
        "unit": model.unit,
        "file": "temperature",
    }

    def on_event(event: str, value: Any) -> dict[str, object] | None:
        if event == "temperature":
            data["temperature"] = float(value)
            return None
        if event != "position":
            return None
        of, at = (int(value[name]) for name in ("of", "at"))
        if not (0 <= of < len(TEMPERATURES) and 0 <= at < tokens):
            return None
        data["position"] = position(of, at)
        return dict(data)

    return NotebookComponent("temperature", f"{key}, continuing “{prompt}”", data, on_event, live)
