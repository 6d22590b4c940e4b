from __future__ import annotations

import numpy as np

from explorer.inspection.transformer.example_attention import LAYERS, WIDTH, layer_matrices, word_vectors
from explorer.tasks.sequence_labelling.config import PAD


def test_every_word_and_padding_have_a_fixed_vector() -> None:
    vectors, cat_vector = word_vectors(["cat", "the", "cat"]), word_vectors(["cat"])
    assert set(vectors) == {"cat", "the", PAD}
    assert vectors["cat"].shape == (WIDTH,)
    np.testing.assert_array_equal(vectors["cat"], cat_vector["cat"])
    assert not np.array_equal(vectors["cat"], vectors["the"])


def test_scores_have_unit_variance() -> None:
    x = np.stack([word_vectors([f"word {i}"])[f"word {i}"] for i in range(100)])
    matrices = layer_matrices()
    assert len(matrices) == LAYERS
    for layer in matrices:
        scores = (x @ layer["query"]) @ (x @ layer["key"]).T / np.sqrt(WIDTH)
        assert 0.5 < scores.std() < 2
