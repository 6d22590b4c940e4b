"""Writes docs/claims.md: every claim of the pages and lessons with its measure, figure, spread over seeds and run.

    python -m benchmarks.claims [--check]

The figures are computed from the included runs, by the measures of the lessons and of claim_measures.py. Every step of
a lesson is a claim, and claims.yaml has those of the pages. Some need Tiny Shakespeare (LINEAGE_DATA_DIR). With
--check nothing is written: exit with 1 if a claim does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
import yaml

from benchmarks import claim_measures
from explorer.lessons.measures import find_measure, measure
from explorer.lessons.parse import read_lessons
from explorer.number_format import format_rounded

FILE = Path(__file__).parents[1] / "docs" / "claims.md"
_HEAD = """# Claims

`python -m benchmarks.claims` writes this page from the included runs. “Value” is the median over the seeds (or over
generated texts), with the lowest and the highest value in parentheses. “Holds” says whether this value lies in the
expected range.

| Claim | Shown on | Measure | Run | Value | Expected | Holds |
| --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Claim:
    """A sentence of a page, and the measure whose median must lie in a range."""

    page: str
    text: str
    measure: str  # of lessons, or of claim_measures.py
    settings: dict[str, str]
    low: float
    high: float
    needs_text: bool  # whether it is measured on Tiny Shakespeare


def read_claims() -> Iterator[Claim]:
    """Yield the claims of the pages, in the order of the file."""
    pages = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    for page, claims in pages.items():
        for row in claims:
            settings = {name: str(value) for name, value in row.get("settings", {}).items()}
            text, needs_text = row["claim"], row.get("needs_text", False)
            yield Claim(page, text, row["measure"], settings, *row["expected"], needs_text)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _spread(values: list[float]) -> str:
    middle = format_rounded(median(values))
    return middle if len(values) == 1 else f"{middle} ({format_rounded(min(values))} to {format_rounded(max(values))})"


def measure_claim(claim: Claim) -> list[float]:
    """Return the values of a claim: one for each seed, or one."""
    if claim.measure in claim_measures.MEASURES:
        return claim_measures.MEASURES[claim.measure](claim.settings)
    found = measure(claim.measure, find_measure(claim.measure).parse_settings(claim.settings))
    return [float(value) for value in found]


def page_rows(needs_text: bool | None = None) -> Iterator[tuple[str, bool]]:
    """Measure the claims of the pages; yield a row of the table and whether the claim holds.

    `needs_text`: only the claims that are measured on Tiny Shakespeare, or only the others.
    """
    for claim in read_claims():
        if needs_text is not None and claim.needs_text != needs_text:
            continue
        values = measure_claim(claim)
        holds = claim.low <= median(values) <= claim.high
        expected = f"{claim.low:g} to {claim.high:g}"
        measured = " ".join((claim.measure, *(v for k, v in claim.settings.items() if k != "run")))
        run = claim.settings.get("run", "none")
        yield _row((claim.text, claim.page, measured, run, _spread(values), expected, "yes" if holds else "no")), holds


def lesson_rows() -> Iterator[tuple[str, bool]]:
    """Measure the steps of all lessons; yield a row of the table and whether the expected answer holds."""
    from explorer.lessons.grading import describe_measurement, grade_step

    for lesson in read_lessons():
        for number, step in enumerate(lesson.steps, start=1):
            if step.real_model:  # their figures are those of benchmarks/real_models.py
                continue
            answer = grade_step(step, measure)
            expected = step.expects if isinstance(step.expects, str) else "{:g} to {:g}".format(*step.expects)
            value = describe_measurement(step, answer).removeprefix("Measured: ")
            shown, runs = f"lesson {lesson.name}, step {number}", ", ".join(answer.runs) or "none"
            cells = (step.question.text, shown, step.measurement.measure.name, runs, value, expected)
            yield _row((*cells, "yes" if answer.agrees else "no")), answer.agrees


def main(check: Annotated[bool, typer.Option("--check", help="Write nothing.")] = False) -> None:
    """Write docs/claims.md. Exit with 1 if a claim does not hold."""
    rows = [*page_rows(), *lesson_rows()]
    if not check:
        FILE.write_text(_HEAD + "\n".join(row for row, _ in rows) + "\n", encoding="utf-8")
    failed = [row for row, holds in rows if not holds]
    print(f"{len(rows) - len(failed)} of {len(rows)} claims hold", *failed, sep="\n")
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
