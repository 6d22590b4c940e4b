"""The neural networks and the n-gram, in PyTorch, with their configurations; they know no task and no training loop.

Start at `configs.py` (settings of every model), `layers.py` (layers with a leading replica axis) and `taps.py` (how
intermediate values are recorded and changed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.models.configs import NgramTextConfig as NgramTextConfig
    from explorer.models.configs import TransformerTextConfig as TransformerTextConfig
    from explorer.models.kneser_ney import Ngram as Ngram
    from explorer.models.recurrence import RecurrentClassifier as RecurrentClassifier
    from explorer.models.taps import intervene as intervene
    from explorer.models.taps import record as record
    from explorer.models.taps import tap_names as tap_names
    from explorer.models.transformer_decoder import TransformerDecoder as TransformerDecoder
    from explorer.models.translation import Translator as Translator
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
