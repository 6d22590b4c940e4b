"""The browser component with the mask matrices of the batch."""

from __future__ import annotations

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
        "vectors": {word: _round_values(vector) for word, vector in sorted(vectors_by_word.items())},
        "layers": [
            {name: [_round_values(row) for row in matrix] for name, matrix in layer.items()}
            for layer in layer_matrices()
        ],
        "state": state.component_state,
        "file": "masks",
    }
    _component(data=data, key=KEY, **ui.event_callbacks(KEY, "set"))


def _round_values(values: object) -> list[float]:
    return [round(float(value), 4) for value in values]  # type: ignore[attr-defined]
