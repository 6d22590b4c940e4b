"""Lists of configurations: the presets, the runs that ship with the program, and the experiments of the pages.

Start at `pretraining.py` (the shipped runs by name) and `presets.py` (named configurations).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.experiments.model_variant import ModelVariant as ModelVariant
    from explorer.experiments.paper_experiments import Experiment as Experiment
    from explorer.experiments.presets import PRESETS as PRESETS
    from explorer.experiments.presets import preset as preset
    from explorer.experiments.pretraining import shipped_configs as shipped_configs
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
