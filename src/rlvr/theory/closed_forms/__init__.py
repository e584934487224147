"""Closed forms on grids, for analytic tables and figures: one module per content, whose `frame` needs no run.

A table's frame is the table. A figure's frame has one row per point: `panel`, `label` (of the line), `style` (solid or
dashed), `x`, `y`, and the axes' names `x_label`, `y_label`.
"""
