"""What holds for every test: a home of its own, one torch thread; which tests run, and in which order."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import HealthCheck, settings

from explorer.jobs import machine_speed
from explorer.tasks.text import corpora
from tests.terminal import RunCommand

torch.set_num_threads(1)
if sys.platform == "linux":
    # Keep freed memory in the process: each step of a training otherwise asks the system for the same pages again,
    # which takes a tenth of the time of all tests. -1 and -3 are M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc.
    with contextlib.suppress(AttributeError):
        for option in (-1, -3):
            ctypes.CDLL(None).mallopt(option, 1 << 30)
# Python 3.11 counts the depth of a syntax tree for all threads together: two that import modules with checked shapes at
# the same time then fail with "AST constructor recursion depth mismatch" (CPython issue 106905).
_one_tree_at_a_time = threading.Lock()
_compile_with_checks = jaxtyping._import_hook._JaxtypingLoader.source_to_code


def _compile_alone(*args: Any, **kwargs: Any) -> Any:
    with _one_tree_at_a_time:
        return _compile_with_checks(*args, **kwargs)


jaxtyping._import_hook._JaxtypingLoader.source_to_code = _compile_alone
# A busy machine is slow: no property may fail by the time that its examples take.
settings.register_profile("lineage", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lineage")
# These tests use the same functions at full length, where a check at each call takes as long as the training itself.
WITHOUT_SHAPE_CHECKS = ("browser", "cli", "experiments", "export", "jobs", "pages", "run_store", "ui", "web")
MOST_CASES = 2  # of one test, without --all
FOLDERS_AT_THE_END = ("training", "pages", "browser")  # units first; each browser is a process beside the worker

USUAL_MACHINE = machine_speed.Speed(operation=2e-6, multiplications=5e10, numbers=5e9)
LONGEST_IN_BROWSER = ("test_lessons", "test_classroom", "test_attention", "test_generation", "test_tokens")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="Run also the tests that are marked as slow.")
    parser.addoption("--no-skips", action="store_true", help="A test that would be skipped fails.")


def _names_files(config: pytest.Config) -> bool:
    """Return whether the command line names files or single tests."""
    return bool(config.args) and all(".py" in argument for argument in config.args)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process for single files, which start sooner so; otherwise one for each core, at most four."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return 0 if _names_files(config) else max(1, min(4, os.cpu_count() or 1))


@pytest.hookimpl(tryfirst=True)  # before xdist writes the groups into the names
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests and further cases out unless they are asked for, put the browser last, and keep files together.

    The tests of the browser share a server and a browser per process. As they come last, no other test meets the event
    loop that Playwright leaves running; the longest files come first, so that both processes end at the same time. A
    test of the browser that fails is run once more, and the summary lists it: on a busy machine a click is lost now and
    then.
    """
    if not (config.getoption("all") or _names_files(config)):
        cases: Counter[str] = Counter()
        of_each = Counter(item.nodeid.split("[")[0] for item in items)
        slow, quick = [], []
        for item in items:
            sampled, name = item.get_closest_marker("sampled"), item.nodeid.split("[")[0]
            every = max(sampled.args[0] if sampled else 1, -(-of_each[name] // MOST_CASES))
            left_out = item.get_closest_marker("slow") or cases[name] % every
            (slow if left_out else quick).append(item)
            cases[name] += 1
        config.hook.pytest_deselected(items=slow)
        items[:] = quick

    def place(item: pytest.Item) -> tuple[int, int]:
        folder, file = item.path.parent.name, item.path.stem
        late = FOLDERS_AT_THE_END.index(folder) if folder in FOLDERS_AT_THE_END else -1
        return late, LONGEST_IN_BROWSER.index(file) if file in LONGEST_IN_BROWSER else len(LONGEST_IN_BROWSER)

    items.sort(key=place)
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests: what is collected here stays until the end."""
    gc.freeze()
    gc.set_threshold(10_000, 50, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """With --no-skips a skipped test fails, with the reason for which it would be skipped."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.skipped and item.config.getoption("no_skips"):
        report.outcome = "failed"
        report.longrepr = f"--no-skips: {report.longrepr}"
    return report  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs that a test makes are kept in a folder of that test."""
    folder = tmp_path / "home"
    monkeypatch.setenv("LINEAGE_HOME", str(folder))
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture(autouse=True)
def rate_limits_start_anew() -> None:
    """Forget what earlier tests did at the address that all of them share."""
    if module := sys.modules.get("explorer.web.rate_limits"):
        module.reset()


@pytest.fixture(autouse=True)
def copies_of_the_database() -> None:
    """Forget what earlier tests have read from their databases."""
    for name in ("classes.store", "predictions"):
        if module := sys.modules.get(f"explorer.web.{name}"):
            module.forget()


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """A training sets the number of threads of the thread it runs on."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def usual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimate training times for the machine for which the limits were chosen, also while this one is busy."""
    monkeypatch.setattr(machine_speed, "_measure", lambda: USUAL_MACHINE)


@pytest.fixture(autouse=True)
def terminal_reader() -> None:
    """A page that an earlier test opened reads texts for its visitor; each test begins as a terminal does."""
    corpora.reader.set("")


@pytest.fixture(autouse=True)
def shape_checks(request: pytest.FixtureRequest) -> None:
    """Check the shapes of arrays at each call, or not, by the folder of the test."""
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    jaxtyping.config.update("jaxtyping_disable", folder in WITHOUT_SHAPE_CHECKS)


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


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Run a command; answers with its exit code and what it wrote."""

    from explorer import __main__ as command_line

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["explorer", *words])
        with pytest.raises(SystemExit) as stopped:
            command_line.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return run
