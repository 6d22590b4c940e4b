"""What the packages export, and that none of it is imported before it is used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

NAMES = "api models tasks tokenization generation training experiments jobs run_store export inspection figures lessons"
PACKAGES = ("explorer", *(f"explorer.{name}" for name in NAMES.split()))
HEAVY = ("torch", "streamlit", "pandas", "numpy", "plotly", "sqlalchemy")


def test_importing_the_packages_loads_no_large_library() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print(*(name for name in {HEAVY} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert (found.returncode, found.stdout.strip()) == (0, ""), found.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_every_exported_name_can_be_imported_and_hides_no_submodule(name: str) -> None:
    package = import_module(name)
    assert package.__doc__ and 2 < len(package.__all__) < (23 if name == "explorer" else 14)  # it has the whole API
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, exported) is not None for exported in package.__all__)
    assert not set(package.__all__) & {module.name for module in pkgutil.iter_modules(package.__path__)}
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018  # reading it is the test
