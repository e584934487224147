"""Stage: tables. A scored table in the paper's form, published values and differences beside ours."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from rlvr.statistics.consistency import check_table, in_words, pass_at_k_cells
from rlvr.tables.render import Rendered

OURS, RATE, GAIN = "ours", "learning rate", "ours, against {arm}"
PUBLISHED, MINUS = "published", "ours − published"
HOLDS = "†"
HEADERS = {"pass": "@{k}", "avg": "avg@{k}", "maj": "maj@{k}", "mean": "mean @{k}", "iqm": "IQM @{k}"}
HEADERS |= {"s_div": "S_div", "distinct_at_m": "distinct @{k}", "answer_entropy": "answer entropy"}
DIGITS = {"s_div": 4, "distinct_at_m": 2, "answer_entropy": 3}  # of others one: they are in percent
ABOUT = {
    "avg": "avg@n: the mean share of correct samples, which is the unbiased pass@1.",
    "maj": "maj@n: the share of problems whose most frequent answer is correct; a tie counts by its share, and wrong "
    "answers are the same where their text is.",
    "mean": "Mean: over the benchmarks, each with the same weight, of pass@k.",
    "iqm": "IQM: the interquartile mean of pass@k over all training runs × benchmarks, without floor(count / 4) scores "
    "at each end (Agarwal et al. 2021); with fewer than four scores it is the mean.",
    "s_div": "S_div: mean cosine distance over the pairs of a problem's correct responses (PACS, Eq. 13), over the "
    "problems with at least 2.",
    "distinct_at_m": "Distinct: expected number of different correct texts among so many correct samples, drawn "
    "without replacement (Hurlbert 1971), over the problems that have them.",
    "answer_entropy": "Answer entropy: Shannon entropy in nats over the different answers of a problem's samples.",
}


EFFORT = (
    "At matched effort: in each column each method is at the one of its learning rates whose runs have the highest "
    "pass@k on validation problems, for the column's k or as many responses as these have, the mean of a run's last "
    "three probes over its seeds. Choosing adds an uncertainty that the intervals do not have."
)


def scale_line(layout: dict[str, Any]) -> str:
    """What a reader must know before any number: the scale it was made at."""
    return f"Made at {layout['scale']} scale. {layout['about_scale']}"


def render(layout: dict[str, Any], statistics: pd.DataFrame, reference: pd.DataFrame | None = None) -> Rendered:
    """`reference` is the published table as text; what its rows cannot be stands in the notes."""
    columns = list(dict.fromkeys(zip(statistics["score"], statistics["k"], strict=True)))
    level = 1 - layout["statistics"]["confidence"]
    chosen = {cell["arm"] for cell in layout["cells"] if cell.get("rates")}
    lines: list[list[str]] = []
    several = statistics["benchmark"].nunique() > 1
    shown: tuple[str, str] = ("", "")  # each benchmark and model is named once
    for _, cell in statistics.groupby(["benchmark", "model", "arm"], sort=False):
        by_column = cell.set_index(["score", "k"])
        first = cell.iloc[0]
        benchmark = str(first["benchmark"])
        model = str(first["model"]) + (f" → {first['stand_in']}" if first["stand_in"] != first["model"] else "")
        rows = [(by_column.loc[column], DIGITS.get(column[0], 1)) for column in columns]
        texts = {
            OURS: [_with_interval(row, "value", digits) for row, digits in rows],
            RATE: [f"{row['learning_rate']:.2g}" for row, _ in rows] if first["arm"] in chosen else [],
            GAIN.format(arm=layout["compare_label"]): [_difference(row, digits, level) for row, digits in rows],
            PUBLISHED: [_published(row, digits) for row, digits in rows],
            MINUS: [_signed(row["minus_published"], digits) for row, digits in rows],
        }
        for what, values in texts.items():
            if any(values):
                head = ("" if (benchmark, model) == shown else model, first["label"]) if what == OURS else ("", "")
                above = [benchmark if benchmark != shown[0] else ""] if several else []
                lines.append([*above, *head, what, *values])
                shown = (benchmark, model)
    first_columns = [*(["Benchmark"] if several else []), "Model", "Method", ""]
    frame = pd.DataFrame(lines, columns=[*first_columns, *(HEADERS[score].format(k=k) for score, k in columns)])
    notes = _notes(layout, statistics) + (_findings(reference) if reference is not None else [])
    return Rendered(layout["title"], scale_line(layout), frame, notes)


def _findings(reference: pd.DataFrame) -> list[str]:
    found = in_words(check_table(pass_at_k_cells(reference)))
    if not found:
        return []
    return [
        "Published rows that no unbiased pass@k at one fixed n can give, rounding allowed for (`rlvr consistency`): "
        + ". ".join(found)
        + "."
    ]


def _difference(row: Any, digits: int, level: float) -> str:
    """With a dagger where Holm's adjusted p is at most `level`."""
    return _with_interval(row, "difference", digits, "+", HOLDS if row["difference_p_holm"] <= level else "")


def _with_interval(row: Any, name: str, digits: int, sign: str = "", mark: str = "") -> str:
    if pd.isna(row[name]):
        return ""
    value, low, high = (f"{row[key]:{sign}.{digits}f}" for key in (name, f"{name}_low", f"{name}_high"))
    return f"{value}{mark} [{low}, {high}]".replace("-", "−")


def _published(row: Any, digits: int) -> str:
    if pd.isna(row["published"]):
        return ""
    half = "" if pd.isna(row["published_ci"]) else f" ± {row['published_ci']:.{digits}f}"
    return f"{row['published']:.{digits}f}{half}"


def _signed(value: float, digits: int) -> str:
    return "" if pd.isna(value) else f"{value:+.{digits}f}".replace("-", "−")


def _notes(layout: dict[str, Any], statistics: pd.DataFrame) -> list[str]:
    seeds = int(statistics["seeds"].max())
    confidence = f"{100 * layout['statistics']['confidence']:g} %"
    notes = [
        f"{_measured(layout)} on {_benchmarks(layout)}: {_sizes(statistics)}; {layout['sampling']}.",
        _selection(layout),
        f"In brackets: {confidence} interval over {seeds} {_drawn(layout)}; for a base policy over problems alone.",
    ]
    if any("rates" in cell for cell in layout["cells"]):
        notes += [EFFORT, *_at_the_edge(layout, statistics)]
    if "embedding" in layout:
        notes.append(_embedded(layout, statistics))
    notes += [ABOUT[score] for score in dict.fromkeys(statistics["score"]) if score in ABOUT]
    compared = int(statistics["difference_p"].notna().sum())
    if compared:
        level = f"{100 * (1 - layout['statistics']['confidence']):g} %"
        notes.append(
            f"{HOLDS}: differs from {layout['compare_label']} at {level} after Holm's correction over the table's "
            f"{compared} differences (two-sided p of the same bootstrap, {layout['statistics']['resamples']:,} draws)."
        )
    if statistics["published"].notna().any():
        notes.append("Published: the paper's value ± its own 95 % half-width over training runs, where it gives one.")
        if layout["scale"] != "paper":
            notes.append(
                "Ours and published are of different models and problems at this scale: their difference is shown "
                "for completeness and does not measure reproduction."
            )
    return [*notes, *([layout["note"]] if layout["note"] else [])]


def _at_the_edge(layout: dict[str, Any], statistics: pd.DataFrame) -> list[str]:
    """Methods that were given the smallest or the largest of their rates: another beyond it may be better."""
    found: dict[str, list[str]] = {"smallest": [], "largest": []}
    for cell in layout["cells"]:
        rates = sorted(rate["learning_rate"] for rate in cell.get("rates", []))
        own = statistics[(statistics["arm"] == cell["arm"]) & (statistics["model"] == cell["model"])]
        for name, edge in zip(found, rates[:: len(rates) - 1] if len(rates) > 1 else [], strict=False):
            columns = own.loc[np.isclose(own["learning_rate"], edge, atol=0), ["score", "k"]].drop_duplicates()
            if len(columns):
                ks = ", ".join(HEADERS[score].format(k=k) for score, k in columns.itertuples(index=False))
                found[name].append(f"{cell['label']} ({ks})")
    words = [f"{name} for {'; '.join(dict.fromkeys(labels))}" for name, labels in found.items() if labels]
    return (
        [f"Chosen at the edge of its rates, beyond which another may be better: {', '.join(words)}."] if words else []
    )


def _selection(layout: dict[str, Any]) -> str:
    selected = layout.get("selected", {})
    if not selected:
        return "Checkpoint: the last step of each run."
    others = "; of all others the last step" if len(selected) < len({cell["label"] for cell in layout["cells"]}) else ""
    sets = ", ".join(dict.fromkeys(selected.values()))
    return (
        f"Checkpoint: of {', '.join(selected)} the probed step of each run with the best pass rate on {sets}, a set "
        f"apart from the benchmark; of equal ones the earliest{others}."
    )


def _measured(layout: dict[str, Any]) -> str:
    return "Diversity" if "embedding" in layout else "pass@k in percent, unbiased estimator,"


def _drawn(layout: dict[str, Any]) -> str:
    """What the bootstrap draws again."""
    if layout["kind"] == "across_benchmarks":
        return (
            "training runs, each drawn with its scores on all benchmarks, × problems, drawn within each benchmark "
            "(stratified bootstrap, paired for differences): other runs and other problems, not other benchmarks"
        )
    return "training seeds × problems (two-way bootstrap, paired for differences)"


def _embedded(layout: dict[str, Any], statistics: pd.DataFrame) -> str:
    """How many problems S_div is of, and how much of the responses the encoder read."""
    own = statistics.loc[statistics["score"] == "s_div"]
    low, high = own["known"].min(), own["known"].max()
    cut = own["cut_share"].fillna(0.0).max()
    between = f"{low:.0f} problems" if low == high else f"{low:.0f} to {high:.0f} problems, by method"
    return (
        f"Embeddings of {layout['embedding']}, which did not read to the end of {100 * cut:.1f} % of the "
        f"responses at most. S_div is of {between} (mean over seeds); a difference is over the problems that both "
        "methods have, and need not be that of the two values."
    )


def _benchmarks(layout: dict[str, Any]) -> str:
    """Each benchmark by its name in the paper, and what stands in for it here."""
    named = [(panel["name"], panel["stand_in"]) for panel in layout["panels"]]
    return ", ".join(name + (f" (here {here})" if here != name else "") for name, here in named)


def _sizes(statistics: pd.DataFrame) -> str:
    texts = []
    for _, own in statistics.groupby("benchmark", sort=False):
        problems, clusters = int(own["problems"].iloc[0]), int(own["clusters"].iloc[0])
        texts.append(f"{problems}" + ("" if clusters == problems else f" (in {clusters} clusters, drawn whole)"))
    return f"{', '.join(texts)} problems, n = {int(statistics['samples'].min())} samples each"


def main(
    layout: Annotated[str, typer.Option(help="Title, scale and notes, as JSON.")],
    statistics: Annotated[Path, typer.Argument(help="CSV of rlvr.statistics.scored_table.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
    reference: Annotated[Path | None, typer.Option(help="CSV with the published values, to check them.")] = None,
) -> None:
    """Set a pass@k table."""
    published = pd.read_csv(reference, dtype=str, keep_default_na=False) if reference else None
    render(json.loads(layout), pd.read_csv(statistics), published).write(out)


if __name__ == "__main__":
    typer.run(main)
