"""The optional packages for real models: whether they are installed, and how to get them."""

from __future__ import annotations

from importlib.util import find_spec

from explorer.errors import InvalidSetting

HOW_TO_GET = "pip install -r requirements-models.txt"
MISSING = (
    "Real models need the package transformers, which is not installed here. The operator installs it with "
    f"“{HOW_TO_GET}”."
)


def is_installed() -> bool:
    """Return whether real models can be opened, without importing anything."""
    return find_spec("transformers") is not None


def check_installed() -> None:
    """Raise InvalidSetting, with the way to get them, if the packages are missing."""
    if not is_installed():
        raise InvalidSetting(MISSING)
