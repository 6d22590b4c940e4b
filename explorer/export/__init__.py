"""Runs as code: a Python file or a notebook that trains, predicts or generates without this program, and its weights.

Start at `python_file.py`: `templates/` has what is written for each kind of task, `source.py` gathers the model from
our own sources, and `contents.py` makes the file of weights and examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.export.notebook import as_notebook as as_notebook
    from explorer.export.python_file import as_python as as_python
    from explorer.export.python_file import required_libraries as required_libraries
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
