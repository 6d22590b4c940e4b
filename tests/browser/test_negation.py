from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from explorer.experiments.default_runs import negation_runs
from tests.browser.steps import (
    NEXT_FRAMES,
    button,
    open_page,
    playback_epoch,
    playback_frame,
    save_figure,
    wait_until,
    wait_until_idle,
    wait_until_settled,
)

HEADLINE = "Bag of words says sustain. Five other models say collapse, and so does the grammar."
IN_ENGLISH = "Bag of words says positive. Five other models say negative."
PRESERVE, DESTROY = "human preserve nature", "human destroy nature"
ANSWERS = {
    PRESERVE: "Six models say sustain, and so does the grammar.",
    DESTROY: "Six models say collapse, and so does the grammar.",
}
# Two models and two seeds train quickly, so the test mostly waits for the playback.
SHORT_TRAINING_URL = "/negation?models=bag_of_words,rnn&replicas=2&bag_of_words.epochs=12&rnn.epochs=12"
# Type a sentence as soon as the browser has gone back.
TYPE_AFTER_BACK = """() => window.addEventListener("popstate", () => {
    const box = document.querySelector("input[aria-label='Type a sentence']");
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(box, "human destroy nature");
    box.dispatchEvent(new Event("input", {bubbles: true}));
    box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
}, {once: true})"""
# Write another URL, as a run that the step back interrupted may do, once the step has been sent to the server.
WRITE_URL_AFTER_BACK = """() => {
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = function (message) {
        send.call(this, message);
        if (!new TextDecoder().decode(message).includes('"visited"')) return;
        WebSocket.prototype.send = send;
        history.pushState({}, "", "?say=human+destroy+nature");
        window.wroteUrl = true;
    };
}"""
# Note the heights of the frame and the widths of the curves that are shown, in each animation frame.
WATCH_PLAYBACK = """() => {
    window.seen = { heights: new Set(), veils: new Set() };
    (function look() {  // at the end of the training the frame goes to its own section
        const frame = document.querySelector(".lineage-plot-frame:has(.frame-controls)");
        const veil = frame?.querySelector("[id^=lineage-cut] rect");
        if (veil) window.seen.heights.add(Math.round(frame.getBoundingClientRect().height));
        if (veil) window.seen.veils.add(Number(veil.getAttribute("width")));
        requestAnimationFrame(look);
    })();
}"""


def sentence_box(page: Page) -> Locator:
    """Return the box of the sentence; while the page runs, the one that it replaces may still be beside it."""
    return page.get_by_label("Type a sentence").first


def type_sentence(page: Page, text: str) -> None:
    box = sentence_box(page)
    box.fill(text)
    box.press("Enter")


def verdicts(page: Page) -> Locator:
    return page.locator(".lineage-verdicts .row")


def headline(page: Page) -> Locator:
    return page.get_by_role("heading", level=3).first


def expect_sentence(page: Page, text: str) -> None:
    """Wait until the page and its URL are those of a sentence."""
    expect(headline(page)).to_have_text(ANSWERS[text])
    expect(page).to_have_url(re.compile(rf"/negation\?say={text.replace(' ', chr(92) + '+')}$"))
    expect(sentence_box(page)).to_have_value(text)
    wait_until_idle(page)


def test_back_forward_and_reload_restore_pages_and_typed_sentences(visit: Any) -> None:
    page = visit("/")
    expect(page.locator(".lineage-home-timeline li.drawn svg")).to_have_count(10)
    page.evaluate("window.here = true")
    page.locator(".lineage-home-timeline a", has_text="Bag of words").click()
    expect(page).to_have_url(re.compile("/negation$"))
    expect(headline(page)).to_have_text(IN_ENGLISH)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("How did we get from counting words to ChatGPT?")
    page.go_forward()
    expect(headline(page)).to_have_text(IN_ENGLISH)
    assert page.evaluate("window.here"), "the page was reloaded"
    page.get_by_text("Six words", exact=True).first.click()
    expect(headline(page)).to_have_text(HEADLINE)
    wait_until_settled(page)
    for text in (PRESERVE, DESTROY):
        type_sentence(page, text)
        expect_sentence(page, text)
    page.go_back()
    expect_sentence(page, PRESERVE)
    page.go_back()
    expect(headline(page)).to_have_text(HEADLINE)
    entries = page.evaluate("history.length")
    # The answer to a step arrives after, during or before the next one.
    for between in (lambda: None, lambda: page.evaluate(NEXT_FRAMES), lambda: wait_until_idle(page)):
        for step in ("forward", "forward", "back", "back"):
            page.evaluate(f"() => history.{step}()")
            between()
    page.go_forward()
    page.go_forward()
    expect_sentence(page, DESTROY)
    assert page.evaluate("history.length") == entries, "entries to which Forward leads are gone"

    page.go_back()
    expect_sentence(page, PRESERVE)
    page.evaluate(TYPE_AFTER_BACK)
    page.evaluate("() => history.back()")  # a sentence that is typed right after it is not undone
    expect_sentence(page, DESTROY)
    open_page(page, page.url)
    expect_sentence(page, DESTROY)
    expect(verdicts(page)).to_have_count(6)


def test_the_url_is_that_of_the_screen_when_back_is_pressed_before_an_answer_arrives(visit: Any) -> None:
    page = visit("/negation?language=words")
    type_sentence(page, PRESERVE)
    expect_sentence(page, PRESERVE)
    type_sentence(page, DESTROY)
    page.evaluate("() => history.back()")

    # Usually the entry of the second sentence does not exist yet, and Back leads past the first one.
    def headline_is_that_of_the_url() -> bool:
        wait_until_idle(page)
        verb = re.search(r"say=(human)\+(\w+)\+(nature)$", page.url)
        return headline(page).inner_text() == (ANSWERS[" ".join(verb.groups())] if verb else HEADLINE)

    wait_until(headline_is_that_of_the_url)
    open_page(page, page.url)
    assert headline_is_that_of_the_url()


def test_the_url_after_back_is_that_of_the_step_when_an_interrupted_run_writes_its_own(visit: Any) -> None:
    page = visit("/negation?language=words")
    type_sentence(page, PRESERVE)
    expect_sentence(page, PRESERVE)
    page.evaluate(WRITE_URL_AFTER_BACK)
    page.evaluate("() => history.back()")
    expect(headline(page)).to_have_text(HEADLINE)
    expect(page).to_have_url(re.compile(r"/negation\?language=words$"))
    assert page.evaluate("window.wroteUrl")


def test_a_click_corrects_an_unknown_word_and_markup_is_shown_as_text(visit: Any) -> None:
    page = visit("/negation?say=human+knot+preserve+nature&nonsense=1")
    expect(page.get_by_text("This page has no “nonsense”")).to_be_visible()
    expect(page.get_by_text("The models never saw “knot”")).to_be_visible()
    button(page, "knot → not").click()
    expect(sentence_box(page)).to_have_value("human not preserve nature")
    expect(page.get_by_text("The models never saw")).to_have_count(0)
    expect(page.get_by_text("This page has no")).to_have_count(0)
    expect(headline(page)).to_have_text(HEADLINE)
    page.evaluate("() => { window.alert = () => { window.struck = true; }; }")
    type_sentence(page, "<img src=x onerror=alert(1)> not")
    expect(page.get_by_text("The models never saw “img”")).to_be_visible()
    assert not page.evaluate("window.struck || document.querySelector('img[src=x]') !== null")


def test_a_training_is_played_back_and_does_not_disturb_another_visitor(visit: Any, seed: int) -> None:
    page, other = visit(f"{SHORT_TRAINING_URL}&seed={seed}"), visit(f"/negation?say={DESTROY.replace(' ', '+')}")
    button(page, "Train").click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.frame-position')].some(n => / [1-9]\\d* of/.test(n.textContent))"
    )
    frame = playback_frame(page)
    page.evaluate(WATCH_PLAYBACK)
    first = playback_epoch(page)
    wait_until(lambda: playback_epoch(page) > first)
    frame.get_by_role("button", name="Pause").click()
    epoch = playback_epoch(page)
    expect(frame.locator(".frame-say")).to_have_text(re.compile("^trained"))  # then the frame is in its own section
    wait_until_settled(page)
    assert playback_epoch(page) == epoch, "the position is lost when the frame moves"
    type_sentence(other, "human not consume nature")
    expect(headline(other)).to_contain_text("sustain")
    expect(other).to_have_url(re.compile(r"say=human\+not\+consume\+nature$"))
    expect(other.locator(".frame-say")).to_have_text(re.compile("^trained earlier, in"))
    assert playback_epoch(page) == epoch, "a paused playback goes on"
    frame.locator(".frame-scrubber").fill("3")
    expect(frame.locator(".frame-position")).to_have_text("epoch 3 of 12")
    frame.locator(".frame-scrubber").press("ArrowRight")
    expect(frame.locator(".frame-position")).to_have_text("epoch 4 of 12")
    frame.locator(".frame-scrubber").press("ArrowLeft")
    expect(frame.locator(".frame-position")).to_have_text("epoch 3 of 12")
    frame.get_by_role("button", name="Play").click()
    expect(frame.locator(".frame-position")).to_have_text("epoch 12 of 12")
    expect(frame.get_by_role("button", name="Play")).to_be_visible()
    curves = frame.locator(".js-plotly-plot").evaluate_all("plots => plots.map(plot => plot.data.map(t => t.y.length))")
    assert curves == [[23, 23, 23], [23, 23, 23]]  # evaluated at every epoch, and more often at the start
    seen = page.evaluate("({ heights: [...window.seen.heights], veils: [...window.seen.veils] })")
    assert len(seen["heights"]) == 1, "the frame changed its height"
    assert len(seen["veils"]) > 10, "the curve did not grow"
    expect(page.get_by_text("Saved; the address of this page holds these runs.")).to_be_visible()
    expect(verdicts(page)).to_have_count(2)
    expect(sentence_box(page)).to_have_value("human not preserve nature")
    assert "consume" not in page.url


def test_figures_are_saved_a_word_is_highlighted_and_a_sentence_reruns_only_its_fragments(
    visit: Any, tmp_path: Path
) -> None:
    page = visit("/negation?language=words")
    frame = playback_frame(page)
    expect(frame.locator(".js-plotly-plot")).to_have_count(6)
    lines = save_figure(page, frame, "negation-race", tmp_path, "CSV")["CSV"].decode().splitlines()
    assert lines[0] == "figure,series,x,y"
    ends = {row["figure"].split("-")[0]: float(row["x"]) for row in csv.DictReader(lines)}
    assert ends == {model: config.epochs for model, config in negation_runs().items()}
    assert lines[-1].startswith('transformer-exact_accuracy,"Transformer, median",40,')

    chip = page.locator(".lineage-verdicts .chip", has_text="not")
    highlights = page.locator(".frame-light:visible")
    expect(highlights).to_have_count(0)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(highlights).to_have_count(4)  # one in the sum, one in the reading, two in the map
    page.mouse.move(5, 5)
    expect(highlights).to_have_count(4)
    page.keyboard.press("Escape")
    expect(highlights).to_have_count(0)
    expect(chip).to_have_attribute("aria-pressed", "false")

    runs: list[list[str]] = []

    def record_script_run(frame: bytes) -> None:
        message = ForwardMsg.FromString(frame)
        if message.WhichOneof("type") == "new_session":
            session = message.new_session
            is_old = "fragment_ids_this_run" in session.DESCRIPTOR.fields_by_name  # before Streamlit 1.67
            runs.append(list(session.fragment_ids_this_run if is_old else message.metadata.run.fragment_ids))

    # events are only reported for new sockets, so the page is reloaded
    page.on("websocket", lambda socket: socket.on("framereceived", record_script_run))
    open_page(page, page.url)
    full_runs = len([fragment_ids for fragment_ids in runs if not fragment_ids])
    type_sentence(page, PRESERVE)
    expect_sentence(page, PRESERVE)
    wait_until_settled(page)
    assert len([fragment_ids for fragment_ids in runs if not fragment_ids]) == full_runs and len(runs[-1]) == 3
