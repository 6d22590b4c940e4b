"""Everything a visitor can cause, in one tree. Each message says what was given, what is possible, what to do.

LineageError
├── SentenceError
│   ├── EmptySentence
│   ├── SentenceTooLong
│   └── UnknownWords
├── TextError
│   ├── NeedsText
│   └── CorpusMissing
├── InvalidSetting
├── Diverged
├── NotAllowed
├── StoreError
└── RunError
    ├── UnknownRun
    └── DamagedRun
"""

from __future__ import annotations


class LineageError(Exception):
    """Caused from outside (a form, an address, the command line, a file); its text may be shown as it is."""


class SentenceError(LineageError):
    """A typed sentence that no model can be asked about."""


class EmptySentence(SentenceError):
    """Nothing is left of the text once spaces and punctuation are gone."""


class SentenceTooLong(SentenceError):
    """More words than the models are asked to read."""


class UnknownWords(SentenceError):
    """Words outside the vocabulary, each with the nearest known ones."""

    def __init__(self, message: str, nearest: dict[str, tuple[str, ...]]):
        super().__init__(message)
        self.nearest = nearest


class TextError(LineageError):
    """A text that nothing can be learned from: unreadable, too long, too short for what is asked of it.

    `reason` is the message without its advice, for a place where that cannot be followed.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason} {advice}".strip())
        self.reason = reason


class NeedsText(TextError):
    """A run on a visitor's own text, which is not in this process."""


class CorpusMissing(TextError):
    """A corpus that is neither on this machine nor could be downloaded."""


class InvalidSetting(LineageError):
    """A setting with a name or a value that is not possible."""


class Diverged(LineageError):
    """A training whose numbers became infinite or undefined."""


class NotAllowed(LineageError):
    """Somebody else's training or run."""


class StoreError(LineageError):
    """Runs cannot be kept or listed now: the disk is full, the database is locked, a limit is reached."""


class RunError(LineageError):
    """A run that cannot be opened."""


class UnknownRun(RunError):
    """No run of this name or key on this machine."""


class DamagedRun(RunError):
    """A run folder whose files do not fit together."""


def shortened(given: object, most: int = 40) -> str:
    """Text from outside, as a message may repeat it: on one line and not too long."""
    text = "".join(char if char.isprintable() else " " for char in str(given))
    return text if len(text) <= most else text[: most - 1] + "…"
