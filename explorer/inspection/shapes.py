"""A recurrent net unrolled over one input, step by step: what it reads, its state, what it answers there.

The same net serves four shapes of tasks; they differ in which answers are used and in where the inputs come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.generation.translating import greedy
from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.recurrence import RecurrentClassifier, RecurrentLanguageModel
from explorer.models.recurrent_tagger import RecurrentTagger
from explorer.models.taps import record
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.tasks.translation import TranslationConfig, longest_answer, source_tokens, target_tokens

BEST = 3  # answers that are kept of every step


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the net."""

    reads: str
    state: Float[ndarray, " units"]
    best: tuple[tuple[str, float], ...]  # the likeliest answers with their probabilities; none where it has no readout
    used: bool  # whether the task uses the answer
    fed_back: bool = False  # whether what is read is the answer of the step before


@dataclass(frozen=True)
class Weights:
    """A matrix that all steps share, or all those of one half of the net, with its bias."""

    name: str
    level: str  # "in", "state" or "out": between which two it stands
    half: str  # "reads" or "writes" where there are two nets, otherwise ""
    rows: int
    columns: int
    count: int  # parameters, the bias among them


@dataclass(frozen=True, eq=False)
class Unrolled:
    """The net over one input."""

    steps: tuple[Step, ...]
    weights: tuple[Weights, ...]


@torch.inference_mode()
def one_answer(opened: OpenedModel, replica: int, words: tuple[str, ...]) -> Unrolled:
    """Many to one: a classifier of negation reads a sentence; the answer after the last token counts."""
    model = opened.alone(replica)
    assert isinstance(model, RecurrentClassifier)
    ids = VOCABULARY.encode(words)
    with record(model) as trace:
        answers = model.after_each(torch.tensor([ids]))[0]
    steps = _steps([VOCABULARY.tokens[i] for i in ids], trace["cell.state"][0], answers, CLASSES, last_only=True)
    return Unrolled(steps, _weights(model.cell, model.readout))


@torch.inference_mode()
def labels(
    opened: OpenedModel, replica: int, words: Sequence[str], vocabulary: Sequence[str], names: Sequence[str]
) -> Unrolled:
    """Aligned many to many: a tagger answers at every word with one of these names."""
    model = opened.alone(replica)
    assert isinstance(model, RecurrentTagger)
    with record(model) as trace:
        answers = model(torch.tensor([[vocabulary.index(word) for word in words]]))[0]
    return Unrolled(_steps(words, trace["cell.state"][0], answers, names), _weights(model.cell, model.readout))


@torch.inference_mode()
def next_tokens(opened: OpenedModel, replica: int, ids: Sequence[int], tokens: Sequence[str]) -> Unrolled:
    """Aligned many to many: after every token of a text, which one comes next."""
    model = _language_model(opened, replica)
    return _read(model, ids, tokens)


@torch.inference_mode()
def written(opened: OpenedModel, replica: int, first: int, tokens: Sequence[str], count: int) -> Unrolled:
    """One to many: from one token it writes so many; each time the likeliest, which it reads next."""
    model = _language_model(opened, replica)
    ids = [first]
    while len(ids) < count:
        ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    return _read(model, ids, tokens, fed_back=True)


@torch.inference_mode()
def translated(opened: OpenedModel, replica: int, config: TranslationConfig, source: Sequence[int]) -> Unrolled:
    """Unaligned many to many: one net reads the whole source, then another one writes, always the likeliest token."""
    model = opened.alone(replica)
    assert isinstance(model, EncoderDecoder)
    read, names = torch.tensor([list(source)]), target_tokens(config)
    wrote = greedy(model, read, longest_answer(config, len(source))).ids[0].tolist()
    wrote = wrote[: wrote.index(model.eos) + 1] if model.eos in wrote else wrote
    given = [model.bos, *wrote[:-1]]
    with record(model) as trace:
        answers = model(read, torch.tensor([given]))[0]
    known = source_tokens(config)
    reading = [
        Step(known[i], to_array(state), (), used=False)
        for i, state in zip(source, trace["encoder.state"][0], strict=True)
    ]
    writing = _steps([names[i] for i in given], trace["decoder.state"][0], answers, names, fed_back=True)
    told = _matrix("C", "in", "writes", model.told)
    own = _weights(model.decoder, model.readout, "writes")
    return Unrolled((*reading, *writing), (*_weights(model.encoder, None, "reads"), own[0], told, *own[1:]))


def _language_model(opened: OpenedModel, replica: int) -> RecurrentLanguageModel:
    model = opened.alone(replica)
    assert isinstance(model, RecurrentLanguageModel)
    return model


def _read(model: RecurrentLanguageModel, ids: Sequence[int], tokens: Sequence[str], fed_back: bool = False) -> Unrolled:
    with record(model) as trace:
        answers = model(torch.tensor([list(ids)]))[0]
    last = len(model.cells) - 1
    steps = _steps([tokens[i] for i in ids], trace[f"cells.{last}.state"][0], answers, tokens, fed_back=fed_back)
    return Unrolled(steps, _weights(model.cells[last], model.readout))


def _steps(
    reads: Sequence[str],
    states: Float[Tensor, "time units"],
    answers: Float[Tensor, "time labels"],
    names: Sequence[str],
    last_only: bool = False,
    fed_back: bool = False,
) -> tuple[Step, ...]:
    best = answers.softmax(dim=-1).topk(min(BEST, len(names)), dim=-1)
    found = []
    for t, (values, places) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
        said = tuple((names[i], p) for i, p in zip(places, values, strict=True))
        used = not last_only or t == len(reads) - 1
        found.append(Step(reads[t], to_array(states[t]), said, used, fed_back and t > 0))
    return tuple(found)


def _weights(cell: object, readout: nn.Module | None, half: str = "") -> tuple[Weights, ...]:
    found = [
        _matrix("W_xh", "in", half, cell.input),  # type: ignore[attr-defined]  # every cell has it
        _matrix("W_hh", "state", half, cell.recurrent),  # type: ignore[attr-defined]
    ]
    return (*found, _matrix("W_hy", "out", half, readout)) if readout else tuple(found)


def _matrix(name: str, level: str, half: str, layer: nn.Module) -> Weights:
    rows, columns = layer.get_parameter("weight").shape
    return Weights(name, level, half, rows, columns, sum(each.numel() for each in layer.parameters()))
