"""What a paper's text states of its settings, beside what the plan resolves to (config/papers/<paper>/stated.yaml)."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rlvr import estimators
from rlvr.config.layers import ConfigError, Layer, look_up
from rlvr.config.plan import Plan, asked_for
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Settings
from rlvr.config.schema.specs import EvaluationSpec, RunSpec
from rlvr.config.schema.stated import NOT_STATED, Statement
from rlvr.config.validate import check_part

BESIDE = ("model", "prompt", "data", "validation_data", "verifier", "benchmarks", "seeds", "sft_data")
OF_A_RUN = ("rl", "rollout", "reward", "loss", "critic", "probe", "selection")
SECTIONS = ("sft", *OF_A_RUN, "evaluation", "execution")  # of execution only what an entry is about
EQUAL, DIFFERS, IN_WORDS = "equal", "differs", "in words"  # verdicts, beside NOT_STATED

OTHERS = "all others"
LONGEST, MOST = 60, 6  # characters of a list of models or arms beside the most common value; arms of a list

Pair = tuple[str, str]  # a model and an arm; an evaluation has no arm


@dataclass(frozen=True)
class Line:
    """One setting of some runs: our values, the paper's sentence, and whether they agree."""

    setting: str
    about: str  # the models or arms; empty: all
    ours: tuple[tuple[str, str], ...]  # each value, with the models or arms that have it
    says: str
    place: str
    verdict: str
    deviation: str = ""  # the item of deviations.md
    fault: str = ""


# ---- the file ----------------------------------------------------------------------------------------


def valid_settings() -> list[str]:
    """What an entry can be about: settings, an estimator or one setting of it, and what else a specification holds."""
    sections: dict[str, Any] = {name: Settings.model_fields[name].annotation for name in SECTIONS}
    settings = [f"{section}.{key}" for section, schema in sections.items() for key in schema.model_fields]
    kinds = {name: estimators.kind(name).settings for name in estimators.names()}
    own = [f"estimator.{name}{key}" for name, keys in kinds.items() for key in ("", *(f".{key}" for key in keys))]
    return [*BESIDE, *settings, *own]


def check(paper: Paper, layer: Layer, arms: Iterable[str]) -> None:
    """Raises ConfigError for an unknown setting, model, arm or deviation, and for a value of another type."""
    valid, arms = valid_settings(), list(arms)
    for setting, statements in paper.stated.items():
        look_up(valid, setting, "setting", layer.place(("stated", setting)))
        in_list = isinstance(layer.content["stated"][setting], list)
        for i, statement in enumerate(statements):
            _check_statement(paper, setting, statement, arms, layer, ("stated", setting, *([i] if in_list else [])))
    for i, statement in enumerate(paper.hardware):
        for model in statement.models:
            look_up(paper.models, model, "model of the paper", layer.place(("hardware", i, "models")))


def _check_statement(
    paper: Paper, setting: str, statement: Statement, arms: list[str], layer: Layer, at: tuple[Any, ...]
) -> None:
    for model in statement.models:
        look_up(paper.models, model, "model of the paper", layer.place((*at, "models")))
    for pattern in statement.arms:
        if not any(fnmatchcase(arm, pattern) for arm in arms):
            look_up(arms, pattern, "arm", layer.place((*at, "arms")))
    if "value" in statement.model_fields_set:
        _check_value(setting, statement.value, layer.place((*at, "value")))
    for model, value in statement.values.items():
        look_up(paper.models, model, "model of the paper", layer.place((*at, "values")))
        _check_value(setting, value, layer.place((*at, "values", model)))
    for value in statement.one_of:
        _check_value(setting, value, layer.place((*at, "one_of")))
    if statement.deviation and not _deviation(paper, statement):
        place = layer.place((*at, "deviation"))
        raise ConfigError(f"{place}: no item of deviations.md contains {statement.deviation!r}")


def _check_value(setting: str, value: Any, place: str) -> None:
    """Raises ConfigError for a value that the setting cannot have."""
    section, _, key = setting.partition(".")
    if value is None:
        raise ConfigError(f"{place}: must be a number or a name (got None)")
    if section == "estimator" and "." in key:
        name, _, key = key.partition(".")
        try:
            estimators.resolve(name, {key: value})
        except estimators.SettingError as error:
            raise ConfigError(f"{place}: {error.message}") from error
    elif setting == "seeds":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"{place}: must be a number of seeds (got {value!r})")
    elif section in SECTIONS:
        try:
            check_part(Settings, Layer("", "", {section: {key: value}}))
        except ConfigError as error:
            raise ConfigError(f"{place}: {str(error).split(': ', 2)[2]}") from error
    else:
        raise ConfigError(f"{place}: only words can be compared here (got {value!r})")


def _deviation(paper: Paper, statement: Statement) -> str:
    """The first item of deviations.md that contains the statement's words, whatever their case; empty if none does."""
    words = statement.deviation.casefold()
    return next((item for item in paper.deviations if words and words in item.casefold()), "")


# ---- what the plan has -------------------------------------------------------------------------------


def resolved(plan: Plan, name: str) -> dict[str, dict[Pair, Any]]:
    """Every setting that shapes the paper's runs and evaluations at the plan's scale: its value by model and arm."""
    found: dict[str, dict[Pair, Any]] = {}
    for pair, runs in _runs(plan, name).items():
        specs = [plan.runs[run] for run in runs]
        content = {**_of_run(specs[0]), "seeds": len({spec.seed for spec in specs})}
        content |= _of_section("execution", plan.executions[runs[0]], only=plan.papers[name].paper.stated)
        for setting, value in content.items():
            found.setdefault(setting, {})[pair] = value
    for model, specs in _evaluations(plan, name).items():
        for setting, value in _of_section("evaluation", specs[0].sampling).items():
            found.setdefault(setting, {})[model, ""] = value
        names = [spec.data.name for spec in specs]
        found.setdefault("benchmarks", {})[model, ""] = tuple(dict.fromkeys(names))
    order = {setting: i for i, setting in enumerate(valid_settings())}
    return dict(sorted(found.items(), key=lambda one: order[one[0]]))


def _of_section(name: str, section: Any, only: Iterable[str] | None = None) -> dict[str, Any]:
    """The settings of a section, if there is one, by dotted name."""
    content = {f"{name}.{key}": value for key, value in (section.model_dump() if section else {}).items()}
    return content if only is None else {key: content[key] for key in only if key in content}


def _runs(plan: Plan, name: str) -> dict[Pair, list[str]]:
    """The runs of each model and arm that the paper's tables and figures show."""
    found: dict[Pair, dict[str, None]] = {}
    for item in asked_for(plan, name):
        for cell in plan.papers[name].item(item).cells:
            for policy, _ in cell.policies:
                if policy in plan.runs:
                    found.setdefault((cell.model, cell.row.arm), {})[policy] = None
    return {pair: list(runs) for pair, runs in found.items()}


def _evaluations(plan: Plan, name: str) -> dict[str, list[EvaluationSpec]]:
    items = [plan.papers[name].item(item) for item in asked_for(plan, name)]
    pairs = dict.fromkeys((model, one) for item in items for model, ids in item.evaluations.items() for one in ids)
    found: dict[str, list[EvaluationSpec]] = {}
    for model, evaluation in pairs:
        found.setdefault(model, []).append(plan.evaluations[evaluation])
    return found


def _of_run(spec: RunSpec) -> dict[str, Any]:
    base: Any = spec.base.model
    found = _of_section("sft", spec.base.sft)
    for name in OF_A_RUN:
        found |= _of_section(name, getattr(spec, name))
    method, settings = spec.estimator["name"], {key: value for key, value in spec.estimator.items() if key != "name"}
    found |= {f"estimator.{method}.{key}": value for key, value in settings.items()} or {f"estimator.{method}": ""}
    found |= {"rl.steps": spec.steps, "rl.epochs": spec.rl.epochs if spec.rl.steps is None else "by rl.steps"}
    found |= {"model": getattr(base, "repo", base.name), "prompt": base.template}
    data: Any = spec.data
    found |= {"data": _sized(data), "validation_data": _sized(spec.validation), "verifier": data.verifier}
    return found | ({"sft_data": _sized(spec.base.sft_data)} if spec.base.sft_data else {})


def _sized(data: Any) -> str:
    return data.name + (f" ({data.problems:,} problems)" if data.problems else "")


# ---- both, side by side ------------------------------------------------------------------------------


def lines(plan: Plan, name: str) -> list[Line]:
    """Every setting with the paper's sentences. A setting without an entry, or a difference without a deviation, has
    a `fault`."""
    paper, found = plan.papers[name].paper, resolved(plan, name)
    by_entry: dict[str, dict[Pair, Any]] = {}
    for setting, values in found.items():
        whole = setting.rpartition(".")[0]
        if setting in paper.stated or whole not in paper.stated:
            by_entry[setting] = values
        else:  # an estimator's settings in one line
            for pair, value in values.items():
                by_entry.setdefault(whole, {}).setdefault(pair, {})[setting.rpartition(".")[2]] = value
    made = [line for setting, values in by_entry.items() for line in _of_setting(paper, setting, values)]
    unused = [setting for setting in paper.stated if setting not in by_entry]
    return [*made, *(_missing(setting, "no run of the paper has this setting") for setting in unused)]


def faults(plan: Plan, name: str) -> list[str]:
    """What is wrong between the paper's text and the plan, one line each."""
    return [f"{line.setting}: {line.fault}" for line in lines(plan, name) if line.fault]


def _missing(setting: str, fault: str) -> Line:
    return Line(setting, "", (), NOT_STATED, "", NOT_STATED, fault=fault)


def _of_setting(paper: Paper, setting: str, values: dict[Pair, Any]) -> Iterator[Line]:
    statements = paper.stated.get(setting, [])
    if not statements:
        yield Line(
            setting, "", _grouped(paper, values), NOT_STATED, "", NOT_STATED, fault="has no entry in stated.yaml"
        )
        return
    chosen = {pair: _last(statements, pair) for pair in values}
    text = _Pairs(paper, list(values))
    for i, statement in enumerate([*statements, Statement()]):
        covered = {pair: value for pair, value in values.items() if chosen[pair] == i}
        if covered:
            about = text.say(list(covered)) if i < len(statements) or len(covered) == len(values) else OTHERS
            yield _compared(paper, setting, statement, covered, about)
        elif i < len(statements):
            yield _missing(setting, f"no run is left that {statement.says!r} is about")


def _last(statements: list[Statement], pair: Pair) -> int:
    """The index of the last statement about a model and an arm; one past the end where none is."""
    model, arm = pair
    about = [
        i
        for i, one in enumerate(statements)
        if (not one.models or model in one.models)
        and (not one.values or model in one.values)
        and (not one.arms or any(fnmatchcase(arm, pattern) for pattern in one.arms))
    ]
    return about[-1] if about else len(statements)


def _compared(paper: Paper, setting: str, statement: Statement, values: dict[Pair, Any], about: str) -> Line:
    deviation, fault = _deviation(paper, statement), ""
    if statement.says == NOT_STATED:
        verdict = NOT_STATED
    elif not statement.has_value:
        verdict = DIFFERS if deviation else IN_WORDS
    elif all(_agrees(statement, model, value) for (model, _), value in values.items()):
        verdict = EQUAL
        if deviation:
            deviation, fault = "", "equals the paper's value, so remove `deviation`"
    else:
        verdict = DIFFERS
        fault = "" if deviation else f"differs from {statement.says!r} ({statement.place}), and names no deviation"
    return Line(setting, about, _grouped(paper, values), statement.says, statement.place, verdict, deviation, fault)


def _agrees(statement: Statement, model: str, value: Any) -> bool:
    wanted = statement.one_of or [statement.values.get(model, statement.value)]
    return any(_same(value, one) for one in wanted)


def _same(ours: Any, stated: Any) -> bool:
    if isinstance(ours, list | tuple) and isinstance(stated, list | tuple):
        return len(ours) == len(stated) and all(map(_same, ours, stated))
    if isinstance(ours, float) and isinstance(stated, int | float):
        return math.isclose(ours, stated, rel_tol=1e-9)  # a learning rate may be a product
    return ours == stated


# ---- values and the models and arms that have them, as text --------------------------------------------


def shown(value: Any) -> str:
    """A value as a reader writes it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(one)}" for key, one in value.items() if key)
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, str):
        return value.strip().replace("\n", "↵")
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"


@dataclass(frozen=True)
class _Pairs:
    """Pairs of model and arm, said in the fewest words."""

    paper: Paper
    every: list[Pair]

    @property
    def arms(self) -> list[str]:
        return list(dict.fromkeys(arm for _, arm in self.every))

    def say(self, pairs: list[Pair]) -> str:
        models, arms = (list(dict.fromkeys(one)) for one in zip(*pairs, strict=True))
        of_models = [pair for pair in self.every if pair[0] in models]
        of_arms = [pair for pair in self.every if pair[1] in arms]
        if len(pairs) == len(self.every):
            return ""
        if len(pairs) == len(of_models):
            return ", ".join(models)
        if len(pairs) == len(of_arms):
            return self._arms(arms)
        own = {model: [arm for of, arm in pairs if of == model] for model in models}
        return "; ".join(f"{model}: {self._arms(own[model])}" for model in models)

    def _arms(self, arms: list[str]) -> str:
        labels = [self._label(arm) for arm in arms]
        more = [f"{len(labels) - MOST + 1} more"] if len(labels) > MOST else []
        return " · ".join([*labels[: MOST - len(more)], *more])

    def _label(self, arm: str) -> str:
        if own := self.paper.arms.get(arm):
            shared = [one for one in self.arms if (of := self.paper.arms.get(one)) and of.label == own.label]
            return own.label if own.label and len(shared) <= 1 else arm
        for name, sweep in self.paper.sweeps.items():
            for value in sweep.values:
                if arm.endswith(swept := f"-{name}-{value}"):
                    of = self._label(arm.removesuffix(swept))
                    return f"{of}, {sweep.label.format(name=name, value=value)}"
        return arm


def _grouped(paper: Paper, values: dict[Pair, Any]) -> tuple[tuple[str, str], ...]:
    """Each different value with the models or arms that have it; the most common one first, without a long list."""
    groups: dict[str, list[Pair]] = {}
    for pair, value in values.items():
        groups.setdefault(shown(value), []).append(pair)
    text = _Pairs(paper, list(values))
    by_size = sorted(groups, key=lambda one: -len(groups[one]))
    said = {value: text.say(groups[value]) for value in by_size}
    if len(by_size) > 1 and len(said[by_size[0]]) > LONGEST:
        said[by_size[0]] = OTHERS
    return tuple(said.items())
