"""Random gestures without a browser: a visitor changes the widgets of a page by Streamlit's own protocol."""

from __future__ import annotations

import asyncio
import random
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load.load_generator import Visitor, connect_page, wait_until

_SENTENCES = (
    "human not destroy nature",
    "the cat that the dogs chase sleeps",
    "17",
    "To be, or not to be: " * 20,
    "ä🙂",
)
# Buttons that train, delete, make files or leave are pressed by other benchmarks.
_NOT_PRESSED = re.compile(
    r"Download|Delete|Upload|Forget|Train|Another seed|With another|Go on|Resume|more seeds|Measure|Sign|Import|as one"
)


@dataclass
class Wanderer(Visitor):
    """A visitor who changes a random widget of the page again and again."""

    chance: random.Random = field(default_factory=random.Random)
    elements: dict[str, tuple[str, Any]] = field(default_factory=dict)  # kind and description of widgets, by their ids

    async def change_something(self) -> bool:
        """Change one widget, wait for the page and for some of its sections; return whether it is still this page."""
        page, widget = self._page, self.chance.choice(sorted(self.elements))
        state = WidgetState(id=widget, **self._choose_value(*self.elements[widget]))
        is_press = state.WhichOneof("value") == "trigger_value"
        if not is_press:
            self._states[widget] = state
        await self._send(self._parts.get(widget, ""), (state,) if is_press else ())
        with suppress(TimeoutError):  # a fragment that the page has no more does not run
            await wait_until(lambda: not self.is_running, 5)
        await self.fetch_sections(self.chance.choice((0.1, 1, 5)))
        return self._page == page

    def _choose_value(self, kind: str, widget: Any) -> dict[str, Any]:
        """Return a new value of a widget, as the browser would send it."""
        options, choose = list(getattr(widget, "options", ())), self.chance.choice
        match kind:
            case "button":
                return {"trigger_value": True}
            case "checkbox":
                return {"bool_value": choose((True, False))}
            case "selectbox" | "radio":
                return {"string_value": choose(options)}
            case "multiselect":
                return {"string_array_value": {"data": self.chance.sample(options, min(2, len(options)))}}
            case "button_group":
                return {"string_array_value": {"data": [choose(options).content]}}
            case "slider" if options:
                return {"string_array_value": {"data": [choose(options)]}}
            case "text_input" | "text_area":
                return {"string_value": choose(_SENTENCES)[: widget.max_chars or None]}
        step = widget.step or 1
        number = widget.min + step * self.chance.randint(0, min(20, round((widget.max - widget.min) / step)))
        return {"double_value": number} if kind == "number_input" else {"double_array_value": {"data": [number]}}

    def _handle_element(self, element: Any, part: str) -> None:
        super()._handle_element(element, part)
        kind = element.WhichOneof("type") or ""
        widget: Any = getattr(element, kind, None)
        if kind not in _KINDS or widget.disabled or widget.form_id:
            return
        if kind == "button":
            usable = not _NOT_PRESSED.search(widget.label)
        elif kind == "slider":
            usable = len(widget.default) == 1
        else:
            usable = bool(kind not in ("selectbox", "radio", "multiselect", "button_group") or widget.options)
        if usable and (kind != "number_input" or (widget.has_min and widget.has_max)):
            self.elements[widget.id] = kind, widget
            self._parts[widget.id] = part


_KINDS = (
    *("button", "checkbox", "selectbox", "radio", "multiselect", "button_group"),
    *("slider", "text_input", "text_area", "number_input"),
)


async def wander(address: str, page: str, count: int, seed: int) -> list[str]:
    """Open a page as somebody new, make so many gestures, and leave; return the exceptions that the page showed."""
    async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as browser:
        await browser.get(f"/{page}", headers={"Accept": "text/html"})
        async with await connect_page(address, browser) as socket:
            visitor = Wanderer(address, "", socket, browser, page, chance=random.Random(f"{page} {seed}"))
            visitor.listener = asyncio.create_task(visitor.listen())
            try:
                await visitor.open()
                await visitor.fetch_sections(20)
                for _ in range(count):
                    if not (visitor.elements and await visitor.change_something()):
                        break
            finally:
                await visitor.leave()
    return visitor.exceptions
