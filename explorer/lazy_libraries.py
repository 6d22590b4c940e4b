"""Large libraries, each of which is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import LazyModule

__all__ = ["go", "np", "pd", "special", "torch"]

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go
    import torch
    from scipy import special
else:
    np, pd, special, torch = map(LazyModule, ("numpy", "pandas", "scipy.special", "torch"))
    go = LazyModule("plotly.graph_objects")
