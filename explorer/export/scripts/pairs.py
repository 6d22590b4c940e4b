"""The training of one model on pairs of a source and a target, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jaxtyping import Float
from torch import Tensor, nn

from explorer.export.scripts.text import read_file
from explorer.generation.seq2seq_decoding import surprisal
from explorer.models.configs import EncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.seeds import generator
from explorer.tasks.seq2seq.batches import Pairs, batch_of_table, stack_replicas
from explorer.tasks.seq2seq.config import source_vocabulary, target_vocabulary
from explorer.tasks.seq2seq.own_pairs import own_table
from explorer.tasks.seq2seq.pairs import PairsConfig, PairTable, example_table
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = PairsConfig
ModelConfig = EncoderDecoderConfig

TASK = PairsConfig()
MODEL = EncoderDecoderConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


@cache
def pair_table() -> PairTable:
    """Return the pairs, those of the file that is named on the command line if they are not the example."""
    if TASK.corpus == "example":
        return example_table(TASK)
    return own_table(TASK, read_file("the table of this run", TASK.text))


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    sources, targets = len(source_vocabulary(TASK)), len(target_vocabulary(TASK))
    return EncoderDecoder(MODEL, sources, targets, sources - 1, generator(seed, "start"))


def batches() -> Iterator[Pairs]:
    """Yield the batch of each step; several seeds are stacked."""
    for step in range(RUN.steps):
        drawn = [batch_of_table(TASK, pair_table(), seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds]
        yield stack_replicas(TASK, drawn)


def batch_losses(model: nn.Module, pairs: Pairs) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of a batch in nats per token, for each seed."""
    losses = surprisal(model(pairs.source, pairs.decoder_input), pairs.targets) * pairs.mask
    return losses.sum(dim=(-2, -1)) / pairs.mask.sum(dim=(-2, -1))
