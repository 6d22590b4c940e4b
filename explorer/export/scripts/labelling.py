"""The training of one model that labels every position of a row, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from explorer.models.configs import TransformerTaggerConfig
from explorer.models.transformer_tagger import TransformerTagger
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.random_symbols_rows import batch
from explorer.tasks.sequence_labelling.rows import Rows, position_losses, stack_replicas
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = RandomSymbolsConfig
ModelConfig = TransformerTaggerConfig

TASK = RandomSymbolsConfig()
MODEL = TransformerTaggerConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    sizes = (len(TASK.vocabulary), len(TASK.labels), TASK.max_length)
    return TransformerTagger(MODEL, *sizes, generator(seed, "start"))


def batches() -> Iterator[Rows]:
    """Yield the batch of each step; several seeds are stacked."""
    for step in range(RUN.steps):
        each = [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds]
        yield stack_replicas(each, len(TASK.vocabulary) - 1)


def batch_losses(model: nn.Module, rows: Rows) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of a batch in nats per position, for each seed."""
    losses = position_losses(model(rows.ids), rows.targets) * rows.mask
    return losses.sum(dim=(-2, -1)) / rows.mask.sum(dim=(-2, -1))
