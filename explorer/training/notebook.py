"""A run as a Jupyter notebook: the file of `export.py`, cut into cells, with what to expect of it.

The format is that of nbformat 4.5, written as plain JSON. Run from top to bottom it trains to the same losses.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterator

from jaxtyping import Float
from numpy import ndarray

from explorer.training.config import RunConfig
from explorer.training.export import about, asks_for_text, parts_of

_CHAPTERS = {  # by the folder of a section
    "errors": "What may go wrong",
    "seeds": "Chance",
    "tokenization": "The tokens",
    "models": "The model",
    "tasks": "The task",
    "generation": "How it writes",
    "training": "What trains it",
    "the training": "The training",
}
_TRAIN = """\
losses = main()  # of each batch, one number a seed

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("With matplotlib there would be a figure of them here.")
else:
    for i, seed in enumerate(RUN.seeds):
        plt.plot(range(1, len(losses) + 1), [of_seeds[i] for of_seeds in losses], label=f"seed {seed}")
    plt.xlabel("step")
    plt.ylabel("loss of the batch")
    plt.legend()
    plt.show()
"""
_READ = """\
import sys

sys.argv = ["this notebook", "input.txt"]  # where the text is
"""
Cell = dict[str, object]


def as_notebook(config: RunConfig, known: Float[ndarray, "steps replicas"] | None = None) -> str:
    """The notebook of a run. `known`: the losses of its batches, in nats, if it was trained already.

    A branch is exported as if it had no parent: what it came to is not what the notebook comes to.
    """
    cells = [_told(_head(config, None if config.branch else known)), *_code_cells(config)]
    book = {
        "cells": [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells, start=1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _code_cells(config: RunConfig) -> Iterator[Cell]:
    parts = parts_of(config)
    yield _told("## Imports")
    yield _code(f"from __future__ import annotations\n\n{parts.imports}")
    chapter = ""
    for title, said, code in parts.sections[:-1]:
        now = _CHAPTERS[title.removesuffix(".py").split("/")[0]]
        if now != chapter:
            yield _told(f"## {now}")
        chapter = now
        yield _code(f"# {title}\n{said}".rstrip() + f"\n\n{code}")
    settings, training = _after_settings(parts.sections[-1][2])
    yield _told(
        "## The settings of this run\nChange a size, a seed or the step size, run everything below again, and it is "
        "another run. Of the code only what this run needs is in the notebook: another method or task is not there."
    )
    yield _code(settings)
    yield _told(f"## {_CHAPTERS['the training']}")
    yield _code(training)
    yield _told("## Train it, and see")
    yield _code((_READ + "\n" if asks_for_text(config) else "") + _TRAIN)


def _after_settings(script: str) -> tuple[str, str]:
    """A script's constants, and what comes after them."""
    first = next(node for node in ast.parse(script).body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    lines = script.splitlines()
    start = min([first.lineno, *(part.lineno for part in first.decorator_list)]) - 1
    while lines[start - 1].startswith("#"):
        start -= 1
    return "\n".join(lines[:start]).rstrip(), "\n".join(lines[start:])


def _head(config: RunConfig, known: Float[ndarray, "steps replicas"] | None) -> str:
    """What stands at the top: which run, its settings, and what it comes to."""
    which, paragraphs = about(config)
    rows = [f"| {where} | {name} | {_cell(value)} |" for where, name, value in _settings(config)]
    table = "\n".join(["| of | setting | value |", "| --- | --- | --- |", *rows])
    return "\n\n".join([f"# {which}", *paragraphs, _expected(config, known), table])


def _expected(config: RunConfig, known: Float[ndarray, "steps replicas"] | None) -> str:
    """How long it trains, and the curve it will draw."""
    seeds = "one seed" if config.replicas == 1 else f"{config.replicas} seeds side by side"
    told = f"The last cell trains {seeds}, for {config.steps:,} steps at most."
    if known is None or not len(known):
        return told
    steps = sorted({round(1 + (len(known) - 1) * part / 4) for part in range(5)})
    curve = ", ".join(f"{known[step - 1].mean():.3g} at step {step:,}" for step in steps)
    ends = ", ".join(f"{loss:.6g} (seed {seed})" for seed, loss in zip(config.seeds, known[-1], strict=True))
    return (
        f"{told} The curve to expect, the loss of a batch as the mean of the seeds: {curve}. The last batch came to "
        f"{ends}; with the same version of torch it will again."
    )


def _cell(value: object) -> str:
    """A value inside a table of Markdown, as code: exactly as it is, it stands further below."""
    return f"`{repr(value).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def _settings(config: RunConfig) -> Iterator[tuple[str, str, object]]:
    """Every setting: whose it is, its name and its value."""
    parts = {"the task": config.task, "the model": config.model, "the optimiser": config.optimiser}
    for where, part in parts.items():
        yield from ((where, f.name, getattr(part, f.name)) for f in dataclasses.fields(part))
    own = (f.name for f in dataclasses.fields(config) if "help" in f.metadata)
    yield from (("the run", name, getattr(config, name)) for name in own)


def _told(text: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> Cell:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.strip()}
