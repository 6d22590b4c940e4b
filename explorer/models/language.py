"""What every language model is: ids in, and at each position the logits of the token that comes next."""

from __future__ import annotations

from typing import TypeAlias

from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.models.layers import Linear

State: TypeAlias = tuple[Tensor, ...]  # what a recurrent net carries on, layer by layer; other models carry nothing


class LanguageModel(nn.Module):
    """Embeds, mixes what it may see, and reads an answer off at every position."""

    readout: Linear

    def features(
        self, ids: Int[Tensor, "*replicas batch time"], state: State = ()
    ) -> tuple[Float[Tensor, "*replicas batch time width"], State]:
        """What the readout reads, at every position, and the state after the last one.

        `state` goes on from where another call ended; `()` is a cold start. Models that carry no state give `()`.
        """
        raise NotImplementedError

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch time vocabulary"]:
        """Logits of the next token at every position, from what stands up to it."""
        return self.readout(self.features(ids)[0])
