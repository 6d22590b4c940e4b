"""The contributions of parts to a sum, until its page has a chart of them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts import Waterfall


def contributions(
    parts: Sequence[str], values: Float[ndarray, " parts"] | Sequence[float], bias: float | None = None
) -> go.Figure:
    """Return the figure of a waterfall chart."""
    return Waterfall(parts, values, "", bias).figure()
