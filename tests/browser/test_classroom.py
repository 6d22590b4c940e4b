"""Several visitors on one server: a class with its teacher, and trainings that go on without their visitor."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.steps import (
    LONG_TRAINING_URL,
    PROGRESS,
    RETRIES,
    STOPPED,
    button,
    choose_to_share,
    go_to_page,
    jobs_of_seed,
    jobs_panel,
    open_page,
    origin,
    playback_epoch,
    playback_frame,
    post_job_command,
    press_train,
    wait_until,
    wait_until_idle,
    wait_until_settled,
)
from tests.serving import Server

# The controls under the panel's button, when the page is scrolled to its end.
COVERED = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    main.scrollTo(0, main.scrollHeight);
    const pill = document.querySelector(".lineage-jobs-panel .pill").getBoundingClientRect();
    const meets = (box) => box.width && box.left < pill.right && box.right > pill.left
        && box.top < pill.bottom && box.bottom > pill.top;
    return [...document.querySelectorAll("a, button, input, select, textarea, [role=slider], summary")]
        .filter((node) => !node.closest(".lineage-jobs-panel") && meets(node.getBoundingClientRect()))
        .map((node) => node.outerHTML.slice(0, 120));
}"""
# What a page reports while its server is away.
SERVER_ENDED = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
    "ERR_CONTENT_LENGTH_MISMATCH",  # the server ended in the middle of an answer
    "Failed to fetch",
    "WebSocket",
    "disconnected",
    "Client Error in reaching server endpoint",
    "server is not responding",
    "DoInitPings",
    "Connection timed out",
    "410 (Gone)",  # the new server does not know the sections of the page yet
)
# The largest distance of the comparison's section from its first position, over all frames.
WATCH_RACE = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    const top = () => {
        const head = [...document.querySelectorAll("h2")].find((node) => /^How do the models/.test(node.textContent));
        return head ? head.getBoundingClientRect().top + main.scrollTop : 9999;
    };
    const first = top();
    window.moved = 0;
    (function look() {
        window.moved = Math.max(window.moved, Math.abs(top() - first));
        requestAnimationFrame(look);
    })();
}"""
# Whether the slide holds the question, the votes, the measured answer and the code, and nothing of them is cut.
WHOLE_SLIDE = """() => {
    const bar = document.querySelector(".lineage-presentation-bar").getBoundingClientRect().top;
    return [".question", ".votes", ".answer .verdict", ".code", ".acts"].every((each) => {
        const box = document.querySelector(`.lineage-classroom ${each}`).getBoundingClientRect();
        return box.width > 0 && box.top >= 0 && box.bottom <= bar && box.left >= 0 && box.right <= innerWidth;
    });
}"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_training_goes_on_without_its_visitor_and_only_they_can_stop_it(visit: Any, seed: int) -> None:
    one = visit(f"{LONG_TRAINING_URL}{seed}")
    button(one, "Train").dblclick()  # begins one training
    expect(one.locator(".frame-say")).to_have_text(PROGRESS)
    wait_until_settled(one)
    one.evaluate(WATCH_RACE)
    here = playback_epoch(one)
    wait_until(lambda: playback_epoch(one) > here + 2)
    assert one.evaluate("window.moved") <= 1
    (before,) = jobs_of_seed(one, seed)
    key = before["key"]
    curve = open_page(one.context.new_page(), f"{origin(one)}/compare?runs={key}")
    figure, last = curve.locator(".js-plotly-plot").first, "plot => Math.max(...plot.data.flatMap(trace => trace.x))"
    figure.evaluate("plot => { plot.mark = 'the same'; }")
    drawn = figure.evaluate(last)
    one.reload()
    expect(one.locator(".frame-say")).to_have_text(PROGRESS)
    assert jobs_of_seed(one, seed)[0]["step"] > before["step"]
    go_to_page(one, "Runs")
    jobs_panel(one).get_by_role("button").first.click()
    mine = jobs_panel(one).get_by_role("listitem").filter(has_text=f"seed = {seed}")
    expect(mine.locator(".yours")).to_be_visible()
    expect(mine.get_by_role("progressbar")).not_to_have_attribute("aria-valuenow", "0")

    two = visit("/masks")
    assert jobs_of_seed(two, seed) == []
    expect(jobs_panel(two)).to_be_hidden()
    open_page(two, f"{origin(two)}/negation?run={key}")
    expect(two.locator(".frame-say")).to_have_text(PROGRESS)
    expect(button(two, "Training")).to_be_disabled()
    playback_frame(two).get_by_role("button", name="Pause").click()
    here, step = playback_epoch(two), jobs_of_seed(one, seed)[0]["step"]
    wait_until(lambda: jobs_of_seed(one, seed)[0]["step"] > step)
    assert playback_epoch(two) == here, "a paused playback goes on"
    for page, headers in ((two, {"X-Lineage": "1"}), (one, {})):  # somebody else; a form of another site
        refused = post_job_command(page, key, "stop", **headers)
        assert refused.status == 403
        assert re.fullmatch(r"[A-Z].*\.", refused.json()["problem"])
    assert jobs_of_seed(one, seed)[0]["state"] == "running"

    wait_until(lambda: figure.evaluate(last) > drawn)
    mine.get_by_role("button", name="Stop LSTM").click()
    expect(mine.locator(".words")).to_have_text(re.compile(r"^stopped at step [1-9]"))
    step = jobs_of_seed(one, seed)[0]["step"]
    expect(two.get_by_text(STOPPED)).to_be_visible()
    wait_until_settled(curve)
    assert drawn < figure.evaluate(last) <= step
    assert figure.evaluate("plot => plot.mark") == "the same", "the figure was drawn again"
    go_to_page(one, "Negation")
    expect(one.get_by_text(STOPPED)).to_be_visible()
    wait_until_settled(one)
    button(one, "Go on").click()
    running = wait_until(lambda: (found := jobs_of_seed(one, seed)[0])["state"] == "running" and found)
    assert running["step"] >= step, "it began anew"
    expect(one.locator(".frame-say")).to_have_text(PROGRESS)
    button(one, "Stop").click()
    expect(one.get_by_text(STOPPED)).to_be_visible()


def test_a_training_and_a_class_go_on_after_the_server_was_killed(visit: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "cut", LINEAGE_CHECKPOINT_SECONDS="0.3")

    def visit_server(path: str) -> Any:
        return visit(path, server_url=server.url, ignored_errors=SERVER_ENDED)

    try:
        server.start()
        teacher = visit_server("/masks")
        expect(teacher.get_by_role("switch", name="causal mask")).to_be_visible()
        choose_to_share(teacher, "Give to a class")
        expect(teacher.get_by_role("heading", name="For your class")).to_be_visible()
        wait_until_settled(teacher)
        teacher.get_by_text("Controls to hide from the class").click()
        labels = teacher.locator("[data-testid=stButtonGroup] button").all_inner_texts()
        popover = "“Edit the three sentences” with its fields"
        assert {"causal mask", popover} <= set(labels) and not [each for each in labels if "--" in each]
        for label in ("causal mask", popover):
            teacher.get_by_role("button", name=label, exact=True).click()
        expect(teacher.get_by_text("Controls to hide from the class: 2")).to_be_visible()
        wait_until_settled(teacher)
        teacher.get_by_role("button", name="Start the class").click()
        teacher.wait_for_url(re.compile("class=[A-Z]{5}"))
        expect(teacher.locator(".lineage-classroom .say").first).to_have_text("Students in the class: 0")
        expect(teacher.get_by_role("button", name="Edit the three sentences")).to_be_visible()
        wait_until_settled(teacher)

        trained = visit_server("/negation?models=rnn&rnn.epochs=100&seed=120")
        press_train(trained)
        stored = server.home / "jobs" / jobs_of_seed(trained, 120)[0]["key"] / "card.json"
        wait_until(lambda: stored.exists() and json.loads(stored.read_text(encoding="utf-8"))["step"] > 13)
        progress = trained.locator(".frame-say").inner_text()
        server.kill()
        server.start()

        student = visit_server(f"/?{urlsplit(teacher.url).query}")
        expect(teacher.locator(".lineage-classroom .say").first).to_have_text("Students in the class: 1")
        expect(student.get_by_role("switch", name="padding mask")).to_be_visible()
        expect(student.get_by_role("switch", name="causal mask")).to_be_hidden()
        expect(student.get_by_role("button", name="Edit the three sentences")).to_be_hidden()
        expect(student.get_by_text("There is no control")).to_have_count(0)

        first = wait_until(lambda: jobs_of_seed(trained, 120))[0]
        assert first["mine"], "the visitor is no longer the same"
        expect(trained.locator(".frame-say")).not_to_have_text(progress)  # it has found the server again
        answers = [first]
        wait_until(lambda: answers.append(jobs_of_seed(trained, 120)[0]) or answers[-1]["state"] == "finished")
        assert next(job["step"] for job in answers if job["step"]) > 13, "it began anew"
        expect(trained.locator(".frame-say")).to_have_text(re.compile("^trained"))
        expect(trained.locator(".frame-position")).to_have_text("epoch 100 of 100")
        expect(trained.locator(".lineage-verdicts .row")).to_have_count(1)
    finally:
        server.stop()


def test_the_jobs_panel_is_shown_while_something_trains(visit: Any, seed: int) -> None:
    idle, narrow = visit("/masks"), visit(f"{LONG_TRAINING_URL}{seed}", 390, 844)
    expect(jobs_panel(idle)).to_be_hidden()
    press_train(narrow)
    expect(narrow.locator(".frame-say")).to_have_text(PROGRESS)
    expect(jobs_panel(narrow)).to_be_hidden()  # there is one progress on this page
    open_page(narrow, f"{origin(narrow)}/runs")
    expect(jobs_panel(narrow)).to_be_visible()
    expect(jobs_panel(idle)).to_be_hidden()
    pill = jobs_panel(narrow).get_by_role("button").first
    panel = narrow.locator(".lineage-jobs-panel .panel")
    expect(pill).to_have_attribute("aria-expanded", "false")
    pill.focus()
    narrow.keyboard.press("Enter")
    expect(pill).to_have_attribute("aria-expanded", "true")
    box = panel.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] >= 0
    narrow.keyboard.press("Tab")
    expect(panel.get_by_role("link")).to_be_focused()
    narrow.keyboard.press("Escape")
    expect(pill).to_have_attribute("aria-expanded", "false")
    expect(pill).to_be_focused()
    expect(panel).to_be_hidden()
    for path in ("/compare", "/positions"):
        open_page(narrow, origin(narrow) + path)
        expect(jobs_panel(narrow)).to_be_visible()
        assert narrow.evaluate(COVERED) == [], f"the panel lies over what can be pressed on {path}"
    assert post_job_command(narrow, jobs_of_seed(narrow, seed)[0]["key"], "stop", **{"X-Lineage": "1"}).status == 204
    expect(jobs_panel(idle)).to_be_hidden()


def test_a_class_votes_twice_and_sees_the_answer_together(visit: Any) -> None:
    teacher = visit("/memory?who=rnn-usual&lesson=gradients&part=1")
    teacher.locator(".st-key-lesson-class button").click()
    teacher.wait_for_url(re.compile("class=[A-Z]{5}"))
    code = teacher.url.split("class=")[1][:5]
    board = teacher.locator(".lineage-classroom")
    message, bars = board.locator(".say").first, board.locator(".bars .bar b")
    expect(message).to_have_text("Nobody has joined yet. Students scan the code, or type the address.")
    expect(board.get_by_role("img", name=re.compile(f"QR code of .*class={code}")).first).to_be_visible()
    open_page(teacher, teacher.url)
    expect(board.get_by_role("button", name="Show the answer")).to_be_enabled()  # still the teacher
    board.get_by_role("button", name="Everybody is in").click()
    expect(board.locator("aside")).to_be_hidden()

    ada = visit(f"/?class={code}", 390, 844)
    bob = visit("/lessons", 390, 844, "dark")
    bob.get_by_label("Join a class").fill(code.lower())
    bob.get_by_role("button", name="Join").click()
    for student, answer in ((ada, "Less than a billionth"), (bob, "A thousandth to a tenth")):
        expect(student.locator(".lineage-classroom legend")).to_be_visible()
        student.get_by_label(answer).check()
        student.get_by_role("button", name="Send my answer").click()
        expect(student.locator(".say").first).to_have_text(re.compile("^Your answer has arrived"))
        expect(student.get_by_label(answer)).to_be_disabled()
        assert student.evaluate(WIDER) <= 0
    expect(message).to_have_text("2 of 2 answered")
    expect(bars).to_have_count(0)
    board.get_by_role("button", name="Show votes").click()
    expect(bars).to_have_text(["0 of 2 (0 %)", "1 of 2 (50 %)", "0 of 2 (0 %)", "1 of 2 (50 %)"])
    board.get_by_role("button", name="Vote again").click()
    expect(message).to_have_text("Second vote: 0 of 2 answered")
    expect(bars).to_have_count(0)

    open_page(ada, f"{origin(ada)}/lessons")  # she has lost the page
    ada.get_by_role("button", name=f"Back to class {code}").click()
    expect(ada.get_by_role("button", name="Send my second answer")).to_be_visible()
    expect(ada.get_by_label("Less than a billionth")).to_be_checked()
    ada.get_by_role("button", name="Send my second answer").click()
    bob.get_by_label("Less than a billionth").check()
    bob.get_by_role("button", name="Send my second answer").click()
    expect(message).to_have_text("Second vote: 2 of 2 answered")

    board.get_by_role("button", name="Show the answer").click()
    for page in (teacher, ada, bob):
        expect(page.locator(".answer .verdict")).to_be_visible()
        expect(page.locator(".bars .bar b").nth(6)).to_have_text("1 of 2 (50 %)")  # the last choice, first vote
        expect(page.locator(".bars .bar b").nth(7)).to_have_text("2 of 2 (100 %)")
        wait_until_idle(page)
        assert page.evaluate(WIDER) <= 0
    teacher.set_viewport_size({"width": 1280, "height": 720})
    teacher.locator("body").press("p")
    expect(teacher.locator(".lineage-presentation-bar .place")).to_have_text(re.compile(r"^1 / \d+The lesson$"))
    teacher.wait_for_function(WHOLE_SLIDE)
    board.get_by_role("button", name="Show why").click()
    expect(board.locator(".answer .why")).to_be_visible()
    expect(board.locator(".votes")).to_be_hidden()
    expect(board.locator(".more")).to_be_hidden()  # a code that gives control is never on a slide
    teacher.locator("body").press("p")
    board.get_by_text("Manage the class").click()
    board.get_by_role("button", name="Control from another device").click()
    control = board.locator(".control .code b").inner_text()
    phone = visit(f"/lessons?join={control.replace(' ', '')}", 390, 844)
    phone.get_by_role("button", name="Join").click()
    expect(board.get_by_text("2 browsers control this class.")).to_be_visible()
    phone.get_by_role("button", name="Next step").click()
    expect(message).to_have_text("0 of 2 answered")
    reveal = f"{origin(ada)}/class/{code}/reveal"
    refused = ada.request.post(reveal, data={"number": 2}, headers={"X-Lineage": "1"}, max_retries=RETRIES)
    assert refused.status == 403
    ada.get_by_label("The last few, up to 10").check()
    ada.get_by_role("button", name="Send my answer").click()
    expect(message).to_have_text("1 of 2 answered")
    bob.route("**/answer", lambda route: route.fulfill(json={"problem": "This answer came too late."}))
    bob.get_by_label("Nearly all of them").check()
    bob.get_by_role("button", name="Send my answer").click()
    expect(bob.locator(".say").first).to_have_text("This answer came too late.")

    wait_until_settled(teacher)
    board.get_by_role("button", name="End the class").click()
    with teacher.expect_download() as download:
        board.locator(".ending").get_by_role("link", name="Download the answers").click()
    rows = Path(download.value.path()).read_text("utf-8-sig").splitlines()
    assert len(rows) == 4 and sum("Less than a billionth" in row for row in rows) == 2
    board.get_by_role("button", name="End the class now").click()
    for page in (teacher, ada, bob):
        expect(page.get_by_text("The class has ended")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    wait_until_settled(ada)
    ada.get_by_role("button", name="My answers").click()
    expect(ada.locator(".lineage-lesson-answer .verdict")).to_contain_text("less than a billionth")
