"""The held-out text of a task, counted in the background for bits per byte."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from explorer.errors import LineageError
from explorer.inspection.language import bits_per_byte
from explorer.tasks.text.config import TextConfig
from explorer.ui.result_section import Request


@dataclass(frozen=True)
class CountedText:
    """The held-out text, and the number of tokens that the tokenizer has."""

    held_out: bits_per_byte.HeldOutText
    vocabulary: int


def count_request(task: TextConfig) -> Request[CountedText | None]:
    """Return key and function for `background.submit`; the result is None where the rows cannot be made."""
    return ("held-out text", task.text, task), partial(_count, task)


def _count(task: TextConfig) -> CountedText | None:
    from explorer.tasks.text.rows import text_data

    try:
        return CountedText(bits_per_byte.held_out_text(task), text_data(task).vocabulary)
    except LineageError:  # where the rows cannot be made, the training itself says why
        return None
