"""Incremental decoding with cached state: each new token costs one step instead of a forward pass over the text.

A `Decoder` reads a batch of texts with one language model and returns the logits of the next token after each token.
It keeps what its model needs: the keys and values of every token for a Transformer (KV cache), the hidden state for a
recurrent network, the last few tokens for n-grams. The logits equal those of the plain forward pass, which remains
the reference. Taps are recorded in the plain forward pass only.

A Transformer attends to at most `context` tokens, as in its training; see `models/context_window.py` for longer texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Int
from torch import Tensor, nn

from explorer.models.configs import TransformerTextConfig
from explorer.models.context_window import window_start
from explorer.models.gru import GRUCell
from explorer.models.kneser_ney import Ngram
from explorer.models.language import State
from explorer.models.layers import LayerNorm, Linear, RMSNorm
from explorer.models.lstm import LSTMCell
from explorer.models.neural_ngram import NeuralNgram
from explorer.models.recurrence import RecurrentLanguageModel
from explorer.models.rnn import RNNCell
from explorer.models.transformer_decoder import Block, TransformerDecoder, rotate, rotations

Rows: TypeAlias = Int[Tensor, "rows time"]  # ids of texts: one for each sample, or one for all
NextIds: TypeAlias = Int[Tensor, " samples"]
Logits: TypeAlias = Float[Tensor, "samples vocabulary"]
Flat: TypeAlias = Float[Tensor, "tokens width"]  # vectors of the tokens of all rows


@runtime_checkable
class Decoder(Protocol):
    """Reads one text for each sample. It is not thread-safe, and the weights of the model must not change meanwhile."""

    def read(self, ids: Rows) -> Logits:
        """Reset the state, read at least one token and return the next logits. A single row is used for all samples."""

    def step(self, ids: NextIds) -> Logits:
        """Read one more token of each sample and return the next logits."""


def make_decoder(model: nn.Module, context: int, samples: int = 1, padding: int | None = None) -> Decoder:
    """Return the decoder of a language model.

    `context`: the maximum number of tokens that a Transformer attends to; learned positions may limit it further.
    `padding`: the token that fills a row up to `context`, for a model trained on padded prefixes.
    Raises ValueError for a stack of replicas and for other modules.
    """
    if hasattr(model, "make_decoder"):  # a model that brings its own
        return model.make_decoder(samples, context)  # type: ignore[operator]
    if isinstance(model, Ngram):
        most = 0 if model.cache else model.order  # tokens that are kept; 0: all
        return RereadingDecoder(samples, lambda ids: ids[:, -most:], model.next_logits)
    if next(model.parameters()).dim() > 2:
        raise ValueError("a stack of replicas cannot be decoded: take one of them with layers.replica(model, index)")
    if padding is not None:
        return _rereading_decoder(model, context, padding, samples)
    if isinstance(model, NeuralNgram):
        return RereadingDecoder(samples, lambda ids: ids[:, -model.window :], partial(_neural_ngram_logits, model))
    if isinstance(model, RecurrentLanguageModel):
        return RecurrentDecoder(model, samples)
    if isinstance(model, TransformerDecoder):
        return CachedDecoder(model, context, samples)
    if hasattr(model, "features"):
        return _rereading_decoder(model, context, None, samples)
    raise ValueError(f"{type(model).__name__} is no language model")


class RereadingDecoder:
    """Decoder that keeps the last tokens of each text, and computes the next logits from these at each step."""

    def __init__(self, samples: int, keep: Callable[[Tensor], Tensor], next_logits: Callable[[Tensor], Tensor]) -> None:
        self.samples, self.keep, self.next_logits = samples, keep, next_logits
        self.recent_ids = torch.zeros(samples, 0, dtype=torch.int64)

    @torch.inference_mode()
    def read(self, ids: Rows) -> Logits:
        self.recent_ids = self.keep(ids).expand(self.samples, -1)
        return self.next_logits(self.recent_ids)

    @torch.inference_mode()
    def step(self, ids: NextIds) -> Logits:
        return self.read(torch.cat([self.recent_ids, ids[:, None]], dim=1))


def _rereading_decoder(model: nn.Module, context: int, padding: int | None, samples: int) -> RereadingDecoder:
    """Return a decoder of any language model: it reads the tokens of the window again at each step.

    For a model trained on padded prefixes (`tasks/text/rows.py`), padding fills the row up to its full width, and the
    logits are those of the last position, the only one that the model was trained to predict from.
    """

    def next_logits(ids: Int[Tensor, "samples time"]) -> Logits:
        row = ids if padding is None else F.pad(ids, (0, context - ids.shape[1]), value=padding)
        return model(row)[:, -1]

    return RereadingDecoder(samples, lambda ids: ids[:, window_start(ids.shape[1], context) :], next_logits)


def _neural_ngram_logits(model: NeuralNgram, ids: Int[Tensor, "samples time"]) -> Logits:
    """Return the logits after a window of tokens; zeros stand for missing ones."""
    vectors = F.pad(model.embedding(ids), (0, 0, model.window - ids.shape[1], 0))
    h = model.inner(vectors.flatten(1))
    return model.readout(torch.tanh(h if model.norm is None else model.norm(h)))


class RecurrentDecoder:
    """Decoder of a recurrent model. It keeps the state of every cell and uses PyTorch's single-step kernels."""

    def __init__(self, model: RecurrentLanguageModel, samples: int) -> None:
        self.model, self.samples = model, samples
        self.embedding, self.readout = model.embedding.weight.detach(), weight_and_bias(model.readout)
        self.cells = [(KERNELS[type(cell)], cell_weights(cell)) for cell in model.cells]
        self.states: list[State] = []  # of each cell

    @torch.inference_mode()
    def read(self, ids: Rows) -> Logits:
        features, state = self.model.features(ids)
        state = tuple(part.expand(self.samples, -1) for part in state)
        size = len(state) // len(self.cells)  # number of tensors in the state of one cell
        self.states = [state[i : i + size] for i in range(0, len(state), size)]
        return affine(features[:, -1], *self.readout).expand(self.samples, -1)

    def step(self, ids: NextIds) -> Logits:
        # Without inference mode, since entering it would cost a tenth of this short step; nothing here has a gradient.
        x = torch.embedding(self.embedding, ids)
        for i, (kernel, weights) in enumerate(self.cells):
            self.states[i] = kernel(x, self.states[i], *weights)
            x = self.states[i][0]
        return affine(x, *self.readout)


# The kernel of an LSTM takes and returns a pair of tensors, the other kernels one tensor.
KERNELS: dict[type, Callable[..., State]] = {
    RNNCell: lambda x, state, *weights: (torch.rnn_tanh_cell(x, state[0], *weights),),
    GRUCell: lambda x, state, *weights: (torch.gru_cell(x, state[0], *weights),),
    LSTMCell: torch.lstm_cell,
}


def cell_weights(cell: Any) -> tuple[Tensor, ...]:
    """Return the weights and biases of a cell in the order of the kernels' arguments."""
    weights = cell.input.weight, cell.recurrent.weight, cell.input.bias, cell.recurrent.bias
    return tuple(weight.detach() for weight in weights)


class CachedDecoder:
    """Decoder of a Transformer. It keeps the keys and values of every token in every block (KV cache).

    With one token at a time, the overhead of calls exceeds the arithmetic. Therefore the step multiplies with the
    weights directly instead of calling modules, writes into preallocated memory, and uses views made beforehand.
    """

    def __init__(self, model: TransformerDecoder, context: int, samples: int) -> None:
        config, width, heads = model.config, model.config.width, model.config.heads
        head_width = width // heads
        if model.position is not None:
            context = min(context, len(model.position.weight))
        self.model, self.context, self.samples = model, context, samples
        self.heads = (heads, head_width)
        self.recent_ids: list[NextIds] = []  # the tokens in the window
        with torch.inference_mode():
            self.layers = [BlockWeights(block, config) for block in model.blocks]  # type: ignore[arg-type]  # modules that are Blocks
            self.final_norm, self.readout = norm_function(model.final_norm), weight_and_bias(model.readout)
            self.embedding = model.embedding.weight
            self.positions = None
            if config.positions in ("learned", "sinusoidal"):
                self.positions = model.add_positions(torch.zeros(1, context, width))[0].unbind(0)

            # The cache: key and value of each token in each block.
            self.cache = torch.empty(len(self.layers), 2, samples, heads, context, head_width)
            self.keys, self.values = self.cache.flatten(2, 3).unbind(1)  # each blocks rows context head_width
            cache = self.cache

            # Buffers of one token in attention: its projections, its query and the weighted sum of values.
            self.projected, self.mixed = torch.empty(samples, 3 * width), torch.empty(samples, width)
            parts = self.projected.view(samples, 3, *self.heads).transpose(0, 1)
            self.raw_query, self.raw_key_value = parts[0], parts[1:]
            self.query = torch.empty(samples, heads, head_width)
            self.query_view, self.mixed_view = self.query.view(-1, 1, head_width), self.mixed.view(-1, 1, head_width)

            # Factors of the query, and of key and value, at each position: the query is scaled by 1 / sqrt(head_width)
            # instead of the scores, and rotary positions rotate query and key.
            scale, one = torch.tensor(1 / math.sqrt(head_width)), torch.ones(2, 1, 1, 1)
            self.factors: list[tuple[Tensor, Tensor]] = [(scale, one)] * context
            if config.positions == "rotary":
                self.raw_query, self.raw_key_value = (
                    as_complex_pairs(self.raw_query),
                    as_complex_pairs(self.raw_key_value),
                )
                self.query, cache = as_complex_pairs(self.query), as_complex_pairs(self.cache)
                turn = rotations(context, head_width)[:, None]
                both = torch.stack([turn, torch.ones_like(turn)], dim=1)
                self.factors = list(zip((turn * scale).unbind(0), both.unbind(0), strict=True))
            # Cache slots by position and block.
            self.cache_slots = list(zip(*(block.unbind(-2) for block in cache), strict=True))

    @torch.inference_mode()
    def read(self, ids: Rows) -> Logits:
        ids = ids[:, window_start(ids.shape[1], self.context) :]
        self.recent_ids = list(ids.expand(self.samples, -1).unbind(1))
        turn = rotations(ids.shape[1], self.heads[1]) if self.model.config.positions == "rotary" else None
        x = self.model.add_positions(self.model.embedding(ids))
        output = self._run_blocks(x.flatten(0, 1), partial(self._attend_to_all, len(ids), turn))
        return self._output_logits(output.view(x.shape)[:, -1]).expand(self.samples, -1)

    @torch.inference_mode()
    def step(self, ids: NextIds) -> Logits:
        if len(self.recent_ids) == self.context:
            remaining = self.recent_ids[window_start(self.context + 1, self.context) :]
            return self.read(torch.stack([*remaining, ids], dim=1))
        position = len(self.recent_ids)
        self.recent_ids.append(ids)
        x = torch.embedding(self.embedding, ids)
        if self.positions is not None:
            x = x + self.positions[position]
        keys = self.keys.narrow(2, 0, position + 1).mT.unbind(0)
        values = self.values.narrow(2, 0, position + 1).unbind(0)
        return self._output_logits(self._run_blocks(x, partial(self._attend_to_cache, position, keys, values)))

    def _attend_to_all(self, rows: int, turn: Complex[Tensor, "time 1 pairs"] | None, i: int, h: Flat) -> Flat:
        """Return the attention output of block i for all tokens of all rows, and fill the cache."""
        q, k, v = torch.mm(h, self.layers[i].project).view(rows, -1, 3, *self.heads).unbind(2)
        if turn is not None:
            q, k = rotate(q, turn), rotate(k, turn)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # each rows heads time head_width
        time = q.shape[2]
        self.cache[i, 0, ..., :time, :], self.cache[i, 1, ..., :time, :] = k, v
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).reshape(h.shape)

    def _attend_to_cache(
        self, position: int, keys: Sequence[Tensor], values: Sequence[Tensor], i: int, h: Float[Tensor, "samples width"]
    ) -> Float[Tensor, "samples width"]:
        """Return the attention output of block i for one token of every sample, and cache its key and value."""
        query_factor, key_value_factor = self.factors[position]
        torch.mm(h, self.layers[i].project, out=self.projected)
        torch.mul(self.raw_query, query_factor, out=self.query)
        torch.mul(self.raw_key_value, key_value_factor, out=self.cache_slots[position][i])
        weights = torch.bmm(self.query_view, keys[i]).softmax(dim=-1)
        torch.bmm(weights, values[i], out=self.mixed_view)
        return self.mixed

    def _run_blocks(self, x: Flat, attend: Callable[[int, Tensor], Tensor]) -> Flat:
        """Return the output of all blocks. `attend(i, h)` is the attention of block i before the output projection."""
        for i, layer in enumerate(self.layers):
            mixed = attend(i, layer.before_attention(x))
            x = layer.after_attention(torch.addmm(x, mixed, layer.output))
            h = layer.activation(affine(layer.before_feedforward(x), *layer.expand))
            x = torch.addmm(x, h, layer.contract)
            x = layer.after_feedforward(x if layer.contract_bias is None else x + layer.contract_bias)
        return x

    def _output_logits(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows vocabulary"]:
        return affine(self.final_norm(x), *self.readout)


class BlockWeights:
    """The weights of one block and the functions between them, without modules."""

    def __init__(self, block: Block, config: TransformerTextConfig) -> None:
        norms = norm_function(block.attention_norm), norm_function(block.feedforward_norm)
        identities = norm_function(nn.Identity()), norm_function(nn.Identity())
        before, after = (norms, identities) if config.norm_place == "pre" else (identities, norms)
        self.before_attention, self.before_feedforward = before
        self.after_attention, self.after_feedforward = after
        self.project, _ = weight_and_bias(block.attention.project)
        self.output, _ = weight_and_bias(block.attention.output)
        self.expand = weight_and_bias(block.expand)
        self.contract, self.contract_bias = weight_and_bias(block.contract)
        # In place, without what the backward pass would need.
        self.activation = (lambda x: x.relu_().square_()) if config.activation == "relu2" else block.activation


def norm_function(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return a norm as a plain function: calling its module would cost twice as much."""
    if isinstance(norm, LayerNorm):
        return partial(torch.layer_norm, normalized_shape=norm.weight.shape, weight=norm.weight, bias=norm.bias)
    if isinstance(norm, RMSNorm):
        return partial(torch.rms_norm, normalized_shape=norm.weight.shape, weight=norm.weight, eps=1e-5)
    return norm.forward


def weight_and_bias(linear: Linear) -> tuple[Tensor, Tensor | None]:
    """Return the transposed weight and the bias of a linear layer, as `affine` takes them."""
    return linear.weight.detach().t(), None if linear.bias is None else linear.bias.detach()


def affine(
    x: Float[Tensor, "rows inputs"], weight: Float[Tensor, "inputs outputs"], bias: Float[Tensor, " outputs"] | None
) -> Float[Tensor, "rows outputs"]:
    """Return x @ weight + bias."""
    return torch.mm(x, weight) if bias is None else torch.addmm(bias, x, weight)


def as_complex_pairs(x: Float[Tensor, "*batch width"]) -> Complex[Tensor, "*batch pairs"]:
    """Return a complex view of consecutive pairs of numbers; it shares the memory."""
    return torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
