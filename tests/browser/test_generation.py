from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from explorer.generation.generate import TextGenerator, continue_prompt
from explorer.generation.sampling import Sampling
from explorer.tasks.text.config import TextConfig
from explorer.ui.training import stored_models
from tests.browser.steps import (
    WebSocketRecorder,
    button,
    open_page,
    wait_for_url_params,
    wait_until,
    wait_until_idle,
    wait_until_settled,
)

SMALL = "/studio?models=text-ngram&tokens=40&unfold=studio-tree,studio-writing"
TEXTS = (
    "[...document.querySelectorAll('.lineage-temperature .card .text')].map(box => box.lastElementChild.textContent)"
)
PATH = (
    "[...document.querySelectorAll('.lineage-token-tree .token-text .token')].map(token => token.textContent).join('')"
)
# Five thousand letters may take only a second, so the page itself presses Stop, in each animation frame until the text
# has stopped: a press shortly after Generate counts as a double click and stops nothing.
STOP = """() => {
    const place = document.querySelector(".lineage-text-stream"), said = place.querySelector(".status").textContent;
    if (/^[\\d,]+ of 5,000 letters, [\\d,]+ a second$/.test(said)) place.querySelector(".press").click();
    return said.startsWith("Stopped at");
}"""


@cache
def generated_text(
    model: str, tokens: int, temperature: float, prompt: str = "Romeo", **sampling_settings: float
) -> str:
    """Return the text that this model generates on the command line."""
    stored_model = stored_models.find_run(model)
    assert stored_model.tokenizer
    sampling = Sampling(float(temperature), **sampling_settings)  # type: ignore[arg-type]
    task, tokenizer = stored_model.config.task_as(TextConfig), stored_model.tokenizer
    generator = TextGenerator.for_task(stored_model.module(), task, tokenizer)
    return continue_prompt(generator, tokenizer, prompt, tokens, sampling, lower=task.lower).texts[0]


def wait_for_texts(page: Page, *expected: str) -> None:
    """Wait until the texts below the slider are these."""
    condition = f"expected => JSON.stringify({TEXTS}) === JSON.stringify(expected)"
    page.wait_for_function(condition, arg=list(expected))


def slider(page: Page) -> Locator:
    return page.locator(".lineage-temperature .slider")


def url_param(page: Page, name: str) -> str:
    """Return a parameter of the URL, or an empty string."""
    return str(page.evaluate("name => new URLSearchParams(location.search).get(name) ?? ''", name))


def test_the_temperature_is_dragged_and_a_token_is_pinned(visit: Any) -> None:
    page = visit("/studio?models=text-ngram&tokens=40")

    def expect_texts(temperature: float, **sampling_settings: float) -> None:
        wait_for_texts(page, generated_text("text-ngram", 40, temperature, **sampling_settings))

    def shown_candidates() -> list[str]:
        return page.locator(".lineage-temperature .distribution .row:not(.gone)").all_inner_texts()

    expect_texts(0.7)
    wire, finding = WebSocketRecorder(page), page.locator(".lineage-temperature .finding")
    slider(page).scroll_into_view_if_needed()
    box = slider(page).bounding_box()
    assert box
    y, findings = box["y"] + box["height"] / 2, set()
    page.mouse.move(box["x"] + 0.35 * box["width"], y)
    page.mouse.down()
    for share in (0.3, 0.45, 0.6, 0.75, 0.9):
        page.mouse.move(box["x"] + share * box["width"], y, steps=4)
        value = float(slider(page).input_value())
        expect_texts(round(20 * value) / 20)
        expect(finding).to_contain_text(f"At {value:.2f} ")
        findings.add(finding.inner_text())
    assert len(findings) == 5 and value > 1.5
    assert wire.events() == [], "no message is sent while the slider is held"
    page.mouse.up()
    wait_for_url_params(page, t=f"{value:g}")
    assert wire.events() == [("temperature", value)]
    assert slider(page).input_value() == f"{value:g}"

    slider(page).press("Home")
    expect(finding).to_contain_text("always the most probable letter")
    for _ in range(3):
        slider(page).press("ArrowRight")
    expect(page.locator(".lineage-temperature .size")).to_have_text("0.15")
    expect_texts(0.15)
    wait_for_url_params(page, t="0.15")
    page.get_by_role("button", name="Temperature 1.2").click()
    wait_for_url_params(page, t="1.2")
    page.get_by_role("button", name="Sampling settings").click()
    for label, name, text in (("top-k", "top_k", "5"), ("Seed of the random numbers", "seed", "4")):
        field = page.get_by_label(label)
        field.fill(text)
        field.press("Enter")
        wait_for_url_params(page, **{name: text})
    expect_texts(1.2, seed=4, top_k=5)
    values = page.locator(".lineage-temperature .distribution .row .value")
    expect(values.nth(4)).not_to_have_text("cut")
    expect(values.nth(5)).to_have_text("cut")

    tokens = page.locator(".lineage-temperature [role=option]")
    text = generated_text("text-ngram", 40, 1.2, seed=4, top_k=5)
    place = next(i for i, letter in enumerate(text) if i > 10 and letter.isalpha())
    # A press outside would close the settings and, since Playwright's presses have no pressure, scroll to their button.
    page.keyboard.press("Escape")
    wait_until_settled(page)
    tokens.nth(place).click()
    expect(page.locator(".lineage-temperature .kept")).to_have_text(text[place])
    wait_for_url_params(page, of="24", at=str(place))
    slider(page).press("End")
    wait_for_url_params(page, t="2")
    finding.hover()
    expected = shown_candidates()
    tokens.nth(30).hover()
    wait_until(lambda: shown_candidates() != expected)
    finding.hover()
    wait_until(lambda: shown_candidates() == expected)
    open_page(page, page.url)
    wait_until(lambda: shown_candidates() == expected)
    box_of_tokens = page.locator(".lineage-temperature .text")
    box_of_tokens.focus()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        box_of_tokens.press(key)
    box_of_tokens.press("Enter")
    expect(tokens.nth(2)).to_have_class(re.compile("kept"))
    wait_for_url_params(page, of="40", at="2")


def test_step_by_step_generation_can_take_another_path_and_go_back(visit: Any) -> None:
    page = visit(SMALL)
    tree = page.locator(".lineage-token-tree")
    text, initial_length = generated_text("text-ngram", 40, 0.7), 8

    def wait_for_path(path: str) -> None:
        page.wait_for_function(f"path => {PATH} === path", arg=path.replace("\n", ""))
        expect(tree.locator(".column:not(.newest)")).to_have_count(len(path))
        wait_until_idle(page)

    def candidate_text(candidate: Locator) -> str:
        name = candidate.locator(".piece").inner_text()
        return {"␣": " ", "↵": "\n"}.get(name, name)

    wait_for_path(text[:initial_length])
    assert not url_param(page, "path"), "no token has been chosen yet"
    button(page, "Next letter").click()
    wait_for_path(text[: initial_length + 1])
    button(page, "10 letters").click()
    wait_for_path(text[: initial_length + 11])
    wait_until(lambda: url_param(page, "path").count(",") == initial_length + 10)
    column = tree.locator(".column").nth(3)
    other = column.locator(".candidate:not(.taken)").first
    path = text[:3] + candidate_text(other)
    other.click()
    wait_for_path(path)
    open_page(page, page.url)
    wait_for_path(path)
    assert candidate_text(column.locator(".candidate.taken")) == path[-1] != text[3]
    button(page, "Back").click()
    wait_for_path(path[:3])

    newest = tree.locator(".column.newest .candidate")
    newest.first.focus()
    page.keyboard.press("ArrowDown")
    expect(newest.nth(1)).to_be_focused()
    path = path[:3] + candidate_text(newest.nth(1))
    page.keyboard.press("Enter")
    wait_for_path(path)
    page.keyboard.press("Backspace")
    wait_for_path(path[:3])
    button(page, "From the prompt").click()
    wait_for_path("")
    open_page(page, page.url)
    wait_for_path("")

    page.get_by_label("Prompt", exact=True).fill("<img src=x onerror=window.struck=1>")
    page.get_by_label("Prompt", exact=True).press("Enter")
    wait_for_texts(page, generated_text("text-ngram", 40, 0.7, "<img src=x onerror=window.struck=1>"))
    expect(page.get_by_text("It never saw “<”")).to_be_visible()
    assert not page.evaluate("window.struck || document.querySelector('img[src=x]') !== null")


def test_a_long_text_is_generated_stopped_and_saved(visit: Any, tmp_path: Path) -> None:
    page = visit("/studio?models=text-transformer&tokens=20&length=5000&unfold=studio-writing")
    stream = page.locator(".lineage-text-stream")
    status, write_button = stream.locator(".status"), stream.locator(".press")
    expect(write_button).to_have_text(re.compile("Generate$"))
    expect(status).to_have_text("")
    wire = WebSocketRecorder(page)
    write_button.click()
    page.wait_for_function(STOP)
    expect(status).to_have_text(re.compile(r"^Stopped at [\d,]+ of 5,000 letters$"))
    expect(write_button).to_have_text(re.compile("Generate$"))
    assert wire.events() == [], "generating sends no component events"

    def shown_text() -> str:
        return "".join(stream.locator(".token-text .token").evaluate_all("all => all.map(one => one.textContent)"))

    def saved_text() -> str:
        stream.get_by_role("button", name="Save this figure").click()
        with page.expect_download() as download:
            stream.get_by_role("menuitem", name="TXT").click()
        assert download.value.suggested_filename == "text.txt"
        download.value.save_as(tmp_path / "text")
        return (tmp_path / "text").read_text()

    beginning, stopped = generated_text("text-transformer", 200, 0.7), shown_text()
    count = int(re.sub(r"\D", "", status.inner_text().split(" of ")[0]))
    saved = saved_text().split("\n\nRomeo")[1].removesuffix("\n")
    assert len(saved) == count and saved.replace("\n", "") == stopped
    assert saved.startswith(beginning[:count])

    page.get_by_label("Length in tokens").fill("200")
    page.get_by_label("Length in tokens").press("Enter")
    wait_for_url_params(page, length="200")
    assert shown_text() == stopped, "the generated text remains"
    write_button.click()
    expect(status).to_have_text(re.compile(r"^200 letters in [\d.]+ s, [\d,]+ a second$"))
    assert saved_text().endswith(f"\n\nRomeo{beginning}\n")
