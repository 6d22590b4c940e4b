"""Values that a shell proposes for arguments and options.

A completion is computed at every press of the Tab key, so nothing here imports torch or reads the files of a run.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from explorer.catalogue import MODELS, TASKS, models_of
from explorer.cli.setting_rows import possible_values, setting_rows
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.experiments.presets import PRESETS
from explorer.hub import allowed
from explorer.program_files import LESSONS, PRETRAINED
from explorer.tasks.text.config import TextConfig
from explorer.training.config import corpus_names

# The orders of `list --sort`: a copy of index.ORDERS, because importing the index would delay every help text.
ORDERS = ("created", "name", "title", "seconds", "parameters", "bytes", "accuracy")


@contextmanager
def whole_words_of_bash() -> Iterator[None]:
    """Make KEY=VALUE one word again while bash asks for proposals, and propose only what follows the “=”.

    bash separates words at “=” (COMP_WORDBREAKS) and replaces only the last part by a proposal.
    """
    words = os.environ.get("COMP_WORDS", "").split("\n")
    words = words[: int(os.environ.get("COMP_CWORD", len(words))) + 1]
    if os.environ.get("_LINEAGE_COMPLETE") != "complete_bash" or "=" not in words[1:]:
        yield
        return
    joined: list[str] = []
    for before, word in pairwise(["", *words]):
        if joined and (word == "=" or (before == "=" and not word.startswith("--"))):
            joined[-1] += word
        else:
            joined.append(word)
    os.environ.update(COMP_WORDS="\n".join(joined), COMP_CWORD=str(len(joined) - 1))
    before, equals, _ = joined[-1].partition("=")
    prefix = before + equals if equals else ""
    proposals = io.StringIO()
    try:
        with redirect_stdout(proposals):
            yield
    finally:
        found = [line.removeprefix(prefix) for line in proposals.getvalue().splitlines()]
        print("\n".join(filter(None, found)))


def _completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a completion that proposes those of some names that begin as typed; none if they cannot be read."""

    def propose(incomplete: str) -> list[str]:
        with suppress(LineageError, OSError):
            return _matching(names(), incomplete)
        return []

    return propose


def _matching(names: Iterable[str], start: str) -> list[str]:
    return [name for name in names if name.startswith(start)]


def _folders_with(file: str, parent: Path) -> list[str]:
    return sorted(found.parent.name for found in parent.glob(f"*/{file}"))


orders = _completion(lambda: [sign + name for sign in ("", "-") for name in ORDERS])
included_runs = _completion(lambda: _folders_with("config.json", PRETRAINED))
own_runs = _completion(lambda: _folders_with("config.json", environment().runs))
tokenizers = _completion(lambda: possible_values(TextConfig, "tokenizer"))
allowed_models = _completion(lambda: allowed.allowed_models())
opened_models = _completion(lambda: _folders_with("card.json", environment().opened_models))
lessons = _completion(lambda: (file.stem.split("-", 1)[-1] for file in sorted(LESSONS.glob("*.yaml"))))


def runs(incomplete: str) -> list[str]:
    """Return the names of included runs and the keys of the runs of this machine."""
    return own_runs(incomplete) + included_runs(incomplete)


def runs_and_real_models(incomplete: str) -> list[str]:
    """Return the names of runs, and those of the opened real models as hub:NAME."""
    return runs(incomplete) + _matching((f"{allowed.PREFIX}{name}" for name in opened_models("")), incomplete)


def tasks(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return the tasks that the chosen model can be trained on, with their titles."""
    model = ctx.params.get("model")
    return [
        (name, row.title)
        for name, row in TASKS.items()
        if name.startswith(incomplete) and (model not in MODELS or name in MODELS[model].by_task)
    ]


def models(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return the models that can be trained on the chosen task, with their titles."""
    task = ctx.params.get("task")
    names = models_of(task) if task in TASKS else MODELS
    return [(name, MODELS[name].title) for name in names if name.startswith(incomplete)]


def presets(incomplete: str) -> list[tuple[str, str]]:
    """Return the presets with their titles."""
    return [(name, preset.title) for name, preset in PRESETS.items() if name.startswith(incomplete)]


def corpora(ctx: Any, incomplete: str) -> list[str]:
    """Return the names of the corpora of the chosen task."""
    task = ctx.params.get("task")
    return _matching(corpus_names(TASKS[task if task in TASKS else "text"].config), incomplete)


def settings(ctx: Any, incomplete: str) -> list[str]:
    """Return KEY= for every setting of the chosen task and model, and KEY=VALUE if only one key is possible.

    For a number, the value is the default.
    """
    task, model = ctx.params.get("task") or "", ctx.params.get("model") or ""
    try:
        rows = setting_rows(task, model, ctx.params.get("preset") or "")
    except LineageError:
        return []
    key, equals, _ = incomplete.partition("=")
    chosen = {row["key"]: row.get("options", (row["default"],)) for row in rows}
    chosen = {name: values for name, values in chosen.items() if (name == key if equals else name.startswith(key))}
    proposals = [f"{name}=" for name in chosen]
    if len(chosen) == 1:
        proposals += [f"{name}={value}" for name, values in chosen.items() for value in values]
    return _matching(proposals, incomplete)
