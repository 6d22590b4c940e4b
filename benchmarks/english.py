"""What the included models of English sentences get right on two lists of sixty sentences, in pairs with a negation.

    python -m benchmarks.english [--file LIST.tsv]

The recipe was chosen with `english_pairs.tsv`. `english_pairs_unseen.tsv` was written before the models were trained
with their final settings, and nothing was chosen by it. Prints the share of right answers of each seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer

from explorer.experiments.default_runs import sentiment_runs
from explorer.inspection.load_model import load_model
from explorer.inspection.words.negation_sentences import probabilities_of_sentences
from explorer.run_store import store
from explorer.tasks.own_sentences import Language

LISTS = tuple(Path(__file__).with_name(f"{name}.tsv") for name in ("english_pairs", "english_pairs_unseen"))


def accuracies(run: store.StoredRun, file: Path) -> list[float]:
    """Return the share of the sentences of a file that each seed of a run classifies as the file says."""
    rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
    vocabulary = Language.from_json(run.tokenizer).vocabulary
    found = probabilities_of_sentences(load_model(run), tuple(vocabulary.split(text) for _, text in rows))
    labels = torch.tensor([int(label) for label, _ in rows])
    right = torch.tensor(found).argmax(dim=-1) == labels[:, None]
    return [float(share) for share in right.double().mean(dim=0)]


def main(
    file: Annotated[Path | None, typer.Option(help="Another list: a label (0 or 1), a tab, a text.")] = None,
) -> None:
    """Print a row for each model."""
    torch.set_num_threads(1)
    for config in sentiment_runs().values():
        if run := store.find_by_config(config):
            shares = [(each.stem, accuracies(run, each)) for each in (*LISTS, *([file] if file else []))]
            print(
                f"{config.model_name:22}",
                *(f"{name} {' '.join(f'{share:.3f}' for share in each)}   " for name, each in shares),
            )


if __name__ == "__main__":
    typer.run(main)
