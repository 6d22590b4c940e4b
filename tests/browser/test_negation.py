from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from explorer.experiments.default_runs import NEGATION_MODELS
from explorer.training.config import default_config
from tests.browser.steps import (
    LONG_TRAINING_URL,
    STOPPED,
    button,
    playback_epoch,
    playback_frame,
    press_train,
    save_figure,
    wait_until,
    wait_until_idle,
)

pytestmark = pytest.mark.slow

HEADLINE = "Bag of words says sustain. The other five say collapse, and so does the grammar."
# Two models and two seeds train quickly, so the test mostly waits for the playback.
SHORT_TRAINING_URL = "/negation?models=bag_of_words,rnn&replicas=2&bag_of_words.epochs=12&rnn.epochs=12"


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


def test_a_link_with_settings_opens_with_these_settings(visit: Any) -> None:
    page = visit("/negation?p_not=0.5&say=human+destroy+nature&metric=loss&look=2&unfold=why")
    expect(page.get_by_text("its minimum gets only 0.6667 right")).to_be_visible()
    expect(sentence_box(page)).to_have_value("human destroy nature")
    expect(page.locator(".lineage-verdicts .chip")).to_have_text(["<BOS>", "human", "destroy", "nature", "<EOS>"])
    expect(page.get_by_text("Cross-entropy over all training sentences, in nats.")).to_be_visible()
    assert {*page.url.split("?")[1].split("&")} == {
        "p_not=0.5",
        "say=human+destroy+nature",
        "metric=loss",
        "look=2",
        "unfold=why",
    }


def test_back_forward_and_reload_restore_the_typed_sentence(visit: Any) -> None:
    page = visit("/negation")
    expect(headline(page)).to_have_text(HEADLINE)
    type_sentence(page, "human preserve nature")
    expect(headline(page)).to_have_text("All six say sustain, and so does the grammar.")
    type_sentence(page, "human destroy nature")
    expect(headline(page)).to_have_text("All six say collapse, and so does the grammar.")
    expect(page).to_have_url(re.compile(r"/negation\?say=human\+destroy\+nature$"))
    page.wait_for_timeout(1_000)  # an older URL that arrives sooner is ignored as stale
    page.go_back()
    expect(headline(page)).to_have_text("All six say sustain, and so does the grammar.")
    expect(sentence_box(page)).to_have_value("human preserve nature")
    page.go_back()
    expect(headline(page)).to_have_text(HEADLINE)
    page.go_forward()
    page.go_forward()
    expect(headline(page)).to_have_text("All six say collapse, and so does the grammar.")
    page.reload()
    expect(headline(page)).to_have_text("All six say collapse, and so does the grammar.")
    expect(sentence_box(page)).to_have_value("human destroy nature")
    expect(verdicts(page)).to_have_count(6)


def test_quick_steps_back_and_forward_keep_the_entries_to_which_forward_leads(visit: Any) -> None:
    page = visit("/negation")
    expect(headline(page)).to_have_text(HEADLINE)
    for text in ("human preserve nature", "human destroy nature"):
        type_sentence(page, text)
        expect(page).to_have_url(re.compile(text.replace(" ", r"\+") + "$"))
    entries = page.evaluate("history.length")
    for delay in (100, 200, 400):  # ms between two steps: the answer to one arrives before, during or after the next
        wait_until_idle(page)
        for step in ("back", "back", "forward", "forward"):
            page.evaluate(f"() => history.{step}()")
            page.wait_for_timeout(delay)
        expect(headline(page)).to_have_text("All six say collapse, and so does the grammar.")
        expect(page).to_have_url(re.compile(r"human\+destroy\+nature$"))
    assert page.evaluate("history.length") == entries


def test_a_sentence_typed_right_after_back_is_not_undone(visit: Any) -> None:
    page = visit("/negation")
    expect(headline(page)).to_have_text(HEADLINE)
    type_sentence(page, "human preserve nature")
    expect(page).to_have_url(re.compile(r"\?say=human\+preserve\+nature$"))
    wait_until_idle(page)
    page.evaluate(
        """() => window.addEventListener("popstate", () => {
            const box = document.querySelector("input[aria-label='Type a sentence']");
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(box, "human destroy nature");
            box.dispatchEvent(new Event("input", {bubbles: true}));
            box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
        }, {once: true})"""
    )
    page.evaluate("() => history.back()")
    expect(page).to_have_url(re.compile(r"\?say=human\+destroy\+nature$"))
    page.wait_for_timeout(1_000)  # a step that is reported late would arrive
    wait_until_idle(page)
    expect(headline(page)).to_have_text("All six say collapse, and so does the grammar.")
    expect(page).to_have_url(re.compile(r"\?say=human\+destroy\+nature$"))


def test_the_url_is_that_of_the_screen_when_back_is_pressed_before_an_answer_arrives(visit: Any) -> None:
    page = visit("/negation")
    expect(headline(page)).to_have_text(HEADLINE)
    type_sentence(page, "human preserve nature")
    expect(page).to_have_url(re.compile(r"say=human\+preserve\+nature$"))
    wait_until_idle(page)
    type_sentence(page, "human destroy nature")
    page.evaluate("() => history.back()")
    wait_until_idle(page)

    page.wait_for_timeout(1_000)  # the browser goes back, and the answer arrives
    wait_until_idle(page)

    # Usually the entry of the second sentence does not exist yet, and Back leads past the first one.
    def headline_is_that_of_the_url() -> bool:
        verb = re.search(r"say=human\+(\w+)\+nature$", page.url)
        answers = {"preserve": "All six say sustain", "destroy": "All six say collapse"}
        text = f"{answers[verb[1]]}, and so does the grammar." if verb else HEADLINE
        return headline(page).inner_text() == text

    wait_until(headline_is_that_of_the_url)
    page.reload()
    wait_until(headline_is_that_of_the_url)


def test_a_click_corrects_an_unknown_word_and_markup_is_shown_as_text(visit: Any) -> None:
    page = visit("/negation?say=human+knot+preserve+nature")
    expect(page.get_by_text("The models never saw “knot”")).to_be_visible()
    button(page, "knot → not").click()
    expect(sentence_box(page)).to_have_value("human not preserve nature")
    expect(page.get_by_text("The models never saw")).to_have_count(0)
    expect(headline(page)).to_have_text(HEADLINE)
    page.evaluate("() => { window.alert = () => { window.struck = true; }; }")
    type_sentence(page, "<img src=x onerror=alert(1)> not")
    expect(page.get_by_text("The models never saw “img”")).to_be_visible()
    assert not page.evaluate("window.struck || document.querySelector('img[src=x]') !== null")


def test_the_playback_of_a_training_can_be_paused_stepped_and_scrubbed(visit: Any, seed: int) -> None:
    page = visit(f"{SHORT_TRAINING_URL}&seed={seed}")
    button(page, "Train").click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.frame-position')].some(n => / [1-9]\\d* of/.test(n.textContent))"
    )
    frame = playback_frame(page)
    expect(frame.locator("[id^=lineage-cut] rect").first).to_be_attached()  # the first curve has been drawn
    frame.evaluate(
        """place => {
            window.seen = { heights: new Set(), veils: new Set() };
            (function look() {
                window.seen.heights.add(Math.round(place.getBoundingClientRect().height));
                window.seen.veils.add(Number(place.querySelector("[id^=lineage-cut] rect").getAttribute("width")));
                if (place.isConnected) requestAnimationFrame(look);
            })();
        }"""
    )
    first = playback_epoch(page)
    page.wait_for_function(
        f"() => / ({first + 2}|{first + 3}) of/.test(document.querySelector('.frame-position').textContent)"
    )
    frame.get_by_role("button", name="Pause").click()
    epoch = playback_epoch(page)
    assert 0 < epoch < 12
    page.wait_for_timeout(400)
    assert playback_epoch(page) == epoch, "a paused playback goes on"
    frame.get_by_role("button", name="Step", exact=True).click()
    expect(frame.locator(".frame-position")).to_have_text(f"epoch {epoch + 1} of 12")
    frame.get_by_role("button", name="Step back").click()
    expect(frame.locator(".frame-position")).to_have_text(f"epoch {epoch} of 12")
    frame.locator(".frame-scrubber").fill("3")
    expect(frame.locator(".frame-position")).to_have_text("epoch 3 of 12")
    frame.get_by_label("Duration of the playback").select_option("4")
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


def test_a_long_training_shows_its_progress_and_can_be_stopped(visit: Any, seed: int) -> None:
    page = visit(f"{LONG_TRAINING_URL}{seed}")
    press_train(page)
    button(page, "Stop").click()
    expect(page.get_by_text(STOPPED)).to_be_visible()
    expect(button(page, "Go on")).to_be_enabled()


def test_two_visitors_are_independent(visit: Any, seed: int) -> None:
    one, two = visit(f"{SHORT_TRAINING_URL}&seed={seed}"), visit("/negation?say=human+destroy+nature")
    button(one, "Train").click()
    type_sentence(two, "human not consume nature")
    expect(headline(two)).to_contain_text("sustain")
    expect(one.get_by_text("Saved; the address of this page holds these runs.")).to_be_visible()
    expect(sentence_box(one)).to_have_value("human not preserve nature")
    expect(sentence_box(two)).to_have_value("human not consume nature")
    expect(two.locator(".frame-say")).to_have_text(re.compile("^trained earlier, in"))
    assert "seed" not in two.url and "consume" not in one.url


def test_a_figure_is_saved_as_image_and_table(visit: Any, tmp_path: Path) -> None:
    page = visit("/negation")
    frame = playback_frame(page)
    expect(frame.locator(".js-plotly-plot")).to_have_count(6)
    files = save_figure(page, frame, "negation-race", tmp_path)
    assert b"Transformer" in files["SVG"]
    lines = files["CSV"].decode().splitlines()
    assert lines[0] == "figure,series,x,y"
    ends = {row["figure"].split("-")[0]: float(row["x"]) for row in csv.DictReader(lines)}
    assert ends == {model: default_config("negation", model).epochs for model in NEGATION_MODELS}
    assert len(lines) > 1 + 3 * (21 + 41 + 41 + 26 + 26 + 31)  # evaluated more often than every epoch at the start
    assert lines[-1].startswith('transformer-exact_accuracy,"Transformer, median",30,')


def test_a_clicked_word_is_highlighted_in_all_figures_until_escape(visit: Any) -> None:
    page = visit("/negation")
    expect(page.locator(".js-plotly-plot .heatmaplayer image").first).to_be_attached()
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


def test_typing_a_sentence_reruns_only_the_fragments_that_depend_on_it(visit: Any) -> None:
    page = visit("/negation")
    runs: list[list[str]] = []

    def record_script_run(frame: bytes) -> None:
        message = ForwardMsg.FromString(frame)
        if message.WhichOneof("type") == "new_session":
            session = message.new_session
            is_old = "fragment_ids_this_run" in session.DESCRIPTOR.fields_by_name  # before Streamlit 1.67
            ids = session.fragment_ids_this_run if is_old else message.metadata.run.fragment_ids
            runs.append(list(ids))

    # events are only reported for new sockets, so the page is reloaded
    page.on("websocket", lambda socket: socket.on("framereceived", record_script_run))
    page.reload()
    expect(verdicts(page)).to_have_count(6)
    wait_until_idle(page)
    full_runs = len([fragment_ids for fragment_ids in runs if not fragment_ids])
    type_sentence(page, "human preserve nature")
    expect(headline(page)).to_have_text("All six say sustain, and so does the grammar.")
    expect(page).to_have_url(re.compile(r"\?say=human\+preserve\+nature$"))
    expect(page.get_by_role("heading", name="How do the models learn it?")).to_be_visible()
    wait_until_idle(page)
    assert len([fragment_ids for fragment_ids in runs if not fragment_ids]) == full_runs and len(runs[-1]) == 3


def test_typing_a_sentence_clears_messages_about_the_url(visit: Any) -> None:
    page = visit("/negation?nonsense=1")
    expect(page.get_by_text("This page has no “nonsense”")).to_be_visible()
    type_sentence(page, "human preserve nature")
    expect(headline(page)).to_have_text("All six say sustain, and so does the grammar.")
    expect(page.get_by_text("This page has no")).to_have_count(0)
