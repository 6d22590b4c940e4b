"""Large libraries, each of which is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import LazyModule

__all__ = ["fsspec", "go", "httpx2", "huggingface_hub", "np", "optimize", "pd", "ray", "sparse", "special", "torch"]

if TYPE_CHECKING:
    import fsspec
    import httpx2
    import huggingface_hub
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go
    import ray
    import torch
    from scipy import optimize, sparse, special
else:
    fsspec, httpx2, huggingface_hub, ray, torch = map(
        LazyModule, ("fsspec", "httpx2", "huggingface_hub", "ray", "torch")
    )
    np, pd = LazyModule("numpy"), LazyModule("pandas")
    optimize, sparse, special = map(LazyModule, ("scipy.optimize", "scipy.sparse", "scipy.special"))
    go = LazyModule("plotly.graph_objects")
