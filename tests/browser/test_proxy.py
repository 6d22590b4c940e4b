"""Below a path behind a real nginx with TLS (`deploy/nginx.conf`), and in a frame of another site.

Chromium knows three hosts that are this machine: the site's own, a learning platform that may show it in a frame, and
another site that may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests import needs, nginx
from tests.browser.conftest import FLAGS, TIMEOUT, note_foreign_requests
from tests.browser.steps import (
    button,
    go_to_page,
    import_file,
    open_page,
    wait_until,
    wait_until_idle,
    wait_until_settled,
)
from tests.browser.test_runs import SAVED, rows, tick
from tests.serving import Server, free_port

pytestmark = needs.nginx
SITE, PLATFORM, OTHER = "lineage.test", "moodle.test", "other.test"
COURSE = '<!doctype html><title>Course</title><h1>Course</h1><iframe src="{}" width="1000" height="800"></iframe>'
# Note whether a part of the text is shown before the whole.
WATCH_STREAM = """() => {
    const status = document.querySelector(".lineage-text-stream .status");
    new MutationObserver(() => { window.isPartly ||= /^[1-9][\\d,]* of 2,000 letters/.test(status.textContent); })
        .observe(status, { childList: true, characterData: true, subtree: true });
}"""


@dataclass
class Site:
    """The address of a running site, and what pages asked for in vain or outside it."""

    url: str
    port: int
    folder: Path
    problems: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> Page:
        """Note every request of a page that leaves the site or fails."""

        def check_answer(response: Any) -> None:
            # Streamlit first looks for its server below the page's own path.
            probe = re.search(r"/lineage/[a-z-]+/_stcore/(health|host-config)$", response.url)
            if response.status >= 400 and not probe:
                self.problems.append(f"{response.status} {response.url}")

        note_foreign_requests(page, self.problems, self.url.removesuffix("/"))
        page.on("response", check_answer)
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        return page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server below /lineage behind nginx, and two other sites on the same nginx."""
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    server = Server(
        folder / "home",
        STREAMLIT_SERVER_BASE_URL_PATH="lineage",
        LINEAGE_TRUSTED_PROXIES="127.0.0.1",
        LINEAGE_FRAME_ANCESTORS=f"https://{PLATFORM}:{port}",
    )
    sites = nginx.site(server.port, port, folder, SITE) + nginx.static_sites(port, folder, PLATFORM, OTHER)
    try:
        server.start()
        with nginx.running_nginx(folder, sites, port):
            yield Site(f"https://{SITE}:{port}/lineage/", port, folder)
    finally:
        server.stop()
    assert "Traceback" not in (folder / "home" / "server.log").read_text()


@pytest.fixture(scope="module")
def hosts(chromium: Any) -> Iterator[Any]:
    """A browser that finds the three hosts on this machine."""
    rules = ", ".join(f"MAP {host} 127.0.0.1" for host in (SITE, PLATFORM, OTHER))
    browser = chromium.launch(executable_path=needs.CHROMIUM, args=[*FLAGS, f"--host-resolver-rules={rules}"])
    yield browser
    browser.close()


@pytest.fixture
def visitor(hosts: Any, site: Site) -> Iterator[Any]:
    """Return a function that opens the browser of another person."""
    contexts = []

    def open_browser() -> Any:
        context = hosts.new_context(ignore_https_errors=True, accept_downloads=True)
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        return context

    site.problems.clear()
    yield open_browser
    for context in contexts:
        context.close()
    assert site.problems == []


def test_a_visit_below_a_path_behind_nginx(visitor: Any, site: Site) -> None:
    browser = visitor()
    page = site.watch(browser.new_page())
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    open_page(page, site.url)
    page.get_by_role("link", name="Negation").first.click()
    expect(page).to_have_url(f"{site.url}negation")
    expect(page.locator(".lineage-verdicts .row")).to_have_count(6)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("How did we get from counting words to ChatGPT?")
    expect(page).to_have_url(site.url)

    open_page(page, f"{site.url}negation?models=bag_of_words&replicas=2&bag_of_words.epochs=3")  # a training
    button(page, "Train").click()
    expect(page.get_by_text(SAVED)).to_be_visible()
    go_to_page(page, "Runs")
    expect(page).to_have_url(f"{site.url}runs")
    wait_until_settled(page)
    tick(page, rows(page).first)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert Path(download.value.path()).read_bytes().startswith(b"PK")

    open_page(page, f"{site.url}studio?models=text-transformer&tokens=20&length=2000&unfold=studio-writing")
    stream = page.locator(".lineage-text-stream")
    page.evaluate(WATCH_STREAM)
    stream.locator(".press").click()
    expect(stream.locator(".status")).to_have_text(re.compile("^2,000 letters in "))
    assert page.evaluate("window.isPartly"), "it does not arrive while it is generated"

    assert sockets and all(url.startswith(f"wss://{SITE}:{site.port}/lineage/_stcore/stream") for url in sockets)
    cookies = browser.cookies()
    assert {cookie["name"] for cookie in cookies} == {"lineage_visitor", "_streamlit_xsrf"}
    assert all(cookie["secure"] and cookie["path"] == "/lineage" for cookie in cookies)


def send_answer(page: Page | FrameLocator, answer: str) -> None:
    page.get_by_label(answer).check()
    page.get_by_role("button", name="Send my answer").click()
    expect(page.locator(".say").first).to_have_text(re.compile("^Your answer has arrived"))
    expect(page.get_by_label(answer)).to_be_disabled()


def block_cookies_of_other_sites(page: Page) -> None:
    """Block the cookies of frames, except partitioned ones, as visitors can choose in their browser."""
    settings = page.context.new_cdp_session(page)
    settings.send("Network.enable")
    settings.send("Network.setCookieControls", {"enableThirdPartyCookieRestriction": True})


def write_course(site: Site, host: str, address: str) -> str:
    """Write the page of a course on a host, which shows an address of the site in a frame, and return its address."""
    file = site.folder / host / "course.html"
    file.parent.mkdir(exist_ok=True)
    file.write_text(COURSE.format(address))
    return f"https://{host}:{site.port}/{file.name}"


def test_answers_of_a_class_count_from_the_qr_code_and_from_the_frame_of_a_learning_platform(
    visitor: Any, site: Site, tmp_path: Path
) -> None:
    teacher = site.watch(visitor().new_page())
    open_page(teacher, f"{site.url}memory?who=rnn-usual&lesson=gradients&part=1")
    teacher.locator(".st-key-lesson-class button").click()
    board = teacher.locator(".lineage-classroom")
    message, qr = board.locator(".say").first, board.get_by_role("img", name=re.compile("QR code of")).first
    address = (qr.get_attribute("aria-label") or "").rsplit(" ", 1)[-1]
    assert re.fullmatch(re.escape(site.url) + r"\?class=[A-Z]{5}", address)

    phone = site.watch(visitor().new_page())
    phone.set_viewport_size({"width": 390, "height": 844})
    open_page(phone, address.replace("/?", "?"))  # as somebody types it
    send_answer(phone, "Less than a billionth")
    expect(message).to_have_text("1 of 1 answered")

    browser = visitor()
    course = browser.new_page()
    block_cookies_of_other_sites(course)
    course.set_viewport_size({"width": 1100, "height": 1000})
    course.goto(write_course(site, PLATFORM, address))
    frame = course.frame_locator("iframe")
    send_answer(frame, "A thousandth to a tenth")
    expect(message).to_have_text("2 of 2 answered")
    cookies = {each["name"]: each for each in browser.cookies(site.url)}
    for name in ("lineage_visitor", "_streamlit_xsrf"):
        assert (cookies[name]["sameSite"], cookies[name]["secure"]) == ("None", True)
        assert cookies[name]["partitionKey"] == f"https://{PLATFORM}"
    course.reload()  # the same visitor
    expect(frame.get_by_label("A thousandth to a tenth")).to_be_checked()
    expect(frame.get_by_label("A thousandth to a tenth")).to_be_disabled()
    board.get_by_role("button", name="Show votes").click()
    bars = board.locator(".bars .bar b")
    expect(bars).to_have_text(["0 of 2 (0 %)", "1 of 2 (50 %)", "0 of 2 (0 %)", "1 of 2 (50 %)"])
    assert cookies["lineage_visitor"] in browser.cookies(site.url)

    course.goto(write_course(site, PLATFORM, f"{site.url}runs?tasks=echo"))  # uploads need Streamlit's cookie
    invalid = tmp_path / "false.zip"
    invalid.write_text("I am no zip.")
    wait_until_idle(frame)
    frame.get_by_role("button", name="Import").first.click()
    import_file(frame, invalid)
    expect(frame.get_by_test_id("stAlertContainer")).to_have_text(re.compile("zip"))


def test_no_other_site_shows_the_pages_in_a_frame(visitor: Any, site: Site) -> None:
    page = visitor().new_page()
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        page.goto(write_course(site, OTHER, site.url))
    wait_until(lambda: page.title() and page.frames[1].url.startswith("chrome-error:"))
