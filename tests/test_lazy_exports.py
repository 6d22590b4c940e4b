"""What `import explorer` exports, and that none of it is imported before it is used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import explorer

NAMES = "api models tasks tokenization generation training experiments jobs run_store export inspection figures lessons"
PACKAGES = ("explorer", *(f"explorer.{name}" for name in NAMES.split()))
HEAVY = ("torch", "streamlit", "pandas", "numpy", "plotly", "sqlalchemy")


def test_importing_the_packages_loads_no_large_library() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print(*(name for name in {HEAVY} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert (found.returncode, found.stdout.strip()) == (0, ""), found.stderr


def test_every_exported_name_can_be_imported_and_hides_no_submodule() -> None:
    assert set(explorer.__all__) <= set(dir(explorer))
    assert all(getattr(explorer, exported) is not None for exported in explorer.__all__)
    assert not set(explorer.__all__) & {module.name for module in pkgutil.iter_modules(explorer.__path__)}
    with pytest.raises(AttributeError, match="no_such_name"):
        explorer.no_such_name  # noqa: B018  # reading it is the test
