"""Every named intermediate value of one forward pass, and forward passes in which some of them are replaced."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy import ndarray

from explorer.api.arguments import require_text
from explorer.api.outputs import read_prompt
from explorer.errors import InvalidSetting, shorten
from explorer.inspection.attention.alignment import align
from explorer.inspection.load_model import to_array
from explorer.inspection.recurrent.gates import ALPHABET
from explorer.inspection.words.labelling import parse_row
from explorer.model.model import Model
from explorer.model.predictions import recall_ids
from explorer.model.real_model import RealModel
from explorer.model.run_model import RunModel
from explorer.models.taps import Intervention, StepTap, Tap, intervene, record, tap_names
from explorer.tasks.own_sentences import SentenceConfig
from explorer.tasks.recall import RecallConfig
from explorer.tasks.seq2seq.config import TRANSLATION_CONFIGS, source_ids, source_vocabulary
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text.config import TextConfig

Replacement: TypeAlias = ndarray | torch.Tensor | Callable[[torch.Tensor], torch.Tensor]


class Trace(Mapping[str, ndarray]):
    """The values of one forward pass by name, without the batch axis, with its input and its output.

    tokens: the input of the model. logits: its output, (time, outcomes) or (outcomes).
    """

    def __init__(self, tokens: tuple[str, ...], logits: ndarray, values: Mapping[str, ndarray]) -> None:
        self.tokens, self.logits, self._values = tokens, logits, values

    def __getitem__(self, name: str) -> ndarray:
        if name not in self._values:
            raise KeyError(unknown_tap(name, self._values))
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        rows = [f"  {name}: {' × '.join(map(str, value.shape))}" for name, value in self._values.items()]
        return "\n".join([f"Trace of {len(self.tokens)} tokens", *rows])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._values)


def trace(
    model: torch.nn.Module,
    tokens: tuple[str, ...],
    inputs: tuple[torch.Tensor, ...],
    replace: Mapping[str, Replacement] | None = None,
) -> Trace:
    """Return the named values of a forward pass; see `InspectedModel.trace`. Raises InvalidSetting."""
    replace = {} if replace is None else replace
    if not isinstance(replace, Mapping):
        raise InvalidSetting(
            f"Replacements are given by name, as {{name: value}}, not as a value of the type {type(replace).__name__}."
        )
    taps = {name: tap for tap, name in tap_names(model).items()}
    for name in replace:
        if require_text(name, "The name of a value") not in taps:
            raise InvalidSetting(unknown_tap(name, taps))
    changes = {name: _intervention(name, taps[name], change) for name, change in replace.items()}
    try:
        with torch.inference_mode(), intervene(model, changes), record(model) as values:
            logits = model(*inputs)
    except ValueError as error:
        if not changes:
            raise
        raise InvalidSetting(f"A replacement does not fit: {error}. Keep the shape of the value.") from None
    arrays = {name: to_array(value if name.endswith(".mask") else value[0]) for name, value in values.items()}
    for name in changes.keys() & arrays.keys():
        given, expected = tuple(getattr(replace[name], "shape", ())), arrays[name].shape
        if len(given) >= len(expected) and given[-2:] != expected[-2:]:  # more steps than the loop over time has
            raise InvalidSetting(f"A replacement does not fit: {name} has shape {expected}, its replacement {given}.")
    return Trace(tokens, to_array(logits[0]), arrays)


def unknown_tap(name: str, known: Iterable[str]) -> str:
    """Return a sentence that says that there is no value of this name, and names the nearest ones."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.3)
    return f"There is no value “{shorten(name)}”. Nearest: {', '.join(near or sorted(known)[:5])}."


def _intervention(name: str, tap: Tap, change: Replacement) -> Intervention:
    """Return a replacement as `models.taps.intervene` takes it, in the number format of the value.

    An array has no batch axis, as those of a trace. At a tap inside a loop over time it has all steps on its last axis
    but one, and each step takes its own.
    """
    if callable(change) and not isinstance(change, torch.Tensor):
        return lambda value, step: _as_tensor(name, change(value)).to(value.dtype)
    tensor = _as_tensor(name, change)

    def replace_value(value: torch.Tensor, step: int) -> torch.Tensor:
        new = tensor.to(value.dtype)
        if isinstance(tap, StepTap) and new.dim() >= value.dim():
            if step >= new.shape[-2]:
                raise ValueError(f"{name} has more than {new.shape[-2]} steps")
            new = new[..., step, :]
        return new if new.dim() == value.dim() else new[None]

    return replace_value


def _as_tensor(name: str, value: Any) -> torch.Tensor:
    """Return a replacement as a tensor. Raises InvalidSetting for one that is no array of numbers."""
    try:
        return torch.as_tensor(np.array(value) if isinstance(value, ndarray) else value)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidSetting(
            f"The replacement of {shorten(name)} is no array of numbers but of the type {type(value).__name__}. "
            "Give an array, a tensor or a function that returns one."
        ) from None


def model_inputs(
    model: Model, text: str, replica: int, step: int | None
) -> tuple[tuple[str, ...], tuple[torch.Tensor, ...]]:
    """Return the tokens of a text and the arguments of the forward pass. Raises LineageError."""
    if isinstance(model, RealModel):
        given = model.tokenize(text)
        rows = [given.ids, *([model.translate(given.ids, step)[:-1]] if model.parts else [])]
        return given.tokens, tuple(torch.tensor([row]) for row in rows)
    assert isinstance(model, RunModel), "every other model is a run"
    task: Any = model.config.task
    if isinstance(task, TextConfig | StringConfig):
        ids = read_prompt(model, text)
        if isinstance(task, TextConfig):
            ids = ids[-task.context :]
        return tuple(model.outcomes[i] for i in ids), (torch.tensor([ids]),)
    if isinstance(task, TRANSLATION_CONFIGS):
        source, module = source_ids(task, text), cast(Any, model.module(replica, step))
        target = align(module, task, source).target
        tokens = tuple(source_vocabulary(task)[i] for i in source)
        return tokens, (torch.tensor([list(source)]), torch.tensor([[module.bos, *target[:-1]]]))
    if isinstance(task, LabellingConfig):
        row = parse_row(task, text)
        return tuple(task.vocabulary[i] for i in row.ids), (torch.tensor([row.ids]),)
    if isinstance(task, RecallConfig):
        symbols = recall_ids(task, text)
        return tuple(ALPHABET[i] for i in symbols[0].tolist()), (symbols,)
    if isinstance(task, SentenceConfig):
        words = model.language.vocabulary
        sentence = words.encode(words.split(text))
        return tuple(words.tokens[i] for i in sentence), (torch.tensor([sentence]),)
    raise InvalidSetting("Word vectors have no forward pass over a text. Look at run.weights() instead.")
