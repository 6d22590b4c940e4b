"""The command line: train, evaluate and inspect the models from a terminal.

python -m explorer --help
"""

from __future__ import annotations

import os
import sys

import typer

from explorer.cli import lessons as teaching
from explorer.cli import model_commands, run_commands, training
from explorer.errors import LineageError, NeedsText

app = typer.Typer(help=__doc__.splitlines()[0] if __doc__ else None, no_args_is_help=True, add_completion=False)
app.command("list")(run_commands.list_everything)
app.command()(training.train)
app.command()(model_commands.evaluate)
app.command()(model_commands.predict)
app.command()(model_commands.generate)
app.command()(model_commands.inspect)
app.command()(training.pretrain)
app.command("export")(run_commands.export_run)
app.command("import")(run_commands.import_run)
app.command()(run_commands.delete)
app.command()(run_commands.reindex)
app.command()(teaching.lessons)


def main() -> None:
    """Run the command line. A LineageError is printed as one sentence, with exit code 2."""
    # Waiting OpenMP threads yield early. Without this, two threads on a machine with other load can be ten times slower
    # than one; on an idle machine it makes no measurable difference.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        app()
    except LineageError as error:
        nearest = getattr(error, "nearest", {})
        hint = " ".join(f"{word}: {', '.join(known)}." for word, known in nearest.items())
        if isinstance(error, NeedsText):
            hint = "On the command line, give its file with --corpus FILE."
        print(f"{error} {hint}".strip(), file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
