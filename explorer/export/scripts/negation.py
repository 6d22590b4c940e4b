"""The training of one model on the negation task, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.export.scripts.text import read_file
from explorer.models.configs import RNNConfig
from explorer.models.rnn import RNN
from explorer.seeds import generator
from explorer.tasks.distinct_rows import batch_weights, row_ids, row_labels
from explorer.tasks.negation import Negation, NegationConfig
from explorer.tasks.own_sentences import OwnSentences
from explorer.tasks.own_sentences_rows import batch_rows, sentence_rows
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = NegationConfig
ModelConfig = RNNConfig

TASK = NegationConfig()
MODEL = RNNConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


@cache
def own_sentences() -> OwnSentences:
    """Return the sentences of the file that is named on the command line."""
    return OwnSentences(TASK, read_file("the table of this run", TASK.text))


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    task = own_sentences() if TASK.corpus == "own" else Negation(TASK)
    sizes = (len(task.vocabulary.tokens), len(task.classes), task.vocabulary.id(task.vocabulary.padding))
    return RNN(MODEL, *sizes, generator(seed, "start"))


def batches() -> Iterator[tuple[Int[Tensor, "*replicas rows time"], Float[Tensor, "*replicas rows classes"]]]:
    """Yield the rows of token ids and the targets of the batch of each step; several seeds are stacked."""
    task = own_sentences() if TASK.corpus == "own" else Negation(TASK)
    if TASK.corpus == "own":
        rows = sentence_rows(task)
        for indices in batch_rows(task, RUN):
            batch = rows.batch(indices if RUN.replicas > 1 else indices[0])
            yield batch.ids, -F.one_hot(batch.labels, TASK.classes) / batch.labels.shape[-1]
        return
    samples = [torch.tensor(task.sample("train", seed)) for seed in RUN.seeds]
    orders = [generator(seed, f"order/{RUN.order}" if RUN.order else "order") for seed in RUN.seeds]
    shares = [batch_weights(task, s, RUN.epochs, RUN.batch_size, o) for s, o in zip(samples, orders, strict=True)]
    # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
    targets = -torch.stack(shares, dim=1)[..., None] * F.one_hot(row_labels(task), TASK.classes)
    ids = row_ids(task)  # every distinct row, in each step
    if RUN.replicas > 1:
        ids = ids.expand(RUN.replicas, *ids.shape)
    else:
        targets = targets.squeeze(1)
    for target in targets.unbind():
        yield ids, target


def batch_losses(
    model: nn.Module, examples: tuple[Int[Tensor, "*replicas rows time"], Float[Tensor, "*replicas rows classes"]]
) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of a batch in nats per sentence, for each seed."""
    ids, target = examples
    losses: Tensor = model(ids).log_softmax(dim=-1) * target
    return losses.sum(dim=(-2, -1))
