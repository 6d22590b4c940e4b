"""The command `sweep`: trains a model with many settings and prints which work best."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explorer.atomic_files import check_new_file, write_new_file
from explorer.cli import completion, interruption
from explorer.cli.common import Force, Json, TrainedModel, TrainedTask, flag, option, split_settings
from explorer.cli.program import INTERRUPTED, SIGNAL_EXIT, print_json, program_name
from explorer.cli.progress import ProgressLines
from explorer.cli.tables import print_columns, print_wrapped
from explorer.csv_files import to_csv_file
from explorer.errors import InvalidSetting
from explorer.experiments.own_tables import corpus_settings, held_out_settings
from explorer.sweeps import driver, findings, results, space
from explorer.tasks.text import corpora
from explorer.training.config import default_config, with_settings

if TYPE_CHECKING:
    from explorer.sweeps.controller import Plan

_SHOWN = ("state", "step")  # columns of the printed table after the settings
_SPREAD = ("lowest", "highest", "confirmed")


@corpora.personal_process()
def sweep(
    task: TrainedTask = "",
    model: TrainedModel = "",
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUES",
            "A setting and its values: learning_rate=1e-3,3e-3. For a random search also a range, LOW:HIGH or "
            "LOW:HIGH:log. With a single value, the setting is changed in all trials.",
            completion.settings,
            name="--set",
        ),
    ] = None,
    corpus: Annotated[str, option("FILE", "A corpus, a text file or a CSV file of your own, as for train.")] = "",
    seeds: Annotated[int, option("COUNT", "Seeds of each trial.", min=1)] = 3,
    search: Annotated[str, option("KIND", "grid: every combination; random: as many as --trials says.")] = "grid",
    trials: Annotated[int | None, option("COUNT", "Trials of a random search.", min=1)] = None,
    search_seed: Annotated[int, option("NUMBER", "Seed of the random numbers of a random search.", min=0)] = 0,
    halving: Annotated[
        bool,
        flag("--halving/--no-halving", "Give hopeless trials up early (successive halving), or train all of them."),
    ] = True,
    finalists: Annotated[
        int, option("COUNT", "The best trials are trained again with eight new seeds, which decide.", min=0)
    ] = 2,
    metric: Annotated[
        str, option("NAME", "What is compared. Default: bits per byte on text, else the loss on data not trained on.")
    ] = "",
    out: Annotated[Path | None, option("FILE", "Write the whole table as a CSV file.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Train a model with many settings, and print which work best.

    Every trial is a run, which is stored. Runs that exist are not trained again. Ctrl-C stores what there is; the same
    command continues.
    """
    if not task or not model:
        raise InvalidSetting("Give --task and --model.")
    if out is not None:
        check_new_file(out, force)
    fixed, searched = _parse_settings(settings or ())
    base = default_config(task, model)
    if corpus := corpus or str(fixed.pop("corpus", "")):
        fixed = corpus_settings(with_settings(base, held_out_settings(fixed)), corpus, "--corpus") | fixed
    base = with_settings(base, fixed)
    definition = space.make_sweep(
        base,
        searched,
        seeds=seeds,
        search=search,
        number=trials,
        search_seed=search_seed,
        halving=halving,
        finalists=finalists,
        metric=metric,
    )
    estimate = findings.estimate_sentence(driver.check_limits(definition), driver.estimated_seconds(definition))
    if not as_json:
        print(f"Sweep {definition.key}: {estimate}", flush=True)
    received = 0
    try:
        with interruption.stop_requests() as stop_signal, contextlib.ExitStack() as end:
            lines = ProgressLines()
            if not as_json:
                end.callback(lines.clear)

            def stop_or_show(plan: Plan) -> None:
                nonlocal received
                if received := stop_signal():
                    raise KeyboardInterrupt
                if not as_json:
                    lines.show(lambda: findings.progress_sentence(definition, plan))

            plan = driver.carry_out(definition, on_progress=stop_or_show)
    except KeyboardInterrupt:
        typer.echo(
            f"Stopped; what there is of each run is stored. To continue: the same {program_name()} sweep.", err=True
        )
        raise typer.Exit(SIGNAL_EXIT + received if received else INTERRUPTED) from None
    table = results.results_table(definition, plan)
    if out is not None:
        write_new_file(out, to_csv_file(table), force)
    if as_json:
        for row in table.to_dict("records"):
            infinite = [name for name, value in row.items() if isinstance(value, float) and not math.isfinite(value)]
            print_json({"kind": "trial", **row, **dict.fromkeys(infinite)})
        print_json({"kind": "swept", "sweep": definition.key, "finding": findings.result_finding(definition, plan)})
        return
    _print_table(definition, table)
    finding = findings.result_finding(definition, plan)
    print_wrapped(f"{finding} {findings.result_details(definition, plan)}".strip())
    print_wrapped(findings.rule_sentences(definition))
    if out is not None:
        print(f"{out}, {out.stat().st_size:,} bytes")


def _parse_settings(settings: Sequence[str]) -> tuple[dict[str, object], dict[str, object]]:
    fixed: dict[str, object] = {}
    space: dict[str, object] = {}
    for name, values in split_settings(settings, "KEY=VALUES, e.g. learning_rate=1e-3,3e-3"):
        if name in fixed or name in space:
            raise InvalidSetting(f"--set {name} is given twice. Give all of its values once.")
        (space if "," in values or ":" in values else fixed)[name] = values
    return fixed, space


def _print_table(definition: space.Sweep, table: Any) -> None:
    names = [*definition.names, *_SHOWN, definition.metric, *_SPREAD, "run"]
    rows = [[_format_cell(value) for value in row] for row in table[names].itertuples(index=False)]
    print_columns(names, rows)


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.4g}"
    return str(value)
