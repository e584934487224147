"""Stage: mechanisms. The criteria of every scale and paper so far, as CSV for programs and Markdown for readers."""

import io
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from tabulate import tabulate

from rlvr.claims.controls import CONTROL, PLACEBO
from rlvr.claims.mechanisms import COLUMNS, CRITERION, NOT_COMPARABLE, NOT_RUN, REGIME, YES
from rlvr.files import publish

NOTE = (
    "A criterion is a number per run, from its metrics and not from its scores. It is met where the mean over training "
    "seeds keeps the bound; the interval is Student's t over seeds. Where a criterion of an arm is not met, claims "
    'that compare that arm with another have the verdict "not exercised" (docs/claims.md).'
)
OF_SCORES = (
    "Placebos and controls are differences of pass@k in percent points, with 95 % intervals over seeds × problems: of "
    "a method from what keeps its size and takes its idea away, and of arms whose order is known."
)
OF_REGIME = (
    "Rows of the regime say what the baseline does. The settings were chosen by base policies and baselines so that it "
    "gains pass@1, loses pass@k at large k and half of its entropy, and has groups of all kinds; on these problems, "
    "which no choice was made on, it may miss a bound. No verdict depends on them (docs/validity.md)."
)


ORDER = {CRITERION: 0, REGIME: 1, PLACEBO: 2, CONTROL: 2}  # of the kinds of a paper's rows
CSV, MARKDOWN = "mechanisms.csv", "mechanisms.md"  # of a snapshot


def read(source: Path | io.StringIO) -> pd.DataFrame:
    """The rows of a file."""
    return pd.read_csv(source, dtype={"by_seed": str})


def gather(folder: Path) -> pd.DataFrame:
    """The rows of every scale and paper in a folder."""
    frames = [read(path) for path in sorted(folder.glob("*/*.csv"))]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*COLUMNS])


def publish_in(folder: Path, rows: pd.DataFrame) -> None:
    """Writes the rows of a snapshot: by scale and paper, and of a paper its criteria before placebos and controls."""
    frame = (
        rows.assign(last=rows["kind"].map(ORDER))
        .sort_values(["scale", "paper", "last"], kind="stable")
        .drop(columns="last")
    )
    publish(folder / CSV, frame.to_csv(index=False, lineterminator="\n"))
    publish(folder / MARKDOWN, markdown(frame))


def markdown(frame: pd.DataFrame) -> str:
    """Of each scale and paper a table, then what each of its rows says."""
    lines = ["# Do the mechanisms act?", "", *notes(frame)]
    for (scale, short), rows in frame.groupby(["scale", "short"], sort=False):
        lines += [f"## {short} at {scale} scale", "", *table(rows), "", *_details(said(rows)), ""]
    return "\n".join(lines).rstrip() + "\n"


def section(frame: pd.DataFrame) -> str:
    """The same of one paper at one scale, for its page."""
    return "\n".join([*table(frame), "", *_details([*notes(frame), *said(frame)])])


def _details(lines: list[str]) -> list[str]:
    """What each row says, to be opened."""
    return ["<details><summary>What each row says</summary>", "", *lines, "", "</details>"]


def notes(frame: pd.DataFrame) -> list[str]:
    """What rows of each kind are, as paragraphs."""
    kinds = {*frame["kind"]}
    found = [NOTE, *[OF_SCORES] * bool(kinds & {PLACEBO, CONTROL}), *[OF_REGIME] * (REGIME in kinds)]
    return [line for paragraph in found for line in (paragraph, "")]


def said(frame: pd.DataFrame) -> list[str]:
    """A line per criterion, placebo or control of a paper: its sentence, and of criteria the place in the paper."""
    each = frame.drop_duplicates(["kind", "criterion"]).to_dict("records")
    places = [f" ({row['place']})" if row["kind"] == CRITERION else "" for row in each]
    return [f"- `{row['criterion']}`: {row['says']}{at}." for row, at in zip(each, places, strict=True)]


def table(rows: pd.DataFrame) -> list[str]:
    """How many of each kind are met, and a row per criterion and arm that has runs; models of one stand-in share it."""
    judged = rows[rows["met"] != NOT_RUN]
    others, unlike = len(rows) - len(judged), (rows["met"] == NOT_COMPARABLE).sum()
    same = judged.duplicated(["paper", "criterion", "arm", "stand_in", "by_seed"]) & judged["by_seed"].notna()
    judged = judged[~same]
    several = judged.groupby(["paper", "label"])["arm"].transform("nunique") > 1  # as of two training sets
    judged = judged.assign(label=judged["label"].where(~several, judged["label"] + " `" + judged["arm"] + "`"))
    met = [f"{(of['met'] == YES).sum()} of {len(of)} {kind} rows" for kind, of in judged.groupby("kind", sort=False)]
    shown = tabulate([_shown(row) for _, row in judged.iterrows()], headers="keys", tablefmt="pipe")
    not_run = f" Of arms without runs at this scale: {others} more." if others else ""
    not_alike = f" {unlike} are {NOT_COMPARABLE}." if unlike else ""
    return [f"Met: {', '.join(met) or 'none'}.{not_alike}{not_run}", "", shown]


def _shown(row: pd.Series) -> dict[str, Any]:
    return {
        "kind": row["kind"],
        "criterion": row["criterion"],
        "arm": f"{row['label']} ({row['place']})" if pd.isna(row["by_seed"]) else row["label"],
        "model": row["stand_in"],
        "bound": row["bound"],
        "measured": numbers(row),
        "seeds": int(row["seeds"]),
        "met": row["met"],
    }


def numbers(row: pd.Series) -> str:
    """The measured value, with its interval where there are seeds enough for one."""
    if pd.isna(row["measured"]):
        return ""
    ends = "" if pd.isna(row["low"]) else f" [{row['low']:.3g}, {row['high']:.3g}]"
    return f"{row['measured']:.3g}{ends}"


def main(
    folder: Annotated[Path, typer.Option(help="Folder with one folder per scale.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md.")],
) -> None:
    """Put the criteria of all scales together."""
    frame = gather(folder)
    for path in out:
        is_csv = path.suffix == ".csv"
        publish(path, frame.to_csv(index=False, lineterminator="\n") if is_csv else markdown(frame))


if __name__ == "__main__":
    typer.run(main)
