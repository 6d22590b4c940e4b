"""A stand-in for Windows: `python -m tests.other_system` does what a new user does.

It is a Linux process in which our own code finds no module that only Linux and macOS have (filelock neither, which has
its own way there), no function of `os` that is missing on Windows, no way to open a folder, and no rename onto an
existing file. The process is started with an encoding that has ASCII characters only; see test_portability.py.
"""

from __future__ import annotations

import builtins
import os
import shutil
import signal
import sys
import warnings
from typing import Any

MISSING_MODULES = {"fcntl", "grp", "pwd", "resource", "termios", "uvloop"}
OURS = ("__main__", "app", "explorer", "filelock", "pages")
MISSING_FUNCTIONS = {"fork", "forkpty", "getloadavg", "getuid", "nice", "pidfd_open", "posix_fallocate"}
MISSING_FUNCTIONS |= {"register_at_fork", "sched_getaffinity", "statvfs", "sysconf"}
MISSING_SIGNALS = {"SIGKILL", "SIGCHLD", "SIGHUP", "SIGALRM"}
# The text is in the configuration of the run, so that its files have characters that are not ASCII.
TRAIN = ("train", "--task", "string", "--model", "rnn", "--set", "text=schöne grüße ", "--set", "iterations=2")


def pretend() -> None:
    """Take away what Windows does not have."""
    import psutil  # noqa: F401  # these have a way of their own for each system
    import torch  # noqa: F401

    original_import, original_open, original_rename = builtins.__import__, os.open, os.rename

    def import_module(name: str, globals: Any = None, *more: Any, **keywords: Any) -> Any:
        importer = (globals or {}).get("__name__", "").partition(".")[0]
        if name in MISSING_MODULES and importer in OURS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original_import(name, globals, *more, **keywords)

    def open_file(path: Any, flags: int, *more: Any, **keywords: Any) -> int:
        if not isinstance(path, int) and os.path.isdir(path) and not flags & getattr(os, "O_DIRECTORY", 0):
            raise PermissionError(13, "Permission denied", str(path))
        return original_open(path, flags, *more, **keywords)

    def rename(source: Any, target: Any, **keywords: Any) -> None:
        if os.path.exists(target):
            raise FileExistsError(17, "Cannot create a file when that file already exists", str(target))
        original_rename(source, target, **keywords)

    builtins.__import__ = import_module
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # as where folders cannot be opened
    os.open, os.rename = open_file, rename  # type: ignore[assignment]
    for module, names in ((os, MISSING_FUNCTIONS), (signal, MISSING_SIGNALS)):
        for name in names & set(dir(module)):
            delattr(module, name)
    warnings.filterwarnings("ignore", "only soft file lock is available")  # filelock, where it is not Windows either


def run_command(*words: str) -> None:
    """Run a command of the command line. Raises AssertionError unless it succeeds."""
    from explorer.__main__ import main

    sys.argv = ["lineage", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, f"{words}: {end.code}"


def main() -> None:
    """Train, exchange runs, and print why worker processes are refused."""
    pretend()
    from explorer.environment import environment
    from explorer.errors import InvalidSetting
    from explorer.jobs.service import service

    run_command(*TRAIN)
    (run,) = [folder.name for folder in environment().runs.iterdir() if folder.is_dir()]
    file = str(environment().home / "run.zip")
    run_command(*TRAIN)
    for words in (("list",), ("export", run, file), ("delete", run), ("import", file)):
        run_command(*words)
    os.environ["LINEAGE_EXECUTOR"] = "processes"
    try:
        service.restore()
    except InvalidSetting as error:
        print(error)


if __name__ == "__main__":
    main()
