"""`explorer.train`: one training in this process, with a progress bar."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from explorer.api.arguments import require_flag, require_settings, require_text, require_whole_number
from explorer.api.progress import train_config
from explorer.api.run import Run
from explorer.atomic_files import describe_file_error
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.own_tables import corpus_settings, held_out_settings, settings_of_table, table_columns
from explorer.experiments.presets import preset_config
from explorer.lazy_libraries import pd
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings


def train(
    task: str = "",
    model: str = "",
    *,
    seeds: int | None = None,
    data: str | Path | pd.DataFrame | None = None,
    preset: str = "",
    progress: bool | None = None,
    **settings: Any,
) -> Run:
    """Train a model on a task and return the run, which is in memory until `Run.save` stores it.

    task, model: names, as `list_tasks` and `list_models` give them. They may be left out with a preset.
    seeds: how many seeds are trained side by side, from setting `seed` on (default: 0). By default one.
    data: your own data as a CSV file or a table: labelled sentences for the tasks negation and sentiment (columns text
        and label), or pairs for the task pairs (columns source and target). A share is held out (`held_out_share`), and
        the settings follow from the table. The task sentiment adds the sentences to its own training data.
    preset: a named configuration, as `python -m explorer train --preset`.
    progress: whether a progress bar is shown; by default in a terminal and in a notebook.
    settings: any other setting by its name, as `settings` lists them: `epochs=10`, `learning_rate=1e-3`, `layers=2`.
        A name that two sections have is given with its section: `**{"task.seed": 1}`. `corpus` is the name of a text
        of the task, or the path of a text file in UTF-8.

    The same settings give the same curves, bit for bit on one kind of processor.

    A training that is interrupted (Ctrl-C, or the stop button of a notebook) returns the run up to its last
    checkpoint with a warning; `Run.resume` trains the rest. The same holds for a training whose numbers grow without
    bound: `Run.state` is then "diverged". Before the first checkpoint, KeyboardInterrupt and Diverged are raised.

    If the validation loss was lower before the end, a warning names the step; `keep="best"` keeps its weights.

    Raises InvalidSetting for an unknown name or an impossible value, with one sentence that says what is possible, and
    TextError for a text or a table that cannot be learned from.

    >>> run = explorer.train("negation", "bag_of_words", seeds=2, epochs=3)
    >>> run.state
    'finished'
    """
    config = base_config(task, model, preset)
    changes = dict(settings)
    if seeds is not None:
        if "replicas" in changes:
            raise InvalidSetting("`seeds` and `replicas` are the same setting. Give one of them.")
        changes["replicas"] = require_whole_number("seeds", seeds, 1)
    if data is not None:
        changes = data_settings(config, data, changes) | changes
    if isinstance(corpus := changes.get("corpus"), str | Path) and not (corpus == "own" and "text" in changes):
        del changes["corpus"]
        changes |= corpus_settings(with_settings(config, held_out_settings(changes)), str(corpus), "`corpus`")
    if progress is not None:
        progress = require_flag("progress", progress)
    return Run(train_config(with_settings(config, require_settings(config, changes)), progress))


def base_config(task: str, model: str, preset: str) -> RunConfig:
    for what, name in (("task", task), ("model", model), ("preset", preset)):
        require_text(name, f"The name of a {what}")
    if preset:
        return preset_config(preset, task, model)
    if not task or not model:
        raise InvalidSetting('Give a task and a model, as in train("negation", "transformer"), or a preset.')
    return default_config(task, model)


def data_settings(
    config: RunConfig, data: str | Path | pd.DataFrame, changes: Mapping[str, object]
) -> dict[str, object]:
    """Return the settings of the task for an own table, given the other changes. Raises InvalidSetting or TextError."""
    if not table_columns(config):
        raise InvalidSetting("`data` is for the tasks negation, sentiment and pairs. Leave it out.")
    if isinstance(data, pd.DataFrame):
        # Python quotes a carriage return only if it is part of the line ending; unquoted it would begin a row.
        sha = corpora.store_text(corpora.validated_text(data.to_csv(index=False, lineterminator="\r\n"), least=0))
    elif isinstance(data, str | Path):
        try:
            content = Path(data).read_bytes()
        except (OSError, ValueError) as error:
            raise InvalidSetting(
                f"“{shorten(data)}” cannot be read: {describe_file_error(error)}. Give a CSV file."
            ) from error
        sha = corpora.store_file(content, Path(data).name, least=0)
    else:
        raise InvalidSetting(f"`data` is of the type {type(data).__name__}. Give a CSV file or a pandas DataFrame.")
    return settings_of_table(with_settings(config, held_out_settings(changes)), sha)
