"""Writes docs/claims.md: every claim of the pages and lessons with its measure, figure, spread over seeds and run.

    python -m benchmarks.claims [--check]

The figures are computed from the included runs, by the measures of the lessons. Every step of a lesson is a claim, and
CLAIMS has those of the pages. With --check nothing is written: exit with 1 if a claim does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from explorer.lessons.measure import measure
from explorer.lessons.measures import find_measure
from explorer.lessons.parse import read_lessons
from explorer.number_format import format_rounded

FILE = Path(__file__).parents[1] / "docs" / "claims.md"
_HEAD = """# Claims

Written by `python -m benchmarks.claims`, from the included runs. Value: the median, in parentheses lowest to highest of
the seeds (or samples). Holds: whether it lies in the range that is expected.

| Claim | Shown on | Measure | Run | Value | Expected | Holds |
| --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Claim:
    """A sentence, and the measure whose median must lie in a range."""

    text: str
    page: str
    measure: str
    settings: dict[str, str] = field(hash=False)
    low: float
    high: float


def _score(run: str, metric: str) -> dict[str, str]:
    return {"run": run, "metric": metric}


CLAIMS = (
    Claim(
        "A linear readout of word counts stays at its ceiling of 0.883.",
        "negation",
        "score",
        _score("negation-single-bag_of_words", "exact_accuracy"),
        0.88,
        0.8834,
    ),
    Claim(
        "With a hidden layer over the same word counts, every sentence is right with all 8 seeds.",
        "negation",
        "reached",
        {**_score("negation-single-bag_of_words_hidden", "exact_accuracy"), "least": "0.999"},
        8,
        8,
    ),
    Claim(
        "Without positions at most the more frequent symbol is known: 0.556 at 50 symbols.",
        "memory",
        "score",
        _score("recall-50-transformer-none", "accuracy"),
        0.45,
        0.60,
    ),
    Claim(
        "The GRU with open gates names the first of 50 symbols with all 8 seeds.",
        "memory",
        "solved",
        {"run": "recall-50-gru-chrono"},
        8,
        8,
    ),
    Claim(
        "An untrained RNN hardly passes a gradient over 50 symbols (first over last).",
        "memory",
        "gradient",
        {"run": "recall-50-rnn-usual", "step": "0"},
        0,
        1e-9,
    ),
    Claim(
        "With attention rows of 20 digits are reversed.",
        "translation",
        "at_length",
        {"run": "reverse-additive", "length": "20"},
        0.9,
        1,
    ),
    Claim(
        "With one vector of 64 numbers they are not.",
        "translation",
        "at_length",
        {"run": "reverse-vector", "length": "20"},
        0,
        0.05,
    ),
    Claim(
        "Rotary positions fail two digits beyond the training.",
        "positions",
        "at_length",
        {"run": "echo-rotary", "length": "14"},
        0,
        0.1,
    ),
    Claim(
        "Without the causal mask the loss on random letters is below ln 19 = 2.944 nats.",
        "masks",
        "score",
        _score("noise-open", "loss"),
        0,
        2.9,
    ),
    Claim(
        "Letter by letter the same model is worse than guessing.",
        "masks",
        "score",
        _score("noise-open", "prefix_loss"),
        2.945,
        20,
    ),
    Claim(
        "An encoder with attention names the right sense.", "sentences", "score", _score("gloss-two", "sense"), 0.9, 1
    ),
    Claim("Without attention it guesses.", "sentences", "score", _score("gloss-alone", "sense"), 0.45, 0.55),
    Claim(
        "Perplexity per character of the n-gram of order 6 in blocks of 64.",
        "text",
        "score",
        _score("text-ngram", "perplexity"),
        1,
        8,
    ),
    Claim(
        "With two layers the second copy of random symbols is continued with all 8 seeds.",
        "induction",
        "reached",
        _score("induction-two", "accuracy"),
        8,
        8,
    ),
    Claim(
        "With one layer the loss there is that of knowing which symbols occur, 2.23 nats.",
        "induction",
        "score",
        _score("induction-one", "second_copy_loss"),
        1.8,
        2.5,
    ),
    Claim(
        "With two layers and without the previous-token head it is as high, or higher.",
        "induction",
        "loss_without",
        {"run": "induction-two", "role": "previous"},
        2,
        6,
    ),
    Claim(
        "Without the induction head it is too.",
        "induction",
        "loss_without",
        {"run": "induction-two", "role": "induction"},
        2,
        6,
    ),
    Claim(
        "Without a head beside the previous-token head it is lower.",
        "induction",
        "loss_without",
        {"run": "induction-two", "role": "previous_control"},
        0,
        2,
    ),
)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _spread(values: list[float]) -> str:
    middle = format_rounded(median(values))
    return middle if len(values) == 1 else f"{middle} ({format_rounded(min(values))} to {format_rounded(max(values))})"


def page_rows() -> Iterator[tuple[str, bool]]:
    """Measure the claims of the pages; yield a row of the table and whether the claim holds."""
    for claim in CLAIMS:
        found = measure(claim.measure, find_measure(claim.measure).parse_settings(claim.settings))
        values = [float(value) for value in found]
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
