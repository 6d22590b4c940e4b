"""Writes docs/lesson-format.md: the parts of a lesson file and the measures, as the program checks them.

python -m benchmarks.lesson_format
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from explorer.lessons.file_format import PARTS, Entry, Part
from explorer.lessons.measure import Measure
from explorer.lessons.measures import MEASURES

FILE = Path(__file__).parents[1] / "docs" / "lesson-format.md"
_INTRODUCTION = """# The format of a lesson file

`python -m benchmarks.lesson_format` writes this page from the program that reads lessons; a test compares both.

A lesson is a YAML file in the folder `lessons/`. `lineage lessons FILE` checks a file, also one outside this folder, as
the server does when it starts. It names the line of a mistake, and prints the measured answer of each step next to the
expected one. Every value is read as text: `no` and `1.0` keep their spelling.

Required entries are **bold**.
"""
_MEASURES = """## Measures

A step names a measure (`measure: {name: …}`) and gives its settings. A measure has one value for each seed of a run.
The answer is the median of these values, or the most frequent label. `lineage lessons --measures` prints the same list.
"""


def _kind(entry: Entry) -> str:
    """Return the kind of a value, with a link if it is a part."""
    titles = "|".join(re.escape(part.title) for part in PARTS[1:])
    return re.sub(rf"(?<![\w ])({titles})$|(?<=of )({titles})$|(?<=or )({titles})$", _link, entry.kind)


def _link(found: re.Match[str]) -> str:
    return f"[{found[0]}](#{found[0].lower().replace(' ', '-')})"


def _describe_part(part: Part) -> Iterator[str]:
    yield f"## {part.title}\n\n{part.about}\n"
    yield "| entry | value | meaning |\n| --- | --- | --- |"
    for entry in part.entries:
        name = f"**`{entry.name}`**" if entry.required else f"`{entry.name}`"
        yield f"| {name} | {_kind(entry)} | {entry.about} |"
    if part.others:
        yield f"| further entries | | {part.others} |"
    yield ""


def _describe_measure(measure: Measure) -> Iterator[str]:
    yield f"### {measure.name}\n\n{measure.about}\n"
    yield from (f"- `{name}`: {setting.describe()}" for name, setting in measure.needs.items())
    if measure.labels:
        yield f"- answers: {', '.join(measure.labels)}"
    if measure.real_model:
        yield f"- measures a real {measure.real_model} that is open on this machine"
    if measure.tasks and "run" in measure.needs:
        yield f"- runs of: {', '.join(measure.tasks)}"
    yield ""


def reference() -> str:
    """Return the content of docs/lesson-format.md."""
    lines = [_INTRODUCTION, *(line for part in PARTS for line in _describe_part(part)), _MEASURES]
    return "\n".join([*lines, *(line for measure in MEASURES.values() for line in _describe_measure(measure))])


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
