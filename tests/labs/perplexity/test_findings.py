from __future__ import annotations

import math

import numpy as np
import pytest

from explorer.inspection.language.bits_per_byte import HeldOutText
from explorer.inspection.language.fitted_ngram import NgramLoss
from explorer.inspection.language.tokenizer_losses import TokenizerLoss
from explorer.labs.perplexity import findings
from tests.words import assert_states


def loss(nats: float, characters: float, omitted_bits: float = 0.0) -> TokenizerLoss:
    """Return a loss on 1,000 bytes; the unknown words are a fifth of the tokens if any text is left out."""
    targets = round(1_000 / characters)
    unknown = targets // 5 if omitted_bits else 0
    text = HeldOutText(targets, 1_000, unknown, omitted_bits * 1_000 * math.log(2), 0.0)
    return TokenizerLoss(NgramLoss(nats, characters, 500, 0.0, 0.1), text)


LOSSES = {"char": loss(1.5, 1.0), "bytes": loss(2.9, 2.0), "word": loss(3.0, 4.0, omitted_bits=1.5)}


def test_each_figure_has_its_own_lowest_tokenizer() -> None:
    finding = findings.tokenizers_finding(LOSSES, counted=True)
    bits = 1.45 / math.log(2)
    assert_states(
        finding,
        "lowest for characters … the only comparable figure … byte-level "
        f"BPE: {bits:.3f}, against {1.5 / math.log(2):.3f} for characters",
    )


def test_a_small_difference_in_bits_per_byte_is_said_to_be_small() -> None:
    near = LOSSES | {"bytes": loss(2.99, 2.0)}
    assert findings.tokenizers_finding(near, counted=True).endswith("for characters (practically the same).")


def test_one_tokenizer_may_have_the_lowest_of_all_figures() -> None:
    found = findings.tokenizers_finding({"char": loss(1.5, 1.0), "bytes": loss(9.0, 1.2)}, counted=True)
    assert_states(found, f"Every figure … lowest … characters: {1.5 / math.log(2):.3f} bits per byte")
    alone = findings.tokenizers_finding({"char": LOSSES["char"]}, counted=True)
    assert_states(alone, "Characters … perplexity of 4.5 per token, 2.164 bits per character … 2.164 bits per byte")


def test_a_figure_that_leaves_text_out_is_marked() -> None:
    predicted = 3.0 * 250 / 1_000 / math.log(2)
    found = findings.tokenizers_finding(LOSSES, counted=False)
    assert_states(
        found,
        f"Without … words leave out … {predicted:.3f} bits per byte … {predicted + 1.5:.3f} … cannot be compared",
    )
    lossless = findings.tokenizers_finding({"char": LOSSES["char"]}, counted=False)
    assert_states(lossless, "nothing … the same")


def test_what_tokens_leave_out_is_stated() -> None:
    assert findings.omitted_sentence("char", LOSSES["char"]) == ""
    assert_states(
        findings.omitted_sentence("word", LOSSES["word"]),
        "Words: … spaces … 0.000 bits per byte … 20.0 % … unknown words … 1.500",
    )
    spaces = TokenizerLoss(LOSSES["char"].ngram, HeldOutText(1_000, 1_000, 0, 0.0, 200 * math.log(2)))
    assert_states(findings.omitted_sentence("bpe", spaces), "BPE: … spaces … 0.200 bits per byte")


WINDOWS = {16: np.array([[1.7, 1.6], [1.5, 1.5], [1.49, 1.5]]), 128: np.array([[1.4, 1.4], [1.3, 1.3], [1.3, 1.3]])}


def test_the_highest_and_the_lowest_perplexity_of_the_same_networks() -> None:
    assert_states(
        findings.windows_finding(WINDOWS),
        f"perplexity {math.exp(1.65):.2f} … blocks of 16 … {math.exp(1.3):.2f} … windows of 128 … begin 64 apart",
    )


def test_the_selected_windows_have_their_loss_and_its_range() -> None:
    assert_states(
        findings.selected_sentence(16, 1, WINDOWS[16]),
        f"Blocks of 16: 1.650 (1.600 to 1.700) nats … perplexity of {math.exp(1.65):.2f} … two seeds",
    )
    assert "Windows of 16 that begin 4 apart: 1.495 (1.490 to 1.500)" in findings.selected_sentence(16, 4, WINDOWS[16])


@pytest.mark.parametrize(
    ("second", "stated"),
    [
        ([1.3, 1.3], "lowers … every seed … 0.100 nats"),
        ([1.5, 1.5], "raises … every seed … 0.100 nats"),
        ([1.3, 1.6], "lowers … some … raises … −0.0500 nats"),
        ([1.2, 1.45], "lowers … some … raises … +0.0750 nats"),
        ([1.3995, 1.4005], "no seed … 0.001 nats"),
    ],
)
def test_whether_a_smaller_stride_helps_is_computed(second: list[float], stated: str) -> None:
    losses = np.array([[1.4, 1.4], second, second])
    sentence = findings.stride_sentence(128, losses)
    first, _, rest = sentence.partition(";")
    assert_states(first, f"context of 128, stride 64 instead of 128 … {stated}")
    assert_states(rest, "stride 32 instead of 64 … no seed … 0.001 nats")
