"""Tables of the tasks, the models, and every setting of a model on a task. Needs no torch."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

from explorer.api.arguments import require_text
from explorer.catalogue import MODELS, TASKS, models_of
from explorer.errors import InvalidSetting, shorten
from explorer.lazy_libraries import pd
from explorer.models.settings import field_label
from explorer.training.config import default_config


def list_tasks() -> pd.DataFrame:
    """Return the tasks, one per row: name, title, and the names of the models that can be trained on it.

    >>> explorer.list_tasks().query("task == 'text'").models.item()
    'ngram, feedforward, rnn, lstm, gru, transformer'
    """
    rows = [(row.name, row.title, ", ".join(models_of(row.name))) for row in TASKS.values()]
    return pd.DataFrame(rows, columns=["task", "title", "models"])


def list_models(task: str | None = None) -> pd.DataFrame:
    """Return the models, of one task or of all: name, title, tasks and paper, one model per row.

    Raises InvalidSetting for an unknown task.

    >>> list(explorer.list_models("recall").model)
    ['rnn', 'lstm', 'gru', 'transformer']
    """
    if task is not None and require_text(task, "The name of a task") not in TASKS:
        raise InvalidSetting(f"There is no task “{shorten(task)}”. There is {', '.join(TASKS)}.")
    rows = [
        (row.name, row.title, ", ".join(row.by_task), row.paper, row.link)
        for row in MODELS.values()
        if task is None or task in row.by_task
    ]
    return pd.DataFrame(rows, columns=["model", "title", "tasks", "paper", "link"])


def settings(task: str, model: str) -> pd.DataFrame:
    """Return every setting of a model on a task, as `train` takes it: name, default, possible values, help.

    The columns are setting, label, section (task, model, optimiser or run), default, type, low, high, choices and
    help. `low` and `high` are included in the range. Raises InvalidSetting for an unknown task or model, or a model
    that cannot be trained on the task.

    >>> explorer.settings("negation", "transformer").set_index("setting").loc["epochs", "default"]
    30
    """
    config = default_config(require_text(task, "The name of a task"), require_text(model, "The name of a model"))
    sections = {"run": config, "task": config.task, "model": config.model, "optimiser": config.optimiser}
    own = [f.name for f in dataclasses.fields(config) if "help" in f.metadata]
    rows = []
    for section, part in sections.items():
        hints = get_type_hints(type(part))
        for f in dataclasses.fields(part):
            if "help" not in f.metadata:
                continue
            is_shadowed = section != "run" and f.name in own  # `seed` is that of the run; the other is `task.seed`
            rows.append(
                {
                    "setting": f"{section}.{f.name}" if is_shadowed else f.name,
                    "label": field_label(f),
                    "section": section,
                    "default": getattr(part, f.name),
                    **_describe_type(hints[f.name]),
                    "low": f.metadata["low"],
                    "high": f.metadata["high"],
                    "help": f.metadata["help"],
                }
            )
    columns = ["setting", "label", "section", "default", "type", "low", "high", "choices", "help"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _describe_type(hint: Any) -> dict[str, str]:
    if get_origin(hint) is Literal:
        return {"type": "choice", "choices": ", ".join(map(str, get_args(hint)))}
    return {"type": getattr(hint, "__name__", str(hint)), "choices": ""}
