"""The panel in the corner of every page that lists what this server trains."""

from __future__ import annotations

from explorer.ui.components.base import register

_jobs = register("jobs_panel")


def draw_jobs_panel(key: str, current_run: str = "", version: int = 0) -> None:
    """Draw the panel of jobs, which polls the server by itself; see `static/components/jobs_panel/view.js`.

    `current_run` is the key of the run on this page. When `version` changes, the panel polls at once.
    """
    _jobs(data={"here": current_run, "news": version}, key=key)
