"""Writes docs/claims.md: every claim of the pages and lessons, its measure, and in how many draws of seeds it held.

    LINEAGE_HOME=FOLDER python -m benchmarks.claims [--draws 10] [--draw N] [--seconds 20] [--check]

Every step of a lesson is a claim, and claims.yaml has those of the pages. They are measured by the measures of the
lessons and of claim_measures.py, from the included runs and from draws (draws.py): from the same trainings with seeds
that nobody saw. With `--draws 0` nothing is trained, and what earlier draws found stays in the table. With --check
nothing is written. Exit with 1 if a claim does not hold. Some claims need Tiny Shakespeare (LINEAGE_DATA_DIR).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
import yaml

from benchmarks import claim_measures, draws
from benchmarks.draws import Claim, DrawResults
from explorer.experiments.recall import SWEEP_LENGTHS
from explorer.lessons.grading import describe_measurement, grade_step
from explorer.lessons.lesson import Step
from explorer.lessons.measures import find_measure, measure
from explorer.lessons.parse import read_lessons
from explorer.number_format import format_rounded

FILE = Path(__file__).parents[1] / "docs" / "claims.md"
_HEAD = """# Claims

`python -m benchmarks.claims` writes this page. “Value” is the median over the seeds of the included runs (or over
generated texts), with the lowest and the highest value in parentheses. “Holds” says whether this value lies in the
expected range. “Draws” says with how many sets of seeds it does: those of the included runs and those of the last
draws, `{draws}`. A claim has to hold with nine of ten.
“–”: it rests on no run that has other seeds. “long”: the training takes too long for draws.

| Claim | Shown on | Measure | Run | Value | Expected | Holds | Draws |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def _spread(values: list[float]) -> str:
    middle = format_rounded(median(values))
    return middle if len(values) == 1 else f"{middle} ({format_rounded(min(values))} to {format_rounded(max(values))})"


def page_claims() -> Iterator[Claim]:
    """Yield the claims of claims.yaml, in the order of the file."""
    pages = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return (_page_claim(page, row) for page, rows in pages.items() for row in rows)


def _page_claim(page: str, row: Mapping[str, Any]) -> Claim:
    settings = {name: str(value) for name, value in row.get("settings", {}).items()}
    low, high = row["expected"]
    described = " ".join((row["measure"], *(value for name, value in settings.items() if name != "run")))
    if variant := settings.get("variant"):
        settings["run"] = " ".join(f"recall-{length}-{variant}" for length in SWEEP_LENGTHS)

    def evaluate(keys: Mapping[str, str]) -> tuple[str, bool]:
        values = measure_values(row["measure"], settings, keys)
        return _spread(values), low <= median(values) <= high

    runs, expected = draws.runs_in([settings]), f"{low:g} to {high:g}"
    return Claim(row["claim"], page, described, expected, runs, evaluate, row.get("needs_text", False))


def measure_values(name: str, settings: Mapping[str, str], keys: Mapping[str, str]) -> list[float]:
    """Return the values of a measure of a page's claim, one for each seed, or one; `keys` replace names of runs."""
    if name in claim_measures.MEASURES:
        return claim_measures.MEASURES[name](draws.rename_runs(settings, keys))
    parsed = find_measure(name).parse_settings(settings)  # which takes names of included runs only
    return [float(value) for value in measure(name, draws.rename_runs(parsed, keys))]


def lesson_claims() -> Iterator[Claim]:
    """Yield the steps of all lessons, but for those of real models: benchmarks/real_models.py has their figures."""
    for lesson in read_lessons():
        for number, step in enumerate(lesson.steps, start=1):
            if not step.real_model:
                yield _lesson_claim(f"lesson {lesson.name}, step {number}", step)


def _lesson_claim(shown: str, step: Step) -> Claim:
    subjects = step.measurement.subjects

    def evaluate(keys: Mapping[str, str]) -> tuple[str, bool]:
        drawn = tuple(replace(each, settings=draws.rename_runs(each.settings, keys)) for each in subjects)
        answer = grade_step(replace(step, measurement=replace(step.measurement, subjects=drawn)), measure)
        is_only_answer = answer.agrees and len(answer.right) <= 1
        return describe_measurement(step, answer).removeprefix("Measured: "), is_only_answer

    expected = step.expects if isinstance(step.expects, str) else "{:g} to {:g}".format(*step.expects)
    runs = draws.runs_in(each.settings for each in subjects)
    return Claim(step.question.text, shown, step.measurement.measure.name, expected, runs, evaluate)


def format_row(claim: Claim, found: DrawResults) -> str:
    """Return the row of a claim, without its last cell."""
    runs, holds = ", ".join(claim.runs) or "none", "yes" if found.held[0] else "no"
    cells = (claim.text, claim.shown, claim.measure, runs, found.values[0], claim.expected, holds)
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _format_table(claims: Sequence[Claim], found: Sequence[DrawResults], described: str) -> str:
    """Return docs/claims.md. Without draws, what the last ones found stays in each row whose other figures stay."""
    before = "" if described else FILE.read_text("utf-8")
    old = (line.strip("| ").split(" | ") for line in before.splitlines() if line.count(" | ") == 7)
    known = {tuple(cells[1:-1]): cells[-1] for cells in old}
    rows = []
    for claim, each in zip(claims, found, strict=True):
        row = format_row(claim, each)
        held = each.count or ("long" if claim.seeded_runs else "–")
        rows.append(f"{row} {known.get(tuple(row.strip('| ').split(' | ')[1:]), held)} |")
    last = described or (re.findall(r"`(--draw [^`]+)`", before) or ["none"])[0]
    return _HEAD.format(draws=last) + "\n".join(rows) + "\n"


def main(
    count: Annotated[int, draws.COUNT] = 10,
    draw: Annotated[int | None, draws.DRAW] = None,
    seconds: Annotated[float, draws.SECONDS] = 20,
    check: Annotated[bool, typer.Option("--check", help="Write nothing.")] = False,
) -> None:
    """Measure all claims, and write docs/claims.md. Exit with 1 if one does not hold."""
    claims = [*page_claims(), *lesson_claims()]
    drawn = draws.choose_draws(count, draw)
    found = draws.measure_claims(claims, drawn, seconds)
    if not check:
        described = f"--draw {drawn.start} --draws {count} --seconds {seconds:g}" * bool(count)
        FILE.write_text(_format_table(claims, found, described), encoding="utf-8")
    draws.report(claims, found, seconds)


if __name__ == "__main__":
    typer.run(main)
