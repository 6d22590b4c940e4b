"""Train, evaluate and inspect small neural networks from a terminal.

Without a command, the app opens in the browser.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from explorer import __version__
from explorer.cli import (
    app_server,
    completion,
    inspect_command,
    lessons,
    model_commands,
    predict_command,
    real_models,
    run_commands,
    settings,
    sweeps,
    training,
)
from explorer.cli.examples import EXAMPLES, PROGRAM
from explorer.cli.program import EXIT_CODES, Command, Group, format_examples, run_program

app = typer.Typer(
    help=__doc__,
    epilog=f"{format_examples(PROGRAM)}\n\n{EXIT_CODES}",
    cls=Group,
    rich_markup_mode=None,  # plain text looks the same on every terminal and in a file
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "app": app_server.open_app,
    "list": run_commands.list_runs,
    "settings": settings.settings,
    "train": training.train,
    "sweep": sweeps.sweep,
    "evaluate": model_commands.evaluate,
    "predict": predict_command.predict,
    "generate": model_commands.generate,
    "inspect": inspect_command.inspect,
    "export": run_commands.export_run,
    "import": run_commands.import_run,
    "delete": run_commands.delete,
    "open": real_models.open_model,
    "close": real_models.close_models,
    "lessons": lessons.lessons,
    "where": run_commands.print_folders,
    "reindex": run_commands.reindex,
    "pretrain": training.pretrain,
}
for name, command in COMMANDS.items():
    app.command(name, cls=Command, epilog=format_examples(EXAMPLES[name]))(command)


def _print_version(given: bool) -> None:
    if given:
        print(f"lineage {__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train, evaluate and inspect small neural networks from a terminal.

    Without a command, the app opens in the browser.
    """


def main() -> None:
    """Run the command line; see `explorer.cli.program`."""
    atexit.register(gc.freeze)  # the objects of torch need not be collected when the process ends: that takes 0.4 s
    with completion.whole_words_of_bash():
        sys.exit(run_program(app, sys.argv[1:] or ["app"]))


if __name__ == "__main__":
    main()
