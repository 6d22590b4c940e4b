"""A page as a class sees it on a wall: larger, one figure a screen, arrow keys for next and back."""

from __future__ import annotations

from explorer.errors import shortened
from explorer.ui.components import register
from explorer.ui.page import problems
from explorer.ui.session import around

_projector = register("projector")


def projector(page: str, key: str = "projector") -> None:
    """The button for it in the corner of every page; all of it happens in the browser, see `assets/projector.js`."""
    asked = around().get("screen", "projector")
    if asked != "projector":
        problems([f"There is no screen “{shortened(asked)}”. There is projector; without it the page is as usual."])
    _projector(data={"page": page}, key=key)
