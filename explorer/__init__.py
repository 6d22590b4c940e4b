"""Lineage: how language models grew, from the bag of words to the Transformer.

    import explorer
    run = explorer.train("negation", "transformer", seeds=8)   # or explorer.load("text-transformer")
    run.curves(); run.predict("human not preserve nature"); run.attention("human not preserve nature").plot()

`list_tasks`, `list_models`, `settings` and `runs` are tables of what there is; `compare` puts runs side by side. In the
source, start at `catalogue.py` (one row for each model, task and page), `training` (configurations and the training
loop) and `run_store` (trained runs on disk). `import explorer` loads neither torch nor pandas: every name is imported
when it is first used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily, import_lazily

__version__ = "1.0.0"
# Waiting OpenMP threads yield early. Without this, two threads on a machine with other load can be ten times slower
# than one; on an idle machine it makes no measurable difference. It has to be set before torch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

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
    from explorer.catalogue import MODELS as MODELS
    from explorer.catalogue import TASKS as TASKS
    from explorer.errors import LineageError as LineageError
    from explorer.inspection.load_model import load_model as load_model
    from explorer.run_store.store import StoredRun as StoredRun
    from explorer.training.config import RunConfig as RunConfig
    from explorer.training.config import default_config as default_config
    from explorer.training.config import with_settings as with_settings
    from explorer.training.recorder import record_run as record_run
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)

# `from explorer.generation import generate` imports the module when it is first used, and so in all these packages.
import_lazily(
    *("explorer.api", "explorer.experiments", "explorer.export"),
    *("explorer.generation", "explorer.hub", "explorer.lessons", "explorer.model", "explorer.models"),
    *("explorer.run_store", "explorer.run_store.archive", "explorer.sweeps", "explorer.tasks"),
    *("explorer.tasks.sentiment", "explorer.tasks.seq2seq", "explorer.tasks.text", "explorer.tokenization"),
    *("explorer.training", "explorer.training.objectives", "explorer.inspection", "explorer.inspection.attention"),
    *("explorer.inspection.language", "explorer.inspection.pretrained", "explorer.inspection.recurrent"),
    *("explorer.inspection.seq2seq", "explorer.inspection.transformer", "explorer.inspection.words"),
)
