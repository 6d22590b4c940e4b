"""The errors that user input can cause. Each message names the given value, the possible values and a remedy."""

from __future__ import annotations

from typing import Self


class LineageError(Exception):
    """An error caused by user input (a form, a URL, the command line, a file). Its message may be shown to users."""

    def for_operator(self, advice: str) -> Self:
        """Add what only whoever started the program can do: the terminal and Python show it, a page does not."""
        self.add_note(advice)
        return self


class SentenceError(LineageError):
    """A typed sentence that no model can read."""


class EmptySentence(SentenceError):
    """The text contains nothing but spaces and punctuation."""


class SentenceTooLong(SentenceError):
    """The sentence has more words than the limit."""


class UnknownWords(SentenceError):
    """Words outside the vocabulary; `nearest` maps each to the words of the vocabulary with the most similar spelling.

    `reason` is the message without these words, which it names for the first three unknown words.
    """

    def __init__(self, reason: str, nearest: dict[str, tuple[str, ...]]):
        similar = [f"Known words like “{shorten(word, 24)}”: {', '.join(nearest[word])}." for word in list(nearest)[:3]]
        super().__init__(" ".join((reason, *similar)))
        self.reason = reason
        self.nearest = nearest


class TextError(LineageError):
    """A text that cannot be trained on: unreadable, too long, or too short for the settings.

    `reason` is the message without its advice, for places where the advice does not apply.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason} {advice}".strip())
        self.reason = reason


class NeedsText(TextError):
    """A run on a user's own text, which this process does not have."""


class CorpusMissing(TextError):
    """A corpus that is not on this machine and could not be downloaded."""


class InvalidSetting(LineageError):
    """A setting with an unknown name or an impossible value."""


class LimitExceeded(LineageError):
    """A training that needed more memory or more time than the server gives to one training."""


class Diverged(LineageError):
    """A training whose numbers became infinite or undefined."""


class NotAllowed(LineageError):
    """An operation on the training or run of another visitor."""


class TooManyRequests(LineageError):
    """More requests than a rate limit allows; `seconds` is the time until the next one is possible."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class StoreError(LineageError):
    """Runs cannot be stored or listed now: the disk is full, the database is locked, or a limit is reached.

    Its message contains nothing that a visitor has typed, so the log may show it.
    """

    has_loggable_message = True


class UnknownSweep(LineageError):
    """No sweep of this key in the database."""


class RunError(LineageError):
    """A run that cannot be loaded."""


class UnknownRun(RunError):
    """No run of this name or key on this machine."""


class DamagedRun(RunError):
    """A run folder whose files do not fit together."""


def shorten(given: object, most: int = 40) -> str:
    """Return a value as text for a message: on one line, truncated to `most` characters."""
    text = "".join(char if char.isprintable() else " " for char in str(given))
    return text if len(text) <= most else text[: most - 1] + "…"
