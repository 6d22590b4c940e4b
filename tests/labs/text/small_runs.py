"""Run views of small models on brackets, and sections drawn with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from streamlit.testing.v1 import AppTest

from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run
from explorer.ui.training.run_view import RunView
from tests.pages import screen
from tests.waiting import wait_until

SMALL: dict[str, dict[str, object]] = {
    "ngram": {"n": 4},
    "feedforward": {"width": 4, "hidden": 9, "window": 3},
    "gru": {"width": 4, "hidden": 9, "batches": "contiguous", "replicas": 2},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12},
}


def small_config(model: str, **changes: Any) -> RunConfig:
    loop = {} if model == "ngram" else {"iterations": 3, "batch_size": 4, "evaluation_size": 100}
    text = {"corpus": "brackets", "size": 5_000, "context": 16}
    return with_settings(default_config("text", model), {**text, **SMALL[model], **loop, **changes})


def small_views(*models: str, train: bool = True) -> dict[str, RunView]:
    views = {}
    for config in map(small_config, models):
        stored = store.save_run(record_run(config), store.run_folder(config)) if train else None
        views[config.model_name] = RunView(config, stored, None)
    return views


def make_weights_nan(view: RunView) -> None:
    assert view.stored
    for file in (view.stored.folder / "snapshots").glob("*"):
        save_file({name: np.full_like(value, np.nan) for name, value in load_file(file).items()}, file)


def draw_section(function: str, arguments: tuple[object, ...]) -> None:
    from pkgutil import resolve_name  # AppTest runs this function as a script of its own

    resolve_name(function)(*arguments)


def open_section(function: str, *arguments: object) -> AppTest:
    """Return a page that has only what a function draws, which is named as "module:function"."""
    return AppTest.from_function(draw_section, args=(function, arguments), default_timeout=600).run()


def run_until(at: AppTest, condition: Callable[[AppTest], object]) -> AppTest:
    """Rerun the page until the condition holds."""
    wait_until(lambda: condition(screen.assert_no_errors(at.run())))
    return at


def has_figures(at: AppTest) -> object:
    return screen.component_data(at, "plot_frame")


def page_prose(at: AppTest) -> str:
    """Return all text of the page without Markdown escapes."""
    return re.sub(r"\\([^a-zA-Z,;])", r"\1", screen.page_text(at))
