"""Measurements on trained models: attention, gradients, gates, generated text, comparisons between runs.

Start at `load_model.py` (the model of a stored run); the subpackages are ordered by the kind of model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.inspection.attention.alignment import align as align
    from explorer.inspection.attention.attend import tokenize_input as tokenize_input
    from explorer.inspection.attention.head_scores import score_heads as score_heads
    from explorer.inspection.compare import mean_and_range as mean_and_range
    from explorer.inspection.compare import median_and_range as median_and_range
    from explorer.inspection.compare import metric_over_seeds as metric_over_seeds
    from explorer.inspection.load_model import LoadedModel as LoadedModel
    from explorer.inspection.words.negation_sentences import sustain_probabilities as sustain_probabilities
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
