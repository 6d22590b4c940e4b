"""Questions that the tests of classes show, and the teacher."""

from __future__ import annotations

from explorer.lessons.lesson import Choice, Question, Scale
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.visitors import Visitor

CHOICE_QUESTION = Question("Which?", (Choice("a", "A"), Choice("b", "B")))
NUMBER_QUESTION = Question("How many?", scale=Scale(0.0, 10.0, 1.0))
SHOWN_QUESTION = ClassroomQuestion("memory", {"length": "10"}, ("memory-symbols",), CHOICE_QUESTION)
SENTENCE_QUESTION = Question("Which sentence?", collects=True)
SHOWN_NUMBER = ClassroomQuestion("memory", {}, (), NUMBER_QUESTION)
SHOWN_SENTENCES = ClassroomQuestion("negation", {}, (), SENTENCE_QUESTION)
TEACHER = Visitor("teacher")
