"""The message of a server that has started."""

from __future__ import annotations

import io
import socket
import sys
import webbrowser

import pytest

from explorer.web.operations import start_message
from explorer.web.operations.start_message import describe_start

RUNS = "runs-of-a-test"


def test_a_server_on_one_address() -> None:
    assert describe_start("127.0.0.1", 8502, "", False, RUNS).splitlines() == [
        "Lineage is open at http://127.0.0.1:8502",
        "Your runs are stored in runs-of-a-test",
        "To stop the app, press Ctrl+C here.",
    ]


@pytest.mark.parametrize("address", [None, "0.0.0.0", "::"])
def test_a_server_on_all_addresses_names_the_one_of_the_network(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_message, "_network_address", lambda: "192.168.0.7")
    assert describe_start(address, 8501, "/models/", True, RUNS).splitlines()[:2] == [
        "Lineage is open at https://localhost:8501/models",
        "Other computers in this network: https://192.168.0.7:8501/models",
    ]


def test_a_computer_without_a_network_names_itself_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_message, "_network_address", lambda: "")
    assert "network" not in describe_start(None, 8501, "", False, RUNS)


def test_an_address_of_ipv6_has_brackets() -> None:
    assert describe_start("::1", 8501, "", False, RUNS).startswith("Lineage is open at http://[::1]:8501\n")


def test_the_browser_is_opened_as_soon_as_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        waiting = start_message.open_browser("http://127.0.0.1/page", "127.0.0.1", port)
        waiting.join(0.5)
        assert (opened, waiting.is_alive()) == ([], True)  # the port is taken, but nobody listens yet
        server.listen()
        waiting.join(30)
    assert opened == ["http://127.0.0.1/page"]


def test_characters_that_a_terminal_does_not_have_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", out)
    start_message.print_in_any_encoding("Your runs are stored in C:/Łukasz")
    assert out.buffer.getvalue().decode("cp1252").strip() == r"Your runs are stored in C:/\u0141ukasz"
