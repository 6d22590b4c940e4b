"""A small app of two pages with a slow second page, on a server configured like that of `app.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.steps import wait_until_idle
from tests.serving import Server

pytestmark = pytest.mark.slow

APP = """
from contextlib import asynccontextmanager

import streamlit as st

from explorer.web.streamlit_patch import ignore_reruns_of_left_pages


@asynccontextmanager
async def lifespan(_):
    {setup}
    yield {{}}


app = st.App("navigation.py", lifespan=lifespan)
"""
NAVIGATION = """
import time

import streamlit as st


def one():
    st.title("One")
    st.fragment(lambda: st.write("a part"))()
    if st.button("Go on"):
        st.switch_page(pages[1])


def two():
    time.sleep(1.5)
    st.title("Two")


pages = [st.Page(one, default=True), st.Page(two)]
st.navigation(pages).run()
"""
# Send the stored request of a fragment again, every 10 ms after the next message.
RESEND_LATE = """
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (message) {
    send.call(this, message);
    if (!window.late) return;
    const request = new Uint8Array(window.late);
    window.late = null;
    for (let after = 0; after < 1000; after += 10) setTimeout(() => send.call(this, request), after);
  };
"""


@pytest.mark.parametrize("setup", ["ignore_reruns_of_left_pages()", "pass"])
def test_late_fragment_reruns_of_a_left_page_do_not_clear_the_next_page(visit: Any, tmp_path: Path, setup: str) -> None:
    (tmp_path / "app.py").write_text(APP.format(setup=setup))
    (tmp_path / "navigation.py").write_text(NAVIGATION)
    server = Server(tmp_path / "home", tmp_path / "app.py")
    fragment_ids: list[str] = []
    requests: list[BackMsg] = []

    def listen(socket: WebSocket) -> None:
        socket.on(
            "framereceived", lambda message: fragment_ids.append(ForwardMsg.FromString(message).delta.fragment_id)
        )
        socket.on("framesent", lambda message: requests.append(BackMsg.FromString(message)))

    try:
        server.start()
        page = visit("/", server_url=server.url)
        page.on("websocket", listen)
        page.add_init_script(RESEND_LATE)
        page.reload()
        expect(page.get_by_text("a part")).to_be_visible()
        wait_until_idle(page)
        late_request = requests[-1]
        late_request.rerun_script.fragment_id = [fragment_id for fragment_id in fragment_ids if fragment_id][-1]
        late_request.rerun_script.is_auto_rerun = True
        page.evaluate("request => { window.late = request }", list(late_request.SerializeToString()))
        page.get_by_role("button", name="Go on").click()
        expect(page).to_have_url(re.compile("/two$"))
        page.wait_for_timeout(3_000)
        wait_until_idle(page)
        assert page.get_by_role("heading", level=1).all_inner_texts() == (["Two"] if "ignore" in setup else [])
        page.close()  # before its server stops, so that the page does not try to reconnect
    finally:
        server.stop()
