"""The base class of the sequence-to-sequence models: encode a source, then decode a target token by token."""

from __future__ import annotations

from torch import nn

from explorer.models.language import State
from explorer.models.shapes import Source, Target, TargetLogits


class Translator(nn.Module):
    """An encoder and a decoder. The batch axis of all tensors of a state follows the replica axis."""

    padding: int  # id of the padding token in the source
    targets: int  # size of the target vocabulary; <BOS> and <EOS> are its last two tokens

    @property
    def replicas(self) -> tuple[int, ...]:
        """The replica axis of the parameters: (number of replicas,) for a stack, () for one model."""
        return tuple(next(self.parameters()).shape[:-2])

    @property
    def bos(self) -> int:
        return self.targets - 2

    @property
    def eos(self) -> int:
        return self.targets - 1

    def encode(self, source: Source) -> State:
        """Return everything that the decoder sees of the source. Padding at the end of a source has no effect."""
        raise NotImplementedError

    def decode(self, read: State, ids: Target, state: State = ()) -> tuple[TargetLogits, State]:
        """Return the logits of the token that follows each of `ids`, and the state of the decoder after the last one.

        `read` is what `encode` returned. `state` continues from the end of an earlier call; with `()`, `ids` begin with
        <BOS>.
        """
        raise NotImplementedError

    def forward(self, source: Source, target: Target) -> TargetLogits:
        """Return the logits under teacher forcing (Williams & Zipser 1989). `target` begins with <BOS>."""
        return self.decode(self.encode(source), target)[0]
