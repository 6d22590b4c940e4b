"""What a page asks for that was left meanwhile: dropped, because the answer would empty the page that is there now.

A part of a page that waits for its result asks by the clock. If it asks while the server already goes on to another
page, Streamlit 1.67 takes the question up after that page is drawn, finds the part gone, and tells the browser no more
than that a run of the old page began and ended: the browser clears everything, and nobody draws it again. Streamlit
itself drops such a question where it arrives later (`AppSession.request_rerun`); this does so where it has waited.
"""

from __future__ import annotations

from streamlit.runtime.scriptrunner import RerunData, ScriptRunner

_run = ScriptRunner._run_script


def _run_unless_left(self: ScriptRunner, rerun_data: RerunData) -> None:
    parts = rerun_data.fragment_id_queue
    if not parts or any(map(self._fragment_storage.contains, parts)):
        _run(self, rerun_data)


def forget_what_left_pages_ask() -> None:
    """From now on, in the whole process. Called once by the server."""
    ScriptRunner._run_script = _run_unless_left  # type: ignore[method-assign]
