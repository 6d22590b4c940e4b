"""Charts: dataclasses of numbers and names that draw themselves. They know neither torch nor streamlit.

    from explorer import charts

A chart gives plotly's JSON of a figure, a text alternative and the values at the pointer (`chart.py`). There is one
module for each kind; `Drawing` is for a figure that is of no kind.
"""

from __future__ import annotations

from explorer.charts.axis import ACCURACY as ACCURACY
from explorer.charts.axis import PLAIN as PLAIN
from explorer.charts.axis import Axis as Axis
from explorer.charts.axis import Rule as Rule
from explorer.charts.axis import doubling_ticks as doubling_ticks
from explorer.charts.axis import level as level
from explorer.charts.axis import limit as limit
from explorer.charts.axis import selection as selection
from explorer.charts.axis import span_of as span_of
from explorer.charts.bars import BarChart as BarChart
from explorer.charts.bars import Bars as Bars
from explorer.charts.chart import Chart as Chart
from explorer.charts.chart import Drawing as Drawing
from explorer.charts.dots import DotChart as DotChart
from explorer.charts.dots import DotRow as DotRow
from explorer.charts.heat_map import HeatMap as HeatMap
from explorer.charts.heat_map import tile_texts as tile_texts
from explorer.charts.lines import Line as Line
from explorer.charts.lines import LineChart as LineChart
from explorer.charts.notebook import notebook_figure as notebook_figure
from explorer.charts.points import PointChart as PointChart
from explorer.charts.style import show_whitespace as show_whitespace
from explorer.charts.table import Cell as Cell
from explorer.charts.table import Column as Column
from explorer.charts.table import Row as Row
from explorer.charts.table import Table as Table
from explorer.charts.table import strip as strip
from explorer.charts.waterfall import waterfall as waterfall
