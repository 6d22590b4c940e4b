"""The command `settings`: every key that `train --set KEY=VALUE` accepts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from explorer.catalogue import MODELS, TASKS, models_of
from explorer.cli import completion
from explorer.cli.common import Json, option
from explorer.cli.program import print_json, program_name
from explorer.cli.setting_rows import setting_rows
from explorer.cli.tables import output_width, print_wrapped


def settings(
    task: Annotated[str, option("TASK", "Task whose settings are listed.", completion.tasks)] = "",
    model: Annotated[str, option("MODEL", "Model whose settings are listed.", completion.models)] = "",
    preset: Annotated[
        str, option("PRESET", "Preset whose values are listed as the defaults.", completion.presets)
    ] = "",
    as_json: Json = False,
) -> None:
    """List the settings of a training: default, range and meaning.

    `train --set KEY=VALUE` changes them. Without a task and a model, list the settings of every training.
    """
    rows = setting_rows(task, model, preset)
    if as_json:
        for row in rows:
            print_json(row)
        return
    titles = {"task": f"Task: {task}", "model": f"Model: {model}", "optimiser": "Optimizer", "training": "Training"}
    if preset:
        titles |= {"task": "Task", "model": "Model"}
    for section, group in groupby(rows, key=itemgetter("section")):
        print(titles[section])
        for row in group:
            _print_row(row)
        print()
    name = program_name()
    if not preset and not (task and model):
        for title, names in (("Tasks", TASKS), ("Models", models_of(task) if task else MODELS)):
            print_wrapped(f"{title}: {', '.join(names)}.")
        print_wrapped(f"For their settings: {name} settings --task TASK --model MODEL.")
    else:
        print_wrapped(f"Change one with {name} train … --set KEY=VALUE.")


def _print_row(row: Mapping[str, Any]) -> None:
    default = str(row["default"]).lower() if isinstance(row["default"], bool) else row["default"]
    shown = f"{default:g}" if isinstance(default, float) else str(default) or "empty"
    possible = ", ".join(row["options"]) if "options" in row else row["type"]
    if row.get("low") is not None:
        possible += f", {row['low']:,g} to {row['high']:,.12g}"
    line = f"  {row['key']} = {shown}  ({possible})"
    if len(line) <= output_width():
        print(line)
    else:
        print(f"  {row['key']} = {shown}")
        print_wrapped(f"({possible})", "      ")
    print_wrapped(row["help"], "      ")
