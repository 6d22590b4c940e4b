"""Alignment of a sequence-to-sequence model: next-token probabilities, cross-attention and ablations of both.

Attention has the axes (layers, heads, target, source); additive attention has one layer and one head. Row i belongs to
the token generated at step i, counted from 0, when the decoder had read <BOS> and the i tokens before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.generation.seq2seq_decoding import grade_targets, greedy_decode
from explorer.inspection.load_model import load_model, shared_model, to_array
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.taps import Intervention, intervene, record, tap_names
from explorer.models.translation import Translator
from explorer.run_store.store import StoredRun
from explorer.seeds import generator
from explorer.tasks.seq2seq.batches import Pairs, encode_pairs, evaluation_dates, evaluation_digits
from explorer.tasks.seq2seq.config import (
    EOS,
    TranslationConfig,
    max_answer_length,
    source_vocabulary,
    target_ids,
    target_vocabulary,
)
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import evaluation_lengths
from explorer.tasks.seq2seq.pairs import PairsConfig, pair_table
from explorer.training.record import Record

INTERVENTIONS = ("none", "uniform", "frozen", "cut", "shuffled")  # see `exact_match_under`
_ADDITIVE_WEIGHTS = "attention.weights"
_BRIDGE_TAPS = {"summary.vector", "bridge", "attention.annotations", "annotations"}  # between encoder and decoder


@dataclass(frozen=True, eq=False)
class Alignment:
    """Everything one forward pass shows of one model, one source and one target."""

    source: tuple[int, ...]
    target: tuple[int, ...]  # with <EOS>, if the model generated it
    probabilities: Float32[ndarray, "target vocabulary"]  # of every possible next token
    taps: Mapping[str, Float32[ndarray, "*shape"]]  # every tapped value by tap name

    @property
    def weights(self) -> Float32[ndarray, "layers heads target source"] | None:
        """Attention of the decoder to the source; None for a model without attention."""
        return self.stack_layers("decoder", "cross.weights", _ADDITIVE_WEIGHTS)

    def stack_layers(self, half: str, part: str, additive: str = "") -> ndarray | None:
        """Return a value of all layers of the encoder or decoder of a Transformer; or of additive attention."""
        if additive in self.taps:
            return self.taps[additive][None, None]
        names = [name for name in self.taps if name.startswith(f"{half}.") and name.endswith(f".{part}")]
        return np.stack([self.taps[f"{half}.{i}.{part}"] for i in range(len(names))]) if names else None


@torch.inference_mode()
def align(
    model: Translator, config: TranslationConfig, source: Sequence[int], target: Sequence[int] | None = None
) -> Alignment:
    """Run a model on one source and return its probabilities and taps.

    `target`: ids without <BOS> and <EOS>, fed to the decoder (teacher forcing); None: the model's own greedy output.
    """
    source_ids = torch.tensor([list(source)])
    if target is None:
        ids = greedy_decode(model, source_ids, max_answer_length(config, len(source))).ids[0].tolist()
    else:
        ids = [*target, model.eos]
    with record(model) as trace:
        logits = model(source_ids, torch.tensor([[model.bos, *ids[:-1]]]))
    taps = {name: to_array(value[0]) for name, value in trace.items()}
    return Alignment(tuple(source), tuple(ids), to_array(logits[0].softmax(dim=-1)), taps)


@torch.inference_mode()
def summary_sensitivity(model: Translator, source: Sequence[int]) -> Float32[ndarray, " source"]:
    """Return how far the summary moves when the token at each source position is replaced (mean Euclidean distance)."""
    if not isinstance(model, EncoderDecoder) or model.summary is None:
        raise InvalidSetting("This model does not press the source into one vector. Choose one without attention.")
    tokens, length = model.padding, len(source)  # <PAD> is the last of the vocabulary
    rows = torch.tensor([list(source)]).repeat(length * tokens, 1).view(length, tokens, length)
    for position in range(length):
        rows[position, :, position] = torch.arange(tokens)
    original = model.encode(torch.tensor([list(source)]))[0][0]
    replaced = model.encode(rows.flatten(0, 1))[0].view(length, tokens, -1)
    distances = (replaced - original).norm(dim=-1)  # that of the unchanged token is 0
    return to_array(distances.sum(dim=-1) / (tokens - 1))


@dataclass(frozen=True, eq=False)
class AlignmentArrays:
    """Attention weights, scores and probabilities of one seed on one source, by name, with the tokens of both sides."""

    source: tuple[str, ...]
    target: tuple[str, ...]  # with <EOS>, where the model came to it
    right: tuple[str, ...] | None  # with <EOS>
    arrays: Mapping[str, Float32[ndarray, "*shape"]]


def align_with(
    run: StoredRun | Record, config: TranslationConfig, replica: int, source: tuple[int, ...]
) -> AlignmentArrays:
    """Decode a source with one seed of a run and collect its attention. Raises DamagedRun."""
    model = load_model(run).single_replica(replica)
    assert isinstance(model, Translator)
    aligned = align(model, config, source)
    vector = aligned.taps.get("summary.vector")
    arrays: dict[str, ndarray | None] = {
        "probabilities": aligned.probabilities,
        "source": aligned.weights,
        "source_scores": aligned.stack_layers("decoder", "cross.scores", "attention.energies"),
        "encoder": aligned.stack_layers("encoder", "attention.weights"),
        "encoder_scores": aligned.stack_layers("encoder", "attention.scores"),
        "decoder": aligned.stack_layers("decoder", "attention.weights"),
        "decoder_scores": aligned.stack_layers("decoder", "attention.scores"),
        "contexts": aligned.taps.get("attention.context"),
        "vector": vector,
        "moved": None if vector is None else summary_sensitivity(model, source),
    }
    names, source_names, right = target_vocabulary(config), source_vocabulary(config), target_ids(config, source)
    return AlignmentArrays(
        tuple(source_names[i] for i in source),
        tuple(names[i] for i in aligned.target),
        None if right is None else (*(names[i] for i in right), EOS),
        {name: array.astype(np.float32) for name, array in arrays.items() if array is not None},
    )


@torch.inference_mode()
def exact_match_under(
    model: Translator,
    config: TranslationConfig,
    intervention: str,
    count: int = 50,
    lengths: Sequence[int] | None = None,
) -> Float32[ndarray, "*replicas parts"]:
    """Return the teacher-forced exact match on fresh sources under an intervention, for each part of the task.

    The parts are the `lengths` of digit sequences (by default all evaluated lengths) or the date formats; of own pairs
    the held-out ones are the only part. The interventions are

        none      the unchanged model
        uniform   the decoder attends uniformly to all source tokens at every step
        frozen    the decoder keeps the attention weights of its first step
        cut       the summary vector, or all annotations, and the initial decoder state are zeros
        shuffled  the source tokens are read in a random order

    `count` is the number of sources per part. Works on a stack of replicas. Raises
    InvalidSetting for an unknown intervention, and for "uniform" and "frozen" in a model without attention.
    """
    if intervention not in INTERVENTIONS:
        raise InvalidSetting(f"intervention = {intervention} is unknown. Give one of {', '.join(INTERVENTIONS)}.")
    accuracies = []
    for pairs in _fresh_pairs(config, count, lengths):
        source = _shuffle_tokens(pairs.source, model.padding, 0) if intervention == "shuffled" else pairs.source
        batch = Pairs(*(part.expand(*model.replicas, *part.shape) for part in pairs._replace(source=source)))
        with intervene(model, _tap_interventions(model, intervention, batch.source)):
            accuracies.append(grade_targets(model, batch)[0].mean(dim=-1))
    return to_array(torch.stack(accuracies, dim=-1))


def exact_match_by_intervention(
    model: Translator, config: TranslationConfig, names: Sequence[str], count: int
) -> Float[ndarray, "interventions replicas"]:
    """Return the exact match by intervention, averaged over trained lengths or formats; NaN where it does not apply."""
    trained = None if isinstance(config, DatesConfig | PairsConfig) else range(1, config.longest + 1)
    rows = []
    for intervention in names:
        try:
            rows.append(exact_match_under(model, config, intervention, count, lengths=trained).mean(axis=-1))
        except InvalidSetting:
            rows.append(np.full(model.replicas, np.nan, np.float32))
    return np.stack(rows).reshape(len(names), -1).astype(float)


def ablate(run: StoredRun | Record, names: tuple[str, ...], count: int) -> Float[ndarray, "interventions replicas"]:
    """Return the exact match of a run as `exact_match_by_intervention` does. Raises DamagedRun."""
    model, task = shared_model(run).stack, run.config.task
    return exact_match_by_intervention(model, task, names, count)  # type: ignore[arg-type]  # a translator and its task


def _fresh_pairs(config: TranslationConfig, count: int, lengths: Sequence[int] | None) -> list[Pairs]:
    """Return fresh sources with their targets, one batch per part. Raises NeedsText for a file that is not there."""
    if isinstance(config, PairsConfig):
        return [encode_pairs(config, pair_table(config).held_out)]
    if isinstance(config, DatesConfig):
        formats = evaluation_dates(config, count)
        return [formats.slice_rows(i * count, (i + 1) * count) for i in range(len(DATE_FORMATS))]
    return [evaluation_digits(config, [length], count) for length in lengths or evaluation_lengths(config)]


def _shuffle_tokens(source: Int[Tensor, "batch source"], padding: int, seed: int) -> Int[Tensor, "batch source"]:
    """Permute the tokens of each row; padding stays at the end."""
    order = torch.rand(source.shape, generator=generator(seed, "translation/shuffled"))
    return source.gather(-1, order.masked_fill(source == padding, 2.0).argsort(dim=-1))


def _tap_interventions(
    model: Translator, intervention: str, source: Int[Tensor, "*replicas batch source"]
) -> dict[str, Intervention]:
    """Return the interventions on the taps of the model."""
    names = set(tap_names(model).values())
    if intervention == "cut":
        return dict.fromkeys(names & _BRIDGE_TAPS, lambda value, step: torch.zeros_like(value))
    if intervention not in ("uniform", "frozen"):
        return {}
    weight_taps = sorted(name for name in names if name == _ADDITIVE_WEIGHTS or name.endswith(".cross.weights"))
    if not weight_taps:
        raise InvalidSetting(
            f"intervention = {intervention} needs a model with attention. Give one of none, cut, shuffled."
        )
    visible = source != model.padding
    uniform = visible / visible.sum(dim=-1, keepdim=True)
    if weight_taps == [_ADDITIVE_WEIGHTS]:
        return {
            _ADDITIVE_WEIGHTS: (lambda weights, step: uniform) if intervention == "uniform" else _repeat_first_step()
        }
    if intervention == "uniform":
        return dict.fromkeys(weight_taps, lambda weights, step: uniform[..., None, None, :].expand_as(weights))
    return dict.fromkeys(weight_taps, lambda weights, step: weights[..., :1, :].expand_as(weights))


def _repeat_first_step() -> Callable[[Tensor, int], Tensor]:
    """Return an intervention that repeats the attention weights of step 0; valid for one forward pass."""
    first: list[Tensor] = []

    def change(weights: Tensor, step: int) -> Tensor:
        if step == 0:
            first.append(weights)
        return first[0]

    return change
