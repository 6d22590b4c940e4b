"""Check what a sentence of the app states, and leave its wording free."""

from __future__ import annotations

import re

GAP = "…"
_NUMBERS = r"[0-9⁰¹²³⁴⁵⁶⁷⁸⁹]"
_NEGATIONS = r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot)\b|n[’']t\b"
_OTHER_WORDS = rf"(?:(?!{_NUMBERS}|{_NEGATIONS}).)*?"


def _pattern(statement: str) -> str:
    """Return the regular expression of a statement: its parts in their order, with other words between them."""
    patterns = []
    for part in filter(None, (part.strip() for part in statement.split(GAP))):
        begins = r"(?<!\w)(?<![0-9][.,])(?<!−)" if part[0].isalnum() else ""
        ends = r"(?!\w)(?![.,][0-9])" if part[-1].isalnum() else ""
        words = r"\s+".join(re.escape(word) for word in part.split())
        patterns.append(f"{begins}{words}{ends}")
    return _OTHER_WORDS.join(patterns)


def _unescaped(text: str) -> str:
    """Return a text as it is read: without the backslashes that Markdown needs before punctuation."""
    return re.sub(r"\\([^a-zA-Z,;\s])", r"\1", text)


def assert_states(text: str, statement: str) -> None:
    """Check that a text states this and nothing else that counts.

    `statement` holds the parts that matter (numbers with their units, names, key words) in their order, with “…” where
    any words may stand: "GRU … 1.500 nats … n-gram … 1.600". The words that it leaves free, also those before and after
    it, contain no other number and no other negation; so a wrong number and a missing or an additional “not” fail. The
    empty statement is that of an empty text.
    """
    if not statement:
        assert text == ""
        return
    found = re.fullmatch(f"{_OTHER_WORDS}{_pattern(statement)}{_OTHER_WORDS}", _unescaped(text), re.DOTALL)
    assert found, f"The text\n  {text}\ndoes not state\n  {statement}"


def assert_mentions(text: str, statement: str) -> None:
    """Check that a part of a text makes this statement; what stands before and after it is free (see assert_states)."""
    assert statement
    assert re.search(_pattern(statement), _unescaped(text), re.DOTALL), f"The text\n  {text}\nlacks\n  {statement}"
