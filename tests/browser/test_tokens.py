from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import load_text
from explorer.tokenization.text import train
from tests.browser.steps import save_figure, wait_for_url_params, wait_until_idle, wait_until_settled

OWN_TEXT = "How much wood would a woodchuck chuck, if a woodchuck could chuck wood?\n" * 20
RIGHT_TO_LEFT = "שלום עולם זה טקסט קצר מאוד מימין לשמאל.\n" * 10
MARKUP = "<img src=x onerror=alert(1)> a text of <b>mine</b>\n" * 10


def slider(page: Page) -> Any:
    return page.get_by_label("Size of the vocabulary")


def type_text(page: Page, text: str) -> None:
    page.get_by_label("Type a text").fill(text)
    page.get_by_label("Type a text").press("Control+Enter")


def use_text(page: Page, text: str, before: str = "") -> str:
    """Paste an own text, wait until it is shown, and return its parameter of the URL."""
    page.get_by_label("Paste a text").fill(text)
    page.get_by_role("button", name="Use this text").click()
    expect(page).to_have_url(re.compile(f"text=(?!{before or '-'})[0-9a-f]{{64}}"))
    expect(page.locator(".lineage-tokenizer .chip").first).to_be_visible()
    wait_until_settled(page)
    return re.findall("text=([0-9a-f]+)", page.url)[0]


@pytest.mark.parametrize(
    ("kind", "text", "sizes"),
    [("bytes", "bofi leka 🐳 é nupo", (256, 481)), ("word", "bofi leka; zzz.", (30, 69)), ("char", "bofi LEKA", (21,))],
    ids=["bytes", "word", "char"],
)
def test_the_slider_tokenizes_like_the_library(visit: Any, kind: str, text: str, sizes: tuple[int, ...]) -> None:
    page = visit(f"/tokens?corpus=repeats&tokenizer={kind}")
    type_text(page, text)
    expect(page).to_have_url(re.compile("say="))
    wait_until_idle(page)
    corpus = load_text(TextConfig(corpus="repeats"))
    for size in sizes:
        if len(sizes) > 1:
            slider(page).fill(str(size))
        expect(page.locator(".lineage-tokenizer .size")).to_have_text(f"{size:,}")
        expected = train(kind, corpus, size).encode(text).tolist()
        page.wait_for_function(
            "expected => JSON.stringify([...document.querySelectorAll('.lineage-tokenizer .chip .id')]"
            ".map(node => Number(node.textContent))) === JSON.stringify(expected)",
            arg=expected,
        )
        if len(sizes) > 1:  # wait for this change before the next one
            expect(page).to_have_url(re.compile(f"vocabulary={size}\\b"))
            wait_until_idle(page)
        characters_per_token = page.locator(".lineage-tokenizer .value").first
        expect(characters_per_token).to_have_text(f"{len(text) / len(expected):.2f}" if expected else "–")


def test_the_merges_are_played_and_a_click_goes_to_a_merge(visit: Any) -> None:
    page = visit("/tokens?corpus=toy&tokenizer=word")
    page.get_by_role("radio", name="BPE", exact=True).click()  # in a fragment of the page, whose URL changes as well
    wait_for_url_params(page, tokenizer="")
    wait_until_settled(page)
    page.evaluate(
        """() => {
            const size = document.querySelector(".lineage-tokenizer .size");
            window.sizes = [];
            const watch = new MutationObserver(() => window.sizes.push(Number(size.textContent)));
            watch.observe(size, { characterData: true, subtree: true });
        }"""
    )
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => window.sizes.at(-1) === 8")
    sizes = page.evaluate("window.sizes")
    assert sizes[0] < 8 and sizes == sorted(sizes), "the merges are replayed from the beginning, one after another"
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.locator(".lineage-tokenizer .size")).to_have_text("7")
    expect(page).to_have_url(re.compile("vocabulary=7"))
    page.locator(".lineage-tokenizer .line").first.click()
    expect(page.locator(".lineage-tokenizer .size")).to_have_text("6")
    expect(page.locator(".lineage-tokenizer .merge")).to_contain_text("Merge 1 of 3")
    expect(page.locator(".lineage-tokenizer .line.newest")).to_have_count(1)
    page.get_by_role("button", name="Next", exact=True).click()
    slider(page).press("ArrowRight")
    expect(page.locator(".lineage-tokenizer .size")).to_have_text("8")


def test_own_texts_are_pasted_and_uploaded_shown_as_text_and_needed_elsewhere(visit: Any, tmp_path: Path) -> None:
    page = visit("/tokens?corpus=own&tokenizer=word&unfold=tokens-cut")
    page.evaluate("() => { window.alert = () => { window.struck = true; }; }")
    too_short, readable = tmp_path / "bad.txt", tmp_path / "good.txt"
    too_short.write_bytes("a text too short".encode("utf-16"))
    readable.write_text(OWN_TEXT)
    page.locator("input[type=file]").set_input_files(too_short)
    expect(page.get_by_text("“bad.txt” has 16 characters")).to_be_visible()
    wait_until_settled(page)
    page.locator("input[type=file]").set_input_files(readable)
    expect(page).to_have_url(re.compile("text=[0-9a-f]{64}"))
    expect(page.get_by_text("has 16 characters")).to_have_count(0)
    expect(page.locator(".lineage-tokenizer .picture")).to_contain_text("wood")
    wait_until_settled(page)
    (uploaded,) = re.findall("text=([0-9a-f]+)", page.url)

    marked = use_text(page, MARKUP, uploaded)
    expect(page.locator(".lineage-tokenizer .number").last).to_contain_text("your text")
    type_text(page, "<img src=x onerror=alert(1)>")
    expect(page.locator(".lineage-tokenizer .picture")).to_contain_text("img")
    wait_until_settled(page)
    assert not page.evaluate("window.struck || document.querySelector('img[src=x]') !== null")

    use_text(page, RIGHT_TO_LEFT, marked)
    type_text(page, RIGHT_TO_LEFT[:38])
    expect(page.locator(".lineage-tokenizer .picture")).to_contain_text("לשמאל")
    expect(page.locator(".lineage-tokenizer .chips")).to_have_css("direction", "rtl")
    lefts = [box["x"] for chip in page.locator(".lineage-tokenizer .chip").all()[:3] if (box := chip.bounding_box())]
    assert len(lefts) > 1 and lefts == sorted(lefts, reverse=True)
    expect(page.locator(".lineage-batch-rows .cell.read").first).to_have_attribute("dir", "auto")

    address = page.url.split("/tokens")[1]
    page.close()  # the session ends, and its text is dropped
    expect(visit(f"/tokens{address}").get_by_text("This needs your text")).to_be_visible()


def test_the_tokens_are_saved_as_image_and_table(visit: Any, tmp_path: Path) -> None:
    page = visit("/tokens?corpus=repeats&say=bofi+leka&vocabulary=60&unfold=tokens-merges,tokens-cut")
    files = save_figure(page, page.locator(".lineage-tokenizer .picture"), "tokens", tmp_path)
    lines = files["CSV"].decode().splitlines()
    assert lines[0] == "place,token,id,start,end"
    expected = train("bpe", load_text(TextConfig(corpus="repeats")), 60).encode("bofi leka").tolist()
    assert [int(line.split(",")[2]) for line in lines[1:]] == expected
    rows = save_figure(page, page.locator(".lineage-batch-rows"), "tokens-rows", tmp_path, "CSV")
    assert rows["CSV"].decode().splitlines()[0] == "row,from,place,token,target,asked"
    assert len(rows["CSV"].decode().splitlines()) == 1 + 4 * 12
