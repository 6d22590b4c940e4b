"""Whether the answers of the lessons hold with seeds that nobody saw.

    LINEAGE_HOME=FOLDER python -m benchmarks.lessons [NAME ...] [--draws 10] [--draw N] [--seconds 20]

Trains every run that the lessons measure anew in each draw (see draws.py) and measures every step again. Runs on Tiny
Shakespeare need it (LINEAGE_DATA_DIR).
"""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks import draws
from benchmarks.claims import lesson_claims
from explorer.errors import InvalidSetting
from explorer.lessons.parse import read_lessons


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Names of lessons. Default: all.")] = None,
    count: Annotated[int, draws.COUNT] = 10,
    draw: Annotated[int | None, draws.DRAW] = None,
    seconds: Annotated[float, draws.SECONDS] = 20,
) -> None:
    """Grade every step of the lessons in each draw. Exit with 1 if an answer does not hold."""
    known = [lesson.name for lesson in read_lessons()]
    if unknown := set(names or ()) - set(known):
        raise InvalidSetting(f"There is no lesson {', '.join(unknown)}. There is {', '.join(known)}.")
    chosen = tuple(f"lesson {name}, " for name in names or known)
    claims = [claim for claim in lesson_claims() if claim.shown.startswith(chosen)]
    draws.report(claims, draws.measure_claims(claims, draws.choose_draws(count, draw), seconds), seconds)


if __name__ == "__main__":
    typer.run(main)
