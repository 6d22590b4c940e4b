"""A translator at work: what it may write at each step, where it looks for it, and what is left when that is touched.

Looks have the axes (layers, heads, target, source): additive attention has one layer and one head. Row i belongs to
the token that was written at step i, counted from 0; the model had read <BOS> and the i tokens before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.generation.translating import grade, greedy
from explorer.inspection.opening import to_array
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.taps import Intervention, intervene, record, tap_names
from explorer.models.translation import Translator
from explorer.seeds import generator
from explorer.tasks.dates import WAYS, DatesConfig
from explorer.tasks.digits import asked_lengths
from explorer.tasks.pairs import Pairs, fresh_dates, fresh_digits
from explorer.tasks.translation import TranslationConfig, longest_answer

TOUCHES = ("none", "uniform", "frozen", "cut", "shuffled")  # see `touched`
_ADDITIVE = "attention.weights"
_BRIDGES = {"summary.vector", "bridge", "attention.annotations", "annotations"}  # the ways from one half to the other


@dataclass(frozen=True, eq=False)
class Alignment:
    """One model, one source, one target."""

    source: tuple[int, ...]
    target: tuple[int, ...]  # with <EOS>, where the model came to it
    probabilities: Float32[ndarray, "target vocabulary"]  # of every token that could stand there
    taps: Mapping[str, Float32[ndarray, "*shape"]]  # every tapped value by its name

    @property
    def weights(self) -> Float32[ndarray, "layers heads target source"] | None:
        """Where the half that writes looks at the source; None for the model with one vector."""
        return self._looks(_ADDITIVE, "decoder", "cross.weights")

    @property
    def energies(self) -> Float32[ndarray, "layers heads target source"] | None:
        """The same before the softmax: e_ij, or the scaled product of query and key."""
        return self._looks("attention.energies", "decoder", "cross.scores")

    @property
    def own_source(self) -> Float32[ndarray, "layers heads source source"] | None:
        """How the source looks at itself, in a Transformer."""
        return self._looks("", "encoder", "attention.weights")

    @property
    def own_target(self) -> Float32[ndarray, "layers heads target target"] | None:
        """How the target looks at itself, in a Transformer; columns are what was read: <BOS> and the tokens before."""
        return self._looks("", "decoder", "attention.weights")

    @property
    def contexts(self) -> Float32[ndarray, "target annotation"] | None:
        """c_i, the sum of the annotations that additive attention brings at each step."""
        return self.taps.get("attention.context")

    @property
    def vector(self) -> Float32[ndarray, " hidden"] | None:
        """c, all that the model with one vector knows of the source."""
        return self.taps.get("summary.vector")

    def _looks(self, additive: str, half: str, part: str) -> ndarray | None:
        if additive in self.taps:
            return self.taps[additive][None, None]
        names = [name for name in self.taps if name.startswith(f"{half}.") and name.endswith(f".{part}")]
        if not names:
            return None
        layers = torch.stack([torch.from_numpy(self.taps[f"{half}.{i}.{part}"].copy()) for i in range(len(names))])
        return to_array(layers)


@torch.inference_mode()
def align(
    model: Translator, config: TranslationConfig, source: Sequence[int], target: Sequence[int] | None = None
) -> Alignment:
    """`target`: ids without marks, read step by step whatever the model would have written; None: what it writes."""
    read = torch.tensor([list(source)])
    if target is None:
        ids = greedy(model, read, longest_answer(config, len(source))).ids[0].tolist()
    else:
        ids = [*target, model.eos]
    with record(model) as trace:
        logits = model(read, torch.tensor([[model.bos, *ids[:-1]]]))
    taps = {name: to_array(value[0]) for name, value in trace.items()}
    return Alignment(tuple(source), tuple(ids), to_array(logits[0].softmax(dim=-1)), taps)


@torch.inference_mode()
def moved(model: Translator, source: Sequence[int]) -> Float32[ndarray, " source"]:
    """How far the one vector moves when one token of the source becomes another: the Euclidean distance, as the mean
    over all other tokens, for each place. Raises InvalidSetting for a model that has no such vector."""
    if not isinstance(model, EncoderDecoder) or model.summary is None:
        raise InvalidSetting("This model does not press the source into one vector. Choose one without attention.")
    tokens, length = model.padding, len(source)  # <PAD> is the last of the vocabulary
    rows = torch.tensor([list(source)]).repeat(length * tokens, 1).view(length, tokens, length)
    for place in range(length):
        rows[place, :, place] = torch.arange(tokens)
    own = model.encode(torch.tensor([list(source)]))[0][0]
    others = model.encode(rows.flatten(0, 1))[0].view(length, tokens, -1)
    return to_array((others - own).norm(dim=-1).sum(dim=-1) / (tokens - 1))  # the token itself moves nothing


@torch.inference_mode()
def touched(
    model: Translator,
    config: TranslationConfig,
    touch: str,
    count: int = 50,
    seed: int = 0,
    lengths: Sequence[int] | None = None,
) -> Float32[ndarray, "*replicas parts"]:
    """The exact match on fresh sources, for each of these lengths of digits (all of `asked_lengths` if None), or each
    way of writing a date, with the model touched. In this one forward all the right tokens stand before each question,
    see `grade`.

        none      as it is
        uniform   the half that writes looks evenly at all tokens of the source, at every step
        frozen    it looks at every step where it looked at the first
        cut       nothing of the source gets through: the vector, or all annotations, and the first state are zeros
        shuffled  the tokens of each source stand in another order when it is read

    Works on a stack of replicas. Raises InvalidSetting, as for "uniform" where there is no attention.
    """
    if touch not in TOUCHES:
        raise InvalidSetting(f"touch = {touch} is not possible. Give one of {', '.join(TOUCHES)}.")
    shares = []
    for asked in _asked(config, count, seed, lengths):
        read = _shuffled(asked.source, model.padding, seed) if touch == "shuffled" else asked.source
        each = Pairs(*(x.expand(*model.replicas, *x.shape) for x in (read, asked.given, asked.wanted, asked.counted)))
        with intervene(model, _changes(model, touch, each.source)):
            shares.append(grade(model, each)[0].mean(dim=-1))
    return to_array(torch.stack(shares, dim=-1))


def _asked(config: TranslationConfig, count: int, seed: int, lengths: Sequence[int] | None) -> list[Pairs]:
    """Fresh sources, part by part."""
    if isinstance(config, DatesConfig):
        ways = fresh_dates(config, count, seed)
        return [ways.rows(i * count, (i + 1) * count) for i in range(len(WAYS))]
    return [fresh_digits(config, [length], count, seed) for length in lengths or asked_lengths(config)]


def _shuffled(source: Int[Tensor, "batch source"], padding: int, seed: int) -> Int[Tensor, "batch source"]:
    """Each row in an order of its own; padding stays at the end."""
    drawn = torch.rand(source.shape, generator=generator(seed, "translation/shuffled"))
    return source.gather(-1, drawn.masked_fill(source == padding, 2.0).argsort(dim=-1))


def _changes(model: Translator, touch: str, source: Int[Tensor, "*replicas batch source"]) -> dict[str, Intervention]:
    """What stands in place of the tapped values."""
    names = set(tap_names(model).values())
    if touch == "cut":
        return dict.fromkeys(names & _BRIDGES, lambda value, step: torch.zeros_like(value))
    if touch not in ("uniform", "frozen"):
        return {}
    looks = sorted(name for name in names if name == _ADDITIVE or name.endswith(".cross.weights"))
    if not looks:
        raise InvalidSetting(f"touch = {touch} is for a model with attention. Give one of none, cut, shuffled.")
    seen = source != model.padding
    even = seen / seen.sum(dim=-1, keepdim=True)
    if looks == [_ADDITIVE]:
        return {_ADDITIVE: (lambda weights, step: even) if touch == "uniform" else _first_step()}
    if touch == "uniform":
        return dict.fromkeys(looks, lambda weights, step: even[..., None, None, :].expand_as(weights))
    return dict.fromkeys(looks, lambda weights, step: weights[..., :1, :].expand_as(weights))


def _first_step() -> Callable[[Tensor, int], Tensor]:
    """The weights of the first step, at every step; good for one forward."""
    kept: list[Tensor] = []

    def change(weights: Tensor, step: int) -> Tensor:
        if step == 0:
            kept.append(weights)
        return kept[0]

    return change
