"""Components of pages whose controls are used in the browser: no message while it can answer alone, then one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import (
    NEXT_FRAMES,
    WebSocketRecorder,
    open_page,
    save_figure,
    wait_for_url_params,
    wait_until,
)


def test_arrows_of_a_block_open_and_another_kind_is_drawn_when_its_numbers_have_arrived(visit: Visit) -> None:
    page = visit("/block?kind=encoder&open=attention.weights")
    diagram = page.locator(".lineage-block-diagram")
    expect(diagram.locator(".box")).to_have_count(10)
    expect(diagram.locator(".arrow")).to_have_count(13)
    wire = WebSocketRecorder(page)
    panel = diagram.locator(".panel")
    expect(panel.locator("h3")).to_have_text("Weights")
    panel.locator(".map").hover(position={"x": 10, "y": 50})
    expect(panel.locator(".value")).to_contain_text("“not”, “<BOS>”")
    assert wire.events() == [], "hovering sends no messages to the server"

    diagram.get_by_role("button", name="Norm 1, 32 parameters").click()
    expect(panel.locator(".formula")).to_have_text("(x − mean) / deviation · g + b")
    expect(panel.locator(".share")).to_contain_text("32 parameters")
    wait_for_url_params(page, open="attention_norm.out")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    wait_for_url_params(page, open="attention_norm.out")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(panel.locator(".shape")).to_have_text("batch 1 × tokens 1 × answers 2")
    wait_for_url_params(page, open="softmax.out")
    panel.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(panel.locator(".value")).to_contain_text("“sustain”")
    wait_for_url_params(page, open="softmax.out", unit="1")

    # Another block is wider: its place changes its size at once, and the numbers come later.
    waiting: list[Any] = []
    is_held = True
    page.route("**/results/*", lambda route: waiting.append(route) if is_held else route.continue_())
    page.get_by_role("radio", name="Encoder–decoder").first.click()
    expect(page).to_have_url(re.compile("kind=both"))
    page.evaluate(NEXT_FRAMES)
    is_held = False
    for route in waiting:
        route.continue_()
    expect(diagram.locator(".box")).not_to_have_count(10)
    expect(diagram.locator("svg[role=group]")).to_have_attribute("aria-label", re.compile("boxes and"))


def test_a_block_without_its_numbers_ignores_the_pointer_until_they_arrive(visit: Visit, profile: Any) -> None:
    waiting: list[Any] = []
    profile.route(re.compile("/results/[0-9a-f]{64}$"), lambda route: waiting.append(route), times=1)
    page = visit("/block")
    panel = page.locator(".lineage-block-diagram .panel")
    panel.locator(".map").hover(position={"x": 10, "y": 10}, force=True)
    page.mouse.move(0, 0)  # `visit` fails at an error of a script
    waiting[0].continue_()
    expect(panel.locator(".value")).to_contain_text("number 0")


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
    expect(finding).to_contain_text(re.compile("no residual, no norm: all tokens have become equal"))
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


def test_the_cell_follows_the_sliders_and_the_url_stores_the_settings(visit: Visit, tmp_path: Path) -> None:
    page = visit("/gates")
    lstm = page.get_by_label("LSTM", exact=True)
    heading = lstm.get_by_role("heading", level=3)
    expect(heading).to_have_text("With f = 0.90 the LSTM keeps 0.6 % of step 1 at step 50; with 0.99 it would be 61 %.")
    wire = WebSocketRecorder(page)
    slider = lstm.get_by_role("slider", name=re.compile("^f, forget gate: the steps"))
    slider.evaluate("s => { s.value = 0.99; s.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect(heading).to_contain_text("With f = 0.99 the LSTM keeps 61 % of step 1")
    assert wire.events() == [], "dragging sends no messages to the server"
    slider.evaluate("s => s.dispatchEvent(new Event('change', { bubbles: true }))")
    wait_for_url_params(page, f="0.99")
    input_gate = lstm.get_by_role("slider", name=re.compile("^i, input gate, step by step"))
    input_gate.focus()
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("PageUp")
    wait_for_url_params(page, f="0.99", i="1,0x8,0.25,0", at="10")
    box = input_gate.bounding_box()
    assert box
    page.mouse.click(box["x"] + 30.5 / 50 * box["width"], box["y"] + 1)
    wait_for_url_params(page, f="0.99", i="1,0x8,0.25,0x20,1,0", at="31")
    files = save_figure(page, page.locator(".lineage-gates-by-hand"), "gates-by-hand", tmp_path, "CSV")
    assert files["CSV"].decode().splitlines()[31].startswith("31,0.99,1,")
    for _ in range(3):
        page.get_by_role("button", name="Undo").click()
    wait_for_url_params(page)
    expect(heading).to_contain_text("With f = 0.90")
    page.get_by_role("button", name="A counter").click()
    expect(lstm.locator(".value").first).to_have_text("10.00")
    wait_for_url_params(page, f="1", n="1")
    open_page(page, page.url)
    expect(page.get_by_role("button", name="A counter")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Back to the defaults").click()
    wait_for_url_params(page)


def test_left_padding_leaves_fully_masked_rows_and_a_cell_explains_why(visit: Visit) -> None:
    page = visit("/masks")
    masks = page.locator(".lineage-masks")
    expect(masks.locator("h3")).to_have_text("18 of 36 pairs are visible; the mask hides 18.")
    masks.get_by_label("padding side").select_option("left")
    expect(masks.locator("h3")).to_contain_text("softmax gives NaN. After a second layer it is 6 of 6")
    masks.locator(".weights td[data-r='0'][data-c='0']").click()
    expect(masks.locator(".words")).to_have_text(re.compile(r"it is padding.*0 / 0 is NaN\.$"))
    masks.get_by_label("hidden scores become").select_option("self")
    expect(masks.locator("h3")).to_have_text("12 of 36 pairs are visible; the mask hides 24.")
    wait_for_url_params(page, side="left", fill="self", shown="")


def test_a_click_pins_the_unit_and_shows_its_description(visit: Visit) -> None:
    page = visit("/memory?who=lstm-chrono,gru-chrono&unfold=gates")
    gates = page.locator(".lineage-gate-viewer")
    caption = gates.locator(".words")
    expect(caption).to_contain_text("Point at a unit")
    first = gates.locator(".map").first
    first.scroll_into_view_if_needed()
    first.hover(position={"x": 40, "y": 30})
    expect(caption).to_contain_text("keeps half for")
    description = caption.inner_text()
    first.click(position={"x": 40, "y": 30})
    page.mouse.move(5, 5)
    expect(caption).to_contain_text(description.split(";")[0])
    gates.locator(".parts").press("Escape")
    page.mouse.move(5, 5)
    expect(caption).not_to_have_text(description)


def test_positions_change_without_the_server_and_are_stored_in_the_url(visit: Visit) -> None:
    page = visit("/positions?draw=4")
    pictures = page.locator(".lineage-positions")
    expect(pictures.locator("h3")).to_contain_text("after training")
    caption, wire = pictures.locator(".rotary .told").first, WebSocketRecorder(page)
    before = caption.inner_text()
    square = pictures.locator(".rotary .map").nth(1)
    square.hover(position={"x": 5, "y": 5})
    expect(caption).to_have_text(re.compile(r"^Query at 0, key at 0: (\S+)\. Both moved on by one: \1\.$"))
    assert wire.events() == [] and caption.inner_text() != before
    slider = pictures.get_by_label("position of the query")
    slider.focus()
    page.keyboard.press("ArrowRight")
    wait_for_url_params(page, place="9", draw="4")
    pictures.get_by_label("after training").click()
    expect(pictures.locator("h3")).to_contain_text("before training")
    wait_for_url_params(page, after="false")


def test_editing_a_number_updates_the_results_and_the_curves_follow_their_slider(visit: Visit) -> None:
    page = visit("/scaled-attention")
    tables = page.locator(".lineage-dot-product")
    finding, words = tables.locator("h3"), tables.locator(".words")
    expect(finding).to_contain_text("gives")
    before = finding.inner_text()
    key = tables.get_by_label("K, the keys: cat, 1")
    key.click()
    page.keyboard.type("-3")
    expect(finding).not_to_have_text(before)
    page.keyboard.press("Enter")
    wait_for_url_params(page, k="0.0,0.0,2.0,0.0,-3.0,0.0,0.0,1.0,0.0,2.0,0.0,1.0,0.0,1.0,0.0,-1.0")
    key.click()
    page.keyboard.type("abc")
    page.keyboard.press("Enter")
    expect(tables.get_by_text("“abc” is no number from −100 to 100; −3.00 stays.")).to_be_visible()
    weights = tables.get_by_role("grid", name="softmax")
    cell = weights.get_by_label(re.compile("^sat, the:"))
    cell.click()
    expect(words).to_contain_text("sum of the row")
    wait_for_url_params(page, at="weights.2.0")
    cell.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_for_url_params(page, at="weights.2.1")

    panels = page.locator(".lineage-plot-frame").filter(has_text="Standard deviation of the scores")
    caption, slider = panels.locator(".frame-said span"), panels.get_by_role("slider", name="width shown")
    spread = (
        panels.locator("figure")
        .filter(has_text="Standard deviation of the scores")
        .locator(".frame-readout-value")
        .first
    )
    expect(caption).to_contain_text("At dₖ = 64 the scores are divided by 8.00")
    height, wire = panels.bounding_box()["height"], WebSocketRecorder(page)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2, steps=5)
    expect(caption).to_contain_text("At dₖ = 1,024 the scores are divided by 32.00")
    wait_until(lambda: 25 < float(spread.inner_text()) < 40)  # about the root of 1,024
    assert wire.events() == [], "dragging sends no messages to the server"
    assert panels.bounding_box()["height"] == height, "nothing below moves"
    page.mouse.up()
    wait_for_url_params(page, wide="1024", at="weights.2.1")
    expect(caption).to_contain_text("At dₖ = 1,024")


def test_layers_are_scrubbed_in_the_browser_and_a_sentence_can_be_inspected(visit: Visit) -> None:
    page = visit("/sentences?task=gist")
    senses, word_attention = page.locator(".lineage-sense-map"), page.locator(".lineage-word-attention")
    slider = senses.get_by_role("slider", name="Layer")
    expect(senses.locator("output")).to_have_text("layer 2")
    second_similarity = senses.locator(".list button").nth(1).locator(".similarity")
    final_similarity = float(second_similarity.inner_text().replace("−", "-"))
    wire = WebSocketRecorder(page)
    slider.evaluate("s => { s.value = 0; s.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect(senses.locator("output")).to_have_text("layer 0 (embeddings)")
    expect(second_similarity).to_have_text("1.00")
    assert final_similarity < 0.9 and wire.events() == [], "dragging sends no messages to the server"
    slider.evaluate("s => s.dispatchEvent(new Event('change', { bubbles: true }))")
    wait_for_url_params(page, task="gist", layer="0")
    senses.get_by_text("Sentences with other words").click()
    senses.locator(".list button").filter(has_text="with a moon").click()
    wait_for_url_params(page, task="gist", layer="0", chosen="3")
    expect(word_attention.get_by_role("grid", name="Attention weights").locator("tbody th").nth(2)).to_have_text("the")
    word_attention.locator("select").nth(2).select_option("3")
    expect(word_attention.locator(".whose")).to_contain_text("“bat” (word 4): its 48 numbers")
    expect(word_attention.locator(".numbers")).to_contain_text(re.compile(r"^Last layer: \[(−?\d\.\d\d(, )?){48}\]$"))


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
    expect(words).to_contain_text("Press Escape or click to release.")
    page.keyboard.press("Escape")
    expect(words).not_to_contain_text("release")
    rows = save_figure(page, net, "shapes-first", tmp_path, "CSV")["CSV"].decode().splitlines()
    assert len(rows) == 21 and rows[0].startswith("step,reads,fed back,used,answer,probability,unit 1,")
