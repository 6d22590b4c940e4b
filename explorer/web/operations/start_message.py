"""The message in the terminal when the server starts, and the browser that opens the app."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
import webbrowser

_EVERY_ADDRESS = (None, "", "0.0.0.0", "::")  # a server that listens on all addresses of the computer
_MOST_SECONDS = 30.0  # until a server that is starting answers


def url_of_server(address: str | None, port: int, path: str, encrypted: bool) -> str:
    """Return the URL of a server on this computer.

    address: on which it listens; None means every address of this computer.
    path: prefix of all its URLs; empty without one.
    encrypted: whether the server uses HTTPS.
    """
    host = "localhost" if address in _EVERY_ADDRESS else str(address)
    host = f"[{host}]" if ":" in host else host
    return "/".join(filter(None, (f"http{'s' * encrypted}://{host}:{port}", path.strip("/"))))


def describe_start(address: str | None, port: int, path: str, encrypted: bool, stored: str) -> str:
    """Return the message for a server that has started; `stored` says where the runs are, or that nothing is stored."""
    lines = [f"Lineage is open at {url_of_server(address, port, path, encrypted)}"]
    if address in _EVERY_ADDRESS and (network := _network_address()):
        lines.append(f"Other computers in this network: {url_of_server(network, port, path, encrypted)}")
    return "\n".join([*lines, stored, "To stop the app, press Ctrl+C here."])


def print_in_any_encoding(message: str) -> None:
    """Print a message; characters that its encoding does not have, as in the name of a folder, are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(message.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def open_browser(url: str, address: str | None, port: int) -> threading.Thread:
    """Open a URL as soon as the server answers, on a thread; Streamlit does so for plain scripts only."""
    host, end = "localhost" if address in _EVERY_ADDRESS else str(address), time.monotonic() + _MOST_SECONDS

    def open_when_ready() -> None:
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection((host, port), timeout=1).close()
                webbrowser.open(url)
                return
            time.sleep(0.1)

    thread = threading.Thread(target=open_when_ready, name="browser", daemon=True)
    thread.start()
    return thread


def _network_address() -> str:
    """Return the address of this computer in its network, or an empty text. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
            unused.connect(("192.0.2.1", 9))  # reserved for documentation; decides which interface would be used
            return str(unused.getsockname()[0])
    except OSError:
        return ""
