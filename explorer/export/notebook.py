"""Exports a run as a Jupyter notebook: the program of `python_file.py` in cells, with the losses to expect.

The format is nbformat 4.5. The weights and the examples are in the same file beside it as those of the program.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from explorer.export import contents
from explorer.export.python_file import Files, as_python, command_of, describe, program_parts
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig
from explorer.training.record import Record

_TRAIN = """\
losses = train(SEEDS[0], Path("trained.safetensors"))  # of each batch

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("With matplotlib there would be a figure of them here.")
else:
    plt.plot(range(1, len(losses) + 1), losses)
    plt.xlabel("step")
    plt.ylabel("loss of the batch (nats)")
    plt.show()
"""
Cell = dict[str, object]


def as_notebook(config: RunConfig, run: StoredRun | Record | None = None, name: str = "run") -> Files:
    """Return the notebook of a run, as JSON, and the file that has to lie beside it.

    run: the trained run; without one there are no weights.
    name: the name of both files without their endings.
    """
    config = dataclasses.replace(config, branch=None)
    which, text = describe(config)
    head = "\n\n".join([f"# {which}", text, _describe_expected_results(config, run)])
    cells = [_markdown_cell(head), *_code_cells(config, run, name)]
    book = {
        "cells": [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells, start=1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return Files(json.dumps(book, ensure_ascii=False, indent=1) + "\n", contents.stored_tensors(config, run))


def export_files(config: RunConfig, run: StoredRun | Record | None, file: Path) -> dict[Path, bytes]:
    """Return a run as code by the ending of a file, .py or .ipynb, with the file beside it; for others nothing."""
    if file.suffix.lower() == ".py":
        return as_python(config, run).by_path(file)
    return as_notebook(config, run, file.stem).by_path(file) if file.suffix.lower() == ".ipynb" else {}


def _code_cells(config: RunConfig, run: StoredRun | Record | None, name: str) -> Iterator[Cell]:
    parts = program_parts(config, run)
    yield _code_cell(parts.imports)
    for title, code in parts.sections.items():
        yield _markdown_cell(f"## {title[:1].upper()}{title[1:] or 'The settings'}")
        yield _code_cell(code.replace('Path(__file__).with_suffix(".safetensors")', f"Path({f'{name}.safetensors'!r})"))
    if run:
        command, text, *options = command_of(config)
        yield _markdown_cell(f"## {command.title()} with the weights of the run")
        yield _code_cell(f"main({[command, text, *options]!r})")
    yield _markdown_cell("## Train it again")
    yield _code_cell(_TRAIN)


def _describe_expected_results(config: RunConfig, run: StoredRun | Record | None) -> str:
    length = f"The last cell trains the seed {config.seed} for {config.steps:,} steps."
    losses = run.curves.losses if run and not run.config.branch else None
    if losses is None or not len(losses):
        return length
    steps = sorted({round(1 + (len(losses) - 1) * part / 4) for part in range(5)})
    curve = ", ".join(f"{losses[step - 1, 0]:.3g} at step {step:,}" for step in steps)
    return f"{length} The losses of the run, up to rounding the same: {curve}."


def _markdown_cell(text: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code_cell(text: str) -> Cell:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.strip()}
