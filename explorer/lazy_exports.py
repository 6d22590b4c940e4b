"""Names and modules that are imported when they are first used, so that no import loads torch early."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A module that is imported when one of its attributes is first read or replaced.

    A measurement (a function of `explorer.inspection`, or bits per byte) is named without the import, and imported
    when it is called: a page passes it on to the thread that needs torch.
    """

    def __getattribute__(self, name: str) -> Any:
        module = super().__getattribute__("__name__")
        if (
            module.startswith(("explorer.inspection.", "explorer.tasks.text.bits_per_byte"))
            and name.islower()
            and name[0] != "_"
            and module not in sys.modules
        ):
            return LazyFunction(module, name)
        return getattr(import_module(module), name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value  # of the module, see above

    def __delattr__(self, name: str) -> None:
        del self.__dict__[name]


class LazyFunction:
    """A function of a module that is imported when the function is called."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__, self.__qualname__ = module, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return getattr(import_module(self.__module__), self.__qualname__)(*arguments, **named)


def import_lazily(*packages: str) -> None:
    """Let `from package import module` import the module only when it is first used.

    `from package.module import name` imports it at once. Type checkers read both statements as usual.
    """
    for package in packages:
        vars(import_module(package))["__getattr__"] = partial(_lazy_module, package)


def _lazy_module(package: str, name: str) -> ModuleType:
    full_name = f"{package}.{name}"
    if find_spec(full_name) is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module: ModuleType = vars(sys.modules[package]).setdefault(name, LazyModule(full_name))
    return module


def export_lazily(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, for use in its `__init__.py`.

    The exported names are those that the file imports under `if TYPE_CHECKING:`, where type checkers see them.
    A name is imported when it is first used. An exported name must not be the name of a submodule.
    """
    blocks = [node for node in ast.parse(Path(file).read_text("utf-8")).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    module_of = {alias.name: node.module for node in imports for alias in node.names if node.module}

    def get_attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(module_of)
    return get_attribute, lambda: sorted({*vars(sys.modules[package]), *names}), names
