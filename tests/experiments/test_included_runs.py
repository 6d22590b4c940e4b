from __future__ import annotations

import json

import pytest

from explorer.errors import DamagedRun
from explorer.experiments import sequence_shapes
from explorer.experiments.labelling import shipped_configs as labelling_configs
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import store
from explorer.training.config import parse_config


def test_every_included_run_has_the_configuration_of_its_experiment() -> None:
    configs = shipped_configs()
    assert {**sequence_shapes.shipped_configs(), **labelling_configs()}.items() <= configs.items()
    for name, config in configs.items():
        assert parse_config(json.loads((store.PRETRAINED / name / "config.json").read_text("utf-8"))) == config, name


def test_an_earlier_included_run_opens_by_its_key_and_has_curves_but_no_weights() -> None:
    earlier = sorted(folder.name for folder in (store.PRETRAINED / store.EARLIER).iterdir())
    assert earlier and not set(earlier) & set(store.pretrained_folders())
    for name in earlier[::20]:
        run = store.find(name)
        assert run.key == name and run.shipped and run.curves.step == run.card.step
        with pytest.raises(DamagedRun, match="Train it again"):
            run.weights()
        assert store.find_by_config(run.config) is None  # it can be trained again
