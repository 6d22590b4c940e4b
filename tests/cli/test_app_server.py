"""The command `app`, without starting a server; tests/test_app.py starts one."""

from __future__ import annotations

import runpy
import signal
import socket
import sys
from pathlib import Path

import pytest

from explorer.program_files import APP
from explorer.web.operations import warmup
from tests.terminal import RunCommand


@pytest.fixture
def start_commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines with which Streamlit is started."""
    found: list[list[str]] = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name: found.append([name, run_name, *sys.argv[1:]]))
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.parametrize("words", [(), ("app",)], ids=["without a command", "app"])
def test_the_app_is_started_on_this_computer(
    words: tuple[str, ...], ask: RunCommand, start_commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = str(free_port())
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", port)
    assert ask(*words) == (0, "", "")
    options = ["--server.port", port, "--server.address", "localhost"]
    assert start_commands == [["streamlit", "__main__", "run", str(APP), *options]]


def test_port_address_and_browser_are_options(ask: RunCommand, start_commands: list[list[str]]) -> None:
    port = str(free_port())
    assert ask("app", "--port", port, "--host", "127.0.0.1", "--no-browser") == (0, "", "")
    options = ["--server.port", port, "--server.address", "127.0.0.1", "--server.headless", "true"]
    assert start_commands[0][4:] == options


def test_a_port_in_use_and_an_invalid_setting_are_one_sentence(
    ask: RunCommand, start_commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("localhost", 0)) as used:
        port = used.getsockname()[1]
        code, out, err = ask("app", "--port", str(port))
    assert (code, out, err.count("\n"), start_commands) == (2, "", 1, [])
    assert f"Port {port} is in use" in err and f"lineage app --port {port + 1}" in err
    for host in ("192.0.2.1", ".."):
        code, out, err = ask("app", "--host", host)
        assert (code, out, err.count("\n"), start_commands) == (2, "", 1, [])
        assert f"--host {host} is no address of this computer" in err
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "many")
    code, out, err = ask("app", "--port", str(free_port()))
    assert (code, out, err.count("\n"), start_commands) == (2, "", 1, [])
    assert "LINEAGE_MOST_STEPS = many is not possible" in err


def test_one_of_several_servers_imports_the_app_before_it_listens(
    ask: RunCommand, start_commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order: list[str] = []
    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{tmp_path}/lineage.db")
    monkeypatch.setattr(warmup, "import_libraries", lambda: order.append("libraries"))
    monkeypatch.setattr(runpy, "run_path", lambda path, run_name: order.append(path))
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name: order.append(name))
    assert ask("app", "--port", str(free_port()), "--no-browser") == (0, "", "")
    assert order == ["libraries", str(APP), "streamlit"]
