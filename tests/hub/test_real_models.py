"""What the real models of the tests are and know."""

from __future__ import annotations

import numpy as np

import explorer
from explorer.hub import opened
from explorer.inspection.attention.logit_attribution import attribute_logit
from tests import needs
from tests.hub import real_models


@needs.minilm
def test_minilm_is_an_encoder_that_gives_vectors() -> None:
    card = opened.open_model(str(real_models.minilm_folder()), "minilm")
    assert (card.kind, card.layers, card.heads, card.parameters) == ("encoder", 6, 12, 22_713_216)
    assert not card.predicts and card.context == 512


@needs.smollm2
def test_smollm2_is_a_decoder_of_30_layers_that_knows_the_capital_of_france() -> None:
    card = opened.open_model(str(real_models.smollm2_folder()), "smollm2")
    assert (card.kind, card.layers, card.heads, card.width, card.vocabulary) == ("decoder", 30, 9, 576, 49_152)
    assert (card.parameters, card.precision, card.licence) == (134_515_008, real_models.SMOLLM2_PRECISION, "apache-2.0")
    found, text = explorer.load("hub:smollm2"), "The capital of France is"
    assert found.predict(text).token[0] == " Paris"
    assert found.generate(text, tokens=1, temperature=0).endswith(" Paris")
    weights = found.attention(text).weights
    assert weights.shape == (30, 9, 5, 5)
    assert (weights[:, :, 1:, 0].mean(axis=-1) > 0.5).sum() > 50, "many heads attend to the first token"
    ids = found._model.tokenize(text).ids
    paris, berlin = (found._model.tokenize(name).ids[0] for name in (" Paris", " Berlin"))
    parts = attribute_logit(found.model(), ids, None, paris, berlin)
    assert np.unravel_index(parts.heads.argmax(), parts.heads.shape) == (23, 4)
