"""The Python API: train, load, inspect and compare models from a notebook or a script.

`import explorer` exports it. Start at `run.py` (a run) and `inspected_model.py` (what can be seen of every model);
`docs/python.md` shows it.
"""
