"""The Runs page in a browser: sorting, selecting, naming, deleting, import and export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from explorer.run_store import store
from explorer.training.config import KEY
from tests.browser.steps import (
    button,
    go_to_page,
    import_file,
    open_page,
    origin,
    wait_for_url_params,
    wait_until_settled,
)

SMALL = "/negation?models=bag_of_words,rnn&replicas=2&bag_of_words.epochs=4&rnn.epochs=4&seed="
SAVED = "Saved; the address of this page holds these runs."
NAME = "<b>x</b> *y* & `z`"


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Runs on this server").locator("tbody tr")


def tick(page: Page, row: Locator) -> None:
    row.get_by_role("checkbox").check()
    expect(page).to_have_url(re.compile("runs="))


def test_runs_are_sorted_in_the_browser_selected_and_compared(visit: Any) -> None:
    page = visit("/runs")
    page.get_by_role("button", name="Recall").click()
    expect(page).to_have_url(re.compile("tasks=recall"))
    expect(rows(page)).to_have_count(50)
    head = page.get_by_role("columnheader", name="score")
    wait_until_settled(page)
    sorted_texts = head.evaluate(
        """head => {
            head.querySelector("button").click();
            const figures = head.closest("table").querySelectorAll("tbody .figure");
            const texts = [...figures].map(n => n.textContent);
            return [head.ariaSort, ...texts];
        }"""
    )
    assert sorted_texts[0] == "ascending"
    scores = [float(text.split()[1].rstrip(",")) for text in sorted_texts[1:]]
    assert len(scores) > 30 and scores == sorted(scores)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(page).to_have_url(re.compile(r"sort=-accuracy"))
    expect(rows(page).first.locator(".figure")).to_have_text(re.compile(r"^accuracy 1\.000, most frequent class"))
    keys = []
    for i in (0, 5):
        wait_until_settled(page)  # a run of the page may change the order of rows with equal scores
        shown_name = rows(page).nth(i).locator(".detail").inner_text().split(", ")[-1]
        # Included runs are shown with their names, runs of other tests with their keys.
        keys.append(shown_name if KEY.fullmatch(shown_name) else store.find(shown_name).key)
        tick(page, rows(page).nth(i))
        wait_for_url_params(page, runs=",".join(keys))
    expect(page.get_by_role("link", name="Compare two")).to_be_visible()
    wait_until_settled(page)
    page.get_by_role("link", name="Compare two").click()
    expect(page).to_have_url(re.compile(r"/compare\?runs="))
    assert sorted(re.findall(r"[a-z2-7]{12}", page.url.split("?")[1])) == sorted(keys)
    expect(page.locator(".frame-readout li")).to_have_count(2)
    page.go_back()
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(2)
    expect(page).to_have_url(re.compile(r"/runs\?tasks=recall&sort=-accuracy&runs="))


def test_own_runs_are_named_deleted_restored_exported_and_imported(visit: Any, tmp_path: Path, seed: int) -> None:
    page: Page = visit(f"{SMALL}{seed}")
    button(page, "Train").click()
    expect(page.get_by_text(SAVED)).to_be_visible()
    open_page(page, f"{origin(page)}/runs?whose=mine")
    expect(rows(page)).to_have_count(2)
    row = rows(page).filter(has_text="RNN")
    key = row.locator(".detail").inner_text().split(", ")[-1]
    row.get_by_role("button", name="RNN").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(f"{key} · trained to its end")).to_be_visible()
    name = dialog.get_by_label("Name")
    name.fill(NAME)
    name.press("Enter")
    expect(dialog.get_by_text("Press Enter to apply")).to_have_count(0)
    tags = dialog.get_by_label("Tags")
    tags.fill("my <i>tag</i>")
    tags.press("Enter")
    expect(dialog.get_by_text("my <i>tag</i>", exact=True)).to_be_visible()
    wait_until_settled(page)
    page.keyboard.press("Escape")  # closes the list of tags
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".lineage-table .tag")).to_have_text("my <i>tag</i>")
    row = rows(page).filter(has_text=key)
    row.get_by_role("button", name=NAME).click()
    expect(dialog.get_by_role("heading").first).to_have_text(NAME)
    assert page.locator("[role=dialog] b, [role=dialog] em, .lineage-table tbody b").count() == 0
    dialog.get_by_role("button", name="Delete").click()
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Undo: bring back one run").click()
    expect(rows(page)).to_have_count(2)
    tick(page, rows(page).filter(has_text=key))
    export = page.get_by_role("button", name="Export")
    expect(export).to_be_enabled()
    with page.expect_download() as download:
        export.click()
    assert download.value.suggested_filename == f"lineage_{key}.zip"
    file, invalid = tmp_path / "run.zip", tmp_path / "false.zip"
    download.value.save_as(file)
    assert file.read_bytes().startswith(b"PK")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Gone for good when you leave this page.")).to_be_visible()
    go_to_page(page, "Lineage")
    expect(page.get_by_role("heading", level=1)).to_contain_text("How did we get from counting words")
    go_to_page(page, "Runs")
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("button", name=re.compile("^Undo"))).to_have_count(0)
    expect(page.get_by_text(key)).to_have_count(0)
    wait_until_settled(page)

    invalid.write_text("I am no zip.")
    page.get_by_role("button", name="Import").first.click()
    import_file(page, invalid)
    warning = page.get_by_test_id("stAlertContainer")
    expect(warning).to_have_count(1)
    assert re.fullmatch(r"[A-Z][^\n]*\.", warning.inner_text().split("\n")[-1])
    expect(rows(page)).to_have_count(1)
    import_file(page, file)
    expect(page.get_by_role("dialog").get_by_text(f"{key} · trained to its end")).to_be_visible()
    page.keyboard.press("Escape")
    expect(rows(page).filter(has_text=key)).to_have_count(1)


def test_the_table_fits_a_phone_and_shows_the_result_next_to_many_settings(visit: Any) -> None:
    page = visit("/runs?tasks=echo", 390, 844)
    expect(rows(page).nth(3)).to_be_visible()
    overflow = page.evaluate(
        "['.lineage-table .scroller', '[data-testid=stMain]', 'html'].map(at => document.querySelector(at))"
        ".map(node => node.scrollWidth - node.clientWidth)"
    )
    assert overflow == [0, 0, 0]
    page.get_by_role("button", name="All columns").click()
    expect(page.get_by_role("columnheader", name="owner")).to_be_attached()

    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, f"{origin(page)}/runs?text=text-assignment")  # its settings differ most from the defaults
    expect(rows(page)).to_have_count(1)
    expect(rows(page).locator(".figure, td").get_by_text("bits per byte")).to_be_in_viewport(ratio=1)
