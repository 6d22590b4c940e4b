"""Parts of pages are tested as pages are: without cookies, unless a test sets some."""

from tests.pages.conftest import cookies  # noqa: F401
