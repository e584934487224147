"""From papers and a scale to the plan of everything that has to be made.

Expansion is pure bookkeeping: it reads configuration, writes nothing and imports no torch, since Snakemake makes the
plan each time that it parses the Snakefile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config import identity
from rlvr.config.claims import check_all
from rlvr.config.load import ConfigError, Layer, Sources, look_up, read_sources, resolve_estimator, validate
from rlvr.config.measures import HARD, PROBE, UnknownMeasure, shown
from rlvr.config.plan import Cell, Item, PaperPlan, Plan
from rlvr.config.schema import EvaluationSpec, Execution, Figure, PolicySpec, Row, RunSpec, Settings, Table
from rlvr.estimators import nearest

FRONTIER = (
    "A method that is better, and not merely bolder or shyer in its steps, lies to the upper right of the other "
    "methods' curves, not further along them. The larger a dot, the larger its learning rate."
)
OVER_TRAINING = ("over_steps", "solve_rates", "masses", "collapse")  # kinds of figures made of the rows of runs


def make_plan(root: Path | str, scale: str, papers: list[str]) -> Plan:
    """Expand configuration. Raises ConfigError, in words for the person who wrote the file."""
    sources = read_sources(Path(root), scale, papers)
    of_scale = Layer(sources.scale_layer.file, "settings", sources.scale.settings)
    common, made = validate(Settings, [sources.defaults, of_scale]), sources.scale
    unknown = [name for name in made.papers if not (sources.root / "config" / "papers" / f"{name}.yaml").is_file()]
    if unknown:
        raise ConfigError(f"{sources.scale_layer.file}: papers.{unknown[0]}: there is no such paper")
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
        self.result = PaperPlan(self.paper)
        self.scale = sources.scale
        self.seeds = self.paper.seeds[: self.scale.seeds]
        self.arms = self._arms()
        self.trained: dict[tuple[str, str], tuple[RunSpec, Execution]] = {}  # by model and arm
        self.run_of: dict[tuple[str, str, int], str] = {}

    def expand(self) -> PaperPlan:
        trained = [self.paper.data, *(arm.data for arm in self.paper.arms.values())]
        trained += [self.paper.sft_data] if self.scale.sft else []
        sets = [*trained, self.paper.validation_data, *self.paper.benchmarks]
        self.result.data = self._sets(sets)
        self.result.trained_on = self._sets(trained)
        for model in self.paper.models:
            self.result.settings[model] = validate(Settings, self._model_layers(model))
            if self.result.settings[model].diversity != self.plan.diversity:
                raise ConfigError(f"{self._place('settings')}.diversity: is set in defaults or a scale, for all papers")
        for name, table in {**self.paper.tables, **self._matched()}.items():
            self.result.tables[name] = self._table(name, table)
        for name, figure in {**self.paper.figures, **self._frontiers()}.items():
            if name in self.paper.tables:
                raise ConfigError(f"{self._place('figures', name)}: a table has this name too; figures need their own")
            self.result.figures[name] = self._figure(name, figure)
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
        arms = {name: _Arm(tuple(self._arm_layers(name, ())), self._arm_data(name)) for name in self.paper.arms}
        for name, sweep in self.paper.sweeps.items():
            for like in sweep.like:
                place = self._place("sweeps", name, "like")
                base: _Arm = look_up(arms, like, "arm", place)
                for value in sweep.values:
                    dotted = sweep.set or sweep.times or ""
                    if sweep.set:
                        changed: Any = value
                        for part in reversed(dotted.split(".")):
                            changed = {part: changed}
                        made = _Arm((*base.layers, Layer(self.layer.file, f"sweeps.{name}", changed)), base.data)
                    else:
                        made = _Arm(base.layers, base.data, (dotted, value))
                    arms[self._swept(like, name, value)] = made
        return arms

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

    def _model_layers(self, model: str) -> list[Layer]:
        entry = look_up(self.paper.models, model, "model", self._place("models"))
        return [
            self.sources.defaults,
            Layer(self.layer.file, "settings", self.paper.settings),
            Layer(self.layer.file, f"models.{model}.settings", entry.settings),
            Layer(self.sources.scale_layer.file, "settings", self.scale.settings),
            Layer(
                self.sources.scale_layer.file, f"papers.{self.paper.name}", self.scale.papers.get(self.paper.name, {})
            ),
        ]

    # ---- what an arm trains ----

    def _data(self, name: str | None, key: str) -> Any:
        if name is None:
            raise ConfigError(f"{self._place(key)}: this key is missing")
        stand_in = self.scale.data.get(name, name)
        data = look_up(self.sources.data, stand_in, "data set", self._place(key))
        self.plan.data[identity.data_id(data)] = data
        return data

    def _base(self, model: str, settings: Settings) -> PolicySpec:
        entry = self._entry(model)
        self.plan.models[identity.model_id(entry)] = entry
        if self.scale.sft:
            spec = PolicySpec(model=entry, sft=settings.sft, sft_data=self._data(self.paper.sft_data, "sft_data"))
        else:
            spec = PolicySpec(model=entry, sft=None, sft_data=None)
        self.plan.policies[identity.policy_id(spec)] = spec
        return spec

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
        made: _Arm = look_up(self.arms, arm, "arm", place)
        layers = [*self._model_layers(model), *made.layers]
        settings = validate(Settings, layers)
        if made.times is not None:
            settings = _multiply(settings, *made.times, place=self._place("sweeps"))
        spec = RunSpec(
            base=self._base(model, settings),
            data=self._data(made.data, "data"),
            validation=self._data(self.paper.validation_data, "validation_data"),
            estimator=resolve_estimator(settings.estimator, layers),
            loss=settings.loss,
            critic=settings.critic if settings.critic.learning_rate is not None else None,
            rollout=settings.rollout,
            reward=settings.reward,
            rl=settings.rl,
            probe=settings.probe,
            selection=settings.selection,
            seed=self.seeds[0],
        )
        if spec.selection.rule == "best_validation":
            self._apart(spec, arm)
        return spec, settings.execution

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
            base = self._base(model, self.result.settings[model])
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
        if not benchmarks or not rows or not (table.k or counted) or (counted and len(benchmarks) > 1):
            what = "diversity" if counted else "pass@k"
            needs = ("benchmarks" if across else "benchmark") + ("" if counted else ", k")
            raise ConfigError(f"{place}: a {what} table needs {needs} and rows (or a sweep, or every_arm)")
        self._compared(table, rows, place)
        if table.reference and not (self.sources.root / "config" / "reference" / table.reference).is_file():
            raise ConfigError(f"{place}.reference: no such file: config/reference/{table.reference}")
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
                published = sweep.published.format(value=value) if sweep.published else None
                rows.append(Row(arm=arm, label=sweep.label.format(name=table.sweep, value=value), published=published))
        return rows

    def _figure(self, name: str, figure: Figure) -> Item:
        place = self._place("figures", name)
        for table in figure.tables:
            look_up(self.result.tables, table, "table", f"{place}.tables")
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
        rows = [Row(arm=arm, label=self._label_of_curve(arm)) for arm in arms]
        cells = tuple(self._cell(model, row, place) for model in models for row in rows)
        evaluations = {}
        if benchmarks := figure.benchmarks or [name for name in (figure.benchmark,) if name is not None]:
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
            raise ConfigError(f"{place}.content: this key is missing; a function of rlvr.theory.analytic")
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
        swept = {
            self._swept(like, name, value): sweep.label.format(name=name, value=value)
            for name, sweep in self.paper.sweeps.items()
            for like in sweep.like
            for value in sweep.values
        }
        return f"{self._label(arm)}, {swept[arm]}" if arm in swept else self._label(arm)

    def _label_of_curve(self, arm: str) -> str:
        """The label of the arm whose learning rates a curve is over."""
        for name, sweep in self.paper.sweeps.items():
            if sweep.times is not None:
                for like in sweep.like:
                    if arm in [self._swept(like, name, value) for value in sweep.values]:
                        return self._label_with_value(like)
        return self._label(arm)

    def _note_arms(self, cells: tuple[Cell, ...], evaluations: dict[str, tuple[str, ...]]) -> None:
        for cell in cells:
            pairs = self.result.arms.setdefault(cell.row.arm, [])
            # Its own runs: at another learning rate it is another arm, which the frontier has.
            made = [(policy, evaluation) for evaluation in evaluations[cell.model] for policy, _ in cell.policies]
            pairs += [pair for pair in made if pair not in pairs]


def _multiply(settings: Settings, dotted: str, factor: float, *, place: str) -> Settings:
    section, _, key = dotted.partition(".")
    content = settings.model_dump()
    if section not in content or key not in content[section]:
        known = [f"{s}.{k}" for s, c in content.items() for k in c]
        raise ConfigError(f"{place}: no such setting: {dotted!r}{nearest(dotted, known)}")
    # Rounded to what a person would write, so that 3 x 1e-6 is 3e-06 and not 3.0000000000000001e-06.
    content[section][key] = float(f"{content[section][key] * factor:.4g}")
    return Settings.model_validate(content)
