"""Sentences of the page on text and tokens, made from numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from explorer.errors import shorten
from explorer.inspection.language.batch_preview import BatchPreview, Rows
from explorer.inspection.language.split_leakage import MANY_WORDS, ORDER, LeakageGap, UnknownWords
from explorer.inspection.language.tokenizers import Kind, Tokenization, TrainedTokenizer, merge_ids
from explorer.number_format import format_units
from explorer.ui.wording import join_words, number_word, percentage

TITLES = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Byte-level BPE"}
ORDERS = {"random": "Random batches", "contiguous": "Contiguous batches"}
_MOST_UNKNOWN = 3  # unknown parts that are named
_NOTHING = 0.005  # bits a character: too little to show with two digits
_HARDLY = 0.02  # of the loss without leakage: a smaller difference hardly matters


def ratio(value: float) -> str:
    """Return a number with two decimals; "–" for NaN."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def tokenizers_finding(corpus: str, per_token: Mapping[Kind, float], unknown: Mapping[Kind, float], words: int) -> str:
    """Return how many characters a token of BPE holds, and how many words a vocabulary of so many words lacks.

    `per_token` are characters per token, `unknown` the shares of unknown tokens.
    """
    lacks = f"lacks {percentage(unknown['word'])} of the words" if unknown["word"] > 0 else "lacks no word"
    return f"In {corpus}, a BPE token has {ratio(per_token['bpe'])} characters; a word vocabulary of {words:,} {lacks}."


def round_trip(tokenization: Tokenization) -> str:
    """Return whether decoding the tokens gives the text back."""
    return "exact" if tokenization.round_trip.exact else "changed"


def merges_finding(bpe: TrainedTokenizer, size: int) -> str:
    """Return what the merges of BPE did with this text, up to a vocabulary of `size` tokens."""
    merges, tokens = merge_ids(bpe.tokenizer), bpe.tokenizer.tokens
    if not merges:
        return "In this text no pair of neighbours occurs twice, so nothing is merged."
    uses, lengths = bpe.merge_uses, bpe.lengths
    left, right, merged = merges[0]
    merge_count = bpe.nearest_vocabulary(size) - bpe.min_vocabulary
    first = (
        f"In this text “{tokens[left]}” comes before “{tokens[right]}” {uses[0]:,} times, the most frequent pair; so "
        f"“{tokens[merged]}” becomes token {merged:,}, and the text becomes {uses[0]:,} tokens shorter."
    )
    return (
        f"{first} After {merge_count:,} merges the text has {lengths[merge_count]:,} tokens instead of {lengths[0]:,}. "
        f"Later merges save less: the last one replaces {uses[-1]:,} pairs."
    )


def batch_finding(preview: BatchPreview, rows: Rows, context: int) -> str:
    """Return how many positions and targets the first batch has, and which targets the rows have."""
    first = preview.batches[0]
    padding = sum(not cell.token for row in first for cell in row.cells)
    counts = (
        f"{number_word(len(first)).capitalize()} row{'s' * (len(first) != 1)}",
        format_units(len(first) * context, "position"),
        format_units(sum(row.loss_positions for row in first), "target"),
    )
    empty = f"{format_units(padding, 'position')} {'is' if padding == 1 else 'are'} padding"
    which = {
        "blocks": "every position predicts its next token",
        "sentences": f"every token of a line predicts the next; {empty}",
        "prefixes": f"only the last position of a row is predicted; {empty}",
    }[rows]
    return f"{', '.join(counts)}: {which}."


def epoch_finding(preview: BatchPreview, rows: str) -> str:
    """Return how many rows an epoch has."""
    whole = f"The training part has {preview.targets:,} targets in {preview.rows:,} rows"
    if rows == "prefixes":
        return f"{whole}: one target per row. Most work is repeated, since each prefix contains the one before."
    return f"{whole}, {preview.targets / max(1, preview.rows):.1f} targets per row."


def origin_finding(preview: BatchPreview) -> str:
    """Return where the first row begins in each of the first batches."""
    beginning = f"Row 1 begins at token {join_words([f'{batch[0].position:,}' for batch in preview.batches if batch])}"
    if preview.rows_continue:
        return f"{beginning}: each row continues where it ended, so a recurrent network may keep its state."
    return f"{beginning}: every step begins elsewhere, so no state can be carried over."


def describe_leak(gap: LeakageGap) -> str:
    """Return by how much a leaky split lowers the loss."""
    if gap.problem:
        return f"{gap.problem} So this leak cannot be measured on this text."
    where, honest = (
        ("Windows at random", "an unseen end of the text")
        if gap.rows == "blocks"
        else ("Single targets of lines at random", "unseen lines")
    )
    return f"{where}: {gap.leaky_bits:.2f} bits per character, against {gap.clean_bits:.2f} on {honest}."


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
        return "This text is too short, or has too few lines, for both splits."
    worst = max(measured, key=lambda each: each.clean_bits - each.leaky_bits)
    if worst.clean_bits - worst.leaky_bits < max(_HARDLY * worst.clean_bits, _NOTHING):
        return f"On this text no leak makes the n-gram of order {ORDER} look better measurably."
    return (
        f"With {'overlapping windows' if worst.rows == 'blocks' else 'pairs of the same line'}, the n-gram seems to "
        f"need {worst.leaky_bits:.2f} bits per character; on unseen text it needs {worst.clean_bits:.2f}."
    )


def real_tokenizer_finding(characters: int, title: str, tokens: int, own_title: str, own_tokens: int) -> str:
    """Say how many tokens the tokenizer of a real model and one of ours make of a text of so many characters."""
    if not tokens or not own_tokens:
        return "Type a text to see it in tokens."
    return (
        f"{title} reads this text as {format_units(tokens, 'token')} of {ratio(characters / tokens)} characters; "
        f"{own_title}, needs {own_tokens:,} of {ratio(characters / own_tokens)}."
    )


def split_note(tokens: int, vocabulary: int, unknown: Sequence[str], exact: bool) -> str:
    """Return the number of tokens, the vocabulary, unknown parts, and whether the round trip is exact."""
    shown = ", ".join(f"“{shorten(part, 20)}”" for part in unknown[:_MOST_UNKNOWN])
    more = f" and {len(unknown) - _MOST_UNKNOWN:,} more" if len(unknown) > _MOST_UNKNOWN else ""
    lost = f"unknown: {shown}{more}" if unknown else "no unknown parts"
    return (
        f"{format_units(tokens, 'token')} · {vocabulary:,} in the vocabulary · {lost} · round trip: "
        f"{'exact' if exact else 'changed'}"
    )
