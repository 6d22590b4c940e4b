"""The browser component with the mask matrices of the batch."""

from __future__ import annotations

import numpy as np

from explorer import ui
from explorer.inspection.transformer.example_attention import layer_matrices, word_vectors
from explorer.labs.masks.state import MasksState

KEY = "masks"
_component = ui.register("masks")


def draw_component(state: MasksState) -> None:
    """Draw the matrices of the batch; the data is described in `labs/masks/components/masks/view.js`."""
    batch = state.batch
    vectors_by_word = word_vectors(word for words in batch for word in words)
    data = {
        "batch": batch,
        "vectors": {word: np.round(vector, 4).tolist() for word, vector in sorted(vectors_by_word.items())},
        "layers": [{name: np.round(each, 4).tolist() for name, each in layer.items()} for layer in layer_matrices()],
        "state": state.component_state,
        "file": "masks",
    }
    _component(data=data, key=KEY, **ui.event_callbacks(KEY, "set"))
