"""A recurrent network unrolled over one input: input, state and output of every step.

The same network serves four shapes of tasks, which differ in the outputs used and in where the inputs come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.generation.seq2seq_decoding import greedy_decode
from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.recurrence import RecurrentClassifier, RecurrentLanguageModel
from explorer.models.recurrent_tagger import RecurrentTagger
from explorer.models.taps import record
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.tasks.seq2seq.config import TranslationConfig, max_answer_length, source_vocabulary, target_vocabulary

TOP_ANSWERS = 3  # outputs kept of every step


@dataclass(frozen=True, eq=False)
class UnrolledStep:
    """One step of the network."""

    reads: str
    state: Float[ndarray, " units"]
    top_answers: tuple[tuple[str, float], ...]  # likeliest labels with their probabilities; empty without a readout
    used: bool  # whether the task uses this output
    fed_back: bool = False  # whether the input is the output of the step before


@dataclass(frozen=True)
class WeightMatrix:
    """A weight matrix, with its bias, that all steps of the network (or of its encoder or decoder) share."""

    name: str
    level: str  # "in", "state" or "out": its place in the drawing
    half: str  # "reads" (encoder) or "writes" (decoder), otherwise ""
    rows: int
    columns: int
    count: int  # parameters, including the bias


@dataclass(frozen=True, eq=False)
class UnrolledNetwork:
    """The unrolled network over one input."""

    steps: tuple[UnrolledStep, ...]
    weights: tuple[WeightMatrix, ...]


@torch.inference_mode()
def unroll_classifier(loaded: LoadedModel, replica: int, words: tuple[str, ...]) -> UnrolledNetwork:
    """Unroll a negation classifier over a sentence (many to one): the output after the last token counts."""
    model = loaded.single_replica(replica)
    assert isinstance(model, RecurrentClassifier)
    ids = VOCABULARY.encode(words)
    with record(model) as trace:
        logits = model.prefix_logits(torch.tensor([ids]))[0]
    steps = _steps([VOCABULARY.tokens[i] for i in ids], trace["cell.state"][0], logits, CLASSES, last_only=True)
    return UnrolledNetwork(steps, _weight_matrices(model.cell, model.readout))


@torch.inference_mode()
def unroll_tagger(
    loaded: LoadedModel, replica: int, words: Sequence[str], vocabulary: Sequence[str], names: Sequence[str]
) -> UnrolledNetwork:
    """Unroll a tagger (aligned many to many). `vocabulary` lists the tokens by id, `names` the labels."""
    model = loaded.single_replica(replica)
    assert isinstance(model, RecurrentTagger)
    with record(model) as trace:
        logits = model(torch.tensor([[vocabulary.index(word) for word in words]]))[0]
    return UnrolledNetwork(
        _steps(words, trace["cell.state"][0], logits, names), _weight_matrices(model.cell, model.readout)
    )


@torch.inference_mode()
def unroll_language_model(
    loaded: LoadedModel, replica: int, ids: Sequence[int], tokens: Sequence[str]
) -> UnrolledNetwork:
    """Unroll a language model over a text (aligned many to many): next-token prediction at every token."""
    return _unroll_tokens(loaded.single_replica(replica), ids, tokens)


@torch.inference_mode()
def unroll_generation(
    loaded: LoadedModel, replica: int, first: int, tokens: Sequence[str], count: int
) -> UnrolledNetwork:
    """Unroll greedy generation of `count` tokens from one token (one to many)."""
    model = loaded.single_replica(replica)
    ids = [first]
    while len(ids) < count:
        ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    return _unroll_tokens(model, ids, tokens, fed_back=True)


@torch.inference_mode()
def unroll_translation(
    loaded: LoadedModel, replica: int, config: TranslationConfig, source: Sequence[int]
) -> UnrolledNetwork:
    """Unroll an encoder-decoder over a source and its greedy translation (unaligned many to many)."""
    model = loaded.single_replica(replica)
    assert isinstance(model, EncoderDecoder)
    source_ids, names = torch.tensor([list(source)]), target_vocabulary(config)
    generated = greedy_decode(model, source_ids, max_answer_length(config, len(source))).ids[0].tolist()
    generated = generated[: generated.index(model.eos) + 1] if model.eos in generated else generated
    decoder_input = [model.bos, *generated[:-1]]
    with record(model) as trace:
        logits = model(source_ids, torch.tensor([decoder_input]))[0]
    source_names = source_vocabulary(config)
    encoder_steps = [
        UnrolledStep(source_names[i], to_array(state), (), used=False)
        for i, state in zip(source, trace["encoder.state"][0], strict=True)
    ]
    decoder_steps = _steps([names[i] for i in decoder_input], trace["decoder.state"][0], logits, names, fed_back=True)
    context_weights = _weight_matrix("C", "in", "writes", model.told)
    decoder_weights = _weight_matrices(model.decoder, model.readout, "writes")
    return UnrolledNetwork(
        (*encoder_steps, *decoder_steps),
        (*_weight_matrices(model.encoder, None, "reads"), decoder_weights[0], context_weights, *decoder_weights[1:]),
    )


def _unroll_tokens(
    model: nn.Module, ids: Sequence[int], tokens: Sequence[str], fed_back: bool = False
) -> UnrolledNetwork:
    assert isinstance(model, RecurrentLanguageModel)
    with record(model) as trace:
        logits = model(torch.tensor([list(ids)]))[0]
    last = len(model.cells) - 1
    steps = _steps([tokens[i] for i in ids], trace[f"cells.{last}.state"][0], logits, tokens, fed_back=fed_back)
    return UnrolledNetwork(steps, _weight_matrices(model.cells[last], model.readout))


def _steps(
    reads: Sequence[str],
    states: Float[Tensor, "time units"],
    logits: Float[Tensor, "time labels"],
    names: Sequence[str],
    last_only: bool = False,
    fed_back: bool = False,
) -> tuple[UnrolledStep, ...]:
    best = logits.softmax(dim=-1).topk(min(TOP_ANSWERS, len(names)), dim=-1)
    steps = []
    for t, (values, indices) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
        top = tuple((names[i], p) for i, p in zip(indices, values, strict=True))
        used = not last_only or t == len(reads) - 1
        steps.append(UnrolledStep(reads[t], to_array(states[t]), top, used, fed_back and t > 0))
    return tuple(steps)


def _weight_matrices(cell: object, readout: nn.Module | None, half: str = "") -> tuple[WeightMatrix, ...]:
    matrices = [
        _weight_matrix("W_xh", "in", half, cell.input),  # type: ignore[attr-defined]  # every cell has it
        _weight_matrix("W_hh", "state", half, cell.recurrent),  # type: ignore[attr-defined]
    ]
    return (*matrices, _weight_matrix("W_hy", "out", half, readout)) if readout else tuple(matrices)


def _weight_matrix(name: str, level: str, half: str, layer: nn.Module) -> WeightMatrix:
    rows, columns = layer.get_parameter("weight").shape
    return WeightMatrix(name, level, half, rows, columns, sum(each.numel() for each in layer.parameters()))
