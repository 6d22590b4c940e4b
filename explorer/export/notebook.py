"""Exports a run as a Jupyter notebook: the file of `python_file.py` in cells, with the losses to expect.

The format is nbformat 4.5. Run from top to bottom, the notebook trains to the same losses.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterator

from jaxtyping import Float
from numpy import ndarray

from explorer.export.python_file import describe, file_parts, needs_text_file
from explorer.training.config import RunConfig

_CHAPTERS = {  # titles by the package of a section
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
_SET_ARGUMENTS = """\
import sys

sys.argv = ["this notebook", "input.txt"]  # where the text is
"""
Cell = dict[str, object]


def as_notebook(config: RunConfig, losses: Float[ndarray, "steps replicas"] | None = None) -> str:
    """Return the notebook of a run, as JSON.

    `losses`: of its batches in nats, if it is trained. They are left out for a branch, which is exported as if it had
    no parent and therefore gets other losses.
    """
    cells = [_markdown_cell(_head(config, None if config.branch else losses)), *_code_cells(config)]
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
    parts = file_parts(config)
    yield _markdown_cell("## Imports")
    yield _code_cell(f"from __future__ import annotations\n\n{parts.imports}")
    chapter = ""
    for title, comment, code in parts.sections[:-1]:
        section_chapter = _CHAPTERS[title.removesuffix(".py").split("/")[0]]
        if section_chapter != chapter:
            yield _markdown_cell(f"## {section_chapter}")
        chapter = section_chapter
        yield _code_cell(f"# {title}\n{comment}".rstrip() + f"\n\n{code}")
    settings, training = _split_after_settings(parts.sections[-1][2])
    yield _markdown_cell(
        "## The settings of this run\nChange a size, a seed or the learning rate, and run everything below again: "
        "it is another run. The notebook has only the code of this run: other methods and tasks are not there."
    )
    yield _code_cell(settings)
    yield _markdown_cell(f"## {_CHAPTERS['the training']}")
    yield _code_cell(training)
    yield _markdown_cell("## Train it, and see")
    yield _code_cell((_SET_ARGUMENTS + "\n" if needs_text_file(config) else "") + _TRAIN)


def _split_after_settings(script: str) -> tuple[str, str]:
    """Divide a script into its constants and what follows them."""
    first = next(node for node in ast.parse(script).body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    lines = script.splitlines()
    start = min([first.lineno, *(part.lineno for part in first.decorator_list)]) - 1
    while lines[start - 1].startswith("#"):
        start -= 1
    return "\n".join(lines[:start]).rstrip(), "\n".join(lines[start:])


def _head(config: RunConfig, losses: Float[ndarray, "steps replicas"] | None) -> str:
    """Return the first cell: which run it is, the losses to expect, and the settings."""
    which, paragraphs = describe(config)
    rows = [f"| {where} | {name} | {_table_code(value)} |" for where, name, value in _settings(config)]
    table = "\n".join(["| of | setting | value |", "| --- | --- | --- |", *rows])
    return "\n\n".join([f"# {which}", *paragraphs, _describe_expected_results(config, losses), table])


def _describe_expected_results(config: RunConfig, losses: Float[ndarray, "steps replicas"] | None) -> str:
    """Say how long the run trains, and which losses to expect."""
    seeds = "one seed" if config.replicas == 1 else f"{config.replicas} seeds side by side"
    length = f"The last cell trains {seeds}, for {config.steps:,} steps at most."
    if losses is None or not len(losses):
        return length
    steps = sorted({round(1 + (len(losses) - 1) * part / 4) for part in range(5)})
    curve = ", ".join(f"{losses[step - 1].mean():.3g} at step {step:,}" for step in steps)
    ends = ", ".join(f"{loss:.6g} (seed {seed})" for seed, loss in zip(config.seeds, losses[-1], strict=True))
    return (
        f"{length} The curve to expect, the loss of a batch as the mean of the seeds: {curve}. The last batch came to "
        f"{ends}; with the same version of torch it will again."
    )


def _table_code(value: object) -> str:
    """Return a value as code inside a Markdown table; the exact value is in the code below."""
    return f"`{repr(value).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def _settings(config: RunConfig) -> Iterator[tuple[str, str, object]]:
    """Yield the owner, name and value of every setting."""
    parts = {"the task": config.task, "the model": config.model, "the optimiser": config.optimiser}
    for where, part in parts.items():
        yield from ((where, f.name, getattr(part, f.name)) for f in dataclasses.fields(part))
    own = (f.name for f in dataclasses.fields(config) if "help" in f.metadata)
    yield from (("the run", name, getattr(config, name)) for name in own)


def _markdown_cell(text: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code_cell(text: str) -> Cell:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.strip()}
