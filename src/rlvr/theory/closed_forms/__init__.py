"""Closed forms on grids, as analytic tables and figures show them: a module per content, with `frame`, and no run.

A table is a frame as it is shown. A figure is long: `panel`, `label` (a line's name), `style` (solid, dashed), `x`,
`y`, and the axes' names `x_label`, `y_label`.
"""
