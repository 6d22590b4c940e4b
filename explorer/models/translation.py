"""What every model that translates is: it reads a source as a whole, then writes a target token by token."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.models.language import State


class Translator(nn.Module):
    """An encoder and a decoder.

    All tensors that `encode` gives and `decode` carries have the rows of the batch on one axis, after the replicas'.
    """

    padding: int  # a token of the source that stands for none
    targets: int  # tokens that a target is made of; <BOS> and <EOS> are the last two

    @property
    def replicas(self) -> tuple[int, ...]:
        """How many, where this is a stack of them; otherwise ()."""
        return tuple(next(self.parameters()).shape[:-2])

    @property
    def bos(self) -> int:
        return self.targets - 2

    @property
    def eos(self) -> int:
        return self.targets - 1

    def encode(self, source: Int[Tensor, "*replicas batch source"]) -> State:
        """All that the decoder ever sees of the source. Padding stands at its end and changes nothing."""
        raise NotImplementedError

    def decode(
        self, read: State, ids: Int[Tensor, "*replicas batch target"], state: State = ()
    ) -> tuple[Float[Tensor, "*replicas batch target vocabulary"], State]:
        """Logits of the token that follows each of these, which begin with <BOS>, and what to go on from.

        `state` goes on from where another call ended; `()` is the beginning of the target.
        """
        raise NotImplementedError

    def forward(
        self, source: Int[Tensor, "*replicas batch source"], target: Int[Tensor, "*replicas batch target"]
    ) -> Float[Tensor, "*replicas batch target vocabulary"]:
        """Teacher forcing: the right target stands before every question (Williams & Zipser 1989)."""
        return self.decode(self.encode(source), target)[0]
