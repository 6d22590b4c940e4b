"""The browser component with the mask matrices of the batch: its data, and the settings that come back from it."""

from __future__ import annotations

from explorer.inspection.transformer.example_attention import layer_matrices, word_vectors
from explorer.labs.masks.state import MasksState, apply_event
from explorer.ui.components.base import event_callbacks, pop_event, register

_KEY = "masks"
_component = register("masks")


def apply_pending_event(state: MasksState) -> MasksState:
    """Return the state after the visitor's last change in the component."""
    message = pop_event(_KEY, "set")
    return state if message is None else apply_event(state, message)


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
    _component(data=data, key=_KEY, **event_callbacks(_KEY, "set"))


def _round_values(values: object) -> list[float]:
    return [round(float(value), 4) for value in values]  # type: ignore[attr-defined]
