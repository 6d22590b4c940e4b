from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from explorer.inspection.attention.attend import Ablation, AttentionResult, TokenizedInput, attend, tokenize_input
from explorer.inspection.attention.logit_lens import head_activations
from explorer.ui.training import stored_models
from tests import needs
from tests.browser.steps import WebSocketRecorder, button, save_figure, wait_for_url_params, wait_until, wait_until_idle

pytestmark = pytest.mark.slow

USUAL, TEXT = "text-through-training", "the night and the day"
TOKENS = "[...document.querySelectorAll('.lineage-attention-heads .asks button')].map(one => one.textContent)"
GRID = "[...document.querySelectorAll('.lineage-attention-heads .tile canvas')].map(one => one.toDataURL()).join()"
COLUMN = (
    "[...document.querySelectorAll('.lineage-attention-walkthrough .keys .row .value')].map(one => one.textContent)"
)
SPACES = {" ": "␣", "\n": "↵"}


def asked(
    text: str = TEXT, step: int | None = None, off: tuple[tuple[int, int], ...] = ()
) -> tuple[TokenizedInput, AttentionResult]:
    """What the model itself says of a text, without any page."""
    hand = stored_models.find_model(USUAL)
    found = tokenize_input(hand.config, hand.tokenizer, text)
    return found, attend(hand.model(0, step), found.ids, Ablation(zero_ablated=frozenset(off)))


def visible(token: str) -> str:
    return SPACES.get(token, token)


def expected(found: tuple[TokenizedInput, AttentionResult], at: int = -1) -> tuple[str, str]:
    """The likeliest answer after a token, and its probability, as they stand in the finding."""
    tokenizer = stored_models.find_model(USUAL).tokenizer
    assert tokenizer
    answers = found[1].log_probabilities[at]
    return visible(tokenizer.tokens[int(answers.argmax())]), f"{np.exp(answers.max()):.2f}"


def glance(found: tuple[TokenizedInput, AttentionResult], layer: int, head: int, at: int) -> re.Pattern[str]:
    """How the page says what a token looks at most."""
    row = np.nan_to_num(found[1].weights[layer, head, at])
    tokens, most = found[0].tokens, int(row.argmax())
    said = f"“{visible(tokens[at])}” looks at “{visible(tokens[most])}” {row[most]:.2f}"
    return re.compile(f"^{re.escape(said)}")


def finding(page: Page) -> Locator:
    """What the model says, as a sentence."""
    return page.get_by_test_id("stHeading").filter(has_text=re.compile("^(After “|With |It answers )"))


def reading(page: Page) -> Locator:
    """What the token that asks looks at, in words."""
    return page.locator(".lineage-attention-heads .reading")


def opened(page: Page, text: str = TEXT) -> None:
    """The grid of this text stands."""
    tokens = [visible(letter) for letter in text]
    page.wait_for_function(f"tokens => JSON.stringify({TOKENS}) === JSON.stringify(tokens)", arg=tokens)
    expect(page.locator(".lineage-attention-heads .tile")).to_have_count(16)
    page.wait_for_function("document.querySelector('.lineage-attention-heads .tile canvas').width > 16")
    wait_until_idle(page)


def changed(page: Page, before: str) -> str:
    """The grid, once it is another one."""
    page.wait_for_function(f"before => {GRID} !== before", arg=before)
    return str(page.evaluate(GRID))


def test_a_typed_text_gives_a_new_grid_and_the_keyboard_opens_a_head(visit: Any) -> None:
    page = visit("/attention")
    opened(page)
    letter, p = expected(asked())
    expect(finding(page)).to_have_text(f"After “…ight and the day” it expects “{letter}” most, {p}.")
    grid = page.evaluate(GRID)
    field = page.get_by_label("Your text")
    field.fill("O Romeo")
    field.press("Enter")
    opened(page, "O Romeo")
    changed(page, grid)
    here = asked("O Romeo")
    letter, p = expected(here)
    expect(finding(page)).to_have_text(f"After “O Romeo” it expects “{letter}” most, {p}.")
    expect(reading(page)).to_have_text(glance(here, 1, 2, 6))
    wait_for_url_params(page, say="O Romeo", layer="", head="")

    page.locator(".lineage-attention-heads .box.open .tile").focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Layer 3, head 4", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Inside layer 3, head 4")).to_be_attached()
    expect(reading(page)).to_have_text(glance(here, 2, 3, 6))
    wait_for_url_params(page, say="O Romeo", layer="2", head="3")
    page.reload()
    opened(page, "O Romeo")
    expect(page.get_by_role("heading", name="Layer 3, head 4", exact=True)).to_be_visible()
    expect(reading(page)).to_have_text(glance(here, 2, 3, 6))


def test_heads_switched_off_change_what_it_says_until_all_touches_are_undone(visit: Any) -> None:
    page = visit("/attention")
    opened(page)
    usual, grid = finding(page).inner_text(), page.evaluate(GRID)

    def answers(off: tuple[tuple[int, int], ...], words: str) -> None:
        letter, p = expected(asked(off=off))
        was = expected(asked())
        said = f"“{letter}” most, {p}; untouched" if letter != was[0] else f"“{letter}”, but goes from {was[1]} to {p}"
        sentence = re.compile(f"^With {words}, .*{re.escape(said)}" if off else re.escape(usual))
        expect(finding(page)).to_have_text(sentence)
        expect(page.get_by_role("figure", name=f"The likeliest answers: {letter} {p}")).to_be_attached()

    button(page, "Switch off").click()
    answers(((1, 2),), "one head off")
    expect(page.locator(".lineage-attention-heads .box.off")).to_have_count(1)
    wait_for_url_params(page, off="1.2")
    page.get_by_role("switch", name="layer 1", exact=True).click()
    off = ((0, 0), (0, 1), (0, 2), (0, 3), (1, 2))
    answers(off, "five heads off")
    wait_for_url_params(page, off="0.0,0.1,0.2,0.3,1.2")
    page.reload()
    opened(page)
    answers(off, "five heads off")
    button(page, "Lift the mask").click()
    expect(finding(page)).to_have_text(re.compile("^With five heads off and the mask lifted, "))
    expect(page.get_by_text("empty: cannot look ahead")).to_be_hidden()
    button(page, "Undo all touches").click()
    expect(finding(page)).to_have_text(usual)
    answers((), "")
    wait_for_url_params(page, off="", unmasked="")
    page.wait_for_function(f"grid => {GRID} === grid", arg=grid)
    expect(page.get_by_role("button", name="Undo all touches")).to_be_disabled()


def test_scrubbing_the_training_asks_the_server_nothing_and_letting_go_once(visit: Any) -> None:
    page = visit("/attention")
    opened(page)
    steps = stored_models.find_model(USUAL).run.snapshot_steps()  # type: ignore[union-attr]
    wire = WebSocketRecorder(page)
    slider, where = page.get_by_label("Training step"), page.locator(".lineage-attention-heads .where")
    slider.hover()
    if needs.has_tiny_shakespeare():
        expect(page.get_by_text("held-out targets")).to_be_attached()  # what is measured last
    wire.wait_until_quiet()
    grid = page.evaluate(GRID)
    before, told = len(wire.frames), len(wire.component_events())
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 8, y)
    page.mouse.down()
    for share in (0.8, 0.5, 0.2):
        page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), y, steps=5)
        at = int(slider.input_value())
        expect(where).to_have_text(re.compile(rf"^step {steps[at]:,} of {steps[-1]:,}, loss [\d.]+ nats$"))
        grid = changed(page, grid)
        expect(reading(page)).to_have_text(glance(asked(step=steps[at]), 1, 2, len(TEXT) - 1))
    page.wait_for_timeout(600)
    assert len(wire.frames) == before, "nothing is asked while the slider is held"
    page.mouse.up()
    wait_for_url_params(page, step=str(steps[at]))
    wire.wait_until_quiet()
    assert wire.component_events()[told:] == [("step", steps[at])]
    letter, p = expected(asked(step=steps[at]))
    expect(finding(page)).to_contain_text(f"it expects “{letter}” most, {p}.")
    page.reload()
    opened(page)
    expect(where).to_contain_text(f"step {steps[at]:,} of ")
    page.wait_for_function(f"grid => {GRID} === grid", arg=grid)
    slider.press("End")
    wait_for_url_params(page, step="")


def test_pointing_at_a_token_shows_it_and_a_click_keeps_it(visit: Any) -> None:
    page = visit("/attention")
    opened(page)
    here, last = asked(), len(TEXT) - 1
    tokens = page.locator(".lineage-attention-heads .asks button")
    expect(reading(page)).to_have_text(glance(here, 1, 2, last))
    tokens.nth(9).hover()
    expect(reading(page)).to_have_text(glance(here, 1, 2, 9))
    page.get_by_role("heading", level=1).hover()
    expect(reading(page)).to_have_text(glance(here, 1, 2, last))
    wait_for_url_params(page, at="")
    tokens.nth(9).click()
    page.get_by_role("heading", level=1).hover()
    expect(reading(page)).to_have_text(glance(here, 1, 2, 9))
    letter, p = expected(here, 9)
    expect(finding(page)).to_have_text(f"After “the night ” it expects “{letter}” most, {p}.")
    expect(page.locator(".lineage-attention-walkthrough .chip").nth(9)).to_have_attribute("aria-pressed", "true")
    wait_for_url_params(page, at="9")
    tokens.nth(9).focus()
    page.keyboard.press("ArrowUp")
    expect(reading(page)).to_have_text(glance(here, 1, 2, 8))
    page.keyboard.press("Enter")
    wait_for_url_params(page, at="8")

    button(page, "matrix").click()
    wait_for_url_params(page, at="8", view="matrix")
    stage = page.locator(".lineage-attention-heads .stage")
    left, high = stage.evaluate("s => ['--left', '--high'].map(name => parseFloat(s.style.getPropertyValue(name)))")
    first = tokens.first.bounding_box()
    box = stage.bounding_box()
    assert first and box

    def cell(query: int, key: int) -> None:
        page.mouse.move(box["x"] + left + (key + 0.5) * high, first["y"] + (query + 0.5) * high)

    cell(3, 5)
    expect(reading(page)).to_have_text("“␣” cannot look at “i”: empty, not zero.")
    cell(5, 4)
    expect(reading(page)).to_have_text(re.compile(r"^“i” looks at “n” with "))
    shown = float(reading(page).inner_text().split(" with ")[1].rstrip("."))
    assert abs(shown - here[1].weights[1, 2, 5, 4]) < 1e-3
    page.reload()
    opened(page)
    expect(reading(page)).to_have_text(glance(here, 1, 2, 8))
    expect(button(page, "matrix")).to_have_attribute("aria-pressed", "true")


def test_one_head_is_walked_through_with_its_own_numbers(visit: Any) -> None:
    page = visit("/attention?say=O+Romeo")
    opened(page, "O Romeo")
    walk = page.locator(".lineage-attention-walkthrough")
    hand = stored_models.find_model(USUAL)
    one = head_activations(hand.model(), asked("O Romeo")[0].ids, 1, 2)

    def number(value: float) -> str:
        text = f"{abs(value):.2f}"
        return f"−{text}" if value < 0 and float(text) else text

    def column(*wanted: str) -> None:
        page.wait_for_function(f"wanted => JSON.stringify({COLUMN}) === JSON.stringify(wanted)", arg=list(wanted))

    chip = walk.locator(".chip").nth(3)
    chip.scroll_into_view_if_needed()
    chip.click()
    expect(reading(page)).to_have_text(glance(asked("O Romeo"), 1, 2, 3))
    wait_for_url_params(page, at="3")
    expect(walk.locator(".finding")).to_contain_text("Layer 2, head 3 turns “o” into a query")
    for _ in range(2):
        button(page, "Next").click()
    column(*map(number, one.raw[3]))
    button(page, "Next").click()
    column(*map(number, one.scaled[3]))
    wait_for_url_params(page, walk="3")
    walk.locator(".steps .step").nth(4).click()
    column(*map(number, one.scaled[3, :4]), *["−∞"] * 3)
    walk.locator(".steps .step").nth(4).press("ArrowRight")
    column(*(f"{w:.3f}" if 0.0005 <= w < 0.9995 else "<0.001" for w in one.weights[3, :4]), *[""] * 3)
    expect(walk.locator(".foot-value")).to_have_text("1.000")
    button(page, "Next").click()
    expect(walk.locator(".finding")).to_contain_text("Each value times its share, all added up")
    expect(button(page, "Next")).to_have_attribute("aria-disabled", "true")
    wait_for_url_params(page, walk="6", at="3")
    page.reload()
    opened(page, "O Romeo")
    expect(walk.locator(".finding")).to_contain_text("Each value times its share, all added up")
    expect(chip).to_have_attribute("aria-pressed", "true")
    button(page, "Back").click()
    expect(walk.locator(".foot-value")).to_have_text("1.000")
    wait_for_url_params(page, walk="5")


def test_a_model_without_attention_is_said_and_another_one_can_be_chosen(visit: Any) -> None:
    page = visit("/attention?model=text-gru&view=circle&off=everyone&layer=99&step=5")
    for said in (
        "which has no attention to look at. Choose one that has: ",
        "view = circle is not possible. Give one of lines, matrix.",
        "names no heads. Write layer.head",
        "layer = 99 is not possible. Give a number from 0 to 63.",
    ):
        expect(page.get_by_text(said)).to_be_visible()
    expect(page.locator(".lineage-attention-heads")).to_have_count(0)
    page.get_by_role("combobox", name="Who reads it").click()
    page.get_by_role("option", name="Transformer on negation", exact=True).click()
    expect(page.get_by_role("heading", name="Where does each word look?")).to_be_visible()
    expect(page.locator(".lineage-attention-heads .asks button").first).to_be_visible()
    config: Any = stored_models.find_model("negation-single-transformer").config.model
    expect(page.locator(".lineage-attention-heads .tile")).to_have_count(config.layers * config.heads)
    expect(finding(page)).to_have_text(re.compile(r"^It answers \w+, [\d.]+\.$"))
    expect(page.get_by_text("which has no attention")).to_have_count(0)
    wait_until_idle(page)


def test_odd_texts_are_read_and_nothing_in_them_is_markup(visit: Any) -> None:
    page = visit("/attention?layer=60&at=900&head=60")
    opened(page)
    field = page.get_by_label("Your text")
    for typed, shown in (("O", "O"), ("<b>ä</b> &amp;", "b/b &amp;"), ("", "\n")):
        field.fill(typed)
        field.press("Enter")
        kept = [letter for letter in shown if letter in "".join(stored_models.find_model(USUAL).tokenizer.tokens)]  # type: ignore[union-attr]
        opened(page, "".join(kept))
        expect(finding(page)).to_contain_text(f"“{expected(asked(typed))[0]}” most, {expected(asked(typed))[1]}.")
    field.fill("to be or not " * 30)
    field.press("Enter")
    expect(page.get_by_text("letters at once. The beginning was left out: ")).to_be_visible()
    width = stored_models.find_model(USUAL).config.task.context  # type: ignore[union-attr]
    expect(page.locator(".lineage-attention-heads .asks button")).to_have_count(width)
    wait_until_idle(page)


def test_the_heads_are_saved_as_pictures_and_as_numbers(visit: Any, tmp_path: Path) -> None:
    page = visit("/attention?say=O+Romeo&at=4")
    opened(page, "O Romeo")
    expect(page.locator(".lineage-attention-walkthrough .row").first).to_be_visible()
    weights = asked("O Romeo")[1].weights

    def table(selector: str, name: str) -> list[dict[str, str]]:
        files = save_figure(page, page.locator(selector), name, tmp_path)
        return list(csv.DictReader(files["CSV"].decode().splitlines()))

    rows = table(".lineage-attention-heads .heads", f"attention-{USUAL}-heads")
    exact = np.array([float(row["weight"] or "nan") for row in rows]).reshape(weights.shape)
    assert np.array_equal(np.isnan(exact), np.isnan(weights)), "what may not be looked at is empty"
    assert np.nanmax(np.abs(exact - weights)) < 1e-3
    rows = table(".lineage-attention-heads .second", f"attention-{USUAL}-head")
    assert [row["weight"] for row in rows] == [f"{w:.5f}" if w == w else "" for w in exact[1, 2].flat]
    rows = table(".lineage-attention-heads .habits-figure", f"attention-{USUAL}-habits")
    before = [weights[1, 2, i, i - 1] for i in range(1, 7)]
    assert abs(float(rows[6]["previous"]) - np.mean(before)) < 1e-3
    rows = table(".lineage-attention-walkthrough", "head-2-3-query")
    assert len(rows) >= 7


def test_a_finger_can_look_around_on_the_phone(visit: Any) -> None:
    page = visit("/attention", 390, 844)
    opened(page)
    tiles = page.locator(".lineage-attention-heads .tile")
    for tile in tiles.all():
        box = tile.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["width"] >= 40
    tiles.last.click()
    expect(page.get_by_role("heading", name="Layer 4, head 4", exact=True)).to_be_attached()
    wait_for_url_params(page, layer="3", head="3")
    token = page.locator(".lineage-attention-heads .asks button").nth(6)
    token.scroll_into_view_if_needed()
    token.click()
    wait_for_url_params(page, at="6")
    wait_until(lambda: re.match(glance(asked(), 3, 3, 6), reading(page).inner_text()))
    for part in (page.get_by_label("Training step"), button(page, "Switch off"), button(page, "Next")):
        box = part.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
