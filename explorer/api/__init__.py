"""The Python API: train, load, inspect and compare models from a notebook or a script.

`import explorer` exports it. Start at `run.py` (everything that can be done with one run); `docs/python.md` shows it.
"""
