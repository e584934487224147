"""The base policies, runs and evaluations of a paper's arms at a scale, each planned once."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from rlvr.config import identity
from rlvr.config.layers import ConfigError, Layer, look_up, place_of
from rlvr.config.load import resolve_estimator
from rlvr.config.plan import Cell, Plan, Policies
from rlvr.config.schema.items import Row
from rlvr.config.schema.models_and_data import ScratchModel, Synthetic, judged_by
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Execution, Settings
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec
from rlvr.config.validate import validate
from rlvr.planning import context, engines
from rlvr.planning.arms import BASE, Arms
from rlvr.planning.papers import Sources

AS_SET = ("estimator", "loss", "rollout", "reward", "rl", "probe", "selection")  # sections that a run has as they are
OF_PAPER = 3  # layers of a model's settings: the defaults, the paper, the model in the paper


class PaperRuns:
    """Adds the runs and evaluations of a paper's tables and figures to a plan."""

    def __init__(self, sources: Sources, plan: Plan, paper: Paper, layer: Layer, arms: Arms):
        self.sources, self.plan, self.paper, self.layer, self.arms = sources, plan, paper, layer, arms
        self.scale = sources.scale
        self.seeds = _seeds(paper.seeds, self.scale.seeds)
        self.model_layers = {model: self._model_layers(model) for model in paper.models}
        self.settings = {model: self._settings_of(model) for model in paper.models}
        self.sft = {m: settings.sft if self.scale.fine_tunes(m) else None for m, settings in self.settings.items()}
        self.arm_settings: dict[tuple[str, str], Settings] = {}  # by model and arm
        self.sets: dict[tuple[str, str], Any] = {}  # by name and configuration key
        self.bases: dict[tuple[str, int | None], tuple[PolicySpec, str]] = {}  # with its id, by model and seed
        self.trained: dict[tuple[str, str], tuple[RunSpec, Execution]] = {}  # by model and arm
        self.run_of: dict[tuple[str, str, int], str] = {}

    def _place(self, *keys: str) -> str:
        return self.layer.place(keys)

    # ---- settings ----

    def _settings_of(self, model: str) -> Settings:
        layers = self.model_layers[model]
        validate(Settings, layers[:OF_PAPER])  # a scale may override a mistake in them
        settings = engines.here(validate(Settings, layers), layers, self.plan.notes)
        if settings.diversity != self.plan.diversity:
            raise ConfigError(f"{self._place('settings')}.diversity: is for all papers; set it in defaults or a scale")
        return settings

    def _model_layers(self, model: str) -> list[Layer]:
        """The settings of a model: the first OF_PAPER without a scale, then those of the scale."""
        name, of_scale = self.paper.name, self.sources.of_scale
        return [
            self.sources.defaults,
            self.layer.below("settings", self.paper.settings),
            self.layer.below(f"models.{model}.settings", self.paper.models[model].settings),
            *(*of_scale(), *of_scale(name), *of_scale(name, model)),
        ]

    def settings_of_arm(self, model: str, arm: str, place: str) -> Settings:
        """An arm's checked settings on a model, with the estimator's defaults."""
        if (model, arm) not in self.arm_settings:
            self.arm_settings[model, arm] = self._settings_of_arm(model, arm, place)
        return self.arm_settings[model, arm]

    def _settings_of_arm(self, model: str, arm: str, place: str) -> Settings:
        chain = look_up(self.arms.by_name, arm, "arm", place)
        layers = [*self.model_layers[model], *chain.layers]
        settings = engines.here(validate(Settings, layers), layers, self.plan.notes)
        settings = settings.model_copy(update={"estimator": resolve_estimator(settings.estimator, layers)})
        return _multiplied(settings, chain.times)

    # ---- data, models, base policies ----

    def data(self, name: str | None, key: str) -> Any:
        """The data set that a key names, or its stand-in at this scale."""
        if name is None:
            raise ConfigError(f"{self._place(key)}: this key is missing")
        if (name, key) not in self.sets:
            own = self.sources.at_scale[self.paper.name][0].data.get(name, name)
            stand_in = self.scale.data.get(own, own)
            data = look_up(self.sources.data, stand_in, "data set", self._place(key))
            data = self.sets[name, key] = data if key == "sft_data" else self._judged(data)
            self.plan.data[identity.data_id(data)] = data
        return self.sets[name, key]

    def _judged(self, data: Any) -> Any:
        """A set with the paper's verifier; demonstrations need none."""
        try:
            return judged_by(data, self.paper.verifiers)
        except ValidationError as error:
            message = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{self._place('verifiers')}: {data.name}: {message}") from error

    def _set_of(self, model: str, key: str) -> Any:
        """The set that a key names for a model: its own, else the paper's."""
        return self.data(getattr(self.paper.models[model], key) or getattr(self.paper, key), key)

    def data_sets(self, names: list[str | None]) -> list[Any]:
        """The named data sets, each once."""
        sets = [self.data(name, "data") for name in dict.fromkeys(names) if name is not None]
        return list({identity.data_id(data): data for data in sets}.values())

    def base(self, model: str, seed: int) -> tuple[PolicySpec, str]:
        """The base policy of every arm on a model, and its id: no arm changes its SFT, which a seed may continue."""
        sft = self.sft[model]
        key = model, seed if sft and sft.each_seed else None
        if key not in self.bases:
            spec = PolicySpec(
                model=self._model(model), sft=sft, sft_data=self._set_of(model, "sft_data") if sft else None
            )
            self.plan.models[identity.model_id(spec.model)] = spec.model
            if sft and sft.each_seed:
                common = spec.model_copy(update={"sft": sft.model_copy(update={"each_seed": None})})
                self.plan.policies[identity.policy_id(common)] = common
                own = sft.model_copy(update={**dict(sft.each_seed), "seed": seed, "each_seed": None})
                spec = common.model_copy(update={"sft": own, "start": common})
            self.bases[key] = spec, identity.policy_id(spec)
            self.plan.policies[self.bases[key][1]] = spec
            self.plan.spreads[self.bases[key][1]] = self.settings[model].execution.tensor_parallel
        return self.bases[key]

    def _model(self, model: str) -> Any:
        """The model with the paper's prompt. A stand-in keeps its own: its family marks turns differently."""
        stand_in = self.scale.models.get(model, model)
        entry = look_up(self.sources.models, stand_in, "model", self._place("models"))
        name = self.paper.models[model].prompt
        if name is None:
            return entry
        prompt = look_up(self.sources.prompts, name, "prompt", self._place("models", model, "prompt"))
        return entry.model_copy(update={"template": prompt.text}) if stand_in == model else entry

    # ---- runs ----

    def cell(self, model: str, row: Row, place: str, *, seeds: list[int] | None = None, matched: str | None) -> Cell:
        """The cell of a row; with `matched`, also its policies at each learning rate of this sweep.

        Without `seeds` it has the paper's.
        """
        seeds = seeds or self.seeds
        if row.arm == BASE:
            return Cell(model, row, self._bases(model, seeds))
        runs, rate = self._runs(model, row.arm, place, seeds)
        arms = self.arms.of_sweep(row.arm, matched) if matched else []
        swept = sorted((self._runs(model, arm, place, seeds) for arm in arms), key=lambda made: made[1])
        return Cell(model, row, runs, rate, tuple((rate, made) for made, rate in swept))

    def _bases(self, model: str, seeds: list[int]) -> Policies:
        """The base policies: one per seed, or one without a seed for all."""
        names = {seed: self.base(model, seed)[1] for seed in seeds}
        if len(set(names.values())) == 1:
            return ((names[seeds[0]], None),)
        return tuple((name, seed) for seed, name in names.items())

    def _runs(self, model: str, arm: str, place: str, seeds: list[int]) -> tuple[Policies, float]:
        """The runs of an arm, one per seed, and their learning rate."""
        runs = [(self._run(model, arm, seed, place), seed) for seed in seeds]
        return tuple(runs), self.plan.runs[runs[0][0]].rl.learning_rate

    def _run(self, model: str, arm: str, seed: int, place: str) -> str:
        """The id of a run, which is planned once even if several items show it."""
        if (model, arm, seed) not in self.run_of:
            if (model, arm) not in self.trained:
                self.trained[model, arm] = self._training(model, arm, place)
            first, execution = self.trained[model, arm]
            base, start = self.base(model, seed)
            spec = first.model_copy(update={"seed": seed, "base": base})
            run = self.run_of[model, arm, seed] = identity.run_id(spec)
            self.plan.runs[run], self.plan.executions[run] = spec, execution
            self.plan.starts[run] = start
        return self.run_of[model, arm, seed]

    def _training(self, model: str, arm: str, place: str) -> tuple[RunSpec, Execution]:
        """The run of an arm on a model, for the first seed, and its execution."""
        settings, own = self.settings_of_arm(model, arm, place), self.arms.by_name[arm].data
        try:
            spec = RunSpec(
                base=self.base(model, self.seeds[0])[0],
                data=self.data(own, "data") if own else self._set_of(model, "data"),
                validation=self._set_of(model, "validation_data"),
                critic=settings.critic.resolved(settings.rl.learning_rate),
                seed=self.seeds[0],
                **{name: getattr(settings, name) for name in AS_SET},
            )
        except ValidationError as error:
            message = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{self._place('arms', arm)}: {message}") from error
        layers = [*self.model_layers[model], *self.arms.by_name[arm].layers]
        self._check_probe(spec, layers)
        self._check_task(model, {"data": spec.data, "sft_data": spec.base.sft_data, "validation_data": spec.validation})
        context.check_rollout(spec.base.model, spec.rollout, layers)
        if spec.selection.rule == "best_validation":
            self._check_selection(spec, arm)
        return spec, settings.execution

    def _check_probe(self, spec: RunSpec, layers: list[Layer]) -> None:
        """Raises ConfigError where the probes need more held-out problems than there are."""
        sizes = (spec.validation.problems, getattr(spec.validation, "most", None))
        available = min((size for size in sizes if size is not None), default=None)
        if available is not None and spec.probe.problems > available:
            place = place_of(layers, ("probe", "problems"))
            raise ConfigError(
                f"{place}: {spec.probe.problems} problems are more than the {available} of {spec.validation.name}, "
                f"which {self._place('validation_data')} names at the scale {self.scale.name}; at most {available}"
            )

    def _check_task(self, model: str, sets: dict[str, Any]) -> None:
        """Raises ConfigError where a model from scratch, which knows the words of one task, meets another task."""
        entry = self._model(model)
        for key, data in sets.items() if isinstance(entry, ScratchModel) else ():
            if isinstance(data, Synthetic) and data.task != entry.task:
                raise ConfigError(
                    f"{self._place(key)}: {data.name} is of the task {data.task}, and {entry.name}, which stands for "
                    f"{model} at the scale {self.scale.name}, knows only {entry.task}; change a stand_in in "
                    "config/datasets.yaml or config/models.yaml"
                )

    def _check_selection(self, spec: RunSpec, arm: str) -> None:
        """Raises ConfigError where a checkpoint is selected on a benchmark; overlap.json reports shared problems."""
        for benchmark in self.paper.benchmarks:
            if self.data(benchmark, "benchmarks") == spec.validation:
                raise ConfigError(
                    f"{self._place('arms', arm)}.settings.selection.rule: best_validation would select on "
                    f"{self.paper.validation_data!r}, which is the benchmark {benchmark!r} too; "
                    "name another set as validation_data"
                )

    # ---- evaluations ----

    def evaluation(self, benchmark: str, model: str, k: list[int], place: str) -> str:
        """The id of a model's evaluation on a benchmark. Raises ConfigError where it has too few samples for a k."""
        look_up(self.paper.benchmarks, benchmark, "benchmark", f"{place}.benchmark")
        sampling = self.settings[model].evaluation
        if k and max(k) > sampling.samples:
            n = f"n = {sampling.samples} samples ({place_of(self.model_layers[model], ('evaluation', 'samples'))})"
            raise ConfigError(f"{place}.k: k = {max(k)} is larger than {n}")
        prompt = self.settings[model].rollout.max_prompt_tokens
        context.check_evaluation(self._model(model), sampling, prompt, self.model_layers[model])
        spec = EvaluationSpec(data=self.data(benchmark, "benchmarks"), sampling=sampling)
        self._check_task(model, {"benchmarks": spec.data})
        name = identity.evaluation_id(spec)
        self.plan.evaluations[name] = spec
        return name


def _seeds(of_paper: list[int], count: int | None) -> list[int]:
    """The paper's seeds, or as many as a scale wants: the paper's first, then the smallest others."""
    others = (seed for seed in range(1, (count or 0) + len(of_paper) + 1) if seed not in of_paper)
    return [*of_paper, *others][:count] if count else of_paper


def _multiplied(settings: Settings, times: Sequence[tuple[str, float, str]]) -> Settings:
    """The settings with values multiplied: (dotted name, factor, place) each. They are checked after all factors."""
    content, names = settings.model_dump(), []
    for dotted, factor, place in times:
        section, _, key = dotted.partition(".")
        value = content[section].get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(f"{place}: {dotted} is {value!r}, not a number, so a sweep cannot multiply it")
        # Rounded as a person would write it: 3 x 1e-6 is 3e-06, not 3.0000000000000001e-06.
        product = float(f"{value * factor:.4g}")
        content[section][key] = int(product) if isinstance(value, int) and product.is_integer() else product
        names.append(f"{place}: {dotted} x {factor:g} = {product:g}")
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{'; '.join(names)}: {error.errors()[0]['msg']}") from error
