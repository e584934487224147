"""Tables of scores on benchmarks: planning, rendering, summary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.layers import ConfigError
from rlvr.config.layouts import ScoresLayout
from rlvr.config.measures import PERCENTAGE, Range, of_difference
from rlvr.config.plan import Item
from rlvr.config.published import PublishedTable
from rlvr.config.schema.paper import Paper
from rlvr.items import TABLES
from rlvr.items.rendered import Rendered, scale_line
from rlvr.items.scope import Curve, Scope
from rlvr.statistics import shown
from rlvr.tables._methods import check_baseline

OURS, RATE, GAIN = "ours", "learning rate of {arm} there", "ours, against {arm}"
PUBLISHED, MINUS = "published", "ours − published"
HOLDS = "†"
EQUAL = (
    "At equal pass@1: {baseline} at several learning rates gives a curve of pass@1 and pass@k (both are quadratics of "
    "the square root of the rate); each method, at its own rate, is compared with the point of the curve that has its "
    "pass@1. The noise of each pass@1 is in the intervals. Each row has its own pass@k."
)


# ---- configuration and planning ----


def expand(
    name: str,
    config: Any,
    scope: Scope,
    *,
    k: list[int] | None = None,
    curve: Curve | None = None,
    seeds: int | None = None,
) -> Item:
    """The item: one cell per model and row, one evaluation per model and benchmark.

    `k` are by default those of the configuration that the scale has.
    """
    if k is None:
        k = scope.largest(config.k)
        config = config.model_copy(update={"k": k})
    models, rows = scope.models(config.models), scope.rows(config)
    check_baseline(config, rows, scope)
    evaluations = scope.evaluations(config.over(), models, k)
    _check_hard_levels(config, evaluations, scope)
    cells = scope.cells(models, rows, curve=curve, seeds=seeds or getattr(config, "seeds", None))
    scope.show_arms(cells, evaluations)
    return Item(TABLES, name, config, cells, evaluations, tuple(config.over()))


def _check_hard_levels(config: Any, evaluations: dict[str, tuple[str, ...]], scope: Scope) -> None:
    sets = [scope.plan.evaluations[name].data for ids in evaluations.values() for name in ids]
    without = ", ".join(dict.fromkeys(data.name for data in sets if not data.about.hard_levels))
    if getattr(config, "hard_levels", False) and without:
        raise ConfigError(f"{scope.place}.hard_levels: needs about.hard_levels of {without} (config/datasets.yaml)")


def check_published(config: Any, file: PublishedTable, paper: Paper, place: str, *, column: str = "{}") -> None:
    """Raises ConfigError for names that the published table lacks; `column` formats a benchmark's name."""
    if getattr(config, "hard_levels", False):
        raise ConfigError(f"{place}.reference: not for a table of hard levels: published values cover all")
    for model in config.models:
        name = paper.published_as.get(model, model)
        if name is not None:
            file.check_model(name, f"{place}.models (or published_as.{model})")
    for benchmark in config.over():
        name = paper.published_as.get(benchmark, benchmark)
        if name is not None:
            file.check_benchmark(column.format(name), f"{place}.benchmark (or published_as.{benchmark})")


# ---- rendering ----


@dataclass(frozen=True)
class Words:
    """The texts of a kind of scored table: headers and notes by `score`, and texts about numbers and intervals."""

    headers: dict[str, str]
    short: str  # the score in a page's summary
    short_words: str
    about: dict[str, str] = field(default_factory=dict)
    digits: dict[str, int] = field(default_factory=dict)  # default: one, for percent
    possible: dict[str, Range] = field(default_factory=dict)  # default: 0 to 100, for percent
    numbers: str = "pass@k in percent, unbiased estimator,"
    drawn: str = "training seeds × problems (two-way random effects, Student's t, paired for differences)"

    def range_of(self, score: str) -> Range:
        """The possible values of a score."""
        return self.possible.get(score, PERCENTAGE)


Notes = Callable[[Any, pd.DataFrame], Sequence[str]]  # of a layout and its statistics


def render(
    words: Words,
    layout: ScoresLayout,
    statistics: pd.DataFrame,
    more_notes: Sequence[str] = (),
    notes: Notes | None = None,
) -> Rendered:
    """The table; a method has several lines: ours, its learning rate, the difference, the published value."""
    columns = list(dict.fromkeys(zip(statistics["score"], statistics["k"], strict=True)))
    level = 1 - layout.confidence
    lines: list[list[str]] = []
    several = statistics["benchmark"].nunique() > 1
    previous: tuple[str, str] = ("", "")  # so that each benchmark and model appears once
    for _, cell in statistics.groupby(["benchmark", "model", "arm"], sort=False):
        by_column = cell.set_index(["score", "k"])
        first = cell.iloc[0]
        benchmark = str(first["benchmark"])
        model = str(first["model"]) + (f" → {first['stand_in']}" if first["stand_in"] != first["model"] else "")
        by_column = by_column.reindex(columns)  # blind guesses have no avg and no maj
        rows = [(by_column.loc[at], words.digits.get(at[0], 1), words.range_of(at[0])) for at in columns]
        texts = {
            OURS: [with_interval(row, "value", digits, of) for row, digits, of in rows],
            RATE.format(arm=layout.compare_label): [
                _number(row.get("baseline_rate", np.nan), ".2g") for row, _, _ in rows
            ],
            GAIN.format(arm=layout.compare_label): [_difference(row, digits, level, of) for row, digits, of in rows],
            PUBLISHED: [_published(row, digits) for row, digits, _ in rows],
            MINUS: [_number(row["minus_published"], f"+.{digits}f").replace("-", "−") for row, digits, _ in rows],
        }
        for part, values in texts.items():
            if any(values):
                head = ("" if (benchmark, model) == previous else model, first["label"]) if part == OURS else ("", "")
                above = [benchmark if benchmark != previous[0] else ""] if several else []
                lines.append([*above, *head, part, *values])
                previous = (benchmark, model)
    first_columns = [*(["Benchmark"] if several else []), "Model", "Method", ""]
    frame = pd.DataFrame(lines, columns=[*first_columns, *(words.headers[score].format(k=k) for score, k in columns)])
    all_notes = _notes(words, layout, statistics, notes(layout, statistics) if notes else [])
    return Rendered(layout.title, scale_line(layout), frame, [*all_notes, *more_notes])


def _number(value: float, form: str) -> str:
    return "" if pd.isna(value) else f"{value:{form}}"


def _difference(row: Any, digits: int, level: float, possible: Range) -> str:
    """The difference, with a dagger where Holm's adjusted p is at most `level`."""
    mark = HOLDS if row["difference_p_holm"] <= level else ""
    return with_interval(row, "difference", digits, of_difference(possible), "+", mark)


def with_interval(row: Any, name: str, digits: int, possible: Range, sign: str = "", mark: str = "") -> str:
    """The value with its interval; an exact one has none."""
    if pd.isna(row[name]):
        return ""
    form = f"{sign}.{digits}f"
    interval = shown.brackets(row[f"{name}_low"], row[f"{name}_high"], form, possible)
    return f"{row[name]:{form}}{mark}{interval}".replace("-", "−")


def _published(row: Any, digits: int) -> str:
    numbers = [_number(row[name], f".{digits}f") for name in ("published", "published_ci")]
    return " ± ".join(filter(None, numbers)) if numbers[0] else ""


def _notes(words: Words, layout: ScoresLayout, statistics: pd.DataFrame, kind_notes: Sequence[str]) -> list[str]:
    seeds = int(statistics["seeds"].max())
    confidence = f"{100 * layout.confidence:g} %"
    alone = "problems alone" + (" (one training seed)" if seeds else "")
    over = f"{seeds} {words.drawn}{_base(statistics)}" if seeds > 1 else alone
    notes = [
        f"{words.numbers} on {_benchmarks(layout)}: {_sizes(statistics)}; {layout.sampling}.",
        _selection(layout),
        *_trainers(layout),
        f"In brackets: {confidence} interval over {over}.",
        *_withheld(words, statistics, seeds),
    ]
    if layout.at_equal_pass_1:
        notes += [EQUAL.format(baseline=layout.compare_label), *out_of_reach(layout, statistics)]
    notes += [*_false_working(layout, statistics), *kind_notes]
    notes += [words.about[score] for score in dict.fromkeys(statistics["score"]) if score in words.about]
    count = int(statistics["difference_p"].notna().sum())
    if count:
        level = f"{100 * (1 - layout.confidence):g} %"
        notes.append(
            f"{HOLDS}: differs from {layout.compare_label} at {level} after Holm's correction over the table's "
            f"{count} differences (two-sided p of the same t)."
        )
    if statistics["published"].notna().any():
        notes.append(f"Published: the paper's value ± its own {layout.published_width}, where it gives one.")
        if statistics["minus_published"].isna().all():
            notes.append(
                "Ours and published are of different models and problems at this scale, so none is subtracted."
            )
    return [*notes, *([layout.note] if layout.note else [])]


def _withheld(words: Words, statistics: pd.DataFrame, seeds: int) -> list[str]:
    """A note on intervals that are too wide to show."""
    for row in statistics.to_dict("records"):
        possible = words.range_of(row["score"])
        ranges = {"value": possible, "difference": of_difference(possible)}
        if any(shown.is_withheld(row[f"{name}_low"], row[f"{name}_high"], of) for name, of in ranges.items()):
            return [shown.WHY.format(shown.over(seeds, int(row["problems"])))]
    return []


def _false_working(layout: ScoresLayout, statistics: pd.DataFrame) -> list[str]:
    """A note on the correct answers that rest on false steps, where the working is checked."""
    if "false_working" not in statistics or statistics["false_working"].isna().all():
        return []
    texts = []
    for (benchmark, model), rows in statistics.groupby(["benchmark", "model"], sort=False):
        shares = rows.dropna(subset="false_working").groupby("label", sort=False)["false_working"].first()
        methods = ", ".join(f"{label} {100 * share:.1f}" for label, share in shares.items())
        texts.append(f"{model} on {benchmark}: {methods}")
    return [f"Correct answers with a false step in their working, in percent: {'; '.join(texts)}."]


def out_of_reach(layout: ScoresLayout, statistics: pd.DataFrame) -> list[str]:
    """A note on methods that the baseline's curve does not reach, with the reason."""
    lost = statistics.dropna(subset="not_comparable").drop_duplicates(["label", "model", "benchmark"])
    texts = [
        f"{row['label']} ({row['model']}, {row['benchmark']}): {row['not_comparable']}" for _, row in lost.iterrows()
    ]
    return [f"Not comparable with {layout.compare_label} at equal pass@1: {'; '.join(texts)}."] if texts else []


def _base(statistics: pd.DataFrame) -> str:
    """What an interval of the base policy covers, where it is one for all seeds."""
    base = statistics[statistics["arm"] == "base"]
    return "; for a base policy over problems alone" if len(base) and not base["seeds"].max() else ""


def _selection(layout: ScoresLayout) -> str:
    selected = layout.selected
    if not selected:
        return "Checkpoint: the last step of each run."
    others = "; of all others the last step" if len(selected) < len({cell.label for cell in layout.cells}) else ""
    sets = ", ".join(dict.fromkeys(selected.values()))
    return (
        f"Checkpoint: of {', '.join(selected)} the probed step of each run with the best pass rate on {sets}, a set "
        f"apart from the benchmark; of equal ones the earliest{others}."
    )


def _trainers(layout: ScoresLayout) -> list[str]:
    texts = [f"{name} for {', '.join(labels)}" for name, labels in layout.trainers.items()]
    return [f"Not of one trainer: {'; '.join(texts)}."] if texts else []


def _benchmarks(layout: ScoresLayout) -> str:
    """The benchmarks by their names in the paper, with their stand-ins."""
    pairs = [(panel.name, panel.stand_in) for panel in layout.panels]
    return ", ".join(name + (f" (here {here})" if here != name else "") for name, here in pairs)


def _sizes(statistics: pd.DataFrame) -> str:
    texts = []
    for _, rows in statistics.groupby("benchmark", sort=False):
        problems, clusters = int(rows["problems"].iloc[0]), int(rows["clusters"].iloc[0])
        texts.append(f"{problems}" + ("" if clusters == problems else f" (in {clusters} clusters, drawn whole)"))
    return f"{', '.join(texts)} problems, n = {int(statistics['samples'].min())} samples each"


# ---- summary ----


def sentences(words: Words, frame: pd.DataFrame, level: float | None) -> list[str]:
    """One sentence per benchmark and model: each method against the baseline at the largest k, by Holm's p."""
    texts = []
    if frame["difference"].isna().all():
        return texts
    frame = frame.loc[frame["score"] == words.short]
    last, digits = frame[frame["k"] == frame["k"].max()], words.digits.get(words.short, 1)
    possible = of_difference(words.range_of(words.short))
    for (benchmark, model), cells in last.groupby(["benchmark", "model"], sort=False):
        baseline = cells[cells["difference"].isna()]["label"].iloc[0]
        parts = []
        for cell in cells[cells["difference"].notna()].to_dict("records"):
            low, high = cell["difference_low"], cell["difference_high"]
            verdict = "higher" if low > 0 else "lower" if high < 0 else "not resolved"
            if low * high > 0 and level is not None and cell["difference_p_holm"] > level:
                verdict += " in this cell alone, not over the whole table"
            interval = shown.brackets(low, high, f"+.{digits}f", possible)
            numbers = f"{cell['difference']:+.{digits}f}{interval}".replace("-", "−")
            parts.append(f"{cell['label']} {numbers}, {verdict}")
        stand_in, data = cells["stand_in"].iloc[0], cells["data"].iloc[0] if "data" in cells else benchmark
        name = f"{stand_in} on {data}"
        name += "" if (stand_in, data) == (model, benchmark) else f" (in place of {model} on {benchmark})"
        short = words.short_words.format(k=frame["k"].max())
        texts.append(f"{name}, {short} against {baseline}: " + "; ".join(parts) + ".")
    return texts
