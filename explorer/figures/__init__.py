"""Plotly figures, drawn from arrays; they know neither torch nor streamlit.

Start at `comparison.py` (learning curves of several runs) and `style.py` (colours, number formats, axes). The folders
have the names of those in `explorer/inspection/`, whose results they show; `runs/` shows curves of stored runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.figures.comparison import Line as Line
    from explorer.figures.comparison import comparison_figure as comparison_figure
    from explorer.figures.recurrent.memory_gradients import gradient_figure as gradient_figure
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
