"""Decoding of sequence-to-sequence models: greedy per seed, beam search per width, and the exposure bias."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float32, Int32
from numpy import ndarray
from torch import nn

from explorer.errors import DamagedRun
from explorer.generation.seq2seq_decoding import MAX_BEAM_WIDTH, Beams, beam_search, exposure_bias_curves, greedy_decode
from explorer.inspection.load_model import shared_model, to_array
from explorer.models.translation import Translator
from explorer.run_store.store import StoredRun
from explorer.tasks.seq2seq.batches import Pairs, encode_pairs, evaluation_dates, evaluation_digits
from explorer.tasks.seq2seq.config import TranslationConfig, max_answer_length, target_text
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.pairs import Pair, PairsConfig, pair_table
from explorer.training.record import Record

DROPPED_PER_STEP = 3  # the best dropped candidates of each step that are kept for display


@dataclass(frozen=True)
class GreedyTranslation:
    """The greedy translation of one seed."""

    ids: tuple[int, ...]  # with <EOS>, if it was generated
    probabilities: tuple[float, ...]  # of each token given those before it

    @property
    def log_probability(self) -> float:
        """Log-probability of the whole sequence, in nats."""
        return math.fsum(math.log(max(p, 1e-38)) for p in self.probabilities)


@dataclass(frozen=True, eq=False)
class BeamTrees:
    """The trees of the beam searches of every width, concatenated.

    Columns of `nodes`: tokens in the sequence; parent node, counted within its width, or -1 for the root; token;
    whether it was kept; whether it is <EOS>. Columns of `logs`: log-probability of the token and of the sequence, nats.
    """

    starts: tuple[int, ...]  # first node of each width, and the end of the last
    nodes: Int32[ndarray, "nodes 5"]
    logs: Float32[ndarray, "nodes 2"]
    best: tuple[tuple[int, ...], ...]  # for each width the final nodes, likeliest first


@dataclass(frozen=True, eq=False)
class ExposureBias:
    """Accuracy and loss per target position, teacher-forced and free-running; NaN where no target is that long."""

    teacher_forced_accuracy: Float32[ndarray, "replicas target"]
    free_running_accuracy: Float32[ndarray, "replicas target"]
    teacher_forced_loss: Float32[ndarray, "replicas target"]  # nats
    free_running_loss: Float32[ndarray, "replicas target"]


def require_translator(model: nn.Module) -> Translator:
    """Return the model as a Translator. Raises DamagedRun if it is another kind of model."""
    if not isinstance(model, Translator):
        raise DamagedRun("This run holds no model that translates. Train it again.")
    return model


@torch.inference_mode()
def greedy_translations(
    model: Translator, config: TranslationConfig, source: Sequence[int]
) -> tuple[GreedyTranslation, ...]:
    """Return the greedy translation by each replica of a stack, or by a single model."""
    source_ids = torch.tensor([list(source)]).expand(*model.replicas, 1, len(source))
    ids = greedy_decode(model, source_ids, max_answer_length(config, len(source))).ids
    decoder_input = torch.cat((torch.full_like(ids[..., :1], model.bos), ids[..., :-1]), dim=-1)
    probabilities = model(source_ids, decoder_input).softmax(dim=-1).gather(-1, ids[..., None])[..., 0]
    translations = []
    for row, row_probabilities in zip(ids.flatten(0, -2).tolist(), probabilities.flatten(0, -2).tolist(), strict=True):
        end = row.index(model.eos) + 1 if model.eos in row else len(row)
        translations.append(GreedyTranslation(tuple(row[:end]), tuple(row_probabilities[:end])))
    return tuple(translations)


@torch.inference_mode()
def greedy_outputs(model: Translator, config: PairsConfig, pairs: Sequence[Pair]) -> tuple[tuple[str | None, ...], ...]:
    """Return the output of each replica for the source of each pair; None where it generates no end token."""
    source = encode_pairs(config, pairs).source
    found = greedy_decode(
        model, source.expand(*model.replicas, *source.shape), max_answer_length(config, config.longest_source)
    ).ids
    return tuple(
        tuple(target_text(config, ids) if model.eos in ids else None for ids in seeds)
        for seeds in found.view(-1, len(pairs), found.shape[-1]).transpose(0, 1).tolist()
    )


def beam_trees(model: Translator, config: TranslationConfig, source: Sequence[int]) -> BeamTrees:
    """Run beam search by one replica with every width from 1 (greedy) to the widest."""
    source_ids, longest = torch.tensor(list(source)), max_answer_length(config, len(source))
    widths = range(1, MAX_BEAM_WIDTH + 1)
    trees = (_tree_arrays(beam_search(model, source_ids, width, longest)) for width in widths)
    nodes, logs, best = zip(*trees, strict=True)
    starts = np.cumsum([0, *map(len, nodes)]).tolist()
    return BeamTrees(tuple(starts), np.concatenate(nodes), np.concatenate(logs), best)


def _tree_arrays(beams: Beams) -> tuple[Int32[ndarray, "nodes 5"], Float32[ndarray, "nodes 2"], tuple[int, ...]]:
    """Return the kept candidates and the best dropped ones of each step as arrays, and the final nodes."""
    shown = []
    for _, step in groupby(enumerate(beams.candidates), key=lambda each: each[1].step):
        ranked = sorted(step, key=lambda each: (not each[1].kept, -each[1].score))
        shown += ranked[: sum(each.kept for _, each in ranked) + DROPPED_PER_STEP]
    shown.sort(key=lambda each: each[0])
    node_of = {index: i for i, (index, _) in enumerate(shown)} | {-1: -1}
    nodes = [(each.step, node_of[each.parent], each.token, each.kept, each.finished) for _, each in shown]
    logs = [(each.log_probability, each.score) for _, each in shown]
    return np.array(nodes, np.int32), np.array(logs, np.float32), tuple(node_of[index] for index in beams.best)


def exposure_bias(model: Translator, config: TranslationConfig, length: int, count: int) -> ExposureBias:
    """Measure the exposure bias on `count` fresh sources of this length, of each date format, or of the pairs."""
    if isinstance(config, PairsConfig):
        fresh = encode_pairs(config, pair_table(config).held_out[:count])
    elif isinstance(config, DatesConfig):
        fresh = evaluation_dates(config, count)
    else:
        fresh = evaluation_digits(config, [length], count)
    batch = Pairs(*(part.expand(*model.replicas, *part.shape) for part in fresh))
    teacher_forced, free_running = exposure_bias_curves(model, batch)
    curves = (teacher_forced.accuracy, free_running.accuracy, teacher_forced.loss, free_running.loss)
    return ExposureBias(*(to_array(curve.view(-1, curve.shape[-1])) for curve in curves))


# ---- of a run; all functions raise DamagedRun


@dataclass(frozen=True)
class Outputs:
    """The output of every seed of a model for the sources of some pairs; None where it generates no end token."""

    pairs: tuple[Pair, ...]
    texts: tuple[tuple[str | None, ...], ...]  # by pair and seed


def translate_with(
    run: StoredRun | Record, config: TranslationConfig, source: tuple[int, ...]
) -> tuple[GreedyTranslation, ...]:
    """Return the greedy translation of a source by every seed."""
    return greedy_translations(_translator(run), config, source)


def translate_held_out(run: StoredRun | Record, config: PairsConfig, most: int) -> Outputs:
    """Return the outputs for at most so many held-out sources. Raises NeedsText if the file is not there."""
    pairs = pair_table(config).held_out[:most]
    return Outputs(pairs, greedy_outputs(_translator(run), config, pairs))


def search_with(run: StoredRun | Record, config: TranslationConfig, source: tuple[int, ...], replica: int) -> BeamTrees:
    """Return the beam searches of one seed with every width."""
    return beam_trees(require_translator(shared_model(run).single_replica(replica)), config, source)


def exposure_of(run: StoredRun | Record, config: TranslationConfig, length: int, count: int) -> ExposureBias:
    """Return the exposure bias of every seed; the parameters are those of `exposure_bias`."""
    return exposure_bias(_translator(run), config, length, count)


def _translator(run: StoredRun | Record) -> Translator:
    return require_translator(shared_model(run).stack)
