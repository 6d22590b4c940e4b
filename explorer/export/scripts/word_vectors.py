"""The training of word vectors on one text, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from explorer.export.scripts.text import read_file
from explorer.models.configs import SkipGramConfig
from explorer.models.word_vectors import SkipGram, negative_sampling_loss
from explorer.seeds import generator
from explorer.tasks.text.corpora import TINYSHAKESPEARE_SHA256
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.tasks.word_vectors_grammar import grammar_text
from explorer.tasks.word_vectors_rows import Batch, WordData, draw_batch, stack_batches
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = WordVectorsConfig
ModelConfig = SkipGramConfig

TASK = WordVectorsConfig()
MODEL = SkipGramConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER, iterations=1_000)


def read() -> str:
    """Return the training text."""
    if TASK.corpus == "grammar":
        return grammar_text(TASK.sentences, TASK.corpus_seed)
    if TASK.corpus == "own":
        return read_file("the text of this run", TASK.text)
    return read_file("Tiny Shakespeare", TINYSHAKESPEARE_SHA256)


DATA = WordData(TASK, read())


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    return SkipGram(MODEL, len(DATA.words), generator(seed, "start"))


def batches() -> Iterator[Batch]:
    """Yield the batch of each step; several seeds are stacked."""
    for step in range(RUN.steps):
        name = f"{RUN.order}/{step}"
        yield stack_batches(
            [draw_batch(DATA, seed, name, RUN.batch_size, SkipGram.predicts_neighbours) for seed in RUN.seeds]
        )


def batch_losses(model: nn.Module, batch: Batch) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of a batch in nats per row, for each seed: a true neighbour is told from noise words."""
    return negative_sampling_loss(model(*batch))
