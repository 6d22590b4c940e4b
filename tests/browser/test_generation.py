from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from explorer.generation.generate import TextGenerator, continue_text
from explorer.generation.sampling import Sampling
from explorer.generation.temperature_grid import sampling_inputs
from explorer.tasks.text.config import TextConfig
from explorer.ui.training import stored_models
from tests.browser.steps import WebSocketRecorder, button, save_figure, wait_for_url_params, wait_until, wait_until_idle

pytestmark = pytest.mark.slow

FOLDS = "&unfold=studio-tree,studio-measures,studio-writing,studio-formulas"
SMALL = f"/studio?models=text-ngram&tokens=40{FOLDS}"
TEXTS = (
    "[...document.querySelectorAll('.lineage-temperature .card .text')].map(box => box.lastElementChild.textContent)"
)
PATH = (
    "[...document.querySelectorAll('.lineage-token-tree .token-text .token')].map(token => token.textContent).join('')"
)
ROWS = (
    "[...document.querySelectorAll('.lineage-temperature .distribution .row:not(.gone):not(.rest)')]"
    ".map(row => [row.querySelector('.label').textContent, row.querySelector('.value').textContent])"
)
STRUCK = "window.struck || document.querySelector('img[src=x]') !== null"


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
    return continue_text(
        stored_model.model(), stored_model.tokenizer, stored_model.config.task_as(TextConfig), prompt, tokens, sampling
    ).texts[0]


def wait_for_texts(page: Page, *expected: str) -> None:
    """Wait until the texts below the slider are these."""
    condition = f"expected => JSON.stringify({TEXTS}) === JSON.stringify(expected)"
    page.wait_for_function(condition, arg=list(expected))


def top_candidates(model: str, before: str, temperature: float) -> list[tuple[str, str]]:
    """Return the twelve most probable next tokens with their probabilities, formatted as on the page."""
    stored_model = stored_models.find_run(model)
    assert stored_model.tokenizer
    ids, empty_ids = torch.from_numpy(stored_model.tokenizer.encode(before)), torch.empty(0, dtype=torch.int64)
    logits = torch.tensor(
        sampling_inputs(TextGenerator(stored_model.model()), ids, empty_ids, Sampling(temperature)).logits,
        dtype=torch.float64,
    )
    p = (logits / temperature).softmax(0)
    order = sorted(range(len(p)), key=lambda id: (-logits[id], id))[:12]
    names = [
        re.sub(r"\s", lambda gap: {" ": "␣", "\n": "↵"}[gap[0]], stored_model.tokenizer.tokens[id]) for id in order
    ]
    return [(name, f"{p[id]:.3f}") for name, id in zip(names, order, strict=True)]


def slider(page: Page) -> Locator:
    return page.locator(".lineage-temperature .slider")


def url_param(page: Page, name: str) -> str:
    """Return a parameter of the URL, or an empty string."""
    return str(page.evaluate("name => new URLSearchParams(location.search).get(name) ?? ''", name))


def test_dragging_the_temperature_sends_one_event_on_release(visit: Any) -> None:
    page = visit(SMALL)
    wait_for_texts(page, generated_text("text-ngram", 40, 0.7))
    expect(page.locator(".lineage-plot-frame .js-plotly-plot")).to_have_count(3)
    wire = WebSocketRecorder(page)
    before = wire.wait_until_quiet()
    slider(page).scroll_into_view_if_needed()
    box = slider(page).bounding_box()
    assert box
    y, findings = box["y"] + box["height"] / 2, set()
    page.mouse.move(box["x"] + 0.35 * box["width"], y)
    page.mouse.down()
    for share in (0.3, 0.45, 0.6, 0.75, 0.9):
        page.mouse.move(box["x"] + share * box["width"], y, steps=4)
        value = float(slider(page).input_value())
        wait_for_texts(page, generated_text("text-ngram", 40, round(20 * value) / 20))
        expect(page.locator(".lineage-temperature .finding")).to_contain_text(f"At {value:.2f} ")
        findings.add(page.locator(".lineage-temperature .finding").inner_text())
    page.wait_for_timeout(600)  # longer than the delay after the keyboard
    assert len(findings) == 5 and value > 1.5
    assert len(wire.frames) == before, "no message is sent while the slider is held"
    page.mouse.up()
    wait_for_url_params(page, t=f"{value:g}")
    wire.wait_until_quiet()
    assert wire.component_events() == [("temperature", value)]
    assert slider(page).input_value() == f"{value:g}"

    slider(page).press("Home")
    expect(page.locator(".lineage-temperature .finding")).to_contain_text("always the most probable letter")
    for _ in range(3):
        slider(page).press("ArrowRight")
    expect(page.locator(".lineage-temperature .size")).to_have_text("0.15")
    wait_for_texts(page, generated_text("text-ngram", 40, 0.15))
    wait_for_url_params(page, t="0.15")
    slider(page).press("PageUp")
    wait_for_url_params(page, t="0.4")
    assert wire.component_events()[-1] == ("temperature", 0.4)
    assert len(wire.component_events()) <= 4, "keys in quick succession send one event"
    page.reload()
    wait_for_texts(page, generated_text("text-ngram", 40, 0.4))
    expect(slider(page)).to_have_value("0.4")


def test_the_texts_equal_those_of_the_command_line(visit: Any) -> None:
    models = ("text-ngram", "text-transformer")
    page = visit(f"/studio?models={','.join(models)}&tokens=40&prompt=To+be&seed=3{FOLDS}")

    def expect_texts(temperature: float, **sampling_settings: float) -> None:
        wait_for_texts(
            page, *(generated_text(model, 40, temperature, "To be", seed=3, **sampling_settings) for model in models)
        )

    expect_texts(0.7)
    page.get_by_role("button", name="Temperature 1.2").click()
    expect_texts(1.2)
    wait_for_url_params(page, t="1.2")
    page.get_by_role("button", name="Sampling settings").click()
    for label, name, value in (("top-k", "top_k", "5"), ("Seed of the random numbers", "seed", "4")):
        field = page.get_by_label(label)
        field.fill(value)
        field.press("Enter")
        wait_for_url_params(page, **{name: value})
    wait_for_url_params(page, top_k="5", seed="4", t="1.2")
    wait_for_texts(page, *(generated_text(model, 40, 1.2, "To be", seed=4, top_k=5) for model in models))
    values = page.locator(".lineage-temperature .distribution .row .value")
    expect(values.nth(4)).not_to_have_text("cut")
    expect(values.nth(5)).to_have_text("cut")
    expect(page.get_by_label("top-k")).to_have_value("5")


def test_a_clicked_token_is_pinned_and_stored_in_the_url(visit: Any) -> None:
    page = visit(SMALL)
    text = generated_text("text-ngram", 40, 0.7)
    wait_for_texts(page, text)
    tokens = page.locator(".lineage-temperature [role=option]")
    tokens.nth(11).click()
    pinned_token = page.locator(".lineage-temperature .kept")
    expect(pinned_token).to_have_text(text[11])
    wait_for_url_params(page, of="14", at="11")
    slider(page).press("End")
    wait_for_url_params(page, t="2")
    expected = top_candidates("text-ngram", f"Romeo{text[:11]}", 2.0)

    def shown_candidates() -> list[tuple[str, str]]:
        rows: list[list[str]] = page.evaluate(ROWS)
        return [(name, value) for name, value in rows][:12]

    wait_until(
        lambda: shown_candidates() == expected
    )  # the candidates of the pinned prefix, although another text is shown now
    tokens.nth(30).hover()
    wait_until(lambda: shown_candidates() != expected)
    assert url_param(page, "at") == "11", "hovering does not pin a token"
    page.locator(".lineage-temperature .finding").hover()
    wait_until(lambda: shown_candidates() == expected)
    page.reload()
    expect(tokens).to_have_count(40)
    wait_until(lambda: shown_candidates() == expected)
    box = page.locator(".lineage-temperature .text")
    box.focus()
    for _ in range(3):
        box.press("ArrowRight")
    box.press("Enter")
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
    page.reload()
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
    page.reload()
    wait_for_path("")


def test_a_long_text_is_generated_stopped_and_saved(visit: Any, tmp_path: Path) -> None:
    page = visit(f"/studio?models=text-transformer&tokens=20&length=5000{FOLDS}")
    stream = page.locator(".lineage-text-stream")
    status, write_button = stream.locator(".status"), stream.locator(".press")
    expect(write_button).to_have_text(re.compile("Generate$"))
    expect(status).to_have_text("")
    wire = WebSocketRecorder(page)
    wire.wait_until_quiet()
    write_button.click()
    page.wait_for_function(STOP)
    expect(status).to_have_text(re.compile(r"^Stopped at [\d,]+ of 5,000 letters$"))
    expect(write_button).to_have_text(re.compile("Generate$"))
    events = [name for name, _ in wire.component_events() if name != "over"]  # a section whose result came late
    assert events == [], "generating sends no component events"

    def shown_text() -> str:
        return "".join(stream.locator(".token-text .token").evaluate_all("all => all.map(one => one.textContent)"))

    def saved_text() -> str:
        stream.get_by_role("button", name="Save this figure").click()
        with page.expect_download() as download:
            stream.get_by_role("menuitem", name="TXT").click()
        assert download.value.suggested_filename == "text.txt"
        download.value.save_as(tmp_path / "text")
        return (tmp_path / "text").read_text()

    stopped = shown_text()
    count = int(re.sub(r"\D", "", status.inner_text().split(" of ")[0]))
    whole = generated_text("text-transformer", count, 0.7)
    assert stopped == whole.replace("\n", "")
    assert saved_text().endswith(f"\n\nRomeo{whole}\n")

    page.get_by_label("Length in tokens").fill("200")
    page.get_by_label("Length in tokens").press("Enter")
    wait_for_url_params(page, length="200")
    assert shown_text() == stopped, "the generated text remains"
    write_button.click()
    expect(status).to_have_text(re.compile(r"^200 letters in [\d.]+ s, [\d,]+ a second$"))
    assert saved_text().endswith(f"\n\nRomeo{generated_text('text-transformer', 200, 0.7)}\n")


def test_invalid_url_parameters_are_reported_and_markup_is_shown_as_text(visit: Any) -> None:
    page = visit(
        "/studio?models=nobody,negation-single-transformer,text-ngram&t=hot&seed=-4&path=0,999&tokens=40&colour=red"
        f"&prompt=<img+src=x+onerror=window.struck=1>&focus=nobody&of=40&at=399{FOLDS}"
    )
    for message in (
        "There is no model “nobody” to ask",
        "it cannot write",
        "t = hot is not possible. Give a number from 0 to 2.",
        "seed = -4 is not possible.",
        "This page has no “colour”",
        "path names token 999, but this model has",
        "It never saw “<”",
    ):
        expect(page.get_by_text(message)).to_be_visible()
    prompt = "<img src=x onerror=window.struck=1>"
    wait_for_texts(page, generated_text("text-ngram", 40, 0.7, prompt))
    assert not page.evaluate(STRUCK)
    expect(page.locator(".lineage-token-tree .column")).to_have_count(1 + 8)
    page.get_by_label("Prompt", exact=True).fill("")
    page.get_by_label("Prompt", exact=True).press("Enter")
    wait_for_texts(page, generated_text("text-ngram", 40, 0.7, ""))
    wait_for_url_params(page, path="", t="")


def test_two_tabs_of_a_visitor_are_independent(visit: Any) -> None:
    one = visit(f"{SMALL}&length=100")
    two = visit(f"{SMALL}&length=100&prompt=ROMEO:&t=1.2", same_visitor=one)
    one.get_by_role("button", name="Temperature 0, ").click()
    wait_for_url_params(one, t="0")
    two.get_by_role("button", name="Temperature 2, ").click()
    wait_for_url_params(two, t="2")
    button(one, "From the prompt").click()
    expect(one).to_have_url(re.compile("path="))
    wait_until_idle(one)
    for page in (one, two):
        page.locator(".lineage-text-stream .press").click()
    for page, prompt, t in ((one, "Romeo", 0), (two, "ROMEO:", 2)):
        wait_for_texts(page, generated_text("text-ngram", 40, t, prompt))
        expect(page.locator(".lineage-text-stream .status")).to_have_text(re.compile("^100 letters in"))
        tokens = page.locator(".lineage-text-stream .token").evaluate_all("all => all.map(one => one.textContent)")
        assert "".join(tokens) == generated_text("text-ngram", 100, t, prompt).replace("\n", "")
        assert float(slider(page).input_value()) == t
    expect(one.locator(".lineage-token-tree .column")).to_have_count(1)
    expect(two.locator(".lineage-token-tree .column")).to_have_count(1 + 8)
    assert not url_param(two, "path")


def test_texts_distribution_and_tree_are_saved_as_images_and_tables(visit: Any, tmp_path: Path) -> None:
    page = visit(f"{SMALL}&t=1.2&of=24&at=3&path=1,2,3")
    text = generated_text("text-ngram", 40, 1.2)
    wait_for_texts(page, text)
    expect(page.locator(".lineage-token-tree .column")).to_have_count(4)
    wait_until_idle(page)
    stored_model = stored_models.find_run("text-ngram")
    assert stored_model.tokenizer
    ids = stored_model.tokenizer.encode(text).tolist()
    figure = page.locator(".lineage-temperature .written")
    lines = save_figure(page, figure, "temperature-text", tmp_path)["CSV"].decode().splitlines()
    rows = [line.split(",")[:4] for line in lines[1:] if line.startswith("n-gram,")]
    assert rows == [["n-gram", "1.2", str(i), str(id)] for i, id in enumerate(ids)]
    figure = page.locator(".lineage-temperature .distribution")
    lines = save_figure(page, figure, "temperature-choice", tmp_path)["CSV"].decode().splitlines()
    assert lines[0] == "after,temperature,id,token,probability at temperature 1,probability at this temperature,cut"
    assert len(lines) > 12
    table = save_figure(page, page.locator(".lineage-token-tree"), "step-by-step", tmp_path)["CSV"].decode()
    chosen_rows = [line for line in table.splitlines() if line.endswith((",1,0", ",1,1"))]
    assert [line.split(",")[2] for line in chosen_rows] == ["1", "2", "3"]


def test_generation_works_on_a_phone(visit: Any) -> None:
    page = visit(SMALL, 390, 844)
    wait_for_texts(page, generated_text("text-ngram", 40, 0.7))
    page.locator(".lineage-temperature [role=option]").nth(5).click()
    wait_for_url_params(page, of="14", at="5")
    for control in (
        slider(page),
        page.locator(".lineage-token-tree .candidate").first,
        page.locator(".lineage-text-stream .press"),
    ):
        control.scroll_into_view_if_needed()
        box = control.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 24
    page.locator(".lineage-token-tree .candidate").nth(2).click()
    expect(page.locator(".lineage-token-tree .column")).to_have_count(2)
    wait_until_idle(page)
    box = page.locator(".lineage-token-tree .column.newest").bounding_box()
    assert box and box["x"] + box["width"] <= 390, "the newest column is visible"
