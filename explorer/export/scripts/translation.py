"""The training of one model that reads a source and writes a target, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from explorer.generation.seq2seq_decoding import surprisal
from explorer.models.configs import EncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.seeds import generator
from explorer.tasks.seq2seq.batches import Pairs, batch, stack_replicas
from explorer.tasks.seq2seq.config import source_vocabulary, target_vocabulary
from explorer.tasks.seq2seq.digits import ReverseConfig
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = ReverseConfig
ModelConfig = EncoderDecoderConfig

TASK = ReverseConfig()
MODEL = EncoderDecoderConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    sources, targets = len(source_vocabulary(TASK)), len(target_vocabulary(TASK))
    return EncoderDecoder(MODEL, sources, targets, sources - 1, generator(seed, "start"))


def batches() -> Iterator[Pairs]:
    """Yield the batch of each step; several seeds are stacked."""
    for step in range(RUN.steps):
        yield stack_replicas(TASK, [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds])


def batch_losses(model: nn.Module, pairs: Pairs) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of a batch in nats per token, for each seed."""
    losses = surprisal(model(pairs.source, pairs.decoder_input), pairs.targets) * pairs.mask
    return losses.sum(dim=(-2, -1)) / pairs.mask.sum(dim=(-2, -1))
