"""Presentation mode for a projector: larger text, one figure per screen, arrow keys for next and back."""

from __future__ import annotations

from explorer.errors import shorten
from explorer.ui.components.base import register
from explorer.ui.page_sections import show_problems
from explorer.ui.state.session import shared_url_params

_projector = register("presentation")


def draw_presentation_mode(page: str, key: str = "projector") -> None:
    """Draw the button for presentation mode, which runs in the browser (`static/components/presentation/view.js`)."""
    screen = shared_url_params().get("screen", "projector")
    if screen != "projector":
        show_problems([f"There is no screen “{shorten(screen)}”. There is projector; without it the page is as usual."])
    _projector(data={"page": page}, key=key)
