"""Ignore fragment reruns queued for a page the user has already left; Streamlit 1.67 would otherwise clear the new
page.

A fragment that waits for a result requests a rerun at an interval. If such a request arrives while the server switches
to another page, Streamlit handles it after the new page is drawn, does not find the fragment, and sends the browser
only the start and the end of a run of the old page, so the browser removes all elements. Streamlit drops requests that
arrive later (`AppSession.request_rerun`); this patch also drops those that were already queued.
"""

from __future__ import annotations

from streamlit.runtime.scriptrunner import RerunData, ScriptRunner

_run_script = ScriptRunner._run_script


def _run_unless_page_left(self: ScriptRunner, rerun_data: RerunData) -> None:
    fragment_ids = rerun_data.fragment_id_queue
    if not fragment_ids or any(map(self._fragment_storage.contains, fragment_ids)):
        _run_script(self, rerun_data)


def ignore_reruns_of_left_pages() -> None:
    """Install the patch for the whole process. Called once when the server starts."""
    ScriptRunner._run_script = _run_unless_page_left  # type: ignore[method-assign]
