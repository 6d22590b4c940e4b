"""Training: the configuration of a run, the training loop, the objectives of the tasks, and recorded curves.

Start at `config.py` (RunConfig and its key), `train.py` (the loop) and `objective.py` (what a task contributes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.training.config import Optimiser as Optimiser
    from explorer.training.config import RunConfig as RunConfig
    from explorer.training.config import default_config as default_config
    from explorer.training.config import key as key
    from explorer.training.config import with_settings as with_settings
    from explorer.training.model_factory import build_model as build_model
    from explorer.training.objective import objective_class as objective_class
    from explorer.training.record import Curves as Curves
    from explorer.training.record import Record as Record
    from explorer.training.recorder import record_run as record_run
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
