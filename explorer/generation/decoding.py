"""Reading on with what is kept: each new token costs one step, not a forward over the whole text.

A `Decoder` reads a text for one language model, sample by sample side by side, and after every token has the logits
of the next. What it keeps differs: a Transformer the keys and values of every token (KV cache), a recurrent net its
state, the n-grams the last few tokens. What it answers does not: the logits are those of the plain forward, which
stays the reference (and is what a recording watches: a Transformer's decoder passes no taps).

A Transformer looks back on at most `context` tokens, as in its training. See `window_start` for what happens then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Int
from torch import Tensor, nn

from explorer.models.configs import TransformerTextConfig
from explorer.models.gru import GRUCell
from explorer.models.language import State
from explorer.models.layers import LayerNorm, Linear, RMSNorm
from explorer.models.lstm import LSTMCell
from explorer.models.neural_ngram import NeuralNgram
from explorer.models.ngram import Ngram
from explorer.models.recurrence import RecurrentLanguageModel
from explorer.models.rnn import RNNCell
from explorer.models.transformer_decoder import Block, TransformerDecoder, turned, turns


@runtime_checkable
class Decoder(Protocol):
    """Reads one text for each sample. Not for two threads at once; the model's weights must not change under it."""

    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        """Forget everything, read at least one token, and say what may come next. One row stands for all samples."""

    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        """Read one more token of each sample, and say what may come next."""


def decoder(model: nn.Module, context: int, samples: int = 1, padding: int | None = None) -> Decoder:
    """The decoder of a language model.

    `context` is for a Transformer: the most tokens it looks back on. Learned positions set a limit of their own.
    `padding` is for whatever learned from padded prefixes: the token that fills a row up to `context`.
    Raises ValueError for a stack of replicas.
    """
    if isinstance(model, Ngram):
        return NgramDecoder(model, samples)
    if next(model.parameters()).dim() > 2:
        raise ValueError("a stack of replicas cannot be decoded: take one of them with layers.replica(model, index)")
    if padding is not None:
        return PaddedDecoder(model, context, padding, samples)
    if isinstance(model, NeuralNgram):
        return NeuralNgramDecoder(model, samples)
    if isinstance(model, RecurrentLanguageModel):
        return RecurrentDecoder(model, samples)
    if isinstance(model, TransformerDecoder):
        return CachedDecoder(model, context, samples)
    raise ValueError(f"{type(model).__name__} is no language model with a decoder")


def window_start(read: int, context: int) -> int:
    """The first token that a Transformer still sees, after so many tokens have been read.

    All tokens, while they fit into the context. A token more, and the older half is forgotten: what is left is read
    anew, each token at its new place, and then fills up again. So between half a context and a whole one is always
    seen, and reading anew costs little, as it happens once in half a context. (To forget one token at every step
    would mean to read everything anew each time: a token's vectors, from the second block on, carry what it saw.)

    It follows from the number of tokens alone: a text written in two goes is the text written in one.
    """
    forgotten = (context + 1) // 2
    return 0 if read <= context else -(-(read - context) // forgotten) * forgotten


class NgramDecoder:
    """Keeps the last tokens, as many as the longest n-gram has."""

    def __init__(self, model: Ngram, samples: int) -> None:
        self.model, self.samples = model, samples
        self.seen = torch.zeros(samples, 0, dtype=torch.int64)

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        self.seen = ids[:, -self.model.order :].expand(self.samples, -1)
        return self.model.next_logits(self.seen)

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        return self.read(torch.cat([self.seen, ids[:, None]], dim=1))


class PaddedDecoder:
    """Keeps the tokens alone, and reads all of them anew with each new one.

    For a model that learned from rows of prefixes (`tasks/windows.py`): padding fills the row up to its full width, and
    the answer stands at the last place. What the model says at any other place nobody ever asked it.
    """

    def __init__(self, model: nn.Module, context: int, padding: int, samples: int) -> None:
        self.model, self.context, self.padding, self.samples = model, context, padding, samples
        self.seen = torch.zeros(samples, 0, dtype=torch.int64)

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        self.seen = ids[:, window_start(ids.shape[1], self.context) :].expand(self.samples, -1)
        row = F.pad(self.seen, (0, self.context - self.seen.shape[1]), value=self.padding)
        logits: Tensor = self.model(row)
        return logits[:, -1]

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        return self.read(torch.cat([self.seen, ids[:, None]], dim=1))


class NeuralNgramDecoder:
    """Keeps the vectors of the last tokens, as many as the window has; zeros where there is none yet."""

    def __init__(self, model: NeuralNgram, samples: int) -> None:
        self.model, self.samples = model, samples
        self.window = torch.zeros(samples, model.window, model.embedding.weight.shape[-1])

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        vectors = self.model.embedding(ids[:, -self.model.window :])
        missing = self.model.window - vectors.shape[1]
        self.window = F.pad(vectors, (0, 0, missing, 0)).expand(self.samples, -1, -1)
        return self._answer()

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        self.window = torch.cat([self.window[:, 1:], self.model.embedding(ids)[:, None]], dim=1)
        return self._answer()

    def _answer(self) -> Float[Tensor, "samples vocabulary"]:
        h = self.model.inner(self.window.flatten(1))
        h = torch.tanh(h if self.model.norm is None else self.model.norm(h))
        logits: Tensor = self.model.readout(h)
        return logits


class RecurrentDecoder:
    """Keeps the state of every cell, and takes each step in PyTorch's own kernel for a single one."""

    def __init__(self, model: RecurrentLanguageModel, samples: int) -> None:
        self.model, self.samples = model, samples
        self.embedding, self.readout = model.embedding.weight.detach(), matrix(model.readout)
        self.cells = [(KERNELS[type(cell)], cell_weights(cell)) for cell in model.cells]
        self.states: list[State] = []  # of each cell

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        features, state = self.model.features(ids)
        state = tuple(part.expand(self.samples, -1) for part in state)
        each = len(state) // len(self.cells)  # tensors in the state of one cell
        self.states = [state[i : i + each] for i in range(0, len(state), each)]
        return product(features[:, -1], *self.readout).expand(self.samples, -1)

    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        # No inference mode: nothing here has a gradient, and to enter it takes a tenth of so short a step.
        x = torch.embedding(self.embedding, ids)
        for i, (kernel, weights) in enumerate(self.cells):
            self.states[i] = kernel(x, self.states[i], *weights)
            x = self.states[i][0]
        return product(x, *self.readout)


# An LSTM's kernel takes and gives a pair, as its state is; the others' a tensor.
KERNELS: dict[type, Callable[..., State]] = {
    RNNCell: lambda x, state, *weights: (torch.rnn_tanh_cell(x, state[0], *weights),),
    GRUCell: lambda x, state, *weights: (torch.gru_cell(x, state[0], *weights),),
    LSTMCell: torch.lstm_cell,
}


def cell_weights(cell: Any) -> tuple[Tensor, ...]:
    """As the kernels take them."""
    weights = cell.input.weight, cell.recurrent.weight, cell.input.bias, cell.recurrent.bias
    return tuple(weight.detach() for weight in weights)


class CachedDecoder:
    """Keeps the key and the value of every token in every block of a Transformer (KV cache).

    With one token at a time, the calls cost more than the arithmetic. So the way through the blocks is lean: products
    with the bare weights in place of modules, into memory that is there already, through views made beforehand.
    """

    def __init__(self, model: TransformerDecoder, context: int, samples: int) -> None:
        config, width, heads = model.config, model.config.width, model.config.heads
        head_width = width // heads
        if model.position is not None:
            context = min(context, len(model.position.weight))
        self.model, self.context, self.samples = model, context, samples
        self.heads = (heads, head_width)
        self.seen: list[Int[Tensor, " samples"]] = []  # the tokens in the window
        with torch.inference_mode():
            self.layers = [Layer(block, config) for block in model.blocks]  # type: ignore[arg-type]  # modules that are Blocks
            self.final_norm, self.readout = bare(model.final_norm), matrix(model.readout)
            self.embedding = model.embedding.weight
            self.positions = None
            if config.positions in ("learned", "sinusoidal"):
                self.positions = model.placed(torch.zeros(1, context, width))[0].unbind(0)

            # What is kept of each token in each block: its key and its value.
            self.kept = torch.empty(len(self.layers), 2, samples, heads, context, head_width)
            self.keys, self.values = self.kept.flatten(2, 3).unbind(1)  # each blocks rows context head_width
            kept = self.kept

            # One token on its way through attention: as it is projected, its query, what it got.
            self.projected, self.mixed = torch.empty(samples, 3 * width), torch.empty(samples, width)
            parts = self.projected.view(samples, 3, *self.heads).transpose(0, 1)
            self.unplaced_query, self.unplaced = parts[0], parts[1:]
            self.query = torch.empty(samples, heads, head_width)
            self.asking, self.got = self.query.view(-1, 1, head_width), self.mixed.view(-1, 1, head_width)

            # What query, and key and value, are multiplied with at each place: the query by 1 / sqrt(head_width), so
            # that the scores need not be, and query and key by their turn, where positions are rotary.
            scale, one = torch.tensor(1 / math.sqrt(head_width)), torch.ones(2, 1, 1, 1)
            self.factors: list[tuple[Tensor, Tensor]] = [(scale, one)] * context
            if config.positions == "rotary":
                self.unplaced_query, self.unplaced = as_points(self.unplaced_query), as_points(self.unplaced)
                self.query, kept = as_points(self.query), as_points(self.kept)
                turn = turns(context, head_width)[:, None]
                both = torch.stack([turn, torch.ones_like(turn)], dim=1)
                self.factors = list(zip((turn * scale).unbind(0), both.unbind(0), strict=True))
            self.new = list(zip(*(block.unbind(-2) for block in kept), strict=True))  # for each place, block by block

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        ids = ids[:, window_start(ids.shape[1], self.context) :]
        self.seen = list(ids.expand(self.samples, -1).unbind(1))
        turn = turns(ids.shape[1], self.heads[1]) if self.model.config.positions == "rotary" else None
        x = self.model.placed(self.model.embedding(ids))
        after = self._through(x.flatten(0, 1), partial(self._attend_to_all, len(ids), turn))
        return self._answer(after.view(x.shape)[:, -1]).expand(self.samples, -1)

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        if len(self.seen) == self.context:
            kept = self.seen[window_start(self.context + 1, self.context) :]
            return self.read(torch.stack([*kept, ids], dim=1))
        place = len(self.seen)
        self.seen.append(ids)
        x = torch.embedding(self.embedding, ids)
        if self.positions is not None:
            x = x + self.positions[place]
        keys = self.keys.narrow(2, 0, place + 1).mT.unbind(0)
        values = self.values.narrow(2, 0, place + 1).unbind(0)
        return self._answer(self._through(x, partial(self._attend_to_kept, place, keys, values)))

    def _attend_to_all(
        self, rows: int, turn: Complex[Tensor, "time 1 pairs"] | None, i: int, h: Float[Tensor, "tokens width"]
    ) -> Float[Tensor, "tokens width"]:
        """Every token of every row in block i, as the model does it; keys and values are kept."""
        q, k, v = torch.mm(h, self.layers[i].project).view(rows, -1, 3, *self.heads).unbind(2)
        if turn is not None:
            q, k = turned(q, turn), turned(k, turn)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # each rows heads time head_width
        time = q.shape[2]
        self.kept[i, 0, ..., :time, :], self.kept[i, 1, ..., :time, :] = k, v
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).reshape(h.shape)

    def _attend_to_kept(
        self, place: int, keys: Sequence[Tensor], values: Sequence[Tensor], i: int, h: Float[Tensor, "samples width"]
    ) -> Float[Tensor, "samples width"]:
        """One token of every sample in block i; its key and value become the last of those that it attends to."""
        of_query, of_both = self.factors[place]
        torch.mm(h, self.layers[i].project, out=self.projected)
        torch.mul(self.unplaced_query, of_query, out=self.query)
        torch.mul(self.unplaced, of_both, out=self.new[place][i])
        weights = torch.bmm(self.asking, keys[i]).softmax(dim=-1)
        torch.bmm(weights, values[i], out=self.got)
        return self.mixed

    def _through(
        self, x: Float[Tensor, "tokens width"], attend: Callable[[int, Tensor], Tensor]
    ) -> Float[Tensor, "tokens width"]:
        """Through all blocks. `attend(i, h)` is the attention of block i, before its last product."""
        for i, layer in enumerate(self.layers):
            mixed = attend(i, layer.before_attention(x))
            x = layer.after_attention(torch.addmm(x, mixed, layer.output))
            h = layer.activation(product(layer.before_feedforward(x), *layer.expand))
            x = torch.addmm(x, h, layer.contract)
            x = layer.after_feedforward(x if layer.contract_bias is None else x + layer.contract_bias)
        return x

    def _answer(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows vocabulary"]:
        return product(self.final_norm(x), *self.readout)


class Layer:
    """The bare weights of one block, and what stands between them."""

    def __init__(self, block: Block, config: TransformerTextConfig) -> None:
        norms = bare(block.attention_norm), bare(block.feedforward_norm)
        nothing = bare(nn.Identity()), bare(nn.Identity())
        before, after = (norms, nothing) if config.norm_place == "pre" else (nothing, norms)
        self.before_attention, self.before_feedforward = before
        self.after_attention, self.after_feedforward = after
        self.project, _ = matrix(block.attention.project)
        self.output, _ = matrix(block.attention.output)
        self.expand = matrix(block.expand)
        self.contract, self.contract_bias = matrix(block.contract)
        self.activation = squared_relu if config.activation == "relu2" else block.activation


def bare(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """A norm without its module, which costs as much again."""
    if isinstance(norm, LayerNorm):
        return partial(torch.layer_norm, normalized_shape=norm.weight.shape, weight=norm.weight, bias=norm.bias)
    if isinstance(norm, RMSNorm):
        return partial(torch.rms_norm, normalized_shape=norm.weight.shape, weight=norm.weight, eps=1e-5)
    return norm.forward


def matrix(linear: Linear) -> tuple[Tensor, Tensor | None]:
    """What `product` multiplies with and adds."""
    return linear.weight.detach().t(), None if linear.bias is None else linear.bias.detach()


def product(
    x: Float[Tensor, "rows inputs"], weight: Float[Tensor, "inputs outputs"], bias: Float[Tensor, " outputs"] | None
) -> Float[Tensor, "rows outputs"]:
    return torch.mm(x, weight) if bias is None else torch.addmm(bias, x, weight)


def squared_relu(x: Tensor) -> Tensor:
    """What `SquaredReLU` gives, without what it keeps for a backward."""
    positive = x.relu_()
    return positive.mul_(positive)


def as_points(x: Float[Tensor, "*batch width"]) -> Complex[Tensor, "*batch pairs"]:
    """Pairs of numbers as points of the plane, in the same memory."""
    return torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
