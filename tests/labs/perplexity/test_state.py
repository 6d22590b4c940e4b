from __future__ import annotations

from explorer.labs.perplexity.state import PerplexityState
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
