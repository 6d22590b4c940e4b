"""What all figures share. Colours are names (`var(--m-rnn)`), so that the browser can follow light and dark.

The names are those of `ui/assets/base.css`; fonts, grids and scales come from the frame (`ui/assets/theme.js`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

INK, SOFT, RULE, PAGE = "var(--ink)", "var(--soft)", "var(--rule)", "var(--page)"
MINUS, PLUS = "var(--sign-1)", "var(--sign-5)"


def paint(colour: str, alpha: float | None = None) -> str:
    """A named colour, e.g. paint("--m-rnn", .22)."""
    return f"var({colour})" if alpha is None else f"var({colour}/{alpha:g})"


def blank(**layout: Any) -> go.Figure:
    """An empty figure without plotly's own template."""
    return go.Figure(layout={"template": "none", **layout})


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, a true minus, and no negative zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def ticks(labels: Sequence[str]) -> dict[str, Any]:
    """An axis whose places 0, 1, 2 … carry labels; they may repeat, as tokens do."""
    return {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": [escape(t) for t in labels]}


def escape(text: str) -> str:
    """Text as plotly shows it literally: it would read "<BOS>" as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
