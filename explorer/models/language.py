"""The base class of the neural language models: from token ids to the logits of the next token at every position."""

from __future__ import annotations

from typing import TypeAlias

from jaxtyping import Float
from torch import Tensor, nn

from explorer.models.layers import Linear
from explorer.models.shapes import Features, Ids

State: TypeAlias = tuple[Tensor, ...]  # of a recurrent network, layer by layer; () in models without a state


class LanguageModel(nn.Module):
    """A causal language model. A subclass computes `features`; `readout` maps them to logits."""

    readout: Linear

    def features(self, ids: Ids, state: State = ()) -> tuple[Features, State]:
        """Return the input of the readout and the next state; `()` is the zero state, or that of a model without."""
        raise NotImplementedError

    def forward(self, ids: Ids) -> Float[Tensor, "*replicas batch time vocabulary"]:
        """Return the logits of the next token at every position, given the tokens up to that position."""
        return self.readout(self.features(ids)[0])
