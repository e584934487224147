"""Placebos and controls of a paper: their arms are checked, and left out at scales that do not run them."""

from typing import Any

from rlvr.config.layers import ConfigError, Layer, look_up
from rlvr.config.schema.paper import Paper
from rlvr.planning.arms import BASE


def check_arms(paper: Paper, layer: Layer) -> None:
    """Raises ConfigError where placebos and controls name what is not there, or an arm that is not marked as theirs."""
    for method, placebos in paper.placebos.items():
        place = layer.place(("placebos", method))
        for arm in (method, *placebos):
            look_up(paper.arms, arm, "arm", place)
        for arm in placebos:
            if not paper.arms[arm].control:
                raise ConfigError(f"{place}: {arm} needs `control: true`, so that scales without placebos leave it out")
    names: set[str] = set()
    for control in paper.controls:
        place = layer.place(("controls", control.name))
        if control.name in names:
            raise ConfigError(f"{place}: another control has this name too; rename one of them")
        names.add(control.name)
        look_up(paper.tables, control.table, "table", place)
        for arm in {control.left, *control.right} - {BASE}:
            look_up(paper.arms, arm, "arm", place)


def left_out(paper: Paper) -> Paper:
    """The paper without placebos and controls: no row, no arm and no sweep has them."""
    kept = {name: arm for name, arm in paper.arms.items() if not arm.control}
    dropped = paper.arms.keys() - kept.keys()
    if not dropped:
        return paper.model_copy(update={"placebos": {}, "controls": []})
    items = {folder: {n: _without(item, dropped) for n, item in getattr(paper, folder).items()} for folder in ITEMS}
    return paper.model_copy(update={"arms": kept, "placebos": {}, "controls": [], **items})


ITEMS = ("tables", "figures")


def _without(item: Any, arms: set[str]) -> Any:
    """A table without the rows of some arms, a figure without these."""
    changes = {}
    if rows := getattr(item, "rows", None):
        changes["rows"] = (
            [row for row in rows if getattr(row, "arm", None) not in arms] if isinstance(rows, list) else rows
        )
    if named := getattr(item, "arms", None):
        changes["arms"] = [arm for arm in named if arm not in arms]
    return item.model_copy(update=changes)
