"""Measures of claims that no lesson asks for: from included runs, or from random draws with a fixed seed.

Each takes the settings of a claim and returns one number for each seed, or one number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from statistics import median

import numpy as np
import torch

from explorer.experiments.growth import growth_configs, included_result
from explorer.experiments.recall import SOLVED, SWEEP_LENGTHS
from explorer.generation.sampling import Sampling, choose
from explorer.inspection import compare
from explorer.inspection.language import tokenizers
from explorer.inspection.language.split_leakage import measure_split_leakage
from explorer.inspection.language.tokenizers import TrainedTokenizer
from explorer.inspection.load_model import load_model
from explorer.inspection.steps_to_solve import LossCurves
from explorer.inspection.transformer import cost_formulas, depth, softmax_scaling
from explorer.inspection.transformer.cost_formulas import LayerSize
from explorer.inspection.words import negation_sentences
from explorer.labs.cost import growth_findings
from explorer.lessons.measures import accuracy_at_length, order_distance, softmax_statistics
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.scoring import mean_loss

Settings = Mapping[str, str]
Measure = Callable[[Settings], list[float]]
MEASURES: dict[str, Measure] = {}
_LENGTHS = (128, 256, 512, 1_024, 2_048)  # of the measured costs, from where the overhead of a call is small


def _measures(name: str) -> Callable[[Measure], Measure]:
    """Register a function under the name that stands in the table."""
    return lambda function: MEASURES.setdefault(name, function)


def _values(run: str, metric: str) -> list[float]:
    return [float("nan") if value is None else value for value in store.find(run).card.metrics[metric].values]


# ---- included runs


@_measures("seeds that learn")
def learned_seeds(settings: Settings) -> list[float]:
    """Return how many seeds came below the loss at which a copying task counts as learned."""
    curves = store.find(settings["run"]).curves
    steps = LossCurves(curves.evaluated.astype(float), curves.metrics["loss"]).steps_to_solve
    return [float(np.isfinite(steps).sum())]


@_measures("attention of the best head to “not”")
def attention_to_not(settings: Settings) -> list[float]:
    """Return, for each seed, the attention weight on “not” of the head that attends most to it."""
    run = store.find(settings["run"])
    loaded, words = load_model(run), ("human", "not", "preserve", "nature")
    seen = [negation_sentences.sentence_attention(loaded, words, replica) for replica in range(run.config.replicas)]
    return [float(each.weights[-1, :, 0, each.tokens.index("not")].max()) for each in seen]


@_measures("longest length solved by all seeds")
def longest_solved(settings: Settings) -> list[float]:
    """Return the longest length of the sweep at which every seed of a variant solves recall; 0 if there is none."""
    runs = zip(SWEEP_LENGTHS, settings["run"].split(), strict=True)
    solved = [length for length, run in runs if min(_values(run, "accuracy")) >= SOLVED]
    return [float(max(solved, default=0))]


@_measures("networks with a lower loss at the largest size")
def growing_networks(settings: Settings) -> list[float]:
    """Return for how many networks every seed of the largest size has a lower loss than every seed of the smallest."""
    cells = growth_configs().items()
    results = {cell: result for cell, config in cells if (result := included_result(config))}
    changes = growth_findings.size_changes(results, float(settings["share"]))
    return [float(sum(change == "lower" for change in changes.values()))]


@_measures("above")
def excess(settings: Settings) -> list[float]:
    """Return by how much a metric of each seed lies above the median of another run."""
    other = median(_values(settings["other"], settings["metric"]))
    return [value - other for value in _values(settings["run"], settings["metric"])]


@_measures("above at a length")
def excess_at_length(settings: Settings) -> list[float]:
    """Return by how much the share of right answers at a length lies above the median of another run."""
    length = int(settings["length"])
    one, other = (accuracy_at_length(settings[name], length) for name in ("run", "other"))
    return [value - median(other) for value in one]


@_measures("above the floor")
def excess_over_floor(settings: Settings) -> list[float]:
    """Return by how much a loss lies above the lowest possible mean loss of who sees only the past."""
    floor = store.find(settings["run"]).config.task.loss_floor  # type: ignore[union-attr]  # of a grammar
    return [value - floor for value in _values(settings["run"], settings["metric"])]


@_measures("parameters in feedforward layers")
def feedforward_share(settings: Settings) -> list[float]:
    """Return the share of a Transformer's parameters that its feedforward layers have."""
    model = load_model(store.find(settings["run"])).single_replica(0)
    counts = {name: values.numel() for name, values in model.named_parameters()}
    return [sum(n for name, n in counts.items() if "expand" in name or "contract" in name) / sum(counts.values())]


# ---- scaled dot-product attention


@_measures("gradient of softmax / its peak")
def gradient_left(settings: Settings) -> list[float]:
    """Return the median gradient of softmax at a width, divided by the largest over all widths."""
    gradient = np.median(softmax_statistics().gradient[int(settings["divided"] == "yes")], axis=-1)
    return [float(gradient[softmax_scaling.WIDTHS.index(int(settings["width"]))] / gradient.max())]


# ---- untrained models


@_measures("order, to five digits")
def rounded_order_distance(settings: Settings) -> list[float]:
    """Return the distance between two orders of the same words, without rounding errors, which differ by machine."""
    return [round(value, 5) for value in order_distance(**settings)]


_COMBINATIONS = {
    "norm before": depth.Combination(True, "pre"),
    "norm after": depth.Combination(True, "post"),
    "no norm": depth.Combination(True, "none"),
    "no residual": depth.Combination(False, "pre"),
}


@lru_cache
def _stack_outputs(combination: str) -> torch.Tensor:
    """Return the streams at the top of 24 untrained blocks, (seeds, batch, time, width)."""
    shared = depth.draw_shared(4, "usual", depth.LAYERS, depth.SEEDS)
    model = depth.build_stack(_COMBINATIONS[combination], 4, depth.LAYERS, shared)
    *_, last = model.block_steps(shared.inputs)
    return last.after.detach()


@_measures("mean square after 24 blocks")
def stack_size(settings: Settings) -> list[float]:
    """Return the mean square of the stream at the top, for each random start."""
    values: list[float] = _stack_outputs(settings["stack"]).square().mean(dim=(-1, -2, -3)).tolist()
    return values


@_measures("cosine of neighbouring tokens after 24 blocks")
def stack_cosine(settings: Settings) -> list[float]:
    """Return the mean cosine of neighbouring tokens at the top, for each random start."""
    x = torch.nn.functional.normalize(_stack_outputs(settings["stack"]).double(), dim=-1)
    values: list[float] = (x[..., 1:, :] * x[..., :-1, :]).sum(dim=-1).mean(dim=(-1, -2)).tolist()
    return values


@_measures("gradient at block 1 / at block 24")
def stack_gradient(settings: Settings) -> list[float]:
    """Return the norm of the gradient after the first of 24 blocks divided by that after the last."""
    stream = depth.measure_stacks(4, "usual", combinations=(_COMBINATIONS[settings["stack"]],)).stream[0, -1]
    values: list[float] = (stream[1] / stream[-1]).tolist()
    return values


# ---- costs, as measured on the reference machine


def _cost(part: str, length: int) -> tuple[float, float]:
    """Return the seconds forward and back, and the bytes kept, of one layer of width 64."""
    from explorer.labs.cost.sweeps import read_reference

    _, seconds, kept = read_reference()[1][part, _size(part, length)]
    return seconds, kept


def _size(part: str, length: int) -> LayerSize:
    return LayerSize(length, heads=4 if part in ("attention", "fused") else 1)


@_measures("growth of seconds with length")
def growth(settings: Settings) -> list[float]:
    """Return the exponent with which the seconds of a part grow with the length, from 128 tokens on."""
    seconds = np.array([_cost(settings["part"], length)[0] for length in _LENGTHS])
    return [compare.growth_exponent(np.array(_LENGTHS), seconds, _LENGTHS[0])]


@_measures("bytes kept / formula")
def bytes_ratio(settings: Settings) -> list[float]:
    """Return the measured bytes kept for the backward pass, divided by those of the formula, at each length."""
    part = settings["part"]
    expected = [cost_formulas.expected_saved_bytes(part, _size(part, length)) for length in _LENGTHS]
    return [_cost(part, length)[1] / each for length, each in zip(_LENGTHS, expected, strict=True)]


@_measures("seconds / feedforward at 2,048 tokens")
def seconds_ratio(settings: Settings) -> list[float]:
    """Return the seconds of a part divided by those of the feedforward part."""
    return [_cost(settings["part"], _LENGTHS[-1])[0] / _cost("feedforward", _LENGTHS[-1])[0]]


# ---- sampling


@_measures("largest error of a frequency")
def sampling_error(settings: Settings) -> list[float]:
    """Return the largest difference between the frequency of a token in 100,000 draws and its probability."""
    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0])
    temperature = float(settings["temperature"])
    uniform = torch.rand((100_000, len(logits)), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = choose(logits.expand_as(uniform), -(-uniform.log()).log().float(), Sampling(temperature=temperature))
    frequencies = drawn.bincount(minlength=len(logits)) / len(drawn)
    return [float((frequencies - (logits / temperature).softmax(dim=-1)).abs().max())]


# ---- Tiny Shakespeare, which has to be on this machine


@lru_cache
def _ngram_loss(context: int) -> float:
    """Return the loss of modified Kneser-Ney of order 7 in blocks without earlier context."""

    data = text_data(TextConfig(context=context))
    ngram = Ngram(NgramTextConfig(7, "modified_kneser_ney"), data.vocabulary, context, torch.Generator())
    ngram.fit(*data.full_training_batch())
    return float(mean_loss(ngram, data.held_out_batches()))


@_measures("loss above an n-gram in the same blocks")
def excess_over_ngram(settings: Settings) -> list[float]:
    """Return by how much the final loss of each seed lies above that of the n-gram with the same context."""
    context = store.find(settings["run"]).config.task.context  # type: ignore[union-attr]  # of a text
    return [value - _ngram_loss(context) for value in _values(settings["run"], "val_loss")]


@_measures("held-out gain of a leaky split")
def leak(settings: Settings) -> list[float]:
    """Return by which share a split with leakage lowers the loss of an n-gram."""
    gap = next(gap for gap in measure_split_leakage(TextConfig()) if gap.rows == settings["rows"])
    return [(gap.clean_bits - gap.leaky_bits) / gap.clean_bits]


@lru_cache
def _tokenizers() -> Mapping[tokenizers.Kind, TrainedTokenizer]:
    return tokenizers.train_tokenizers(TextConfig())


def _tokenizer(settings: Settings) -> TrainedTokenizer:
    return next(each for kind, each in _tokenizers().items() if kind == settings["tokenizer"])


@_measures("characters per token")
def characters_per_token(settings: Settings) -> list[float]:
    """Return the characters per token of a tokenizer with a vocabulary of at most `vocabulary` tokens."""
    trained = _tokenizer(settings)
    size = trained.nearest_vocabulary(int(settings["vocabulary"]))
    return [float(trained.characters_per_token[size - trained.min_vocabulary])]


@_measures("text comes back")
def round_trip(settings: Settings) -> list[float]:
    """Return 1 if decoding the tokens of the beginning of the text gives it back, else 0."""
    excerpt = corpora.load_text(TextConfig())[: tokenizers.EXCERPT_LENGTH]
    size = _tokenizer(settings).nearest_vocabulary(int(settings["vocabulary"]))
    tokenizer = tokenizers.truncate_tokenizer(_tokenizer(settings).tokenizer, size)
    return [float(tokenizers.tokenize(tokenizer, excerpt).round_trip.exact)]
