"""Typed layouts from what a test says of them; what it leaves out is filled in."""

from typing import Any, TypeVar

from rlvr.config.layouts import Layout

Of = TypeVar("Of", bound=Layout)
STATISTICS = {"resamples": 200, "confidence": 0.95, "seed": 0, "largest_chance": 0.25}
LEFT_OUT = {
    **{"kind": "by_hand", "cells": (), "panels": (), "k": (), "compare_with": None, "compare_label": ""},
    **{"sampling": "", "up_to_step": None, "statistics": {}},
}


def typed(of: type[Of], content: Any = (), **more: Any) -> Of:
    """A layout of this type with the keys of a mapping or of another layout, and more or other ones."""
    given = {**dict(content), **more}
    filled = {**{key: value for key, value in LEFT_OUT.items() if key in of.model_fields}, **given}
    if "statistics" in filled:
        filled["statistics"] = STATISTICS | dict(filled["statistics"])
    if "cells" in filled:
        filled["cells"] = [_cell(**dict(cell)) for cell in filled["cells"]]
    if "panels" in filled:
        filled["panels"] = [_panel(**dict(panel)) for panel in filled["panels"]]
    return of.model_validate(filled)


def having(layout: Of, **keys: Any) -> Of:
    """The layout with other keys."""
    return typed(type(layout), layout, **keys)


def _cell(*, model: str = "M", stand_in: str = "m", arm: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "stand_in": stand_in, "arm": arm, "label": arm, "policies": (), **more}


def _panel(*, name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "published": name, "stand_in": name, "levels": None, **more}
