"""Runs as code: a Python file or a notebook that trains, predicts or generates without this program, and its weights.

Start at `python_file.py`: `templates/` has what is written for each kind of task, `source.py` gathers the model from
our own sources, and `contents.py` makes the file of weights and examples.
"""
