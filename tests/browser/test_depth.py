from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params


def test_heads_and_stacks_follow_the_controls_and_are_stored_in_the_url(visit: Visit) -> None:
    page = visit("/depth")
    heads, stacks = page.locator(".lineage-multi-head"), page.locator(".lineage-residual-stacks")
    expect(heads.locator("figure")).to_have_count(4)
    expect(stacks.locator(".mine")).to_have_count(4)
    wire = WebSocketRecorder(page)

    heads.locator("canvas").first.hover(position={"x": 20, "y": 100})
    expect(heads.locator(".words")).to_contain_text("attends to")
    slider = stacks.get_by_label("Blocks in the stack")
    finding = stacks.locator(".finding")
    expect(finding).to_contain_text(re.compile("^24 blocks, residual, norm before"))
    stacks.locator(".touch").first.hover(position={"x": 60, "y": 60})
    expect(stacks.locator(".read")).to_contain_text("After block")
    assert wire.events() == [], "hovering sends no messages to the server"

    stacks.get_by_label("without").check()
    expect(finding).to_contain_text("all tokens have become equal")
    stacks.get_by_label("none", exact=True).check()
    expect(finding).to_contain_text("shrinks from")
    expect(stacks.get_by_label("RMSNorm")).to_be_disabled()
    wait_for_url_params(page, residual="false", norm="none")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(finding).to_contain_text("23 blocks")
    wait_for_url_params(page, residual="false", norm="none", layers="23")

    heads.get_by_role("slider", name="Heads").focus()
    page.keyboard.press("ArrowRight")
    expect(heads.locator("figure")).to_have_count(8)
    expect(heads.locator(".finding")).to_contain_text("attention of eight heads")
    wait_for_url_params(page, residual="false", norm="none", layers="23", cut="8")
    heads.locator(".stage").press("ArrowUp")
    expect(heads.locator(".words")).to_contain_text("at position 20 attends to")
