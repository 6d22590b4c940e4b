"""The tasks: their configurations and the data that models learn from.

Start at the configuration of a task: `negation.py`, `recall.py`, `string.py`, `text/config.py`, `seq2seq/config.py` and
`sequence_labelling/config.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.tasks.negation import Negation as Negation
    from explorer.tasks.negation import NegationConfig as NegationConfig
    from explorer.tasks.recall import RecallConfig as RecallConfig
    from explorer.tasks.seq2seq.config import TranslationConfig as TranslationConfig
    from explorer.tasks.sequence_labelling.config import LabellingConfig as LabellingConfig
    from explorer.tasks.string import StringConfig as StringConfig
    from explorer.tasks.text.config import TextConfig as TextConfig
    from explorer.tasks.text.rows import text_data as text_data
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
