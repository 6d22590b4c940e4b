"""Trained runs on disk: one folder for each run, an SQL index to search them, and zip files to carry them.

Start at `store.py` (the format of a run folder), then `index.py` (search), `operations.py` (what users may do with
runs) and `archive/` (export and import). With LINEAGE_RUNS several servers share their runs: `storage.py` (what lies
where), `places.py` (a folder or object storage), `local_copies.py` (read through) and `upkeep.py` (repairs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.run_store.archive.read import import_zip as import_zip
    from explorer.run_store.archive.write import pack as pack
    from explorer.run_store.index import Entry as Entry
    from explorer.run_store.index import Query as Query
    from explorer.run_store.index import search as search
    from explorer.run_store.store import Card as Card
    from explorer.run_store.store import Metric as Metric
    from explorer.run_store.store import StoredRun as StoredRun
    from explorer.run_store.store import find as find
    from explorer.run_store.store import load as load
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
