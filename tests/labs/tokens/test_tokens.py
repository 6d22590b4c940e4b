"""Every sentence agrees with the numbers that it was made from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.environment import environment
from explorer.inspection.language.batch_preview import BatchPreview, PreviewRow, PreviewToken
from explorer.inspection.language.split_leakage import LeakageGap, UnknownWords
from explorer.inspection.language.tokenizers import Kind, TrainedTokenizer, train_tokenizers
from explorer.labs.tokens import findings
from explorer.labs.tokens.batch_rows import origins_chart
from explorer.labs.tokens.split_leakage import leakage_chart, leakage_view
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.labs.tokens.tokenizers import sizes_view
from explorer.tasks.text.config import TextConfig
from explorer.ui.document import Document
from explorer.ui.state import url_codec
from explorer.ui.wording import percentage
from tests import needs
from tests.charts.figures import figure_of

SHA = "a" * 64


def test_contradictory_settings_are_reported_and_dropped() -> None:
    state, problems = TokensState(rows="sentences", batches="contiguous", text=SHA).validate()
    assert state == TokensState(rows="sentences")
    assert [problem.split(" goes with")[0] for problem in problems] == ["batches = contiguous", "text"]
    assert TokensState(batches="contiguous").validate() == (TokensState(batches="contiguous"), ())


def test_another_text_drops_the_typed_text_and_other_rows_drop_contiguous_batches() -> None:
    assert TokensState(say="x", vocabulary=9).with_corpus("own", SHA) == TokensState("own", SHA, vocabulary=9)
    assert TokensState(batches="contiguous").with_rows("prefixes") == TokensState(rows="prefixes")
    assert TokensState(batches="contiguous").with_rows("blocks") == TokensState(batches="contiguous")


def test_the_text_box_holds_the_beginning_of_the_corpus_at_first() -> None:
    two = "First Citizen:\nBefore we proceed.\n\nAll:"
    texts = {two: two[:33], "abca " * 100: ("abca " * 24).strip(), "a" * 500: "a" * 120, "short": "short"}
    assert [TokensState().typed_text(text) for text in texts] == list(texts.values())
    assert TokensState(say="").typed_text(two) == ""


def test_the_vocabulary_of_the_task_is_at_least_the_smallest_possible() -> None:
    for kind, vocabulary in (("bytes", 256), ("bpe", 3), ("word", 2), ("char", 2)):
        state, _ = url_codec.read(TokensState, {"tokenizer": kind, "vocabulary": "2"})
        task = state.task_config(TextConfig(corpus="toy"))
        assert (task.vocabulary, task.corpus) == (vocabulary, "toy")


def test_a_very_long_typed_text_is_truncated_with_a_sentence() -> None:
    most = environment().most_text
    assert truncate_typed("a" * most) == ("a" * most, "")
    shown, sentence = truncate_typed("é" * (most + 1))
    assert shown == "é" * most
    assert f"has {most + 1:,} characters; the first {most:,}" in sentence


PER_TOKEN: dict[Kind, float] = {"char": 1.0, "word": 3.81, "bpe": 2.49, "bytes": 1.92}
NONE: dict[Kind, float] = dict.fromkeys(PER_TOKEN, 0.0)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    every = make_preview([[True] * 4] * 2, [3, 9])
    some = make_preview([[True, True, False, False]], [3])
    last = make_preview([[False, False, True]], [3])
    large, none = (LeakageGap("blocks", 2.19, 0.82), LeakageGap("sentences", 2.0, 2.0))
    bpe: TrainedTokenizer = train_tokenizers(TextConfig(corpus="brackets", size=5_000))["bpe"]
    assert [
        [percentage(share) for share in (0.0, 0.0001, 0.2158, 1.0, math.nan)],
        [findings.ratio(value) for value in (2.4912, math.nan)],
        findings.tokenizers_finding("Tiny Shakespeare", PER_TOKEN, {**NONE, "word": 0.2158}, 500),
        findings.tokenizers_finding("Toy", PER_TOKEN, NONE, 2),
        findings.batch_finding(every, "blocks", 4),
        findings.batch_finding(some, "sentences", 4),
        findings.batch_finding(last, "prefixes", 3),
        findings.epoch_finding(every, "blocks"),
        findings.epoch_finding(every, "prefixes"),
        findings.origin_finding(make_preview([[True]], [1234])),
        findings.origin_finding(make_preview([[True]], [3], rows_continue=True)),
        *(
            findings.describe_leak(LeakageGap("blocks", honest, leaky))
            for honest, leaky in [(2.19, 0.82), (2.19, 0.82), (2.0, 1.99), (2.0, 2.5), (0.004, 0.001)]
        ),
        findings.leakage_finding([large, none]),
        findings.leakage_finding([none, large]),
        findings.leakage_finding([none, LeakageGap("blocks", problem="too short")]),
        findings.leakage_finding([LeakageGap("blocks", 0.034, 0.031)]),
        findings.leakage_finding([LeakageGap("blocks", problem="x")]),
        findings.describe_leak(LeakageGap("sentences", problem="No line is long.")),
        findings.describe_unknown_words(UnknownWords(0.001, 0.027)),
        findings.describe_unknown_words(UnknownWords(0.01, 0.01)),
        findings.merges_finding(bpe, bpe.min_vocabulary + 10),
        findings.merges_finding(train_tokenizers(TextConfig(corpus="toy", size=1000))["char"], 9),
    ] == snapshot
    assert "merge" not in findings.merges_finding(bpe, 2).split("become")[0].split("tokens of the")[-1]


def make_preview(in_loss: list[list[bool]], positions: list[int], **more: Any) -> BatchPreview:
    batch = tuple(
        PreviewRow(
            position, tuple(PreviewToken("a" if each or t == 0 else "", "b" * each, each) for t, each in enumerate(row))
        )
        for position, row in zip(positions, in_loss, strict=True)
    )
    return BatchPreview((batch,) * 3, **{"tokens": 100, "rows": 7, "targets": 70, "rows_continue": False, **more})


def test_dots_of_rows_that_begin_near_each_other_share_a_label() -> None:
    dots, numbers = origins_chart(np.array([[100, 900], [110, 200], [120, 500]]), 1_000, "").traces()
    assert dots["x"] == [100, 110, 120, 900, 200, 500] and dots["customdata"] == [1, 2, 3] * 2
    assert (numbers["text"], numbers["x"]) == (["1 2 3", "2", "3", "1"], [100, 200, 500, 900])
    dots, numbers = origins_chart(np.array([[100, 900], [110, 910]]), 1_000, "").traces()
    assert dots["x"] == [0, 10] * 2, "rows that continue are drawn from where they begin"


def test_a_leaky_score_is_hollow_and_what_cannot_be_measured_has_no_chart() -> None:
    chart = leakage_chart([LeakageGap("blocks", 2.19, 0.82), LeakageGap("sentences", 2.0, 0.01)])
    _, honest, leaky = figure_of(chart).data
    assert list(honest.x) == [2.19, 2.0] and list(leaky.x) == [0.82, 0.01] and leaky.marker.color == "var(--page)"
    notes = chart.layout["annotations"]
    assert [note["text"] for note in notes] == ["honest 2.19", "honest 2.00", "leaky 0.82", "leaky 0.01"]
    assert [note["xanchor"] for note in notes] == ["center", "center", "center", "left"], "not beyond the axis"
    document = Document()
    short = LeakageGap("blocks", problem="The text is short.")
    leakage_view(document, {"leaks": (short,), "unknown": None}, TextConfig(corpus="repeats"))
    assert [block["kind"] for block in document.blocks] == ["finding", "text", "caption"]


@needs.tiny_shakespeare
def test_lines_by_vocabulary_are_thinned_where_they_are_straight() -> None:
    tokenizers, document = train_tokenizers(TextConfig(corpus="tinyshakespeare")), Document()
    sizes_view(document, tokenizers, 500)
    characters, unknown = document.blocks[0]["data"]["figures"]  # type: ignore[index]
    letters, _, bpe, _ = characters["plot"]["data"]
    assert len(letters["x"]) == 1 and len(bpe["x"]) < 200 and bpe["x"][-1] == tokenizers["bpe"].max_vocabulary
    assert bpe["x"][1] - bpe["x"][0] == 1 and bpe["x"][-1] - bpe["x"][-2] > 10, "closer where it bends"
    assert unknown["plot"]["data"][0]["y"][0] == pytest.approx(100 * tokenizers["word"].unknown_rates[0], abs=1e-2)
