"""Random gestures without a browser: a visitor changes the widgets of a page by Streamlit's own protocol."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load.load_generator import Visitor, connect_page, wait_until

SENTENCES = (
    "human not destroy nature",
    "the cat that the dogs chase sleeps",
    "17",
    "To be, or not to be: " * 20,
    "ä 🙂",
)
# Buttons that begin trainings, delete, or make files have parts of their own in other benchmarks.
_FORBIDDEN = re.compile(r"Download|Delete|Upload|Forget|Train|Another seed|Go on|Resume|more seeds|Measure|Sign|Import")


@dataclass
class Wanderer(Visitor):
    """A visitor who changes a random widget of the page again and again."""

    chance: random.Random = field(default_factory=random.Random)
    gestures: dict[str, Callable[[], dict[str, Any]]] = field(default_factory=dict)  # new states, by ids of widgets

    async def change_something(self) -> bool:
        """Change one widget, wait for the page, and for its sections or some of them; return whether the page is the same."""
        page = self._page
        widget = self.chance.choice(sorted(self.gestures))
        state = WidgetState(id=widget, **self.gestures[widget]())
        is_press = state.WhichOneof("value") == "trigger_value"
        if not is_press:
            self._states[widget] = state
        await self._send(self._parts.get(widget, ""), (state,) if is_press else ())
        with suppress(TimeoutError):  # a fragment that the page has no more does not run
            await wait_until(lambda: not self.is_running, 5)
        await self.fetch_sections(self.chance.choice((0.1, 1, 10)))
        return self._page == page

    def _handle_element(self, element: Any, part: str) -> None:
        super()._handle_element(element, part)
        kind = element.WhichOneof("type")
        widget = getattr(element, kind) if kind else None
        choose = self.chance.choice
        gesture: Callable[[], dict[str, Any]] | None = None
        if getattr(widget, "disabled", False) or getattr(widget, "form_id", ""):
            return
        if kind == "button" and not _FORBIDDEN.search(widget.label):
            gesture = lambda: {"trigger_value": True}
        elif kind in ("selectbox", "radio") and widget.options:
            gesture = lambda: {"string_value": choose(widget.options)}
        elif kind == "multiselect" and widget.options:
            gesture = lambda: {
                "string_array_value": {"data": self.chance.sample(list(widget.options), min(2, len(widget.options)))}
            }
        elif kind == "button_group" and widget.options:
            gesture = lambda: {"string_array_value": {"data": [choose(widget.options).content]}}
        elif kind == "checkbox":
            gesture = lambda: {"bool_value": choose((True, False))}
        elif kind in ("text_input", "text_area"):
            gesture = lambda: {"string_value": choose(SENTENCES)[: widget.max_chars or None]}
        elif kind == "number_input" and widget.has_min and widget.has_max:
            steps = round(min((widget.max - widget.min) / (widget.step or 1), 20))
            gesture = lambda: {"double_value": widget.min + (widget.step or 1) * self.chance.randint(0, steps)}
        elif kind == "slider" and not widget.options:
            count = len(widget.default)
            steps = round((widget.max - widget.min) / (widget.step or 1))
            gesture = lambda: {
                "double_array_value": {
                    "data": sorted(widget.min + widget.step * self.chance.randint(0, steps) for _ in range(count))
                }
            }
        if gesture:
            self.gestures[widget.id] = gesture
            self._parts[widget.id] = part


async def wander(address: str, page: str, count: int, seed: int) -> list[str]:
    """Open a page as somebody new, make so many gestures, leave; return the exceptions that the page showed."""
    async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as browser:
        await browser.get(f"/{page}", headers={"Accept": "text/html"})
        async with await connect_page(address, browser) as socket:
            visitor = Wanderer(address, "", socket, browser, page, chance=random.Random(f"{page} {seed}"))
            visitor.listener = asyncio.create_task(visitor.listen())
            try:
                await visitor.open()
                await visitor.fetch_sections(20)
                while count and visitor.gestures and await visitor.change_something():
                    count -= 1
            finally:
                for section in visitor._sections.values():
                    section.stop()
                visitor.listener.cancel()
                await asyncio.gather(visitor.listener, return_exceptions=True)
    return visitor.exceptions
