"""Findings about the string model state the numbers that they were computed from."""

from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.labs.memory import string_findings as findings
from explorer.tasks.string import ambiguous_contexts, find_errors


def test_sentences(snapshot: SnapshotAssertion) -> None:
    low = 0.297
    steps = np.array([0, 2, 4, 6])
    right = np.array([[0.5, 0.5], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])
    some = np.array([[0.5, 0.5], [1.0, 0.5], [1.0, 1.0], [1.0, 0.5]])
    text, written = ("abca abca abca ", "bcab")
    (error,) = find_errors(text, written)
    (early,) = find_errors(text, "c")
    (context,) = ambiguous_contexts("abca abca abca ")
    (successors,) = ambiguous_contexts("aaab")
    assert [
        *(findings.memory_finding(text) for text in ["abca abca abca ", "to be or not to be ", "abcabc", "aaaa", "  "]),
        findings.memory_finding("abacadbcbdcd"),
        *(findings.character_name(char) for char in [" ", "a", "<", "\xa0", "\u200d", "́", "🙂"]),
        findings.final_loss_finding("RNN", np.array([0.0002, 0.0013]), np.array([0.2971, 0.2973]), low),
        findings.final_loss_finding("RNN", np.array([0.2, 0.2]), np.array([0.35, 0.3]), low),
        findings.final_loss_finding("RNN", np.array([0.001]), np.array([0.001]), 0.0),
        *(findings.solved_step_finding(steps, each, 14) for each in (right, some, right * 0.5)),
        findings.error_hint(error, written, "a"),
        findings.error_hint(early, "c", "a"),
        findings.floor_formula("abca abca abca "),
        findings.floor_formula("abcabc"),
        findings.floor_formula("to be or not to be "),
        findings.floor_formula("$a$$b$$c"),
        findings.describe_successors(context),
        findings.entropy_words(context),
        findings.entropy_words(successors),
        findings.string_caption("abca abca abca "),
        findings.string_caption("a"),
    ] == snapshot


def test_the_caption_counts_errors(snapshot: SnapshotAssertion) -> None:
    text = "abca abca abca "
    none, early, late = (
        find_errors(text, "bca a"),
        find_errors(text, "bcab"),
        find_errors(text, "bca " + "abca " * 3 + "abcab"),
    )
    assert [
        findings.error_count_caption(200, 14, [none, none], [early, none]),
        findings.error_count_caption(200, 14, [late, none], [early, early]),
        findings.error_count_caption(200, 14, [early, late], [early, early]),
    ] == snapshot
    assert (len(none), len(early), len(late)) == (0, 1, 1)
