"""The message of a server that has started."""

from __future__ import annotations

import io
import socket
import sys
import webbrowser

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.web.operations import start_message
from explorer.web.operations.start_message import describe_start


def test_the_message_has_the_addresses(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = []
    for network, address, port, path, encrypted in (
        ("10.0.0.7", "127.0.0.1", 8502, "", False),
        ("10.0.0.7", "::1", 8501, "", False),
        ("", None, 8501, "", False),
        ("10.0.0.7", None, 80, "/a/", True),
        ("10.0.0.7", "0.0.0.0", 80, "/a/", True),
        ("10.0.0.7", "::", 80, "/a/", True),
    ):
        monkeypatch.setattr(start_message, "_network_address", lambda network=network: network)
        messages.append(describe_start(address, port, path, encrypted, "Your runs are stored in runs-of-a-test"))
    assert messages == snapshot


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
