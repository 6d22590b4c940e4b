"""Trained runs on disk: one folder for each run, an SQL index to search them, and zip files to carry them.

Start at `store.py` (the format of a run folder), then `index.py` (search), `operations.py` (what users may do with
runs) and `archive/` (export and import). With LINEAGE_RUNS several servers share their runs: `storage.py` (what lies
where), `places.py` (a folder or object storage), `local_copies.py` (read through) and `upkeep.py` (repairs).
"""
