"""Attention looked at and touched: where every head of a model looks, and what it answers when a head is changed.

All numbers come from the model's own taps (`models/taps.py`), whatever the architecture: what is shown is what was
computed. `heads.py` measures what each head does and is worth, `lens.py` looks inside one forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, UInt16
from numpy import ndarray
from torch import Tensor, nn

from explorer.catalogue import SENTENCES, page_title, task_row
from explorer.errors import InvalidSetting
from explorer.generation.writing import padding_of, prompt_ids
from explorer.inspection.opening import to_array
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.models.taps import Intervention, Trace, intervene, record
from explorer.models.transformer_decoder import TransformerDecoder, turned, turns
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.tasks.negation import VOCABULARY, pad
from explorer.tasks.text import TextConfig
from explorer.tokenization.text import Tokenizer, pieces
from explorer.training import store
from explorer.training.config import RunConfig

_ATTENDING = (TransformerEncoderConfig, TransformerTextConfig)
_NAMED = 4  # runs that a sentence names
_BEHIND = 16  # tokens that decide how the next one is written: enough for any character and any space
FULL = 65_535  # a whole, as an unsigned number of 16 bits

Head: TypeAlias = tuple[int, int]  # layer and head, from 0 on, as in the names of the taps
Ids: TypeAlias = Sequence[int]


# Which runs, and what they read.


def has_attention(config: RunConfig) -> bool:
    """Whether the model of a configuration has heads that attend."""
    return type(config.model) in _ATTENDING


def attending(task: str = "") -> tuple[str, ...]:
    """The names of the shipped runs that have attention, of one task or of all."""
    runs = ((name, store.find(name).config) for name in store.pretrained().values())
    return tuple(name for name, config in runs if has_attention(config) and task in ("", task_row(config.task).name))


def check_attention(config: RunConfig) -> None:
    """Raises InvalidSetting for a run without attention; it names runs of its task that have some."""
    if has_attention(config):
        return
    task = task_row(config.task)
    if task.name not in SENTENCES:
        raise InvalidSetting(
            f"This run learned {task.title.lower()}; here one sees the attention of runs that learned "
            f"{' or '.join(SENTENCES)}. Look at this one on the page {page_title(task.page)}."
        )
    names = attending(task.name)
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    raise InvalidSetting(
        f"This run is of the architecture “{config.title}”, which has no attention to look at. "
        f"Choose one that has: {', '.join(names[:_NAMED])}{more}."
    )


@dataclass(frozen=True)
class Read:
    """A typed text as a model reads it, and what became of the rest."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # what each adds to the text; one that adds nothing, as its tokenizer names it
    cut: str  # what did not fit into what the model sees at once
    cut_at: str  # "start", "end", or "" where nothing was cut
    dropped: tuple[str, ...]  # what the model never saw: left out
    unknown: tuple[str, ...]  # the same, but read as the tokenizer's unknown token
    lowered: bool  # whether capital letters became small ones, as in what it learned from
    nothing: bool = False  # whether nothing of it was left to read, so that the model starts from a line end


def read(config: RunConfig, tokenizer: Tokenizer | None, text: str, length: int = 0) -> Read:
    """A text as the model of a configuration reads it.

    A language model keeps the last tokens that fit into its context; one that learned from padded prefixes is given
    padding up to its full width, as in its training. Of a sentence the first tokens are kept that fit into the window;
    `length` fills it up with <PAD>, which shows the mask. A language model that is given nothing starts as in
    `prompt_ids`. Raises LineageError: a sentence of unknown words, half a character.
    """
    if tokenizer is None:
        return _sentence(config, text, length)
    task = config.on(TextConfig)
    given = text.lower() if task.lower else text
    found, unseen = prompt_ids(tokenizer, given)
    cut, ids = found[: -task.context].tolist(), found[-task.context :].tolist()
    padding = padding_of(task, tokenizer)
    if padding is not None:
        ids += [padding] * (task.context - len(ids))
    added = pieces(tokenizer, ids, after=cut[-_BEHIND:])
    return Read(
        tuple(ids),
        tuple(piece or tokenizer.tokens[id] for piece, id in zip(added, ids, strict=True)),
        tokenizer.decode(cut),
        "start" if cut else "",
        unseen if tokenizer.unknown is None else (),
        () if tokenizer.unknown is None else unseen,
        given != text,
        not len(tokenizer.encode(given)),
    )


def _sentence(config: RunConfig, text: str, length: int) -> Read:
    every = VOCABULARY.encode(VOCABULARY.split(text))
    window = getattr(config.model, "window", len(every))
    ids = pad(every, len(every), length)[:window]
    tokens, cut = (tuple(VOCABULARY.tokens[id] for id in part) for part in (ids, every[window:]))
    return Read(ids, tokens, " ".join(cut), "end" if cut else "", (), (), text != text.lower())


# What a model has, and how it may be touched.


@dataclass(frozen=True)
class Anatomy:
    """What there is to look at and to touch in a model."""

    layers: int
    heads: int  # in each layer
    causal: bool  # whether a mask hides what comes later; it can be lifted
    positions: bool  # whether it knows where a token stands; that can be taken away


def anatomy(model: nn.Module) -> Anatomy:
    """Raises InvalidSetting for a model without attention."""
    found = known(model)
    causal = isinstance(found, TransformerDecoder)
    placed = not isinstance(found, TransformerDecoder) or found.config.positions != "none"
    return Anatomy(len(found.blocks), found.blocks[0].attention.heads, causal, placed)  # type: ignore[union-attr,arg-type]


def known(model: nn.Module) -> TransformerDecoder | TransformerEncoder:
    """The model, once it is sure that it has attention. Raises InvalidSetting."""
    if not isinstance(model, TransformerDecoder | TransformerEncoder):
        raise InvalidSetting(f"{type(model).__name__} has no attention to look at. Choose a Transformer.")
    return model


@dataclass(frozen=True)
class Touch:
    """What is changed in a model while it answers."""

    off: frozenset[Head] = frozenset()  # heads that say nothing
    flat: frozenset[Head] = frozenset()  # heads that look at everything alike
    unmasked: bool = False  # whether it may look ahead
    unplaced: bool = False  # whether it does not know where a token stands


UNTOUCHED = Touch()


def interventions(model: nn.Module, touch: Touch) -> dict[str, Intervention]:
    """What to replace at which tap, for `models.taps.intervene`. Raises InvalidSetting for what a model does not have.

    A head that is off gives zeros to the output's matrix, as if its columns there were zero (Michel et al. 2019, the
    gates of eq. 1). A flat head has all scores alike, so that the softmax spreads evenly over what the mask allows.
    """
    found, has = known(model), anatomy(model)
    _check(touch, has)
    changes: dict[str, Intervention] = {}
    for layer in range(has.layers):
        place = f"blocks.{layer}.attention"
        off, flat = ([head for at, head in heads if at == layer] for heads in (touch.off, touch.flat))
        if off:
            changes[f"{place}.mixed"] = partial(_zeroed, off)
        if flat:
            changes[f"{place}.scores"] = partial(_zeroed, flat)
        if touch.unmasked:
            changes[f"{place}.mask"] = lambda mask, step: torch.zeros_like(mask)
        if touch.unplaced and _rotary(found):
            changes[f"{place}.queries"] = changes[f"{place}.keys"] = _turned_back
    if touch.unplaced and not _rotary(found):
        changes["embedded"] = partial(_unplaced, found)
    return changes


def check_head(has: Anatomy, layer: int, head: int) -> None:
    """Raises InvalidSetting for a head that a model does not have."""
    if not (0 <= layer < has.layers and 0 <= head < has.heads):
        raise InvalidSetting(
            f"There is no head {head} in layer {layer}. Give a layer from 0 to {has.layers - 1} and a head from 0 to "
            f"{has.heads - 1}."
        )


def _check(touch: Touch, has: Anatomy) -> None:
    for layer, head in sorted(touch.off | touch.flat):
        check_head(has, layer, head)
    if touch.unmasked and not has.causal:
        raise InvalidSetting("This model has no mask to lift: each token sees all others as it is. Leave the mask out.")
    if touch.unplaced and not has.positions:
        raise InvalidSetting("This model knows no positions that could be taken away. Leave them out.")


def _zeroed(
    heads: list[int], value: Float[Tensor, "*batch heads query width"], step: int
) -> Float[Tensor, "*batch heads query width"]:
    changed = value.clone()
    changed[..., heads, :, :] = 0
    return changed


def _rotary(model: TransformerDecoder | TransformerEncoder) -> bool:
    return isinstance(model, TransformerDecoder) and model.config.positions == "rotary"


def _turned_back(
    value: Float[Tensor, "*batch heads time width"], step: int
) -> Float[Tensor, "*batch heads time width"]:
    """Queries or keys as they were before rotary positions turned them."""
    time, width = value.shape[-2:]
    return turned(value.transpose(-2, -3).contiguous(), turns(time, width).conj()).transpose(-2, -3)


def _unplaced(
    model: TransformerDecoder | TransformerEncoder, value: Float[Tensor, "*batch time width"], step: int
) -> Float[Tensor, "*batch time width"]:
    """Embeddings without the vectors of their places."""
    if isinstance(model, TransformerDecoder):
        return value - model.placed(torch.zeros_like(value))
    return value - model.position.weight.narrow(-2, 0, value.shape[-2]).unsqueeze(-3)


# Looking.


@dataclass(frozen=True, eq=False)
class Seen:
    """Where each token looks, and what the model answers."""

    weights: Float32[ndarray, "layers heads query key"]  # NaN where nobody may look, and where padding asks
    answers: Float32[ndarray, "answers outcomes"]  # log-probabilities: after each token, or one row of classes


@torch.inference_mode()
def attend(model: nn.Module, ids: Ids, touch: Touch = UNTOUCHED) -> Seen:
    """One forward of one model (no stack). Raises InvalidSetting."""
    logits, trace = forward(model, ids, touch)
    names = [name for name in trace if name.endswith(".attention.weights")]
    weights = torch.stack([trace[name][0] for name in names])
    return Seen(to_array(weights.masked_fill(~allowed(model, trace, ids), torch.nan)), to_array(logits.log_softmax(-1)))


def forward(model: nn.Module, ids: Ids, touch: Touch = UNTOUCHED) -> tuple[Float[Tensor, "answers outcomes"], Trace]:
    """Logits, and what the taps saw after all that was changed."""
    with intervene(model, interventions(model, touch)), record(model) as trace:
        logits: Tensor = model(torch.tensor([tuple(ids)], dtype=torch.int64))
    return logits.view(-1, logits.shape[-1]), trace


def read_off(model: nn.Module, vectors: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch answers outcomes"]:
    """Logits from what leaves a block: at every token, or of a classifier at the first one."""
    found = known(model)
    if isinstance(found, TransformerDecoder):
        logits: Tensor = found.readout(found.final_norm(vectors))
        return logits
    return found.readout(vectors[..., :1, :])


def allowed(model: nn.Module, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
    """Which token may look at which. Padding that is masked neither answers nor asks."""
    found = known(model)
    if isinstance(found, TransformerDecoder):
        return trace["blocks.0.attention.mask"] == 0
    real = torch.tensor(tuple(ids)) != found.padding
    return real & real[:, None]


# On the way to a browser.


def packed_weights(weights: Float[ndarray, "*which query key"], causal: bool) -> UInt16[ndarray, "*which cells"]:
    """Shares of one as whole numbers up to 65,535, at most 1 / 131,070 off; 0 where nobody may look.

    The cells of each head row by row: all of them, or where `causal` those up to the asking token's own.
    """
    shape = weights.shape
    cells = weights[..., *np.tril_indices(shape[-1])] if causal else weights.reshape(*shape[:-2], -1)
    packed: ndarray = np.rint(np.nan_to_num(cells) * FULL).astype(np.uint16)
    return packed


def unpacked(
    packed: UInt16[ndarray, "*which cells"], queries: int, causal: bool
) -> Float32[ndarray, "*which query key"]:
    """What `packed_weights` packed; NaN above the diagonal where `causal`."""
    shares = packed.astype(np.float32) / np.float32(FULL)
    if not causal:
        return shares.reshape(*packed.shape[:-1], queries, -1)
    weights = np.full((*packed.shape[:-1], queries, queries), np.nan, np.float32)
    weights[..., *np.tril_indices(queries)] = shares
    return weights
