from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page, expect

from explorer.inspection.attention.attend import AttentionResult, TokenizedInput, attend, tokenize_input
from explorer.ui.training import stored_models
from tests.browser.steps import (
    WebSocketRecorder,
    button,
    open_page,
    save_figure,
    wait_for_url_params,
    wait_until_settled,
)

DEFAULT_MODEL, TEXT = "text-through-training", "the night and the day"
TOKENS = "[...document.querySelectorAll('.lineage-attention-heads .asks button')].map(one => one.textContent)"
GRID = "[...document.querySelectorAll('.lineage-attention-heads .tile canvas')].map(one => one.toDataURL()).join()"
SPACES = {" ": "␣", "\n": "↵"}


def attention_of(text: str = TEXT, step: int | None = None) -> tuple[TokenizedInput, AttentionResult]:
    """Return the tokens of a text and the model's attention and predictions, computed without the page."""
    stored_model = stored_models.find_run(DEFAULT_MODEL)
    attended = tokenize_input(stored_model.config, stored_model.tokenizer, text)
    return attended, attend(stored_model.module(0, step), attended.ids)


def visible(token: str) -> str:
    return SPACES.get(token, token)


def top_prediction(attended: tuple[TokenizedInput, AttentionResult], position: int = -1) -> tuple[str, str]:
    """Return the most probable next token at a position and its probability, formatted as in the finding."""
    tokenizer = stored_models.find_run(DEFAULT_MODEL).tokenizer
    assert tokenizer
    log_probabilities = attended[1].log_probabilities[position]
    return visible(tokenizer.tokens[int(log_probabilities.argmax())]), f"{np.exp(log_probabilities.max()):.2f}"


def attention_pattern(
    attended: tuple[TokenizedInput, AttentionResult], layer: int, head: int, position: int
) -> re.Pattern[str]:
    """Return a pattern of the caption that names the token with the largest attention weight."""
    row = np.nan_to_num(attended[1].weights[layer, head, position])
    tokens, strongest = attended[0].tokens, int(row.argmax())
    message = f"“{visible(tokens[position])}” attends to “{visible(tokens[strongest])}” {row[strongest]:.2f}"
    return re.compile(f"^{re.escape(message)}")


def prediction(letter: str, text: str, probability: str) -> str:
    """Return the finding about a prediction."""
    return f"The model predicts “{letter}” after “{text}”, with probability {probability}."


def finding_heading(page: Page) -> Locator:
    """Return the heading with the model's prediction."""
    return page.locator(".section-finding").filter(has_text=re.compile("^(The model |With )"))


def attention_caption(page: Page) -> Locator:
    """Return the caption that describes the attention of the query token."""
    return page.locator(".lineage-attention-heads .reading")


def wait_for_text(page: Page, text: str = TEXT) -> None:
    """Wait until the grid of this text is drawn."""
    tokens = [visible(letter) for letter in text]
    page.wait_for_function(f"tokens => JSON.stringify({TOKENS}) === JSON.stringify(tokens)", arg=tokens)
    expect(page.locator(".lineage-attention-heads .tile")).to_have_count(16)
    page.wait_for_function("() => document.querySelector('.lineage-attention-heads .tile canvas').width > 16")
    wait_until_settled(page)


def reload(page: Page, text: str = TEXT) -> None:
    open_page(page, page.url)
    wait_for_text(page, text)


def wait_for_new_grid(page: Page, before: str) -> str:
    """Wait until the grid differs from an earlier one, and return it."""
    page.wait_for_function(f"before => {GRID} !== before", arg=before)
    return str(page.evaluate(GRID))


def test_a_head_is_shown_whose_removal_changes_the_answer_until_it_is_reset(visit: Any) -> None:
    page = visit("/attention?model=agreement-heads&layer=0&head=0")
    expect(attention_caption(page)).to_have_text("“of” attends to “king” 0.98.")
    expect(finding_heading(page)).to_contain_text("predicts “himself”")
    initial_finding, grid = finding_heading(page).inner_text(), page.evaluate(GRID)
    page.get_by_text("Change the model").click()
    button(page, "Switch head off").click()
    expect(finding_heading(page)).to_have_text(re.compile("^With one head switched off the model predicts “herself”"))
    expect(page.locator(".answer-row").filter(has_text="herself").locator("b")).to_have_text("0.58")
    expect(page.locator(".lineage-attention-heads .box.off")).to_have_count(1)
    wait_for_url_params(page, off="0.0", model="agreement-heads")
    page.get_by_role("switch", name="layer 2", exact=True).click()
    five = re.compile("^With five heads switched off the model ")
    expect(finding_heading(page)).to_have_text(five)
    wait_for_url_params(page, off="0.0,1.0,1.1,1.2,1.3")
    open_page(page, page.url)
    expect(finding_heading(page)).to_have_text(five)
    button(page, "Reset").click()
    expect(finding_heading(page)).to_have_text(initial_finding)
    wait_for_url_params(page, off="")
    page.wait_for_function(f"grid => {GRID} === grid", arg=grid)
    expect(page.get_by_role("button", name="Reset")).to_be_hidden()


def test_a_text_is_typed_heads_are_opened_and_tokens_pinned_with_mouse_and_keyboard(visit: Any) -> None:
    page = visit(f"/attention?model={DEFAULT_MODEL}")
    wait_for_text(page)
    letter, p = top_prediction(attention_of())
    expect(finding_heading(page)).to_have_text(prediction(letter, "…ight and the day", p))
    grid = page.evaluate(GRID)
    field = page.get_by_label("Your text")
    field.fill("O Romeo")
    field.press("Enter")
    wait_for_text(page, "O Romeo")
    wait_for_new_grid(page, grid)
    attended = attention_of("O Romeo")
    letter, p = top_prediction(attended)
    expect(finding_heading(page)).to_have_text(prediction(letter, "O Romeo", p))
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 1, 2, 6))
    wait_for_url_params(page, say="O Romeo", layer="", head="")

    page.locator(".lineage-attention-heads .box.open .tile").focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Layer 3, head 4", exact=True)).to_be_visible()
    expect(page.get_by_text("How does layer 3, head 4 compute its weights?").first).to_be_attached()
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, 6))
    wait_for_url_params(page, say="O Romeo", layer="2", head="3")
    reload(page, "O Romeo")
    expect(page.get_by_role("heading", name="Layer 3, head 4", exact=True)).to_be_visible()
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, 6))

    page.get_by_text("Change the model").click()
    button(page, "Remove the causal mask").click()
    expect(finding_heading(page)).to_have_text(re.compile("^With the causal mask removed "))
    expect(page.get_by_text("empty: masked (later)")).to_be_hidden()
    button(page, "Reset").click()
    wait_for_url_params(page, unmasked="")

    field.fill(TEXT)
    field.press("Enter")
    wait_for_text(page)
    attended, last = attention_of(), len(TEXT) - 1
    tokens = page.locator(".lineage-attention-heads .asks button")
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, last))
    tokens.nth(9).hover()
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, 9))
    page.get_by_role("heading", level=1).hover()
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, last))
    wait_for_url_params(page, at="")
    tokens.nth(9).click()
    page.get_by_role("heading", level=1).hover()
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, 9))
    letter, p = top_prediction(attended, 9)
    expect(finding_heading(page)).to_have_text(prediction(letter, "the night ", p))
    wait_for_url_params(page, at="9")
    tokens.nth(9).focus()
    page.keyboard.press("ArrowUp")
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, 8))
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
    expect(attention_caption(page)).to_have_text("“␣” cannot attend to “i”: the pair is masked.")
    cell(5, 4)
    expect(attention_caption(page)).to_have_text(re.compile(r"^“i” attends to “n” with "))
    shown = float(attention_caption(page).inner_text().split(" with ")[1].rstrip("."))
    assert abs(shown - attended[1].weights[2, 3, 5, 4]) < 1e-3
    reload(page)
    expect(attention_caption(page)).to_have_text(attention_pattern(attended, 2, 3, 8))
    expect(button(page, "matrix")).to_have_attribute("aria-pressed", "true")


def test_scrubbing_through_training_sends_one_event_on_release(visit: Any) -> None:
    page = visit(f"/attention?model={DEFAULT_MODEL}")
    wait_for_text(page)
    steps = stored_models.find_run(DEFAULT_MODEL).run.snapshot_steps()  # type: ignore[union-attr]
    wire = WebSocketRecorder(page)
    slider, step_caption = page.get_by_label("Training step"), page.locator(".lineage-attention-heads .where")
    slider.hover()
    grid = page.evaluate(GRID)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 8, y)
    page.mouse.down()
    for share in (0.8, 0.5, 0.2):
        page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), y, steps=5)
        step_index = int(slider.input_value())
        expect(step_caption).to_have_text(
            re.compile(rf"^step {steps[step_index]:,} of {steps[-1]:,}, loss [\d.]+ nats$")
        )
        grid = wait_for_new_grid(page, grid)
        expect(attention_caption(page)).to_have_text(
            attention_pattern(attention_of(step=steps[step_index]), 1, 2, len(TEXT) - 1)
        )
    assert wire.events() == [], "no message is sent while the slider is held"
    page.mouse.up()
    wait_for_url_params(page, step=str(steps[step_index]))
    assert wire.events() == [("step", steps[step_index])]
    letter, p = top_prediction(attention_of(step=steps[step_index]))
    expect(finding_heading(page)).to_contain_text(
        f"predicts “{letter}” after “…ight and the day”, with probability {p}."
    )
    reload(page)
    expect(step_caption).to_contain_text(f"step {steps[step_index]:,} of ")
    page.wait_for_function(f"grid => {GRID} === grid", arg=grid)
    slider.press("End")
    wait_for_url_params(page, step="")


def test_the_weights_of_all_heads_are_saved(visit: Any, tmp_path: Path) -> None:
    page = visit("/attention?say=O+Romeo")
    wait_for_text(page, "O Romeo")
    weights = attention_of("O Romeo")[1].weights
    heads = page.locator(".lineage-attention-heads .heads")
    files = save_figure(page, heads, f"attention-{DEFAULT_MODEL}-heads", tmp_path)
    rows = csv.DictReader(files["CSV"].decode().splitlines())
    exact = np.array([float(row["weight"] or "nan") for row in rows]).reshape(weights.shape)
    assert np.array_equal(np.isnan(exact), np.isnan(weights)), "masked cells are empty"
    assert np.nanmax(np.abs(exact - weights)) < 1e-3


def test_heads_and_tokens_are_chosen_on_a_phone(visit: Any) -> None:
    page = visit(f"/attention?model={DEFAULT_MODEL}", 390, 844)
    wait_for_text(page)
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
    expect(attention_caption(page)).to_have_text(attention_pattern(attention_of(), 3, 3, 6))
    page.get_by_text("Change the model").click()
    for control in (page.get_by_label("Training step"), button(page, "Switch head off")):
        box = control.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
