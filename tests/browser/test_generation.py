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

SMALL = "/studio?models=text-ngram&tokens=40"
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


# Five thousand letters may be there in a second or two: who stops them in time is the page itself, asked each frame.
STOP = """() => {
    const place = document.querySelector(".lineage-text-stream"), said = place.querySelector(".status").textContent;
    const some = /^[\\d,]+ of 5,000 letters, [\\d,]+ a second$/.test(said);
    if (some) place.querySelector(".press").click();
    return some;
}"""


@cache
def terminal(model: str, tokens: int, temperature: float, prompt: str = "Romeo", **cut: float) -> str:
    """What this model writes on the command line."""
    hand = stored_models.find_model(model)
    assert hand.tokenizer
    sampling = Sampling(float(temperature), **cut)  # type: ignore[arg-type]
    return continue_text(hand.model(), hand.tokenizer, hand.config.task_as(TextConfig), prompt, tokens, sampling).texts[
        0
    ]


def shows(page: Page, *wanted: str) -> None:
    """The texts under the slider are these."""
    same = f"wanted => JSON.stringify({TEXTS}) === JSON.stringify(wanted)"
    page.wait_for_function(same, arg=list(wanted))


def likeliest(model: str, before: str, temperature: float) -> list[tuple[str, str]]:
    """What may come after a text, the likeliest dozen, as a page writes it."""
    hand = stored_models.find_model(model)
    assert hand.tokenizer
    ids, none = torch.from_numpy(hand.tokenizer.encode(before)), torch.empty(0, dtype=torch.int64)
    logits = torch.tensor(
        sampling_inputs(TextGenerator(hand.model()), ids, none, Sampling(temperature)).logits, dtype=torch.float64
    )
    p = (logits / temperature).softmax(0)
    order = sorted(range(len(p)), key=lambda id: (-logits[id], id))[:12]
    names = [re.sub(r"\s", lambda gap: {" ": "␣", "\n": "↵"}[gap[0]], hand.tokenizer.tokens[id]) for id in order]
    return [(name, f"{p[id]:.3f}") for name, id in zip(names, order, strict=True)]


def slider(page: Page) -> Locator:
    return page.locator(".lineage-temperature .slider")


def part(page: Page, name: str) -> str:
    """What the address holds under this name; empty: nothing."""
    return str(page.evaluate("name => new URLSearchParams(location.search).get(name) ?? ''", name))


def test_dragging_asks_the_server_nothing_and_letting_go_once(visit: Any) -> None:
    page = visit(SMALL)
    shows(page, terminal("text-ngram", 40, 0.7))
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
        shows(page, terminal("text-ngram", 40, round(20 * value) / 20))
        expect(page.locator(".lineage-temperature .finding")).to_contain_text(f"At {value:.2f} ")
        findings.add(page.locator(".lineage-temperature .finding").inner_text())
    page.wait_for_timeout(600)  # the keyboard's wait would be over
    assert len(findings) == 5 and value > 1.5
    assert len(wire.frames) == before, "nothing is asked while the slider is held"
    page.mouse.up()
    wait_for_url_params(page, t=f"{value:g}")
    wire.wait_until_quiet()
    assert wire.component_events() == [("temperature", value)]
    assert slider(page).input_value() == f"{value:g}"

    slider(page).press("Home")
    expect(page.locator(".lineage-temperature .finding")).to_contain_text("nothing is left to chance")
    for _ in range(3):
        slider(page).press("ArrowRight")
    expect(page.locator(".lineage-temperature .size")).to_have_text("0.15")
    shows(page, terminal("text-ngram", 40, 0.15))
    wait_for_url_params(page, t="0.15")
    slider(page).press("PageUp")
    wait_for_url_params(page, t="0.4")
    assert wire.component_events()[-1] == ("temperature", 0.4)
    assert len(wire.component_events()) <= 4, "keys that follow each other are told once"
    page.reload()
    shows(page, terminal("text-ngram", 40, 0.4))
    expect(slider(page)).to_have_value("0.4")


def test_the_texts_are_what_the_terminal_writes(visit: Any) -> None:
    models = ("text-ngram", "text-transformer")
    page = visit(f"/studio?models={','.join(models)}&tokens=40&prompt=To+be&seed=3")

    def written(temperature: float, **cut: float) -> None:
        shows(page, *(terminal(model, 40, temperature, "To be", seed=3, **cut) for model in models))

    written(0.7)
    page.get_by_role("button", name="Temperature 1.2").click()
    written(1.2)
    wait_for_url_params(page, t="1.2")
    page.get_by_role("button", name="Cut and dice").click()
    for label, value in (("top-k", "5"), ("Seed of the dice", "4")):
        field = page.get_by_label(label)
        field.fill(value)
        field.press("Enter")
        wait_until_idle(page)
    wait_for_url_params(page, top_k="5", seed="4", t="1.2")
    shows(page, *(terminal(model, 40, 1.2, "To be", seed=4, top_k=5) for model in models))
    values = page.locator(".lineage-temperature .distribution .row .value")
    expect(values.nth(4)).not_to_have_text("cut")
    expect(values.nth(5)).to_have_text("cut")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="top-k 5")).to_be_visible()


def test_a_pressed_token_keeps_its_choice_in_the_address(visit: Any) -> None:
    page = visit(SMALL)
    text = terminal("text-ngram", 40, 0.7)
    shows(page, text)
    tokens = page.locator(".lineage-temperature [role=option]")
    tokens.nth(11).click()
    kept = page.locator(".lineage-temperature .kept")
    expect(kept).to_have_text(text[11])
    wait_for_url_params(page, of="14", at="11")
    slider(page).press("End")
    wait_for_url_params(page, t="2")
    wanted = likeliest("text-ngram", f"Romeo{text[:11]}", 2.0)

    def chosen() -> list[tuple[str, str]]:
        rows: list[list[str]] = page.evaluate(ROWS)
        return [(name, value) for name, value in rows][:12]

    wait_until(lambda: chosen() == wanted)  # exact although another text stands there now
    tokens.nth(30).hover()
    wait_until(lambda: chosen() != wanted)
    assert part(page, "at") == "11", "hovering shows and keeps nothing"
    page.locator(".lineage-temperature .finding").hover()
    wait_until(lambda: chosen() == wanted)
    page.reload()
    expect(tokens).to_have_count(40)
    wait_until(lambda: chosen() == wanted)
    box = page.locator(".lineage-temperature .text")
    box.focus()
    for _ in range(3):
        box.press("ArrowRight")
    box.press("Enter")
    expect(tokens.nth(2)).to_have_class(re.compile("kept"))
    wait_for_url_params(page, of="40", at="2")


def test_step_by_step_goes_on_another_way_and_back(visit: Any) -> None:
    page = visit(SMALL)
    tree = page.locator(".lineage-token-tree")
    text, begun = terminal("text-ngram", 40, 0.7), 8

    def reads(path: str) -> None:
        page.wait_for_function(f"path => {PATH} === path", arg=path.replace("\n", ""))
        expect(tree.locator(".column:not(.newest)")).to_have_count(len(path))
        wait_until_idle(page)

    def taken(candidate: Locator) -> str:
        name = candidate.locator(".piece").inner_text()
        return {"␣": " ", "↵": "\n"}.get(name, name)

    reads(text[:begun])
    assert not part(page, "path"), "nobody chose yet"
    button(page, "Next letter").click()
    reads(text[: begun + 1])
    button(page, "10 letters").click()
    reads(text[: begun + 11])
    assert part(page, "path").count(",") == begun + 10
    column = tree.locator(".column").nth(3)
    other = column.locator(".candidate:not(.taken)").first
    path = text[:3] + taken(other)
    other.click()
    reads(path)
    page.reload()
    reads(path)
    assert taken(column.locator(".candidate.taken")) == path[-1] != text[3]
    button(page, "Back").click()
    reads(path[:3])

    newest = tree.locator(".column.newest .candidate")
    newest.first.focus()
    page.keyboard.press("ArrowDown")
    expect(newest.nth(1)).to_be_focused()
    path = path[:3] + taken(newest.nth(1))
    page.keyboard.press("Enter")
    reads(path)
    page.keyboard.press("Backspace")
    reads(path[:3])
    button(page, "From the prompt").click()
    reads("")
    page.reload()
    reads("")


def test_a_whole_text_is_written_stopped_and_saved(visit: Any, tmp_path: Path) -> None:
    page = visit("/studio?models=text-transformer&tokens=20&length=5000")
    writing = page.locator(".lineage-text-stream")
    status, press = writing.locator(".status"), writing.locator(".press")
    expect(press).to_have_text(re.compile("Write$"))
    expect(status).to_have_text("")
    wire = WebSocketRecorder(page)
    wire.wait_until_quiet()
    press.click()
    page.wait_for_function(STOP)
    expect(status).to_have_text(re.compile(r"^Stopped at [\d,]+ of 5,000 letters$"))
    expect(press).to_have_text(re.compile("Write$"))
    assert wire.component_events() == [], "the page is not asked to write"

    def on_screen() -> str:
        return "".join(writing.locator(".token-text .token").evaluate_all("all => all.map(one => one.textContent)"))

    def saved_text() -> str:
        writing.get_by_role("button", name="Save this figure").click()
        with page.expect_download() as download:
            writing.get_by_role("menuitem", name="TXT").click()
        assert download.value.suggested_filename == "text.txt"
        download.value.save_as(tmp_path / "text")
        return (tmp_path / "text").read_text()

    stopped = on_screen()
    count = int(re.sub(r"\D", "", status.inner_text().split(" of ")[0]))
    whole = terminal("text-transformer", count, 0.7)
    assert stopped == whole.replace("\n", "")
    assert saved_text().endswith(f"\n\nRomeo{whole}\n")

    page.get_by_label("Tokens of each").fill("200")
    page.get_by_label("Tokens of each").press("Enter")
    wait_for_url_params(page, length="200")
    assert on_screen() == stopped, "what was written stays"
    press.click()
    expect(status).to_have_text(re.compile(r"^200 letters in [\d.]+ s, [\d,]+ a second$"))
    assert saved_text().endswith(f"\n\nRomeo{terminal('text-transformer', 200, 0.7)}\n")


def test_nonsense_in_the_address_is_said_and_markup_stays_text(visit: Any) -> None:
    page = visit(
        "/studio?models=nobody,negation-single-transformer,text-ngram&t=hot&seed=-4&path=0,999&tokens=40&colour=red"
        "&prompt=<img+src=x+onerror=window.struck=1>&focus=nobody&of=40&at=399"
    )
    for said in (
        "There is no model “nobody” to ask",
        "it cannot write",
        "t = hot is not possible. Give a number from 0 to 2.",
        "seed = -4 is not possible.",
        "This page has no “colour”",
        "path names token 999, but this model has",
        "It never saw “<”",
    ):
        expect(page.get_by_text(said)).to_be_visible()
    prompt = "<img src=x onerror=window.struck=1>"
    shows(page, terminal("text-ngram", 40, 0.7, prompt))
    assert not page.evaluate(STRUCK)
    expect(page.locator(".lineage-token-tree .column")).to_have_count(1 + 8)
    page.get_by_label("Prompt", exact=True).fill("")
    page.get_by_label("Prompt", exact=True).press("Enter")
    shows(page, terminal("text-ngram", 40, 0.7, ""))
    wait_for_url_params(page, path="", t="")


def test_two_windows_of_a_visitor_do_not_disturb_each_other(visit: Any) -> None:
    one = visit(f"{SMALL}&length=100")
    two = visit(f"{SMALL}&length=100&prompt=ROMEO:&t=1.2", beside=one)
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
        shows(page, terminal("text-ngram", 40, t, prompt))
        expect(page.locator(".lineage-text-stream .status")).to_have_text(re.compile("^100 letters in"))
        tokens = page.locator(".lineage-text-stream .token").evaluate_all("all => all.map(one => one.textContent)")
        assert "".join(tokens) == terminal("text-ngram", 100, t, prompt).replace("\n", "")
        assert float(slider(page).input_value()) == t
    expect(one.locator(".lineage-token-tree .column")).to_have_count(1)
    expect(two.locator(".lineage-token-tree .column")).to_have_count(1 + 8)
    assert not part(two, "path")


def test_texts_choice_and_tree_are_saved_as_pictures_and_as_numbers(visit: Any, tmp_path: Path) -> None:
    page = visit(f"{SMALL}&t=1.2&of=24&at=3&path=1,2,3")
    text = terminal("text-ngram", 40, 1.2)
    shows(page, text)
    expect(page.locator(".lineage-token-tree .column")).to_have_count(4)
    wait_until_idle(page)
    hand = stored_models.find_model("text-ngram")
    assert hand.tokenizer
    ids = hand.tokenizer.encode(text).tolist()
    figure = page.locator(".lineage-temperature .written")
    lines = save_figure(page, figure, "temperature-text", tmp_path)["CSV"].decode().splitlines()
    rows = [line.split(",")[:4] for line in lines[1:] if line.startswith("n-gram,")]
    assert rows == [["n-gram", "1.2", str(i), str(id)] for i, id in enumerate(ids)]
    figure = page.locator(".lineage-temperature .distribution")
    lines = save_figure(page, figure, "temperature-choice", tmp_path)["CSV"].decode().splitlines()
    assert lines[0] == "after,temperature,id,token,probability as learned,probability at this temperature,cut"
    assert len(lines) > 12
    table = save_figure(page, page.locator(".lineage-token-tree"), "step-by-step", tmp_path)["CSV"].decode()
    taken = [line for line in table.splitlines() if line.endswith((",1,0", ",1,1"))]
    assert [line.split(",")[2] for line in taken] == ["1", "2", "3"]


def test_a_finger_can_write_on_the_phone(visit: Any) -> None:
    page = visit(SMALL, 390, 844)
    shows(page, terminal("text-ngram", 40, 0.7))
    page.locator(".lineage-temperature [role=option]").nth(5).click()
    wait_for_url_params(page, of="14", at="5")
    for part in (
        slider(page),
        page.locator(".lineage-token-tree .candidate").first,
        page.locator(".lineage-text-stream .press"),
    ):
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 24
    page.locator(".lineage-token-tree .candidate").nth(2).click()
    expect(page.locator(".lineage-token-tree .column")).to_have_count(2)
    wait_until_idle(page)
    box = page.locator(".lineage-token-tree .column.newest").bounding_box()
    assert box and box["x"] + box["width"] <= 390, "the newest is in sight"
