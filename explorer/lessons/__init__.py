"""Teaching lessons: short sequences of predictions, written as YAML and answered by measurements.

Start at `parse.py` (reads `lessons/*.yaml`), `measures.py` (what can be measured) and `grading.py` (the answer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.lessons.grading import Answer as Answer
    from explorer.lessons.grading import grade_step as grade_step
    from explorer.lessons.lesson import Lesson as Lesson
    from explorer.lessons.lesson import Question as Question
    from explorer.lessons.lesson import Step as Step
    from explorer.lessons.measures import MEASURES as MEASURES
    from explorer.lessons.measures import Measure as Measure
    from explorer.lessons.parse import read_lessons as read_lessons
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
