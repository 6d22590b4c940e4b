from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.transformer.unmasked_generation import GeneratedSigns
from explorer.labs.masks import findings
from explorer.labs.masks.findings import FinalLosses
from explorer.labs.masks.state import MAX_PROMPT, MasksState
from explorer.tasks.sequence_labelling.grammar_text import LETTERS, GrammarTextConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig

NOISE, TWO, TALE = (
    findings.loss_baseline(task)
    for task in (RandomSymbolsConfig(), RandomSymbolsConfig(symbols=2), GrammarTextConfig())
)


def final_losses(loss: float, prefix: float = 2.95, by_position: list[float] | None = None) -> FinalLosses:
    positions = None if by_position is None else np.array([by_position])
    return FinalLosses(np.array([loss]), np.array([prefix]), positions)


def make_signs(ids: np.ndarray, prompt_length: int) -> GeneratedSigns:
    return GeneratedSigns(prompt_length, ids, np.ones((1, 1)))


def test_sentences(snapshot: SnapshotAssertion) -> None:
    three = FinalLosses(np.ones(3), np.array([6.0, 7.0, 20.0]), None)
    ids = np.array([[[0, 1, 1, 1, 2]], [[0, 1, 2, 0, 1]]])
    spelled = np.array([[[LETTERS.index(letter) for letter in "the owl hides the qwl. "]]])
    assert [
        findings.leak_verdict(NOISE, final_losses(2.95), final_losses(0.26)),
        findings.leak_verdict(TALE, final_losses(0.44), final_losses(0.03)),
        *(
            findings.leak_verdict(NOISE, *(None if loss is None else final_losses(loss) for loss in (causal, without)))
            for causal, without in [(None, 2.95), (0.3, None), (3.4, None)]
        ),
        findings.generation_finding(NOISE, final_losses(2.95), final_losses(0.3, prefix=7.5)),
        findings.generation_finding(TALE, None, final_losses(0.3, prefix=2.9)),
        findings.generation_finding(TALE, None, three),
        findings.position_finding(NOISE, final_losses(0.25, by_position=[0.01, 0.02, 3.0])),
        findings.position_finding(NOISE, final_losses(2.9, by_position=[2.9, 2.95, 3.0])),
        findings.position_finding(NOISE, final_losses(2.9)),
        findings.repetition_finding(19, "Without the mask", ids, 2, np.array([[0.9, 0.8, 1.0], [0.9, 0.8, 1.0]])),
        findings.repetition_finding(3, "x", ids, 2, np.zeros((2, 3))),
        findings.format_rows(ids[0], 2, "abc"),
        findings.spelling_finding({"With it": make_signs(spelled, 4), "Without it": make_signs(spelled[..., -2:], 1)}),
        findings.leak_verdict(TWO, None, final_losses(0.1)),
        findings.leak_verdict(TWO, None, None),
    ] == snapshot
    assert TALE.floor < 0.4 < 3 < TALE.uniform_loss and NOISE.floor == NOISE.uniform_loss


def test_generated_letters_in_words_are_counted() -> None:
    for text, first, counts in (
        ("the old king sees the owl. th", 12, (12, 12)),  # what the end cuts off may become a word
        ("the old kings see the o", 12, (4, 8)),  # nobody knows “kings” or “see”
        ("the old sailor hides", 10, (9, 9)),
        ("the owl.. hides x", 7, (5, 6)),
        ("qqqqqqqq", 2, (0, 6)),
        ("the owl  . ", 7, (0, 0)),
    ):
        assert findings.count_letters_in_words(text, first) == counts


def test_a_beginning_that_is_too_long_is_cut_to_what_the_models_read() -> None:
    prompt, messages = MasksState(begin="b" * 200).prompt
    assert prompt == "b" * MAX_PROMPT and len(messages) == 1
    assert MasksState().prompt == (MasksState().begin, [])
