"""What `import explorer` exports, and that neither it nor a lazily imported module is imported before it is used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import explorer
from explorer import number_format
from explorer.lazy_exports import LazyModule

NAMES = "api models tasks tokenization generation training experiments jobs run_store export inspection lessons"
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


def test_a_module_is_imported_when_it_is_first_used() -> None:
    code = """
import sys
from explorer.generation import sampling
from explorer.lazy_libraries import torch
assert not {"torch", "explorer.generation.sampling"} & set(sys.modules)
assert sampling.Sampling().temperature and sampling.torch.ones is torch.ones
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1]).returncode == 0


def test_what_replaces_a_name_of_a_lazy_module_replaces_it_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    module = LazyModule("explorer.number_format")
    monkeypatch.setattr(module, "format_number", "another")
    assert number_format.format_number == "another" and vars(module) is vars(number_format)
    monkeypatch.undo()
    assert callable(number_format.format_number)
    with pytest.raises(ImportError, match="no_such_module"):
        from explorer.generation import no_such_module  # noqa: F401


def test_tables_can_be_used_while_another_thread_imports_them() -> None:
    """SQLAlchemy configures all classes as soon as one is used; a relationship to a later class breaks all for good."""
    code = (
        "from sqlalchemy import event, orm\n"
        "event.listen(orm.Mapper, 'after_mapper_constructed', lambda *_: orm.configure_mappers())\n"
        "import explorer.run_store.index, explorer.sweeps.stored, explorer.web.classes.store\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
