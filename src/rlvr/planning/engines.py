"""Trainers and samplers that are not everywhere: what a plan takes instead, and what they do not compute."""

import importlib
from typing import Any

from rlvr.config import registries
from rlvr.config.layers import ConfigError, Layer, place_of
from rlvr.config.schema.settings import Settings

# Section and key of a setting that names a member of a folder, and the key that says its precision, if any.
CHOICES = (
    ("sft", "backend", "training/backends", None),
    ("rl", "backend", "training/backends", "precision"),
    ("evaluation", "engine", "sampling/engines", "precision"),
)


def here(settings: Settings, layers: list[Layer], notes: list[str]) -> Settings:
    """The settings with members that this machine has; says in `notes` which are replaced, and why.

    Raises ConfigError where a member does not compute in the precision or on the device.
    """
    for section, key, folder, precision in CHOICES:
        chosen = getattr(settings, section)
        name = getattr(chosen, key)
        instead = registries.constant(folder, name, "INSTEAD", None)
        why = importlib.import_module(f"rlvr.{folder.replace('/', '.')}.{name}").missing() if instead else None
        if instead and why:
            note = f"{section}.{key}: {instead} instead of {name}, since {why}; other runs, equal up to rounding"
            notes += [] if note in notes else [note]
            settings = settings.model_copy(update={section: chosen.model_copy(update={key: instead})})
            continue
        asked: list[tuple[str, str, Any]] = [("DEVICES", "execution.device", settings.execution.device)]
        asked += [("PRECISIONS", f"{section}.{precision}", getattr(chosen, precision))] if precision else []
        for limits, setting, value in asked:
            known = registries.constant(folder, name, limits, None)
            if known is not None and value not in known:
                place = place_of(layers, (section, key))
                raise ConfigError(f"{place}: {name} computes with {setting}: {' or '.join(known)}, not {value}")
    return settings
