"""What holds for every test: checked shapes, a home directory of its own, and nothing remembered of earlier tests."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import beartype  # noqa: F401  # `explorer.array_types` then has the types that are checked
import jaxtyping
import pytest
import torch
from hypothesis import HealthCheck, settings

SHAPE_CHECKED = ("charts", "generation", "inspection", "models", "tasks", "tokenization", "training")
# Imported here and not where they are first needed: two threads that import modules with checked shapes at the same
# time fail before Python 3.11.8 (CPython issue 106905).
with jaxtyping.install_import_hook([f"explorer.{name}" for name in SHAPE_CHECKED], "beartype.beartype"):
    for name in SHAPE_CHECKED:
        package = importlib.import_module(f"explorer.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)

from explorer.jobs import machine_speed  # noqa: E402
from explorer.run_store import store  # noqa: E402
from explorer.tasks.text import corpora  # noqa: E402
from tests.distribution import (  # noqa: E402
    is_divided,
    pytest_xdist_auto_num_workers,  # noqa: F401
    pytest_xdist_make_scheduler,  # noqa: F401
)

# A busy machine is slow: no property may fail by the time that its examples take.
settings.register_profile("lineage", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lineage")
USUAL_MACHINE = machine_speed.Speed(operation=2e-6, multiplications=5e10, numbers=5e9)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in what it starts in the background
SKIPPED = "lineage/skipped"  # in pytest's cache
_home = tempfile.TemporaryDirectory(prefix="lineage-tests-")  # removed at exit
os.environ["LINEAGE_HOME"] = _home.name  # for what runs before and between tests: a developer has own runs
os.environ.setdefault("LINEAGE_FUZZ_SEED", str(random.randrange(1_000_000)))  # the processes of xdist inherit it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--skipped", action="store_true", help="Run the tests that the last run skipped; none may be skipped again."
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("skipped"):  # the snapshots of the tests that are not chosen are not used
        config.option.warn_unused_snapshots = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the browser come last, because Playwright leaves an event loop running; divided files are the last.

    The case “sentiment” of a test of all tasks is skipped without its sentences.
    """
    from tests import needs

    for item in items:
        if "sentiment" in item.name.partition("[")[2]:
            item.add_marker(needs.sentences)
    if config.getoption("skipped"):
        chosen = set(map(tuple, config.cache.get(SKIPPED, [])))
        items[:] = [item for item in items if item.location[::2] in chosen]
    items.sort(key=lambda item: (item.path.parent.name == "browser", is_divided(item.path)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """With --skipped a test that is skipped again fails, with the reason for which it would be skipped."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("skipped"):
        report.outcome, report.longrepr = "failed", f"skipped again: {report.longrepr}"
    return report  # type: ignore[return-value]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Remember what was skipped, and say how the random gestures can be repeated."""
    if hasattr(config, "cache") and not config.getoption("skipped"):
        config.cache.set(SKIPPED, [report.location[::2] for report in terminalreporter.stats.get("skipped", [])])
    for reason in sorted({report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])}):
        terminalreporter.write_line(reason)
    terminalreporter.write_line(f"Seed of the random gestures: LINEAGE_FUZZ_SEED={os.environ['LINEAGE_FUZZ_SEED']}")


@pytest.fixture(autouse=True)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test; what the process remembers of earlier tests is forgotten."""
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # AppTest leaves a page there
    # Training times are estimated for the machine for which the limits were chosen, also while this one is busy.
    monkeypatch.setattr(machine_speed, "_measure", lambda: USUAL_MACHINE)
    monkeypatch.setattr(machine_speed, "_measure_bfloat16", lambda: 3 * USUAL_MACHINE.multiplications)
    torch.set_num_threads(1)
    corpora.reader.set("")  # as in a terminal, where no page reads texts for its visitor
    for name, forget in (
        ("rate_limits", "reset"),
        ("classes.store", "forget"),
        ("predictions", "forget"),
        ("transactions", "reset"),
    ):
        if module := sys.modules.get(f"explorer.web.{name}"):
            getattr(module, forget)()
    # Checked at each call only where the arrays are made: elsewhere it would take as long as the training itself.
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    jaxtyping.config.update("jaxtyping_disable", folder not in SHAPE_CHECKED)
    return tmp_path / "home"


@pytest.fixture
def included_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the included runs, which is empty."""
    monkeypatch.setattr(store, "PRETRAINED", tmp_path / "pretrained")
    monkeypatch.setattr(store, "pretrained_folders", functools.lru_cache(store.pretrained_folders.__wrapped__))
    return tmp_path / "pretrained"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each kind of database in turn, empty."""
    from explorer.database import engine as db
    from tests import needs, postgres

    if request.param == "postgresql":
        if postgres.missing():
            pytest.skip(needs.NO_POSTGRESQL)
        monkeypatch.setenv("LINEAGE_DATABASE_URL", postgres.fresh_database())
    yield request.param
    db.close_database()
