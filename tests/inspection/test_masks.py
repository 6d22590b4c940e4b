from __future__ import annotations

import numpy as np

from explorer.inspection.masks import LAYERS, WIDTH, layers, vectors
from explorer.tasks.labelling import PAD


def test_a_word_has_one_vector_wherever_it_stands_and_padding_has_one_too() -> None:
    found, again = vectors(["cat", "the", "cat"]), vectors(["cat"])
    assert set(found) == {"cat", "the", PAD}
    assert found["cat"].shape == (WIDTH,)
    np.testing.assert_array_equal(found["cat"], again["cat"])
    assert not np.array_equal(found["cat"], found["the"])


def test_scores_are_about_as_large_as_one() -> None:
    x = np.stack([vectors([f"word {i}"])[f"word {i}"] for i in range(100)])
    matrices = layers()
    assert len(matrices) == LAYERS
    for layer in matrices:
        scores = (x @ layer["query"]) @ (x @ layer["key"]).T / np.sqrt(WIDTH)
        assert 0.5 < scores.std() < 2
