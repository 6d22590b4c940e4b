"""The Python API: train, load, inspect and compare models from a notebook or a script.

`import explorer` exports it. Start at `run.py` (everything that can be done with one run); `docs/python.md` shows it.
Names are imported when they are first used, so that `import explorer` loads neither torch nor pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.api.catalogue_tables import list_models as list_models
    from explorer.api.catalogue_tables import list_tasks as list_tasks
    from explorer.api.catalogue_tables import settings as settings
    from explorer.api.comparisons import Comparison as Comparison
    from explorer.api.comparisons import compare as compare
    from explorer.api.real_model import RealModel as RealModel
    from explorer.api.run import Run as Run
    from explorer.api.stored import load as load
    from explorer.api.stored import runs as runs
    from explorer.api.sweeps import Range as Range
    from explorer.api.sweeps import SweepResults as SweepResults
    from explorer.api.sweeps import sweep as sweep
    from explorer.api.trainer import train as train
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
