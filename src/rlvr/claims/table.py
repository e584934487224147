"""Stage: claims. The results at every scale so far, as CSV for programs and Markdown for readers."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from tabulate import tabulate

from rlvr.claims.evaluate import REPRODUCED
from rlvr.files import publish

NOTES = [
    "Reproduced: the 95 % interval of every contrast of the claim lies where the claim says. Contradicted: that of "
    "one, widened for as many contrasts as were run (Bonferroni; given beside it), lies elsewhere. Inconclusive: "
    "neither. A contrast is a model, a benchmark and a k; what was not run says nothing, and how many were is in the "
    "table.",
    "Paper's setting: one learning rate for all methods, as the paper has it (at a scale with stand-ins, the scale's). "
    "Matched effort: each method, at each k, at the one of its learning rates whose runs have the highest pass@k on "
    "validation problems.",
    "The estimate is of the contrast that decides, the one with the smallest margin: in percent points of pass@k, or "
    "in the unit of a curve's measure.",
    "Published: whether the paper's own numbers, taken as exact, say what it claims.",
]


def gather(folder: Path) -> pd.DataFrame:
    """The claims at every scale in a folder, as `rlvr.claims.evaluate` writes them."""
    files = sorted(path for path in folder.glob("*/*.csv") if not path.stem.endswith("-contrasts"))
    return pd.concat([pd.read_csv(path) for path in files], ignore_index=True) if files else pd.DataFrame()


def numbers(row: pd.Series) -> str:
    """Estimate, interval and counts in words, with the wider interval that contradicts where it is another."""
    if pd.isna(row["estimate"]):
        return ""
    form = "+.3g" if row["unit"] == "training seeds" else "+.1f"
    names = ("estimate", "low", "high", "low_of_all", "high_of_all")
    value, low, high, low_of_all, high_of_all = (_rounded(row[name], form) for name in names)
    over = f"{int(row['seeds'])} seeds" + ("" if pd.isna(row["problems"]) else f", {int(row['problems'])} problems")
    several = row["run"] > 1 and row["verdict"] != REPRODUCED
    wider = f"; for {row['run']} contrasts [{low_of_all}, {high_of_all}]" if several else ""
    return f"{value} [{low}, {high}]{wider} ({over})".replace("-", "−")


def _rounded(value: float, form: str) -> str:
    """The value as text, with one digit more where rounding to 0 would lose its sign."""
    return f"{value:{form}}" if value == 0 or float(f"{value:{form}}") else f"{value:+.1g}"


def markdown(frame: pd.DataFrame) -> str:
    lines = ["# What the papers claim, and what was found", ""]
    counts = frame.groupby(["scale", "effort"])["verdict"].value_counts().unstack(fill_value=0)
    lines += [tabulate(counts.reset_index(), headers="keys", tablefmt="pipe", showindex=False), ""]
    for short, claims in frame.groupby("short", sort=False):
        rows, exceptions = [], []
        for _, results in claims.groupby("claim", sort=False):
            claim = results.iloc[0]
            sentence = f"{claim['says']} ({claim['place']})"
            first_columns = {"claim": sentence, "published": published(claim)}  # once, next to the first result
            for _, row in results.iterrows():
                rows.append({**first_columns, **_result(row)})
                first_columns = {"claim": "", "published": ""}
            if isinstance(claim["published_exceptions"], str):
                exceptions.append(f"- {sentence}: {claim['published_cells']}, not {claim['published_exceptions']}")
        lines += [f"## {short}", "", tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True), ""]
        if exceptions:
            lines += ["What the paper's own numbers do not bear out everywhere, with the cells:", "", *exceptions, ""]
    return "\n".join([*lines, *(f"- {note}" for note in NOTES)]) + "\n"


def _result(row: pd.Series) -> dict[str, Any]:
    return {
        "scale": row["scale"],
        "effort": row["effort"],
        "verdict": f"**{row['verdict']}**",
        "run": f"{row['run']} of {row['contrasts']}",
        "deciding contrast": row["deciding"] if isinstance(row["deciding"], str) else "",
        "estimate": numbers(row),
    }


def published(row: pd.Series) -> str:
    """Whether the paper's numbers agree with the claim, in words."""
    cells = f" ({row['published_cells']})" if isinstance(row["published_cells"], str) else ""
    return f"{row['published']}{cells}"


def main(
    folder: Annotated[Path, typer.Option(help="Folder with one folder per scale.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md.")],
) -> None:
    """Put the claims of all scales together."""
    frame = gather(folder)
    for path in out:
        publish(path, frame.to_csv(index=False, lineterminator="\n") if path.suffix == ".csv" else markdown(frame))


if __name__ == "__main__":
    typer.run(main)
