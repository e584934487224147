"""The arms of a paper: their layers of settings, the arms of its sweeps, and their labels."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rlvr.config.layers import ConfigError, Layer, look_up
from rlvr.config.load import check_section
from rlvr.config.plan import SweptArm
from rlvr.config.schema.paper import Matched, Paper
from rlvr.config.schema.settings import OF_A_RUN, Settings
from rlvr.config.validate import check_part
from rlvr.suggest import nearest

BASE, LABEL_OF_BASE = "base", "Base"  # the policy before training, an arm of tables
RATE = "rl.learning_rate"  # the setting whose sweeps serve comparisons at equal pass@1


@dataclass(frozen=True)
class ArmLayers:
    """An arm's chain of settings, its own training set if any, and factors on settings, each with its place."""

    layers: tuple[Layer, ...]
    data: str | None
    times: tuple[tuple[str, float, str], ...] = ()


class Arms:
    """A paper's arms by name, including those of its sweeps. `sweeps` have their patterns resolved.

    `matched` is the part of comparisons at equal pass@1 that a scale makes.
    """

    def __init__(self, paper: Paper, layer: Layer, matched: Matched):
        self.own, self.layer, self.matched = paper.arms, layer, matched
        self.by_name = {
            name: ArmLayers(tuple(self._layers(name, ())), self._data(name), tuple(self._times(name)))
            for name in paper.arms
        }
        self.swept: dict[str, SweptArm] = {}
        self.sweeps = {}
        for name, sweep in paper.sweeps.items():
            like = list(self.own) if sweep.every_arm else self._like(sweep.like, self._place("sweeps", name, "like"))
            self.sweeps[name] = sweep.model_copy(update={"like": like})
            key, dotted = ("set", sweep.set) if sweep.set is not None else ("times", sweep.times)
            self._check_setting(str(dotted), self._place("sweeps", name, key))
            for swept in (SweptArm(arm, name, value) for arm in like for value in sweep.values):
                if swept.name in self.by_name:
                    raise ConfigError(f"{self._place('sweeps', name)}: the arm {swept.name!r} exists already")
                self.by_name[swept.name] = self._varied(swept)
                self.swept[swept.name] = swept

    def _place(self, *keys: str) -> str:
        return self.layer.place(keys)

    def of_sweep(self, arm: str, sweep: str) -> list[str]:
        """The arms of a sweep over one arm, of learning rates those that the scale has; none of another arm's sweep."""
        over = self.sweeps[sweep]
        some = self.matched.rates if over.times == RATE else []
        values = [value for value in over.values if value in some or not some] if arm in over.like else []
        return [SweptArm(arm, sweep, value).name for value in values]

    def _layers(self, name: str, seen: tuple[str, ...]) -> list[Layer]:
        if name in seen:
            raise ConfigError(f"{self._place('arms', name)}: `like` is circular: {' -> '.join((*seen, name))}")
        arm = look_up(self.own, name, "arm", self._place("arms", *seen[-1:], "like"))
        above = self._layers(arm.like, (*seen, name)) if arm.like else []
        return [*above, self.layer.below(f"arms.{name}.settings", arm.settings)]

    def _data(self, name: str) -> str | None:
        """The training set of an arm: its own, else that of its `like`; None for that of the model or the paper."""
        arm = self.own[name]
        return arm.data or (self._data(arm.like) if arm.like else None)

    def _times(self, name: str) -> list[tuple[str, float, str]]:
        """The factors of an arm, after those of its `like`; the same setting's own factor takes that one's place."""
        arm, place = self.own[name], self._place("arms", name, "times")
        for dotted in arm.times:
            self._check_setting(dotted, place)
        above = self._times(arm.like) if arm.like else []
        return [factor for factor in above if factor[0] not in arm.times] + [
            (*pair, place) for pair in arm.times.items()
        ]

    def _like(self, patterns: list[str], place: str) -> list[str]:
        """The arms that a sweep covers, each once."""
        arms: list[str] = []
        for pattern in patterns:
            matching = [arm for arm in self.by_name if fnmatchcase(arm, pattern)] if set(pattern) & set("*?[") else []
            exact = [pattern] if pattern in self.by_name else []
            arms += matching or exact or [look_up(self.by_name, pattern, "arm", place)]
        return list(dict.fromkeys(arms))

    def _check_setting(self, dotted: str, place: str) -> None:
        """Raises ConfigError where runs lack the setting that a sweep varies."""
        section, _, key = dotted.partition(".")
        check_section(section, place)
        if section == "estimator" and key:
            return  # depends on the arm's estimator, which is checked there
        models = {of_run: Settings.model_fields[of_run].annotation for of_run in OF_A_RUN}
        valid = [f"{name}.{field}" for name, model in models.items() for field in getattr(model, "model_fields", ())]
        if dotted not in valid:
            raise ConfigError(f"{place}: no such setting: {dotted!r}{nearest(dotted, valid)}")

    def _varied(self, swept: SweptArm) -> ArmLayers:
        base, sweep = self.by_name[swept.arm], self.sweeps[swept.sweep]
        if sweep.times:
            factor = sweep.times, swept.value, self._place("sweeps")
            return ArmLayers(base.layers, base.data, (*base.times, factor))
        changed: Any = int(swept.value) if swept.value.is_integer() else swept.value
        for part in reversed((sweep.set or "").split(".")):
            changed = {part: changed}
        layer = self.layer.below(f"sweeps.{swept.sweep}", changed)
        check_part(Settings, layer)
        return ArmLayers((*base.layers, layer), base.data, base.times)

    # ---- labels ----

    def method(self, arm: str) -> str:
        """The arm in the paper's file that a swept arm varies; any other arm itself."""
        return self.method(self.swept[arm].arm) if arm in self.swept else arm

    def label(self, arm: str) -> str:
        """The label of an arm; a swept arm has the label of the arm it varies."""
        if arm == BASE:
            return LABEL_OF_BASE
        name = self.method(arm)
        return self.own[name].label or name if name in self.own else arm

    def label_with_value(self, arm: str) -> str:
        """The label of an arm; a swept arm's includes the value, to distinguish the arms of a sweep."""
        if arm not in self.swept:
            return self.label(arm)
        swept = self.swept[arm]
        text = self.sweeps[swept.sweep].label.format(**swept.named)
        return f"{self.label(arm)}, {text}"

    def label_of_curve(self, arm: str) -> str:
        """The label of the arm whose learning rates a curve covers."""
        swept = self.swept.get(arm)
        if swept is not None and self.sweeps[swept.sweep].times is not None:
            return self.label_with_value(swept.arm)
        return self.label(arm)
