from __future__ import annotations

import math

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.language.tokenizer_losses import NgramLoss, TokenizerLoss
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.state import PerplexityState
from explorer.tasks.text.bits_per_byte import HeldOutText
from explorer.tasks.text.config import TextConfig
from explorer.ui.state import url_codec


def test_every_tokenizer_has_at_least_its_smallest_vocabulary() -> None:
    tasks = PerplexityState(vocabulary="300").tasks(TextConfig(corpus="repeats"))
    assert list(tasks) == ["char", "bytes", "bpe", "word"]
    assert {task.vocabulary for task in tasks.values()} == {300} and tasks["word"].corpus == "repeats"
    assert list(PerplexityState(tokens=("word", "char")).tasks(TextConfig())) == ["char", "word"]


def test_the_last_tokenizer_cannot_be_deselected() -> None:
    state = PerplexityState().with_tokens(("bpe", "char"))
    assert state.tokens == ("char", "bpe") and state.with_tokens(()) == state


def test_contradictions_in_an_address_are_reported() -> None:
    params = {"tokens": "", "text": "a" * 64, "vocabulary": "501"}
    state, problems = url_codec.read(PerplexityState, params)
    assert len(problems) == 1 and "vocabulary = 501" in problems[0]
    state, problems = state.validate()
    assert len(problems) == 2 and state == PerplexityState()


def loss(nats: float, characters: float, omitted_bits: float = 0.0) -> TokenizerLoss:
    """Return a loss on 1,000 bytes; the unknown words are a fifth of the tokens if any text is left out."""
    targets = round(1_000 / characters)
    unknown = targets // 5 if omitted_bits else 0
    text = HeldOutText(500, targets, 1_000, unknown, spelling=omitted_bits * 1_000 * math.log(2))
    return TokenizerLoss(NgramLoss(nats, characters, 500, 0.0, 0.1), text)


LOSSES = {"char": loss(1.5, 1.0), "bytes": loss(2.9, 2.0), "word": loss(3.0, 4.0, omitted_bits=1.5)}


def test_sentences(snapshot: SnapshotAssertion) -> None:
    near = LOSSES | {"bytes": loss(2.99, 2.0)}
    spaces = TokenizerLoss(LOSSES["char"].ngram, HeldOutText(60, 1000, 1000, spacing=200 * math.log(2)))
    losses = [
        np.array([[1.4, 1.4], second, second])
        for second in ([1.3, 1.3], [1.5, 1.5], [1.3, 1.6], [1.2, 1.45], [1.3995, 1.4005])
    ]
    assert [
        findings.tokenizers_finding(LOSSES, counted=True),
        findings.tokenizers_finding(near, counted=True),
        findings.tokenizers_finding({"char": loss(1.5, 1.0), "bytes": loss(9.0, 1.2)}, counted=True),
        findings.tokenizers_finding({"char": LOSSES["char"]}, counted=True),
        findings.tokenizers_finding(LOSSES, counted=False),
        findings.tokenizers_finding({"char": LOSSES["char"]}, counted=False),
        *(
            findings.omitted_sentence(*each)
            for each in (("char", LOSSES["char"]), ("word", LOSSES["word"]), ("bpe", spaces))
        ),
        findings.windows_finding(WINDOWS),
        findings.selected_sentence(16, 1, WINDOWS[16]),
        findings.selected_sentence(16, 4, WINDOWS[16]),
        *(findings.stride_sentence(128, each) for each in losses),
    ] == snapshot


WINDOWS = {16: np.array([[1.7, 1.6], [1.5, 1.5], [1.49, 1.5]]), 128: np.array([[1.4, 1.4], [1.3, 1.3], [1.3, 1.3]])}
