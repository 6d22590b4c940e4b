"""Sentences of the page about text and tokens, made from its numbers; also where they are not what one hoped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from explorer.inspection.leaks import ORDER, Leak
from explorer.inspection.rows import Cut
from explorer.inspection.tokens import Fitted, Kind, Reading, merge_ids
from explorer.ui.findings import listed, number

TITLES = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Byte-level BPE"}
ORDERS = {"random": "Random batches", "contiguous": "Contiguous batches"}
_NOTHING = 0.005  # bits a character that two digits do not show
HARDLY = 0.02  # of the honest score: a difference that hardly matters


def rate(share: float) -> str:
    """A share in percent; what is not zero never looks like it."""
    if math.isnan(share):
        return "–"
    if share == 0:
        return "none"
    return "< 0.1\u00a0%" if share < 0.0005 else f"{100 * share:.1f}\u00a0%"


def ratio(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def four_ways(
    corpus: str, per_token: Mapping[Kind, float], unknown: Mapping[Kind, float], exact: Sequence[Kind]
) -> str:
    """Who says how much in a token, and who loses what."""
    parts = [
        f"Of {corpus} a token of BPE holds {ratio(per_token['bpe'])} characters, one of byte-level BPE "
        f"{ratio(per_token['bytes'])}.",
        f"A word holds {ratio(per_token['word'])}"
        + (f", but {rate(unknown['word'])} of them are “<unk>”." if unknown["word"] > 0 else ", and none is unknown."),
    ]
    if len(exact) == len(per_token):
        parts.append("All four give this text back as it was.")
    elif exact:
        parts.append(f"Only {listed([_inside(kind) for kind in exact])} give{'s' * (len(exact) == 1)} the text back.")
    else:
        parts.append("None of them gives the text back as it was.")
    return " ".join(parts)


def _inside(kind: str) -> str:
    """The name of a tokenizer in the middle of a sentence."""
    title = TITLES[kind]
    return title if title == "BPE" else title[0].lower() + title[1:]


def comes_back(found: Reading) -> str:
    """Whether a text survives the way to tokens and back."""
    return "exactly" if found.back.exact else "changed"


def first_merges(bpe: Fitted, size: int) -> str:
    """What the formula of the merges did with this text."""
    merges, tokens = merge_ids(bpe.tokenizer), bpe.tokenizer.tokens
    if not merges:
        return "In this text no two neighbours stand together twice, so nothing is ever merged."
    used, lengths = bpe.uses, bpe.lengths
    left, right, merged = merges[0]
    here = bpe.size(size) - bpe.least
    first = (
        f"Here “{tokens[left]}” stood before “{tokens[right]}” {used[0]:,} times, more often than any other pair; so "
        f"“{tokens[merged]}” became token {merged:,}, and the text {used[0]:,} tokens shorter."
    )
    if not here:
        return f"{first} The {lengths[0]:,} tokens of the beginning become {lengths[-1]:,} with all merges."
    return (
        f"{first} After {here:,} merges {lengths[0]:,} tokens have become {lengths[here]:,}. The next merges bring "
        f"less and less: the last one of all joins {used[-1]:,} pairs."
    )


def asked(cut: Cut, rows: str, context: int) -> str:
    """How many questions the first batch asks, and what that means for the whole text."""
    first = cut.batches[0]
    questions = sum(row.asked for row in first)
    places = len(first) * context
    padding = sum(not cell.token for row in first for cell in row.cells)
    head = f"{_many(len(first), 'row', number(len(first)).capitalize())}, {_many(places, 'place')}"
    head += f", {_many(questions, 'question')}"
    empty = f"{_many(padding, 'place')} {'is' if padding == 1 else 'are'} padding"
    if rows == "blocks":
        return f"{head}: every position is asked for its next token."
    if rows == "sentences":
        return f"{head}: every token of a line is asked for the next; {empty}."
    return f"{head}: only the last place of a row is asked; {empty}."


def _many(count: int, noun: str, written: str = "") -> str:
    return f"{written or format(count, ',')} {noun}{'' if count == 1 else 's'}"


def in_all(cut: Cut, rows: str) -> str:
    """What it takes to ask everything once."""
    whole = f"The part to learn from has {cut.targets:,} targets, and they need {cut.rows:,} rows"
    if rows == "prefixes":
        return f"{whole}: one each. Most of the work is done again and again, since a prefix repeats the one before."
    return f"{whole}, {cut.targets / max(1, cut.rows):.1f} targets a row."


def origin(cut: Cut) -> str:
    """Where one row of the batch comes from, step by step."""
    said = f"Row 1 begins at token {listed([f'{batch[0].place:,}' for batch in cut.batches if batch])}"
    if cut.goes_on:
        return f"{said}: each row goes on where it ended, so a recurrent net may carry its state from step to step."
    return f"{said}: every step somewhere else, so nothing can be carried over."


def leak(found: Leak) -> str:
    """How much a split flatters, as measured."""
    if found.problem:
        return f"{found.problem} So this leak cannot be measured here; another text may show it."
    where = "Windows at random" if found.rows == "blocks" else "Single targets of lines at random"
    honest = "an unread end of the text" if found.rows == "blocks" else "unread lines"
    gain = (found.honest - found.leaky) / found.honest if found.honest > 0 else 0.0
    numbers = f"{found.leaky:.2f} bits a character, where {honest} would cost {found.honest:.2f}"
    if abs(gain) < HARDLY or abs(found.honest - found.leaky) < _NOTHING:
        return f"{where}: {numbers}. Here the leak hardly matters."
    if gain < 0:
        return f"{where}: {numbers}. Here the leaky split is even the harder one, by {-gain:.0%}."
    return f"{where}: {numbers}. The leak flatters the same counts by {gain:.0%}."


def leaks_heading(found: Sequence[Leak]) -> str:
    """The finding above both."""
    measured = [each for each in found if not each.problem]
    if not measured:
        return "This text is too short, or has too few lines, to be split in both ways."
    worst = max(measured, key=lambda each: each.honest - each.leaky)
    if worst.honest - worst.leaky < max(HARDLY * worst.honest, _NOTHING):
        return f"On this text no leak flatters the n-gram of order {ORDER} by more than a trifle."
    what = "overlapping windows" if worst.rows == "blocks" else "pairs of the same line"
    return (
        f"Split into {what}, the n-gram of order {ORDER} seems to need {worst.leaky:.2f} bits a character. "
        f"Asked honestly it needs {worst.honest:.2f}."
    )
