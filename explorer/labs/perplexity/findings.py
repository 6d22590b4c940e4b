"""Sentences on what changes a perplexity, made from measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.language import tokenizer_losses
from explorer.inspection.language.tokenizers import Kind
from explorer.labs.perplexity.state import STRIDES
from explorer.number_format import format_interval
from explorer.ui.wording import capitalize, count_seeds, format_median, join_words, percentage

NAMES: Mapping[Kind, str] = {"char": "characters", "bytes": "byte-level BPE", "bpe": "BPE", "word": "words"}
_PRACTICALLY_EQUAL = 0.01  # bits per byte


def tokenizers_finding(losses: Mapping[Kind, tokenizer_losses.TokenizerLoss], counted: bool) -> str:
    """Say which tokenizer has the fewest bits per byte, or what a figure without omitted text leaves out.

    counted: whether unknown words and dropped spaces are counted
    """
    if not counted:
        return _omitted_finding(losses)
    best, *others = sorted(losses, key=lambda kind: losses[kind].bits_per_byte)
    bits = {kind: losses[kind].bits_per_byte for kind in losses}
    second = f", {bits[others[0]]:.3f} for {NAMES[others[0]]}" if others else ""
    if others and bits[others[0]] - bits[best] < _PRACTICALLY_EQUAL:
        second += " (practically the same)"
    return f"Only bits per byte can be compared: {bits[best]:.3f} for {NAMES[best]}{second}."


def _omitted_finding(losses: Mapping[Kind, tokenizer_losses.TokenizerLoss]) -> str:
    kind = max(losses, key=lambda kind: losses[kind].held_out.omitted_bits)
    if not losses[kind].held_out.omitted_bits:
        return "These tokens leave nothing of the text out, so bits per byte are the same either way."
    return (
        f"Without what {NAMES[kind]} leave out, they take {losses[kind].predicted_bits_per_byte:.3f} bits per byte; "
        f"with it, {losses[kind].bits_per_byte:.3f}. A figure that leaves text out cannot be compared."
    )


def omitted_sentence(kind: Kind, loss: tokenizer_losses.TokenizerLoss) -> str:
    """Say what the tokens of one tokenizer leave out and what it costs; empty if they leave nothing out."""
    text = loss.held_out
    if not text.omitted_bits:
        return ""
    sentence = (
        f"{capitalize(NAMES[kind])}: dropped spaces and line ends cost {text.bits(text.spacing):.3f} bits per byte"
    )
    if not text.unknown:
        return f"{sentence}."
    unknown = "words" if kind == "word" else "characters"
    return (
        f"{sentence}; {percentage(text.unknown / text.bytes)} of the held-out bytes are unknown {unknown}, whose "
        f"spelling costs {text.bits(text.spelling):.3f}."
    )


def windows_finding(losses: Mapping[int, Float[ndarray, "strides replicas"]]) -> str:
    """Return how far apart the perplexities of the same networks are by context and stride."""
    medians = {
        (context, divisor): float(np.median(each))
        for context, values in losses.items()
        for divisor, each in zip(STRIDES, values, strict=True)
    }
    high, low = max(medians, key=medians.__getitem__), min(medians, key=medians.__getitem__)
    return (
        f"The same networks on the same text: perplexity {math.exp(medians[high]):.2f} per character in "
        f"{describe_windows(*high)}, {math.exp(medians[low]):.2f} in {describe_windows(*low)}."
    )


def describe_windows(context: int, divisor: int) -> str:
    """Return how windows of a context are laid over a text, as “windows of 128 that begin 64 apart”."""
    return f"blocks of {context}" if divisor == 1 else f"windows of {context} that begin {context // divisor} apart"


def selected_sentence(context: int, divisor: int, losses: Float[ndarray, "strides replicas"]) -> str:
    """State the loss and the perplexity for the selected context and stride."""
    values = losses[STRIDES.index(divisor)]
    loss = format_median(values, 3)
    return (
        f"{capitalize(describe_windows(context, divisor))}: {loss} nats per character, a perplexity of "
        f"{math.exp(float(np.median(values))):.2f}, median (lowest to highest) of {count_seeds(len(values))}."
    )


def stride_sentence(context: int, losses: Float[ndarray, "strides replicas"]) -> str:
    """Say by how much each smaller stride changes the loss for one context, as the mean and range of the seeds."""
    strides, changes = [context // divisor for divisor in STRIDES], losses[1:] - losses[:-1]
    parts = [
        f"{format_interval(each.mean(), each.min(), each.max(), 3)} at stride {strides[i + 1]} instead of {strides[i]}"
        for i, each in enumerate(changes)
    ]
    return f"With a context of {context} the loss changes, in nats per character, by {join_words(parts)}."
