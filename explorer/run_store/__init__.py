"""Trained runs: `store.py` (the format of a run folder), `storage.py` (where the stored runs lie), `index.py` (search).

`operations.py` changes them, with permissions and limits; `archive` exports and imports them as zip files.
"""
