"""Sentences of the page on text and tokens, made from numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from explorer.inspection.language.batch_preview import BatchPreview
from explorer.inspection.language.split_leakage import MANY_WORDS, ORDER, LeakageGap, UnknownWords
from explorer.inspection.language.tokenizers import Kind, Tokenization, TrainedTokenizer, merge_ids
from explorer.number_format import format_units
from explorer.ui.wording import join_words, number_word, percentage

TITLES = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Byte-level BPE"}
ORDERS = {"random": "Random batches", "contiguous": "Contiguous batches"}
_NOTHING = 0.005  # bits a character: too little to show with two digits
_HARDLY = 0.02  # of the loss without leakage: a smaller difference hardly matters


def ratio(value: float) -> str:
    """Return a number with two decimals; "–" for NaN."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def tokenizers_finding(
    corpus: str, per_token: Mapping[Kind, float], unknown: Mapping[Kind, float], exact: Sequence[Kind]
) -> str:
    """Return how many characters a token of each tokenizer holds, and which tokenizers lose information.

    `per_token` are characters per token, `unknown` the shares of unknown tokens, `exact` the tokenizers that return
    the text unchanged.
    """
    parts = [
        f"Of {corpus} a token of BPE holds {ratio(per_token['bpe'])} characters, one of byte-level BPE "
        f"{ratio(per_token['bytes'])}.",
        f"A word holds {ratio(per_token['word'])}"
        + (
            f", but {percentage(unknown['word'])} of them are “<unk>”."
            if unknown["word"] > 0
            else ", and none is unknown."
        ),
    ]
    if len(exact) == len(per_token):
        parts.append("All four give this text back as it was.")
    elif exact:
        parts.append(
            f"Only {join_words([_lower_title(kind) for kind in exact])} give{'s' * (len(exact) == 1)} the text back."
        )
    else:
        parts.append("None of them gives the text back as it was.")
    return " ".join(parts)


def _lower_title(kind: str) -> str:
    """Return the title of a tokenizer as it stands in the middle of a sentence."""
    title = TITLES[kind]
    return title if title == "BPE" else title[0].lower() + title[1:]


def round_trip(tokenization: Tokenization) -> str:
    """Return whether decoding the tokens gives the text back."""
    return "exactly" if tokenization.round_trip.exact else "changed"


def merges_finding(bpe: TrainedTokenizer, size: int) -> str:
    """Return what the merges of BPE did with this text, up to a vocabulary of `size` tokens."""
    merges, tokens = merge_ids(bpe.tokenizer), bpe.tokenizer.tokens
    if not merges:
        return "In this text no two neighbours stand together twice, so nothing is ever merged."
    uses, lengths = bpe.merge_uses, bpe.lengths
    left, right, merged = merges[0]
    merge_count = bpe.nearest_vocabulary(size) - bpe.min_vocabulary
    first = (
        f"Here “{tokens[left]}” stood before “{tokens[right]}” {uses[0]:,} times, more often than any other pair; so "
        f"“{tokens[merged]}” became token {merged:,}, and the text {uses[0]:,} tokens shorter."
    )
    if not merge_count:
        return f"{first} The {lengths[0]:,} tokens of the beginning become {lengths[-1]:,} with all merges."
    return (
        f"{first} After {merge_count:,} merges {lengths[0]:,} tokens have become {lengths[merge_count]:,}. The next "
        f"merges bring less and less: the last one of all joins {uses[-1]:,} pairs."
    )


def batch_finding(preview: BatchPreview, rows: str, context: int) -> str:
    """Return how many positions and targets the first batch has, and what the rows ask for."""
    first = preview.batches[0]
    questions = sum(row.loss_positions for row in first)
    positions = len(first) * context
    padding = sum(not cell.token for row in first for cell in row.cells)
    head = f"{_count(len(first), 'row', number_word(len(first)).capitalize())}, {_count(positions, 'place')}"
    head += f", {_count(questions, 'question')}"
    empty = f"{_count(padding, 'place')} {'is' if padding == 1 else 'are'} padding"
    if rows == "blocks":
        return f"{head}: every position is asked for its next token."
    if rows == "sentences":
        return f"{head}: every token of a line is asked for the next; {empty}."
    return f"{head}: only the last place of a row is asked; {empty}."


def _count(count: int, noun: str, written: str = "") -> str:
    return f"{written} {noun}{'' if count == 1 else 's'}" if written else format_units(count, noun)


def epoch_finding(preview: BatchPreview, rows: str) -> str:
    """Return how many rows an epoch has."""
    whole = f"The part to learn from has {preview.targets:,} targets, and they need {preview.rows:,} rows"
    if rows == "prefixes":
        return f"{whole}: one each. Most of the work is done again and again, since a prefix repeats the one before."
    return f"{whole}, {preview.targets / max(1, preview.rows):.1f} targets a row."


def origin_finding(preview: BatchPreview) -> str:
    """Return where the first row begins in each of the first batches."""
    beginning = f"Row 1 begins at token {join_words([f'{batch[0].position:,}' for batch in preview.batches if batch])}"
    if preview.rows_continue:
        return (
            f"{beginning}: each row goes on where it ended, so a recurrent net may carry its state from step to step."
        )
    return f"{beginning}: every step somewhere else, so nothing can be carried over."


def describe_leak(gap: LeakageGap) -> str:
    """Return by how much a leaky split lowers the loss."""
    if gap.problem:
        return f"{gap.problem} So this leak cannot be measured here; another text may show it."
    where = "Windows at random" if gap.rows == "blocks" else "Single targets of lines at random"
    honest = "an unread end of the text" if gap.rows == "blocks" else "unread lines"
    gain = (gap.clean_bits - gap.leaky_bits) / gap.clean_bits if gap.clean_bits > 0 else 0.0
    numbers = f"{gap.leaky_bits:.2f} bits a character, where {honest} would cost {gap.clean_bits:.2f}"
    if abs(gain) < _HARDLY or abs(gap.clean_bits - gap.leaky_bits) < _NOTHING:
        return f"{where}: {numbers}. Here the leak hardly matters."
    if gain < 0:
        return f"{where}: {numbers}. Here the leaky split is even the harder one, by {-gain:.0%}."
    return f"{where}: {numbers}. The leak flatters the same n-gram by {gain:.0%}."


def describe_unknown_words(found: UnknownWords) -> str:
    """Return whether a tokenizer that has seen the held-out lines knows more of their words."""
    shares = (
        f"of the words of held-out lines {percentage(found.from_all_lines)} are unknown if up to {MANY_WORDS:,} words "
        f"are learned from all lines, and {percentage(found.from_training_lines)} if they are learned from training "
        "lines only"
    )
    if found.from_training_lines > found.from_all_lines:
        return f"A tokenizer can leak too: {shares}."
    return f"The tokenizer leaks nothing here: {shares}."


def leakage_finding(gaps: Sequence[LeakageGap]) -> str:
    """Return the headline: the largest leak, or that there is none."""
    measured = [each for each in gaps if not each.problem]
    if not measured:
        return "This text is too short, or has too few lines, to be split in both ways."
    worst = max(measured, key=lambda each: each.clean_bits - each.leaky_bits)
    if worst.clean_bits - worst.leaky_bits < max(_HARDLY * worst.clean_bits, _NOTHING):
        return f"On this text no leak flatters the n-gram of order {ORDER} by more than a trifle."
    what = "overlapping windows" if worst.rows == "blocks" else "pairs of the same line"
    return (
        f"Split into {what}, the n-gram of order {ORDER} seems to need {worst.leaky_bits:.2f} bits a character. "
        f"Asked honestly it needs {worst.clean_bits:.2f}."
    )
