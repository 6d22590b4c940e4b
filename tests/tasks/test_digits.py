from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from explorer.tasks.digits import CopyConfig, ReverseConfig, asked_lengths, target


@pytest.mark.parametrize("config", [ReverseConfig(), CopyConfig()], ids=["reverse", "copy"])
def test_the_released_defaults_never_change(config: ReverseConfig | CopyConfig) -> None:
    assert dataclasses.asdict(config) == {"longest": 20, "symbols": 10}
    for field in dataclasses.fields(config):
        assert field.metadata["help"].endswith("."), field.name


def test_targets() -> None:
    assert target(ReverseConfig(), (3, 1, 4)) == (4, 1, 3)
    assert target(CopyConfig(), (3, 1, 4)) == (3, 1, 4)


def test_every_trained_length_is_asked_about_and_a_few_beyond() -> None:
    assert asked_lengths(ReverseConfig(longest=3)) == (1, 2, 3, 4, 5, 8, 13)


def test_settings_need_no_torch() -> None:
    code = "import sys, explorer.tasks.translation; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
