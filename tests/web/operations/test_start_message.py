"""The message of a server that has started."""

from __future__ import annotations

import io
import socket
import sys
import webbrowser

import pytest

from explorer.web.operations import start_message
from explorer.web.operations.start_message import describe_start


@pytest.mark.parametrize(
    ("server", "network", "expected"),
    [
        (("127.0.0.1", 8502, "", False), "192.168.0.7", ["http://127.0.0.1:8502"]),
        (("::1", 8501, "", False), "192.168.0.7", ["http://[::1]:8501"]),
        ((None, 8501, "", False), "", ["http://localhost:8501"]),
        *(
            ((every, 80, "/a/", True), "10.0.0.7", ["https://localhost:80/a", "https://10.0.0.7:80/a"])
            for every in (None, "0.0.0.0", "::")
        ),
    ],
)
def test_the_message_has_the_addresses_at_which_the_server_can_be_opened(
    server: tuple[str | None, int, str, bool], network: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_message, "_network_address", lambda: network)
    begins = ["Lineage is open at ", "Other computers in this network: "]
    lines = [f"{begin}{url}" for begin, url in zip(begins, expected, strict=False)]
    lines += ["Your runs are stored in runs-of-a-test", "To stop the app, press Ctrl+C here."]
    assert describe_start(*server, "runs-of-a-test").splitlines() == lines


def test_the_browser_is_opened_as_soon_as_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        waiting = start_message.open_browser("http://127.0.0.1/page", "127.0.0.1", port)
        waiting.join(0.2)
        assert (opened, waiting.is_alive()) == ([], True)  # the port is taken, but nobody listens yet
        server.listen()
        waiting.join(30)
    assert opened == ["http://127.0.0.1/page"]


def test_characters_that_a_terminal_does_not_have_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", out)
    start_message.print_in_any_encoding("Your runs are stored in C:/Łukasz")
    assert out.buffer.getvalue().decode("cp1252").strip() == r"Your runs are stored in C:/\u0141ukasz"
