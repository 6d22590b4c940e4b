"""The recurrent encoder–decoder: one GRU encodes the source, another one decodes the target.

With one vector (Cho et al. 2014, section 2.2; the gates are those of `gru.py`):

    h_j = GRU(x_j, h_{j-1})        c = tanh(V h_S)                   the whole source in one vector
    s_0 = tanh(V' c)        s_i = GRU([y_{i-1}; c], s_{i-1})        logits_i = O [s_i; y_{i-1}; c]

With additive attention (Bahdanau et al. 2015, section 3.1 and 3.2):

    h_j = [forward GRU; backward GRU]                                one annotation for each token of the source
    s_0 = tanh(W_s h_1 (backward))
    e_ij = v . tanh(W_a s_{i-1} + U_a h_j)    alpha_ij = softmax_j e_ij    c_i = sum_j alpha_ij h_j
    s_i = GRU([y_{i-1}; c_i], s_{i-1})                                logits_i = O [s_i; y_{i-1}; c_i]

Difference from both papers: the readout is one matrix, without their maxout layer.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import EncoderDecoderConfig
from explorer.models.gru import GRUCell
from explorer.models.language import State
from explorer.models.layers import Embedding, Linear
from explorer.models.recurrence import unroll
from explorer.models.shapes import Source, Target, TargetLogits, Vectors
from explorer.models.taps import StepTap, Tap
from explorer.models.translation import Translator


class AdditiveAttention(nn.Module):
    """Additive attention from the previous state of the decoder to the source (Bahdanau et al. 2015, eq. 5-6)."""

    def __init__(self, hidden: int, annotation: int, generator: Generator) -> None:
        super().__init__()
        self.query = Linear(hidden, hidden, generator)
        self.key = Linear(annotation, hidden, generator, bias=False)
        self.score = Linear(hidden, 1, generator, bias=False)
        self.annotations = Tap()
        self.energies, self.weights, self.context = StepTap(), StepTap(), StepTap()

    def forward(
        self,
        s: Float[Tensor, "*batch hidden"],
        annotations: Float[Tensor, "*batch source annotation"],
        keys: Float[Tensor, "*batch source hidden"],
        mask: Bool[Tensor, "*batch source"],
    ) -> Float[Tensor, "*batch annotation"]:
        """Return the context vector of one step. `keys` are U_a h_j for all steps; `mask` is true for real tokens."""
        energies = self.energies(self.score((self.query(s)[..., None, :] + keys).tanh())[..., 0])
        weights = self.weights(energies.masked_fill(~mask, -math.inf).softmax(dim=-1))
        return self.context((weights[..., None, :] @ annotations)[..., 0, :])


class Summary(nn.Module):
    """The summary of the source in one vector, c = tanh(V h_S) (Cho et al. 2014, appendix A.1.1)."""

    def __init__(self, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.squeeze = Linear(hidden, hidden, generator)
        self.vector = Tap()

    def forward(self, h: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch hidden"]:
        return self.vector(self.squeeze(h).tanh())


class EncoderDecoder(Translator):
    """Two GRUs, connected by one vector or by additive attention."""

    def __init__(
        self, config: EncoderDecoderConfig, sources: int, targets: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        width, hidden = config.width, config.hidden
        self.padding, self.targets = padding, targets
        attends = config.attention == "additive"
        context_width = 2 * hidden if attends else hidden  # of the vector c, or c_i with attention
        self.embedding = nn.ModuleDict(
            {"source": Embedding(sources, width, generator), "target": Embedding(targets, width, generator)}
        )
        self.encoder = GRUCell(width, hidden, generator)
        self.decoder = GRUCell(width, hidden, generator)
        # The matrices C of both papers.
        self.told = Linear(context_width, 3 * hidden, generator, bias=False, bound=1 / math.sqrt(hidden))
        self.start = Linear(hidden, hidden, generator)
        self.readout = Linear(hidden + width + context_width, targets, generator)
        self.backward_encoder: GRUCell | None = GRUCell(width, hidden, generator) if attends else None
        attention = AdditiveAttention(hidden, context_width, generator) if attends else None
        self.attention: AdditiveAttention | None = attention
        self.summary: Summary | None = None if attends else Summary(hidden, generator)
        self.embedded, self.bridge = Tap(), Tap()

    def encode(self, source: Source) -> State:
        """Return (c, s_0), or with attention (s_0, annotations, keys, mask)."""
        x = self.embedded(self.embedding["source"](source))
        mask = source != self.padding
        lengths = mask.sum(-1, keepdim=True)
        states, _ = unroll(self.encoder, x)
        if self.summary is not None:
            c = self.summary(_gather_positions(states, lengths - 1)[..., 0, :])
            return c, self.bridge(self.start(c).tanh())
        assert self.attention is not None and self.backward_encoder is not None
        # Read from the last token to the first, then put back into the order of the source.
        order = (lengths - 1 - torch.arange(source.shape[-1], device=source.device)).clamp_min(0)
        back = _gather_positions(unroll(self.backward_encoder, _gather_positions(x, order))[0], order)
        annotations = self.attention.annotations(torch.cat((states, back), dim=-1))
        s = self.bridge(self.start(back[..., 0, :]).tanh())
        return s, annotations, self.attention.key(annotations), mask

    def decode(self, read: State, ids: Target, state: State = ()) -> tuple[TargetLogits, State]:
        y = self.embedding["target"](ids)
        projected = self.decoder.project(y)
        states: list[Tensor] = []
        if self.attention is None:
            c, first = read
            state = state or (first,)
            for each in (projected + self.told(c)[..., None, :]).unbind(-2):
                state = self.decoder.step(each, state)
                states.append(state[0])
            outputs = torch.stack(states, dim=-2), y, c[..., None, :].expand(*y.shape[:-1], c.shape[-1])
            return self.readout(torch.cat(outputs, dim=-1)), state
        first, annotations, keys, mask = read
        (s,) = state or (first,)
        contexts: list[Tensor] = []
        for each in projected.unbind(-2):
            context = self.attention(s, annotations, keys, mask)
            (s,) = self.decoder.step(each + self.told(context), (s,))
            states.append(s)
            contexts.append(context)
        outputs = torch.stack(states, dim=-2), y, torch.stack(contexts, dim=-2)
        return self.readout(torch.cat(outputs, dim=-1)), (s,)


def _gather_positions(x: Vectors, positions: Int[Tensor, "*batch positions"]) -> Tensor:
    """Return the vectors at these positions of each row: (*batch, positions, width)."""
    return x.gather(-2, positions[..., None].expand(*positions.shape, x.shape[-1]))
