"""The command `app`, which opens the app in the browser. It also runs if no command is given."""

from __future__ import annotations

import errno
import os
import runpy
import signal
import socket
import sys
from typing import Annotated

from explorer.cli.common import flag, option
from explorer.cli.program import program_name
from explorer.environment import environment
from explorer.errors import InvalidSetting, shorten
from explorer.program_files import APP

PORT, HOST = 8501, "localhost"


def open_app(
    port: Annotated[
        int, option("PORT", "Port of the app on this computer.", min=1, max=65_535, envvar="STREAMLIT_SERVER_PORT")
    ] = PORT,
    host: Annotated[
        str,
        option(
            "ADDRESS",
            "Address on which the app listens. With 0.0.0.0, other computers in the network can open it.",
            envvar="STREAMLIT_SERVER_ADDRESS",
        ),
    ] = HOST,
    browser: Annotated[bool, flag("--browser/--no-browser", "Open the app in the browser, or only start it.")] = True,
) -> None:
    """Open the app in the browser. Ctrl+C stops it."""
    environment()  # an invalid setting is one sentence here, before the server starts
    _check_port(host, port)
    sys.argv = ["streamlit", "run", str(APP), "--server.port", str(port), "--server.address", host]
    if not browser:
        sys.argv += ["--server.headless", "true"]
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))  # Streamlit stops the server, then calls this handler
    if environment().database_url:
        _import_app()
    runpy.run_module("streamlit", run_name="__main__")  # as `python -m streamlit`, in this process: signals reach it


def _import_app() -> None:
    """Import now what a server imports while it starts, before Streamlit listens.

    A server that listens without an answer keeps visitors whom the proxy would send to another one.
    """
    from explorer.lessons.parse import read_lessons
    from explorer.ui.state import page_states
    from explorer.web.operations import warmup

    warmup.import_libraries()
    runpy.run_path(str(APP), run_name="app")
    read_lessons(check_state=page_states.url_problems)


def _check_port(host: str, port: int) -> None:
    """Raise InvalidSetting unless a server can listen on this address and port."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as server:
            if os.name == "posix":  # a port that was closed a moment ago is free; Windows needs no option for that
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
    except UnicodeError as error:  # a name that no address can have, such as “..”
        raise _not_an_address(host) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InvalidSetting(
                f"Port {port} is in use, perhaps by this app in another terminal: see http://{HOST}:{port}. To start "
                f"another one, choose another port: {program_name()} app --port {port + 1 if port < 65_535 else PORT}"
            ) from error
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise _not_an_address(host) from error
        raise InvalidSetting(
            f"The app cannot listen on {host}, port {port}: {error.strerror}. Choose others with --host and --port."
        ) from error


def _not_an_address(host: str) -> InvalidSetting:
    return InvalidSetting(
        f"--host {shorten(host)} is no address of this computer. Give localhost, or 0.0.0.0 for the whole network."
    )
