from __future__ import annotations

from explorer.experiments.labelling import POSITION_VARIANTS, VARIANTS
from explorer.run_store import store
from tests.pages import screen


def test_page_shows_results_without_interaction() -> None:
    at = screen.open_page("positions.py", {"unfold": "positions-lengths"})
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {"unfold": "positions-lengths"}
    data = screen.component_data(at, "positions")[0]
    assert data["count"] == 40 and data["learned"]["trained"] == 24
    assert any(heading.startswith("An encoder without positions cannot tell") for heading in screen.headings(at))
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "positions-lengths")]
    assert titles == [VARIANTS[name].title for name in POSITION_VARIANTS]
    assert screen.plot_frame_figures(at, "positions-race") and "No finished run" not in screen.page_text(at)


def test_the_visitors_two_sentences_are_compared() -> None:
    at = screen.open_page("positions.py", {"first": "dogs chase cats", "second": "cats chase mice"})
    assert any("different words" in heading for heading in screen.headings(at))
    at = screen.assert_no_errors(at.button(key="positions.turn").click().run())
    assert screen.url_params(at)["second"] == "cats chase dogs"
    assert any("cannot tell" in heading for heading in screen.headings(at))
    at = screen.wait_until_ready(
        screen.assert_no_errors(screen.widget(at.text_input, "positions.second").set_value("").run())
    )
    assert "A sentence is empty" in " ".join(screen.warnings_of(at))
    at = screen.open_page("positions.py", {"first": " ".join(["w"] * 30)})
    assert screen.warnings_of(at) == ["The first sentence has 30 words; 20 are read. The rest was left out."]


def test_untrained_settings_are_offered_for_training() -> None:
    at = screen.open_page("positions.py", {"longest": "5", "who": "rotary,none", "unfold": "positions-lengths"})
    words = [VARIANTS[f"echo-{name}"].words for name in ("rotary", "none")]
    assert f"No finished run of {words[0]} and {words[1]}" in screen.page_text(at)


def test_a_run_with_other_settings_is_added_to_the_comparison() -> None:
    at = screen.open_page("positions.py", {"run": store.find("echo-scaled").key, "unfold": "positions-lengths"})
    assert screen.warnings_of(at) == [] and "run" in screen.url_params(at)
    (panel,) = screen.plot_frame_figures(at, "positions-lengths")
    assert [line["title"] for line in panel["tracks"]] == ["this run"] and panel["title"].startswith("Run ")
