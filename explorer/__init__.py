"""Lineage: how language models grew, from the bag of words to the Transformer.

Start at `catalogue.py` (one row for each model, task and page), `training` (configurations and the training loop) and
`run_store` (trained runs on disk). `import explorer` loads no torch: every name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
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
