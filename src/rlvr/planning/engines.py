"""Trainers and samplers that are not everywhere: what a plan takes instead, and where they do not compute."""

from rlvr.config.layers import ConfigError, Layer, place_of
from rlvr.config.registries import BACKENDS, ENGINES
from rlvr.config.schema.settings import Settings

# Section and key of the settings that name a member of a registry.
CHOICES = (("sft", "backend", BACKENDS), ("rl", "backend", BACKENDS), ("evaluation", "engine", ENGINES))


def here(settings: Settings, layers: list[Layer], notes: list[str]) -> Settings:
    """The settings with members that this machine has; says in `notes` which are replaced, and why.

    Raises ConfigError where a member does not compute on the device.
    """
    for section, key, registry in CHOICES:
        chosen = getattr(settings, section)
        name, device = getattr(chosen, key), settings.execution.device
        kind = registry.load(name)
        instead, devices = kind.instead, kind.devices
        if instead and (why := kind.missing()):
            note = f"{section}.{key}: {instead} instead of {name}, since {why}; other runs, equal up to rounding"
            notes += [] if note in notes else [note]
            settings = settings.model_copy(update={section: chosen.model_copy(update={key: instead})})
        elif devices is not None and device not in devices:
            place, known = place_of(layers, (section, key)), " or ".join(devices)
            raise ConfigError(f"{place}: {name} computes with execution.device: {known}, not {device}")
    return settings
