"""What the sections of pages use: `from explorer import ui`, then `ui.show(…)`.

A name is imported when it is first used, so that a part of this package needs no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.ui.components.base import event_callbacks as event_callbacks
    from explorer.ui.components.base import pop_choices as pop_choices
    from explorer.ui.components.base import pop_event as pop_event
    from explorer.ui.components.base import register as register
    from explorer.ui.components.charts import pop_pick as pop_pick
    from explorer.ui.components.charts import pop_target as pop_target
    from explorer.ui.document import Document as Document
    from explorer.ui.frame import Panel as Panel
    from explorer.ui.frame import Playback as Playback
    from explorer.ui.page_sections import caption as caption
    from explorer.ui.page_sections import empty_panel as empty_panel
    from explorer.ui.page_sections import escape_markdown as escape_markdown
    from explorer.ui.page_sections import explanation as explanation
    from explorer.ui.page_sections import headline as headline
    from explorer.ui.page_sections import paragraph as paragraph
    from explorer.ui.page_sections import show_problems as show_problems
    from explorer.ui.result_section import draw_now as draw_now
    from explorer.ui.result_section import live_section as live_section
    from explorer.ui.result_section import show as show
    from explorer.ui.result_section import show_each as show_each
    from explorer.ui.result_section import show_when_ready as show_when_ready
    from explorer.ui.result_section import tab_token as tab_token
    from explorer.ui.state.session import PageSession as PageSession
    from explorer.ui.state.session import apply_component_event as apply_component_event
    from explorer.ui.state.session import fragment as fragment
    from explorer.ui.state.session import take_component_message as take_component_message
    from explorer.ui.state.session import write_url as write_url
    from explorer.ui.state.widgets import bind_widget as bind_widget
    from explorer.ui.state.widgets import reset_button as reset_button
    from explorer.ui.training.curve_charts import LinesByMetric as LinesByMetric
    from explorer.ui.training.curve_charts import Metric as Metric
    from explorer.ui.training.curve_charts import VariantCurves as VariantCurves
    from explorer.ui.training.curve_charts import curve_panels as curve_panels
    from explorer.ui.training.curve_charts import metric_lines as metric_lines
    from explorer.ui.training.curve_charts import variant_line as variant_line
    from explorer.ui.training.learning_chart import draw_learning_chart as draw_learning_chart
    from explorer.ui.training.learning_chart import last_step as last_step
    from explorer.ui.training.real_models import ComparedStructures as ComparedStructures
    from explorer.ui.training.real_models import choose_real_model as choose_real_model
    from explorer.ui.training.real_models import structures_call as structures_call
    from explorer.ui.training.run_view import Run as Run
    from explorer.ui.training.run_view import RunView as RunView
    from explorer.ui.training.run_view import finished_loss_curves as finished_loss_curves
    from explorer.ui.training.run_view import loaded_runs as loaded_runs
    from explorer.ui.training.run_view import run_views as run_views
    from explorer.ui.training.run_view import untrained_panel as untrained_panel
    from explorer.ui.training.train_controls import TrainRequest as TrainRequest
    from explorer.ui.training.train_controls import draw_earlier_note as draw_earlier_note
    from explorer.ui.training.train_controls import draw_missing_runs as draw_missing_runs
    from explorer.ui.training.train_controls import draw_train_controls as draw_train_controls
    from explorer.ui.training.train_controls import draw_train_offer as draw_train_offer
    from explorer.ui.training.train_controls import draw_training_settings as draw_training_settings
    from explorer.ui.training.train_controls import is_finished as is_finished
    from explorer.ui.wording import capitalize as capitalize
    from explorer.ui.wording import count_seeds as count_seeds
    from explorer.ui.wording import describe_line as describe_line
    from explorer.ui.wording import join_words as join_words
    from explorer.ui.wording import number_word as number_word
    from explorer.web.call import Call as Call
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
