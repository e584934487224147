"""Closed forms on grids, for analytic tables and figures: a module in a paper's folder `closed_forms` for each content.

Its `frame()` needs no run. A table's frame is the table. A figure's frame has one row per point: `panel`, `label` (of
the line), `style` (solid or dashed), `x`, `y`, and the axes' names `x_label`, `y_label`.
"""

from collections.abc import Callable

from pandas import DataFrame

from rlvr.registry import Registry

CLOSED_FORMS = Registry[Callable[[], DataFrame]]("closed_forms", "frame")
