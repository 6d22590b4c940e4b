"""A small app of two pages whose second takes its time, on the server as it is started by `app.py`."""

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
    {cure}
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
# What the part asks by the clock, at every possible moment after the next gesture.
LATE = """
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (message) {
    send.call(this, message);
    if (!window.late) return;
    const asked = new Uint8Array(window.late);
    window.late = null;
    for (let after = 0; after < 1000; after += 10) setTimeout(() => send.call(this, asked), after);
  };
"""


@pytest.mark.parametrize("cure", ["ignore_reruns_of_left_pages()", "pass"])
def test_what_a_page_asks_for_as_it_is_left_does_not_empty_the_next(visit: Any, tmp_path: Path, cure: str) -> None:
    (tmp_path / "app.py").write_text(APP.format(cure=cure))
    (tmp_path / "navigation.py").write_text(NAVIGATION)
    server = Server(tmp_path / "home", tmp_path / "app.py")
    parts: list[str] = []
    questions: list[BackMsg] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda said: parts.append(ForwardMsg.FromString(said).delta.fragment_id))
        socket.on("framesent", lambda asked: questions.append(BackMsg.FromString(asked)))

    try:
        server.start()
        page = visit("/", at=server.url)
        page.on("websocket", listen)
        page.add_init_script(LATE)
        page.reload()
        expect(page.get_by_text("a part")).to_be_visible()
        wait_until_idle(page)
        late = questions[-1]
        late.rerun_script.fragment_id = [part for part in parts if part][-1]
        late.rerun_script.is_auto_rerun = True
        page.evaluate("asked => { window.late = asked }", list(late.SerializeToString()))
        page.get_by_role("button", name="Go on").click()
        expect(page).to_have_url(re.compile("/two$"))
        page.wait_for_timeout(3_000)
        wait_until_idle(page)
        assert page.get_by_role("heading", level=1).all_inner_texts() == (["Two"] if "ignore" in cure else [])
        page.close()  # before its server goes, for which it would look
    finally:
        server.stop()
