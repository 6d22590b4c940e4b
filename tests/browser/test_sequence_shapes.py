from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import save_figure, wait_for_url_params


def test_the_unrolled_network_is_stepped_through_and_its_shape_is_stored_in_the_url(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit("/shapes")
    net = page.locator(".lineage-unrolled-rnn")
    expect(net.locator("button.step")).to_have_count(6)
    expect(net.get_by_role("status").first).to_contain_text("Step 6 reads “<EOS>”, and answers “sustain”")
    page.get_by_role("radio", name="one → many").click()
    wait_for_url_params(page, shape="from-one")
    steps = net.locator("button.step")
    expect(steps).to_have_count(20)
    steps.first.focus()
    page.keyboard.press("ArrowRight")
    expect(steps.nth(1)).to_be_focused()
    words = net.get_by_role("status").first
    expect(words).to_contain_text("Step 2 reads “h”, its own output of the step before")
    page.keyboard.press("Enter")
    steps.nth(3).hover()
    expect(words).to_contain_text("Step 2 reads")
    page.keyboard.press("Escape")
    expect(words).to_contain_text("A click keeps it.")
    rows = save_figure(page, net, "shapes-first", tmp_path, "CSV")["CSV"].decode().splitlines()
    assert len(rows) == 21 and rows[0].startswith("step,reads,fed back,used,answer,probability,unit 1,")
