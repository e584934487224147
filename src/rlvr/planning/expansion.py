"""From papers and a scale to the plan of everything that has to be made.

Expansion is pure bookkeeping: it reads configuration, writes nothing and imports no torch, since Snakemake makes the
plan each time that it parses the Snakefile.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rlvr.claims.contrasts import check_all
from rlvr.config import identity, kinds, registries
from rlvr.config.explain import check_part, validate
from rlvr.config.layers import ConfigError, Layer, holder, look_up
from rlvr.config.load import Sources, check_section, read_sources, resolve_estimator
from rlvr.config.measures import HARD, PROBE, UnknownMeasure, shown
from rlvr.config.plan import Cell, Item, PaperPlan, Plan
from rlvr.config.schema.items import Figure, Row, Table
from rlvr.config.schema.settings import OF_A_RUN, Execution, Settings
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec
from rlvr.planning import check
from rlvr.words import nearest

FRONTIER = (
    "A method that is better, and not merely bolder or shyer in its steps, lies to the upper right of the other "
    "methods' curves, not further along them. The larger a dot, the larger its learning rate."
)
OVER_TRAINING = ("over_steps", "solve_rates", "masses", "collapse")  # kinds of figures made of the rows of runs


def make_plan(root: Path | str, scale: str, papers: list[str]) -> Plan:
    """Expand configuration. Raises ConfigError, in words for the person who wrote the file."""
    sources = read_sources(Path(root), scale, papers)
    common, made = validate(Settings, [sources.defaults, *sources.of_scale()]), sources.scale
    plan = Plan(scale, made.about, made.models, made.data, common.execution, common.diversity, made.items)
    for name in papers:
        plan.papers[name] = _Expansion(sources, plan, name).expand()
    return plan


@dataclass(frozen=True)
class _Arm:
    """An arm with the chain of settings that it stands for, its training set, and a factor on one of the settings."""

    layers: tuple[Layer, ...]
    data: str | None
    times: tuple[str, float] | None = None


class _Expansion:
    def __init__(self, sources: Sources, plan: Plan, name: str):
        self.sources, self.plan = sources, plan
        self.paper, self.layer = sources.papers[name]
        self.scale = sources.scale
        self.seeds = self.paper.seeds[: self.scale.seeds]
        check.names(self.paper, sources, self.layer)
        self.varied: dict[str, tuple[str, str, float]] = {}  # a swept arm -> the arm, the sweep and its value
        self.arms = self._arms()
        self.result = PaperPlan(self.paper)
        self.sets: dict[tuple[str, str], Any] = {}  # by name and the key that names it
        self.bases: dict[str, PolicySpec] = {}  # by model
        self.trained: dict[tuple[str, str], tuple[RunSpec, Execution]] = {}  # by model and arm
        self.run_of: dict[tuple[str, str, int], str] = {}

    def expand(self) -> PaperPlan:
        trained = [self.paper.data, *(arm.data for arm in self.paper.arms.values())]
        trained += [self.paper.sft_data] if self.scale.sft else []
        sets = [*trained, self.paper.validation_data, *self.paper.benchmarks]
        self.result.data = self._sets(sets)
        self.result.trained_on = self._sets(trained)
        for model in self.paper.models:
            validate(Settings, self._paper_layers(model))  # as the paper has it, which a scale may hide
            self.result.settings[model] = validate(Settings, self._model_layers(model))
            if self.result.settings[model].diversity != self.plan.diversity:
                raise ConfigError(f"{self._place('settings')}.diversity: is set in defaults or a scale, for all papers")
        for model, arm in ((model, arm) for model in [*self.paper.models][:1] for arm in self.arms):
            self._settings(model, arm, self._place("arms"))
        check.own_items(self.paper, self.layer)
        for name, table in {**self.paper.tables, **self._matched()}.items():
            self.result.tables[name] = self._table(name, table)
        for name, figure in {**self.paper.figures, **self._frontiers()}.items():
            self.result.figures[name] = self._figure(name, figure)
        check.published(self.paper, self.result.tables, sources=self.sources, layer=self.layer)
        for key, chosen in {"core": self.paper.core, "first": self.paper.first}.items():
            for name in chosen.tables:
                look_up(self.result.tables, name, "table", self._place(f"{key}.tables"))
            for name in chosen.figures:
                look_up(self.result.figures, name, "figure", self._place(f"{key}.figures"))
        check_all(self.plan, self.result, self._place("claims"))
        return self.result

    def _sets(self, names: list[str | None]) -> list[Any]:
        made = [self._data(name, "data") for name in dict.fromkeys(names) if name is not None]
        return list({identity.data_id(data): data for data in made}.values())

    def _place(self, *keys: str) -> str:
        return self.layer.place(keys)

    # ---- matched effort ----

    def _matched(self) -> dict[str, Table]:
        """Beside each table with a sweep of learning rates, the table at matched effort."""
        made = {}
        for name, table in self.paper.tables.items():
            if table.matched is not None:
                place = self._place("tables", name)
                sweep = look_up(self.paper.sweeps, table.matched, "sweep", f"{place}.matched")
                if sweep.times != "rl.learning_rate":
                    raise ConfigError(f"{place}.matched: {table.matched!r} is no sweep with `times: rl.learning_rate`")
                rows = [row for row in self._rows(table, place) if row.arm == "base" or row.arm in sweep.like]
                title = f"{table.title}, at matched effort"
                update = {"title": title, "rows": rows, "sweep": None, "every_arm": False, "at_matched_effort": True}
                made[f"{name}_matched"] = table.model_copy(update=update)
        return made

    def _frontiers(self) -> dict[str, Figure]:
        """And its frontier: the smallest k against the largest, over learning rates."""
        made = {}
        for name, table in self.paper.tables.items():
            if table.matched is not None:
                k, sweep = self._k(table.k), self.paper.sweeps[table.matched]
                arms = [row.arm for row in self._rows(table, self._place("tables", name))]
                swept = [self._swept(arm, table.matched, v) for arm in arms if arm in sweep.like for v in sweep.values]
                made[f"{name}_frontier"] = Figure(
                    title=f"Pass@{k[0]} against pass@{k[-1]} over learning rates: {table.title}",
                    kind="frontier",
                    models=table.models,
                    benchmark=table.benchmark,
                    benchmarks=table.benchmarks,
                    arms=[*(arm for arm in arms if arm == "base"), *swept],
                    k=[k[0], k[-1]],
                    note=FRONTIER,
                )
        return made

    def _k(self, wanted: list[int]) -> list[int]:
        """The values of k that are not beyond the scale's largest."""
        return [k for k in wanted if self.scale.largest_k is None or k <= self.scale.largest_k]

    # ---- arms ----

    def _arms(self) -> dict[str, _Arm]:
        """The paper's arms, then those that its sweeps make; patterns in `like` become the arms that they match."""
        arms = {name: _Arm(tuple(self._arm_layers(name, ())), self._arm_data(name)) for name in self.paper.arms}
        sweeps = {}
        for name, sweep in self.paper.sweeps.items():
            like = self._like(sweep.like, arms, self._place("sweeps", name, "like"))
            sweeps[name] = sweep.model_copy(update={"like": like})
            key, dotted = ("set", sweep.set) if sweep.set is not None else ("times", sweep.times)
            self._swept_setting(str(dotted), self._place("sweeps", name, key))
            for base, value in ((base, value) for base in like for value in sweep.values):
                arm = self._swept(base, name, value)
                if arm in arms:
                    raise ConfigError(f"{self._place('sweeps', name)}: an arm is called {arm!r} already")
                arms[arm] = self._varied_arm(arms[base], name, value)
                self.varied[arm] = (base, name, value)
        self.paper = self.paper.model_copy(update={"sweeps": sweeps})
        return arms

    def _like(self, written: list[str], arms: dict[str, _Arm], place: str) -> list[str]:
        """The arms that a sweep is over, each once."""
        found: list[str] = []
        for name in written:
            matching = [arm for arm in arms if fnmatchcase(arm, name)] if set(name) & set("*?[") else []
            found += matching or [name if name in arms else look_up(arms, name, "arm", place)]
        return list(dict.fromkeys(found))

    def _swept_setting(self, dotted: str, place: str) -> None:
        """Raises ConfigError where no run has the setting that a sweep varies."""
        section, _, key = dotted.partition(".")
        check_section(section, place)
        if section == "estimator" and key:
            return  # its settings are those of the arm's own estimator, and are looked up there
        models = {of_run: Settings.model_fields[of_run].annotation for of_run in OF_A_RUN}
        known = [f"{name}.{field}" for name, model in models.items() for field in getattr(model, "model_fields", ())]
        if dotted not in known:
            raise ConfigError(f"{place}: no such setting: {dotted!r}{nearest(dotted, known)}")

    def _varied_arm(self, base: _Arm, name: str, value: float) -> _Arm:
        sweep = self.paper.sweeps[name]
        if sweep.times:
            return _Arm(base.layers, base.data, (sweep.times, value))
        changed: Any = int(value) if value.is_integer() else value
        for part in reversed((sweep.set or "").split(".")):
            changed = {part: changed}
        layer = Layer(self.layer.file, f"sweeps.{name}", changed)
        check_part(Settings, layer)
        return _Arm((*base.layers, layer), base.data)

    def _swept(self, arm: str, sweep: str, value: float) -> str:
        return f"{arm}-{sweep}-{value}"

    def _arm_layers(self, name: str, seen: tuple[str, ...]) -> list[Layer]:
        if name in seen:
            raise ConfigError(f"{self._place('arms', name)}: `like` runs in a circle: {' -> '.join((*seen, name))}")
        arm = look_up(self.paper.arms, name, "arm", self._place("arms", *seen[-1:], "like"))
        above = self._arm_layers(arm.like, (*seen, name)) if arm.like else []
        return [*above, Layer(self.layer.file, f"arms.{name}.settings", arm.settings)]

    def _arm_data(self, name: str) -> str | None:
        """The training set of an arm: its own, else that of the arm it is like, else the paper's."""
        arm = self.paper.arms[name]
        return arm.data or (self._arm_data(arm.like) if arm.like else self.paper.data)

    def _paper_layers(self, model: str) -> list[Layer]:
        entry = look_up(self.paper.models, model, "model", self._place("models"))
        return [
            self.sources.defaults,
            Layer(self.layer.file, "settings", self.paper.settings),
            Layer(self.layer.file, f"models.{model}.settings", entry.settings),
        ]

    def _model_layers(self, model: str) -> list[Layer]:
        return [*self._paper_layers(model), *self.sources.of_scale(), *self.sources.of_scale(self.paper.name)]

    # ---- what an arm trains ----

    def _data(self, name: str | None, key: str) -> Any:
        if name is None:
            raise ConfigError(f"{self._place(key)}: this key is missing")
        if (name, key) not in self.sets:
            stand_in = self.scale.data.get(name, name)
            data = self.sets[name, key] = look_up(self.sources.data, stand_in, "data set", self._place(key))
            self.plan.data[identity.data_id(data)] = data
        return self.sets[name, key]

    def _base(self, model: str) -> PolicySpec:
        """The policy that every arm on a model starts from: no arm changes its SFT."""
        if model not in self.bases:
            entry, sft = self._entry(model), self.result.settings[model].sft if self.scale.sft else None
            sft_data = self._data(self.paper.sft_data, "sft_data") if sft else None
            spec = self.bases[model] = PolicySpec(model=entry, sft=sft, sft_data=sft_data)
            self.plan.models[identity.model_id(entry)] = entry
            self.plan.policies[identity.policy_id(spec)] = spec
        return self.bases[model]

    def _entry(self, model: str) -> Any:
        """The model, with the paper's own prompt. A stand-in keeps its own: another family has other marks of turns."""
        stand_in = self.scale.models.get(model, model)
        entry = look_up(self.sources.models, stand_in, "model", self._place("models"))
        named = self.paper.models[model].prompt
        if named is None:
            return entry
        prompt = look_up(self.sources.prompts, named, "prompt", self._place("models", model, "prompt"))
        return entry.model_copy(update={"template": prompt.text}) if stand_in == model else entry

    def _run(self, model: str, arm: str, seed: int, place: str) -> str:
        """The id of a run. Several tables and figures may show it, so that it is planned once."""
        if (model, arm, seed) not in self.run_of:
            if (model, arm) not in self.trained:
                self.trained[model, arm] = self._training(model, arm, place)
            first, execution = self.trained[model, arm]
            spec = first.model_copy(update={"seed": seed})
            run = self.run_of[model, arm, seed] = identity.run_id(spec)
            self.plan.runs[run], self.plan.executions[run] = spec, execution
        return self.run_of[model, arm, seed]

    def _training(self, model: str, arm: str, place: str) -> tuple[RunSpec, Execution]:
        """What an arm trains on a model, for its first seed, and how."""
        settings = self._settings(model, arm, place)
        try:
            spec = RunSpec(
                base=self._base(model),
                data=self._data(self.arms[arm].data, "data"),
                validation=self._data(self.paper.validation_data, "validation_data"),
                estimator=settings.estimator,
                loss=settings.loss,
                critic=settings.critic if settings.critic.learning_rate is not None else None,
                rollout=settings.rollout,
                reward=settings.reward,
                rl=settings.rl,
                probe=settings.probe,
                selection=settings.selection,
                seed=self.seeds[0],
            )
        except ValidationError as error:
            message = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{self._place('arms', arm)}: {message}") from error
        self._probed(spec, [*self._model_layers(model), *self.arms[arm].layers])
        if spec.selection.rule == "best_validation":
            self._apart(spec, arm)
        return spec, settings.execution

    def _settings(self, model: str, arm: str, place: str) -> Settings:
        """An arm's settings on a model, its estimator's filled in and checked, whether or not a table shows it."""
        made: _Arm = look_up(self.arms, arm, "arm", place)
        layers = [*self._model_layers(model), *made.layers]
        settings = validate(Settings, layers)
        settings = settings.model_copy(update={"estimator": resolve_estimator(settings.estimator, layers)})
        return settings if made.times is None else _multiply(settings, *made.times, place=self._place("sweeps"))

    def _probed(self, spec: RunSpec, layers: list[Layer]) -> None:
        """Raises ConfigError where more held-out problems are to be probed than there are."""
        known = spec.validation.problems
        if known is not None and spec.probe.problems > known:
            place = holder(layers, ("probe", "problems")).place(("probe", "problems"))
            raise ConfigError(
                f"{place}: {spec.probe.problems} problems are more than the {known} of {spec.validation.name}, "
                f"which {self._place('validation_data')} names at the scale {self.scale.name}; at most {known}"
            )

    def _apart(self, spec: RunSpec, arm: str) -> None:
        """A checkpoint is not picked on a set that it is then scored on; overlap.json says what two sets share."""
        for benchmark in self.paper.benchmarks:
            if self._data(benchmark, "benchmarks") == spec.validation:
                raise ConfigError(
                    f"{self._place('arms', arm)}.settings.selection.rule: best_validation would select on "
                    f"{self.paper.validation_data!r}, which is the benchmark {benchmark!r} too; "
                    "name another set as validation_data"
                )

    def _cell(self, model: str, row: Row, place: str, *, seeds: list[int] | None = None, matched: str = "") -> Cell:
        if row.arm == "base":
            base = self._base(model)
            return Cell(model, row, ((identity.policy_id(base), None),))
        runs, rate = self._runs(model, row.arm, place, seeds)
        rates = ()
        if matched:
            swept = [self._swept(row.arm, matched, value) for value in self.paper.sweeps[matched].values]
            rates = tuple((rate, runs) for runs, rate in (self._runs(model, arm, place, seeds) for arm in swept))
        return Cell(model, row, runs, rate, rates)

    def _runs(
        self, model: str, arm: str, place: str, seeds: list[int] | None
    ) -> tuple[tuple[tuple[str, int | None], ...], float]:
        """The runs of an arm, a seed each, and their learning rate."""
        runs = tuple((self._run(model, arm, seed, place), seed) for seed in seeds or self.seeds)
        return runs, self.plan.runs[runs[0][0]].rl.learning_rate

    def _evaluations(
        self, benchmarks: list[str], models: list[str], k: list[int], place: str
    ) -> dict[str, tuple[str, ...]]:
        found = [self._evaluations_on(benchmark, models, k, place) for benchmark in benchmarks]
        return {model: tuple(ids[model] for ids in found) for model in models}

    def _evaluations_on(self, benchmark: str, models: list[str], k: list[int], place: str) -> dict[str, str]:
        if benchmark not in self.paper.benchmarks:
            raise ConfigError(
                f"{place}.benchmark: unknown benchmark {benchmark!r}{nearest(benchmark, self.paper.benchmarks)}"
            )
        found = {}
        for model in models:
            sampling = self.result.settings[model].evaluation
            if k and max(k) > sampling.samples:
                holders = [la for la in self._model_layers(model) if la.holds(("evaluation", "samples"))]
                raise ConfigError(
                    f"{place}.k: k = {max(k)} is larger than n = {sampling.samples} samples "
                    f"({holders[-1].place(('evaluation', 'samples'))})"
                )
            spec = EvaluationSpec(data=self._data(benchmark, "benchmarks"), sampling=sampling)
            found[model] = identity.evaluation_id(spec)
            self.plan.evaluations[found[model]] = spec
        return found

    # ---- tables and figures ----

    def _table(self, name: str, table: Table) -> Item:
        place = self._place("tables", name)
        models = [self._model_name(model, place) for model in table.models]
        kinds.check(table.model_copy(update={"at_matched_effort": False}), place)
        if table.kind in ("settings", "published"):
            return Item(name, table, (), {})
        if table.kind == "analytic":
            return self._analytic(name, table, place)
        rows = self._rows(table, place)
        if table.kind == "collapse":
            self._compared(table, rows, place)
            return Item(name, table, self._trained(table, models, rows, place), {})
        table = table.model_copy(update={"k": self._k(table.k)})
        across = table.kind == "across_benchmarks"
        benchmarks = table.benchmarks or [name for name in (table.benchmark,) if name is not None]
        counted = table.kind == "diversity"  # without a k
        if not (benchmarks and rows and models) or not (table.k or counted) or (counted and len(benchmarks) > 1):
            what = "diversity" if counted else "pass@k"
            needs = ("benchmarks" if across else "benchmark (or benchmarks)") + ("" if counted else ", k")
            raise ConfigError(f"{place}: a {what} table needs {needs} and rows (or a sweep, or every_arm), and models")
        self._compared(table, rows, place)
        evaluations = self._evaluations(benchmarks, models, table.k, place)
        sets = [self.plan.evaluations[name].data for ids in evaluations.values() for name in ids]
        if table.hard_levels and not all(data.about.hard_levels for data in sets):
            without = ", ".join(dict.fromkeys(data.name for data in sets if not data.about.hard_levels))
            raise ConfigError(f"{place}.hard_levels: needs about.hard_levels of {without} (config/datasets.yaml)")
        matched = table.matched or "" if table.at_matched_effort else ""
        cells = tuple(self._cell(model, row, place, matched=matched) for model in models for row in rows)
        self._note_arms(cells, evaluations)
        return Item(name, table, cells, evaluations)

    def _rows(self, table: Table, place: str) -> list[Row]:
        """A table's own rows, or every arm; and those of its sweep."""
        rows = list(table.rows)
        if table.every_arm:
            untrained = () if table.kind == "collapse" else ("base",)
            rows = [Row(arm=arm, label=self._label(arm)) for arm in (*untrained, *self.paper.arms)]
        if table.sweep is not None:
            sweep = look_up(self.paper.sweeps, table.sweep, "sweep", f"{place}.sweep")
            for like, value in ((like, value) for like in sweep.like for value in sweep.values):
                arm = self._swept(like, table.sweep, value)
                published = sweep.published.format(name=table.sweep, value=value) if sweep.published else None
                rows.append(Row(arm=arm, label=sweep.label.format(name=table.sweep, value=value), published=published))
        return rows

    def _figure(self, name: str, figure: Figure) -> Item:
        place = self._place("figures", name)
        kinds.check(figure, place)
        for table in figure.tables:
            shown_table = look_up(self.result.tables, table, "table", f"{place}.tables")
            if not shown_table.evaluations or shown_table.content.kind != "pass_at_k":
                raise ConfigError(f"{place}.tables: {table!r} is no pass@k table, so it has no curves")
        if figure.kind == "analytic":
            return self._analytic(name, figure, place)
        models = [self._model_name(model, place) for model in figure.models]
        arms = list(figure.arms)
        if figure.sweep is not None:
            sweep = look_up(self.paper.sweeps, figure.sweep, "sweep", f"{place}.sweep")
            arms += [self._swept(like, figure.sweep, value) for like in sweep.like for value in sweep.values]
        if figure.kind in OVER_TRAINING:
            rows = [Row(arm=arm, label=self._label_with_value(arm)) for arm in arms]
            cells = self._trained(figure, models, rows, place)
            self._measured(figure, cells, place)
            return Item(name, figure, cells, {})
        if figure.tables:
            return Item(name, figure, (), {})
        benchmarks = figure.benchmarks or [name for name in (figure.benchmark,) if name is not None]
        if not (benchmarks and models and arms and figure.k):
            own = "models, arms (or a sweep), a benchmark and k"
            instead = "; or `tables`" if figure.kind == "pass_at_k_curves" else ""
            raise ConfigError(f"{place}: a figure of kind {figure.kind} needs {own}{instead}")
        rows = [Row(arm=arm, label=self._label_of_curve(arm)) for arm in arms]
        cells = tuple(self._cell(model, row, place) for model in models for row in rows)
        evaluations = self._evaluations(benchmarks, models, figure.k, place)
        self._note_arms(cells, evaluations)
        return Item(name, figure, cells, evaluations)

    def _repeated(self, content: Table | Figure) -> list[int] | None:
        """The seeds of an item that counts runs: as many as the scale says, else as it says itself."""
        return None if content.repeats is None else list(range(1, (self.scale.repeats or content.repeats) + 1))

    def _compared(self, table: Table, rows: list[Row], place: str) -> None:
        arms = [row.arm for row in rows]
        if table.compare_with is not None and table.compare_with not in arms:
            raise ConfigError(
                f"{place}.compare_with: not a row: {table.compare_with!r}{nearest(table.compare_with, arms)}"
            )

    def _trained(self, content: Table | Figure, models: list[str], rows: list[Row], place: str) -> tuple[Cell, ...]:
        """Cells of what is said of training, which the base policy has none of."""
        if not models or not rows:
            raise ConfigError(f"{place}: what is shown of training needs models and arms (a table rows, or a sweep)")
        if any(row.arm == "base" for row in rows):
            raise ConfigError(f"{place}: the arm 'base' is not trained, so nothing can be shown of its training")
        seeds = self._repeated(content)
        return tuple(self._cell(model, row, place, seeds=seeds) for model in models for row in rows)

    def _measured(self, figure: Figure, cells: tuple[Cell, ...], place: str) -> None:
        """Whether the runs of a figure measure what it shows."""
        if (figure.kind == "over_steps") != bool(figure.measures):
            raise ConfigError(f"{place}.measures: a figure of kind over_steps has measures, and no other has")
        runs = [self.plan.runs[run] for cell in cells for run, _ in cell.policies]
        for written in figure.measures:
            try:
                measure = shown(written)
            except UnknownMeasure as error:
                raise ConfigError(f"{place}.measures: {error}") from error
            if measure.rows == PROBE and not all(run.probe.problems for run in runs):
                raise ConfigError(f"{place}.measures: {written!r} needs held-out problems (probe.problems)")
            if measure.name == "greedy" and not all(run.probe.greedy for run in runs):
                raise ConfigError(f"{place}.measures: 'greedy' needs probe.greedy: true in the settings of every arm")
            if measure.name == HARD and not all(run.validation.about.hard_levels for run in runs):
                sets = ", ".join(dict.fromkeys(run.validation.name for run in runs))
                raise ConfigError(
                    f"{place}.measures: {HARD!r} needs about.hard_levels of {sets} (config/datasets.yaml)"
                )

    def _analytic(self, name: str, content: Table | Figure, place: str) -> Item:
        if content.content is None:
            raise ConfigError(f"{place}.content: this key is missing; a module of rlvr.theory.closed_forms")
        look_up(registries.analytic_contents(), content.content, "content", f"{place}.content")
        return Item(name, content, (), {})

    def _model_name(self, model: str, place: str) -> str:
        look_up(self.paper.models, model, "model", f"{place}.models")
        return model

    def _label(self, arm: str) -> str:
        """The label of an arm; a swept arm has that of the arm it varies."""
        if arm == "base":
            return "Base"
        name = arm if arm in self.paper.arms else arm.split("-")[0]
        return self.paper.arms[name].label or name if name in self.paper.arms else arm

    def _label_with_value(self, arm: str) -> str:
        """Of a swept arm with what is varied, so that several of one arm are told apart."""
        if arm not in self.varied:
            return self._label(arm)
        _, name, value = self.varied[arm]
        return f"{self._label(arm)}, {self.paper.sweeps[name].label.format(name=name, value=value)}"

    def _label_of_curve(self, arm: str) -> str:
        """The label of the arm whose learning rates a curve is over."""
        like, name, _ = self.varied.get(arm, (arm, None, None))
        if name is not None and self.paper.sweeps[name].times is not None:
            return self._label_with_value(like)
        return self._label(arm)

    def _note_arms(self, cells: tuple[Cell, ...], evaluations: dict[str, tuple[str, ...]]) -> None:
        for cell in cells:
            pairs = self.result.arms.setdefault(cell.row.arm, [])
            # Its own runs: at another learning rate it is another arm, which the frontier has.
            made = [(policy, evaluation) for evaluation in evaluations[cell.model] for policy, _ in cell.policies]
            pairs += [pair for pair in made if pair not in pairs]


def _multiply(settings: Settings, dotted: str, factor: float, *, place: str) -> Settings:
    """The settings with one of them multiplied."""
    section, _, key = dotted.partition(".")
    content = settings.model_dump()
    value = content[section].get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{place}: {dotted} is {value!r}, which cannot be multiplied")
    # Rounded to what a person would write, so that 3 x 1e-6 is 3e-06 and not 3.0000000000000001e-06.
    product = float(f"{value * factor:.4g}")
    content[section][key] = int(product) if isinstance(value, int) and product.is_integer() else product
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{place}: {dotted} x {factor:g} = {product:g}: {error.errors()[0]['msg']}") from error
