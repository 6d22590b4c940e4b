"""A 404 with a sentence for addresses at which Streamlit's page cannot load.

Streamlit answers every unknown address with its page, which loads its scripts from addresses relative to itself.
Directly below the base path the scripts are found, and the page says that it does not exist. At a deeper address, such
as a link from the time when the site had another path, the scripts are not found, and the page would stay empty.
"""

from __future__ import annotations

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DOCUMENT = """<!doctype html><html lang="en"><title>No such page</title>
<meta name="viewport" content="width=device-width">
<style>body {{ font: 16px/1.6 sans-serif; max-width: 30rem; margin: 20vh auto; padding: 1rem }}
:root {{ color-scheme: light dark }}</style>
<h1>No such page</h1><p>There is no page at this address. If you followed a link, the site may have moved: ask the
person who gave you the link for the new one.</p><p><a href="{home}">Open the home page</a></p></html>"""


class UnknownAddressMiddleware:
    """ASGI middleware that replaces Streamlit's `index_page` at addresses with several parts below the base path."""

    def __init__(self, app: ASGIApp, index_page: bytes, base_path: str = "") -> None:
        self.app = app
        self.base_path = base_path
        self._length = str(len(index_page)).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        depth = scope["path"].removeprefix(self.base_path).strip("/").count("/") if scope["type"] == "http" else 0
        if not depth:
            await self.app(scope, receive, send)
            return
        is_replaced = False

        async def send_unless_replaced(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start" and self._is_index_page(message):
                is_replaced = True
                await HTMLResponse(_DOCUMENT.format(home="../" * depth), 404)(scope, receive, send)
            elif not is_replaced:
                await send(message)

        await self.app(scope, receive, send_unless_replaced)

    def _is_index_page(self, message: Message) -> bool:
        headers = dict(message["headers"])
        is_html = headers.get(b"content-type", b"").startswith(b"text/html")
        return message["status"] == 200 and is_html and headers.get(b"content-length") == self._length
