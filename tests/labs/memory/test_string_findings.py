"""Findings about the string model state the numbers that they were computed from."""

from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.labs.memory import string_findings as findings
from explorer.tasks.string import ambiguous_contexts, find_errors


def test_sentences(snapshot: SnapshotAssertion) -> None:
    assert [
        findings.memory_finding(text) for text in ["abca abca abca ", "to be or not to be ", "abcabc", "aaaa", "  "]
    ] == snapshot(name="finding has the loss that memory")
    assert findings.memory_finding("abacadbcbdcd") == snapshot(name="many ambiguous characters are counted")
    assert [findings.character_name(char) for char in [" ", "a", "<", "\xa0", "\u200d", "́", "🙂"]] == snapshot(
        name="character that cannot be seen"
    )
    low = 0.297
    assert [
        findings.final_loss_finding("RNN", np.array([0.0002, 0.0013]), np.array([0.2971, 0.2973]), low),
        findings.final_loss_finding("RNN", np.array([0.2, 0.2]), np.array([0.35, 0.3]), low),
        findings.final_loss_finding("RNN", np.array([0.001]), np.array([0.001]), 0.0),
    ] == snapshot(name="finding has the final losses")
    steps = np.array([0, 2, 4, 6])
    right = np.array([[0.5, 0.5], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])
    some = np.array([[0.5, 0.5], [1.0, 0.5], [1.0, 1.0], [1.0, 0.5]])
    assert [findings.solved_step_finding(steps, each, 14) for each in (right, some, right * 0.5)] == snapshot(
        name="finding has the step"
    )
    text, written = ("abca abca abca ", "bcab")
    (error,) = find_errors(text, written)
    assert findings.error_hint(error, written, "a") == snapshot(name="hint explains an error")
    (error,) = find_errors(text, "c")
    assert findings.error_hint(error, "c", "a") == snapshot(name="hint explains an error 2")
    assert [
        findings.floor_formula("abca abca abca "),
        findings.floor_formula("abcabc"),
        findings.floor_formula("to be or not to be "),
        findings.floor_formula("$a$$b$$c"),
    ] == snapshot(name="formula holds the numbers")
    (context,) = ambiguous_contexts("abca abca abca ")
    assert [findings.describe_successors(context), findings.entropy_words(context)] == snapshot(
        name="table has the successors"
    )
    (context,) = ambiguous_contexts("aaab")
    assert findings.entropy_words(context) == snapshot(name="table has the successors 2")
    assert [findings.string_caption("abca abca abca "), findings.string_caption("a")] == snapshot(
        name="caption describes the string"
    )


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
