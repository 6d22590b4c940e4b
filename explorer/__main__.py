"""The command line: the same trainings and answers as in the browser, from a terminal.

python -m explorer --help
"""

from __future__ import annotations

import os
import sys

import typer

from explorer.commands import asking, keeping, training
from explorer.commands import lessons as teaching
from explorer.errors import LineageError, NeedsText

app = typer.Typer(help=__doc__.splitlines()[0] if __doc__ else None, no_args_is_help=True, add_completion=False)
app.command("list")(keeping.list_everything)
app.command()(training.train)
app.command()(asking.evaluate)
app.command()(asking.predict)
app.command()(asking.generate)
app.command()(asking.inspect)
app.command()(training.pretrain)
app.command("export")(keeping.export_run)
app.command("import")(keeping.import_run)
app.command()(keeping.delete)
app.command()(keeping.reindex)
app.command()(teaching.lessons)


def main() -> None:
    """Run the command line; what a user caused is said in one sentence."""
    # Threads of torch that wait for each other soon let others work. Without this, two threads on a machine whose cores
    # others use too may be ten times slower than one; on a quiet machine it costs nothing that can be measured.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        app()
    except LineageError as error:
        nearest = getattr(error, "nearest", {})
        hint = " ".join(f"{word}: {', '.join(known)}." for word, known in nearest.items())
        if isinstance(error, NeedsText):
            hint = "Here: name its file, --corpus FILE."
        print(f"{error} {hint}".strip(), file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
