"""The component that reports when the visitor goes to another state of the page: back, forward, or by a link.

Its event "continued" only has the page run once more, with what the visitor changed too early after a lost connection.
"""

from __future__ import annotations

from explorer.ui.components.base import event_callbacks, register

_address = register("address")


def watch_address(page: str) -> None:
    """Mount the component on the page of this path; see `static/components/address/view.js`."""
    _address(data={"page": page}, key="address", **event_callbacks("address", "visited"))
