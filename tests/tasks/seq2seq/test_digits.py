from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig, evaluation_lengths, target_digits


@pytest.mark.parametrize("config", [ReverseConfig(), CopyConfig()], ids=["reverse", "copy"])
def test_released_defaults_do_not_change(config: ReverseConfig | CopyConfig) -> None:
    assert dataclasses.asdict(config) == {"longest": 20, "symbols": 10}
    for field in dataclasses.fields(config):
        assert field.metadata["help"].endswith("."), field.name


def test_target_digits() -> None:
    assert target_digits(ReverseConfig(), (3, 1, 4)) == (4, 1, 3)
    assert target_digits(CopyConfig(), (3, 1, 4)) == (3, 1, 4)


def test_evaluation_lengths_are_all_trained_ones_and_a_few_longer() -> None:
    assert evaluation_lengths(ReverseConfig(longest=3)) == (1, 2, 3, 4, 5, 8, 13)


def test_settings_do_not_import_torch() -> None:
    code = "import sys, explorer.tasks.seq2seq.config; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
