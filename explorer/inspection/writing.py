"""A stored language model goes on from a prompt."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.errors import DamagedRun
from explorer.generation.sampling import Sampling
from explorer.generation.writing import prompt_ids, write
from explorer.inspection.opening import open_model
from explorer.tasks.text import TextConfig
from explorer.tokenization.text import from_json
from explorer.training.store import StoredRun


@dataclass(frozen=True)
class Written:
    """What a model wrote after a prompt."""

    prompt: str  # as the model read it
    dropped: tuple[str, ...]  # what stood in the prompt and the model never saw
    texts: tuple[str, ...]  # one a sample, without the prompt


def continued(run: StoredRun, prompt: str, tokens: int, sampling: Sampling, samples: int = 1) -> Written:
    """Text by the run's first seed, the same for the same `sampling.seed`. Raises DamagedRun."""
    if not run.tokenizer:
        raise DamagedRun(f"Run {run.key} has no tokenizer: it cannot read or write. Train it again.")
    tokenizer = from_json(run.tokenizer)
    ids, dropped = prompt_ids(tokenizer, prompt)
    written = write(open_model(run).alone(0), ids, tokens, sampling, samples, run.config.on(TextConfig).context)
    return Written(tokenizer.decode(ids.tolist()), dropped, tuple(tokenizer.decode(row) for row in written.tolist()))
