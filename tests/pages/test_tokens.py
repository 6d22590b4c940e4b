from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.errors import CorpusMissing
from explorer.inspection.language.split_leakage import measure_split_leakage, measure_unknown_words
from explorer.inspection.language.tokenizers import train_tokenizers
from explorer.labs.tokens import findings
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import load_text
from explorer.tokenization.text import train
from explorer.ui import visitor_text
from explorer.web import background
from tests.pages import screen
from tests.words import assert_mentions

MINE = "The quick brown fox jumps over the lazy dog, again and again.\n" * 40
REPEATS = TextConfig(corpus="repeats")


pytestmark = pytest.mark.usefixtures("no_loaded_text")


def tokens_page(address: Mapping[str, str] | None = None) -> AppTest:
    folds = {"unfold": "tokens-sizes,tokens-merges,tokens-cut,tokens-leak"}
    return screen.open_page("tokens.py", {"corpus": "repeats", **(address or {}), **folds})


def own_params(at: AppTest) -> dict[str, str]:
    """Return the URL parameters of the page itself."""
    return {name: text for name, text in screen.url_params(at).items() if name != "unfold"}


def plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def tokenizer_data(at: AppTest) -> dict[str, Any]:
    return screen.component_data(at, "tokenizer")[0]


def test_all_numbers_of_the_page_follow_from_the_text() -> None:
    at = tokens_page({"vocabulary": "80", "say": "bofi leka!"})
    assert screen.warnings_of(at) == []
    assert own_params(at) == {"corpus": "repeats", "vocabulary": "80", "say": "bofi leka!"}
    every = train_tokenizers(REPEATS)
    data = tokenizer_data(at)
    limits = (every["bpe"].min_vocabulary, every["bpe"].max_vocabulary)
    assert (data["least"], data["most"], data["vocabulary"]) == (*limits, 80)
    assert data["text"] == "bofi leka!"
    assert data["course"] == pytest.approx(every["bpe"].characters_per_token.tolist(), abs=1e-4)

    rows = screen.table(at, "tokens-four")
    assert [row["name"]["text"] for row in rows] == ["Characters", "Words", "BPE", "Byte-level BPE"]
    text = load_text(REPEATS)
    for kind, row in zip(every, rows, strict=True):
        tokenizer = train(kind, text, every[kind].nearest_vocabulary(80))
        assert row["size"]["text"] == f"{len(tokenizer.tokens):,}"
        assert row["corpus"]["text"] == f"{len(text) / len(tokenizer.encode(text)):.2f}"
        assert row["typed"]["text"] == str(len(tokenizer.encode("bofi leka!")))
        again = tokenizer.decode(tokenizer.encode(text[:4000]))
        assert row["back"]["text"] == ("exact" if again == text[:4000] else "changed")
    lost, bpe = {row["name"]["text"]: row for row in screen.table(at, "tokens-lost")}, train("bpe", text, 80)
    assert lost["BPE"]["text"]["text"].startswith(bpe.decode(bpe.encode("bofi leka")))
    assert "1 unknown character (“!”)" in lost["BPE"]["lost"]["text"]

    task = TextConfig(corpus="repeats", tokenizer="bpe", vocabulary=500, context=64)
    found = measure_split_leakage(task)
    heads = [plain(heading) for heading in screen.headings(at)]
    assert findings.leakage_finding(found) in heads
    assert all(findings.describe_leak(each) in plain(screen.page_text(at)) for each in found)
    unknown = measure_unknown_words(task)
    assert unknown and findings.describe_unknown_words(unknown) in plain(screen.page_text(at))
    honest, leaky = screen.plot_frame_figures(at, "tokens-leaks")[0]["plot"]["data"][1:]
    assert honest["x"] == pytest.approx([each.clean_bits for each in found], abs=1e-4)
    assert leaky["x"] == pytest.approx([each.leaky_bits for each in found], abs=1e-4)
    assert f"“{every['bpe'].tokenizer.merges[0][0]}” comes before" in plain(screen.page_text(at))


def test_the_vocabulary_of_the_slider_is_in_the_url_and_in_the_table() -> None:
    at = tokens_page()
    at.session_state["tokens: vocabulary"] = 60
    at = screen.wait_until_ready(at.run())
    assert screen.url_params(at)["vocabulary"] == "60" and tokenizer_data(at)["vocabulary"] == 60
    assert screen.table(at, "tokens-four")[2]["size"]["text"] == "60"
    at.session_state["tokens: vocabulary"] = 10**9  # the slider of the page cannot send this
    assert screen.url_params(screen.wait_until_ready(at.run()))["vocabulary"] == "60"


def test_rows_are_blocks_lines_or_prefixes() -> None:
    at = tokens_page({"context": "5"})
    targets = {}
    for rows in ("blocks", "sentences", "prefixes"):
        at = screen.wait_until_ready(screen.widget(at.segmented_control, "tokens.rows").set_value(rows).run())
        cells = [row["cells"] for row in screen.component_data(at, "batch_rows")[0]["rows"]]
        assert [len(row) for row in cells] == [5] * 4
        targets[rows] = sum(cell["asked"] for row in cells for cell in row)
        panels = [panel["name"] for panel in screen.plot_frame_figures(at, "tokens-origins")]
        assert panels == (["Random batches", "Contiguous batches"] if rows == "blocks" else ["Random batches"])
    assert (targets["blocks"], targets["prefixes"]) == (20, 4)
    assert "batches" not in screen.url_params(at)


def test_contiguous_batches_continue_the_text() -> None:
    at = tokens_page({"batches": "contiguous"})
    assert "continues where it ended" in screen.plot_frame_figures(at, "tokens-origins")[1]["caption"]
    origin = screen.component_data(at, "batch_rows")[0]["rows"][0]["from"]
    first = int(re.findall(r"token ([\d,]+)", origin)[0].replace(",", ""))
    assert (
        f"Row 1 begins at token {first:,}, {first + 12:,}"
        in screen.plot_frame_figures(at, "tokens-origins")[1]["caption"]
    )


def test_without_tiny_shakespeare_another_text_is_shown_also_after_a_failed_download(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> bytes:
        raise CorpusMissing("Tiny Shakespeare could not be downloaded: refused.")

    monkeypatch.setattr(corpora, "_download", fail)
    at = screen.open_page("tokens.py")
    assert_mentions(screen.page_text(at), "Tiny Shakespeare … not on this machine … Repeats")
    assert tokenizer_data(at)["corpus"] == "Repeats" and own_params(at) == {}
    at = screen.assert_no_errors(next(button for button in at.button if "Download" in button.label).click().run())
    assert screen.warnings_of(at) == ["Tiny Shakespeare could not be downloaded: refused."]
    assert tokenizer_data(at)["corpus"] == "Repeats"


def paste_text(at: AppTest, text: str) -> AppTest:
    screen.widget(at.text_area, "tokens.pasted").input(text)
    return screen.wait_until_ready(
        next(button for button in at.button if button.label == "Use this text").click().run()
    )


def test_a_pasted_text_is_read_and_only_its_hash_is_in_the_url() -> None:
    at = paste_text(tokens_page({"corpus": "own"}), MINE)
    assert screen.warnings_of(at) == []
    assert set(own_params(at)) == {"corpus", "text"} and re.fullmatch("[0-9a-f]{64}", screen.url_params(at)["text"])
    assert tokenizer_data(at)["corpus"] == "your text"
    assert tokenizer_data(at)["text"] == "\n".join(MINE.split("\n")[:2])[:120].rsplit(" ", 1)[0]
    assert "Until there is a text of yours" not in screen.page_text(at)


def test_an_unreadable_file_is_reported_in_one_sentence() -> None:
    at = tokens_page({"corpus": "own"})
    for content, sentence in ((b"abc", "has 3 characters"), (b"a" * 5_000_001, "at most 5,000,000 are read")):
        at = at.file_uploader(key="tokens.file").upload("notes.txt", content, "text/plain").run()
        at = screen.wait_until_ready(at)
        assert len(screen.warnings_of(at)) == 1 and sentence in screen.warnings_of(at)[0]
    assert tokenizer_data(at)["corpus"] == "Repeats" and own_params(at) == {"corpus": "own"}


ODD = {
    "one letter": "a" * 200_000,
    "right to left": "שלום עולם, זה טקסט קצר מימין לשמאל.\n" * 10,
    "only spaces": " \n\t" * 30,
    "emoji": "🐳👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 🇩🇪 and more of them 🐳 <img src=x onerror=alert(1)> $x$\n" * 10,
}


@pytest.mark.parametrize(("case", "kind"), list(zip(ODD, ("char", "word", "bpe", "bytes"), strict=True)))
def test_an_unusual_text_is_shown_or_its_problem_is_reported(case: str, kind: str) -> None:
    at = paste_text(tokens_page({"corpus": "own", "tokenizer": kind}), ODD[case])
    sentences = screen.warnings_of(at)
    assert all(len(sentence) < 300 and sentence.endswith(".") for sentence in sentences)
    if case == "only spaces":
        assert all("no word" in sentence for sentence in sentences[:1])
    else:
        assert tokenizer_data(at)["kind"] == kind and tokenizer_data(at)["corpus"] == "your text"
    assert "When does held-out text leak into training?" in screen.headings(at)


TYPED = ["", "🐳", "a" * 3_000, "<script>alert(1)</script>", "e\u0301\u200b\ufeff", "bofi\nleka\n\n", "\\xf0 $a$"]


def test_any_typed_text_is_shown_as_tokens() -> None:
    at = screen.page("tokens.py", {"corpus": "repeats", "tokenizer": "bytes"})
    for text in TYPED:
        at = screen.wait_until_ready(screen.widget(at.text_area, "tokens.say.repeats").input(text).run())
        assert tokenizer_data(at)["text"] == text[:2_000]
        assert len(screen.warnings_of(at)) == (len(text) > 2_000)
        if len(text) <= 600:
            assert screen.url_params(at)["say"] == text


@pytest.mark.parametrize("params", [{"rows": "prefixes", "batches": "contiguous"}, {"corpus": "own", "text": "0" * 64}])
def test_an_invalid_url_gives_warnings_and_a_working_page(params: Mapping[str, str], snapshot: object) -> None:
    at = screen.open_page("tokens.py", params)
    assert screen.warnings_of(at) == snapshot
    assert tokenizer_data(at)["tokens"] and tokenizer_data(at)["corpus"] == "Repeats"
    assert not (set(own_params(at)) - {"corpus", "rows", "text"})


def test_results_of_a_private_text_are_deleted_when_the_visit_ends() -> None:
    at = paste_text(tokens_page({"corpus": "own"}), MINE)
    sha = screen.url_params(at)["text"]
    assert any(sha in key for key in background.results())
    (held,) = [held for held in visitor_text._visits if held[0] == sha]
    visitor_text._release_text(held)
    assert not any(sha in key for key in background.results())
    at = screen.wait_until_ready(at.run())  # the browser tab is still open, and so is the text
    assert screen.warnings_of(at) == [] and tokenizer_data(at)["corpus"] == "your text"
