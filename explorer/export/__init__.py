"""Runs as code: one plain Python file or a notebook that trains the same model without this program.

Start at `python_file.py`; `source_slicing.py` cuts the needed definitions out of our own sources.
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
