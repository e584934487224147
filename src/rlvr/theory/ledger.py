"""Stage: theory. Checks the papers' exact statements and writes the findings as a ledger."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.files import publish
from rlvr.registry import OfPapers
from rlvr.suggest import nearest
from rlvr.theory.statement import Chapter, Statement

CHAPTERS = OfPapers[Chapter]("theory", "chapter")  # a module or package `theory` in a paper's folder
DETAIL = {"holds": "Note", "holds under a condition": "Condition", "fails": "Counterexample"}
INTRODUCTION = """# Theory ledger

Theorems, propositions and identities of the papers that can be checked exactly on a small policy: each in our
words, with its check, the largest deviation and a verdict. `Holds under a condition` means that the paper does not
state the condition. For a statement that fails as printed, the ledger names a reading under which it holds, if there
is one. A failed derivation says nothing about how well a method trains. Statements marked as ours are consequences
that the papers do not draw.

One check alone: `python -m rlvr.theory.ledger --only {example}`.
"""


def chapters() -> list[Chapter]:
    """All chapters, in the ledger's order."""
    return sorted((chapter for _, chapter in CHAPTERS.all()), key=lambda chapter: (chapter.place, chapter.paper))


def statements() -> list[Statement]:
    return [statement for chapter in chapters() for statement in chapter.statements]


def run(selection: list[Statement]) -> pd.DataFrame:
    """One row per statement."""
    rows = []
    for statement in selection:
        finding = statement.check()
        rows.append(
            {
                "check": statement.name,
                "paper": statement.paper,
                "place": statement.place,
                "statement": statement.says,
                "verdict": finding.verdict,
                "deviation": float(f"{abs(finding.deviation):.3g}"),
                "condition_or_counterexample": finding.detail,
                "holds_in_this_reading": finding.reading,
                "checked_by": statement.how,
            }
        )
    return pd.DataFrame(rows)


def markdown(frame: pd.DataFrame) -> str:
    """One section per paper, one list per statement."""
    counts = Counter(frame["verdict"])
    lines = [INTRODUCTION.format(example=frame["check"].iloc[0])]
    lines.append("; ".join(f"{verdict}: {count}" for verdict, count in counts.items()) + f"; in all {len(frame)}.\n")
    for paper, rows in frame.groupby("paper", sort=False):
        lines.append(f"## {paper}\n")
        for row in rows.to_dict("records"):
            lines.append(f"**{row['place']}: {row['verdict']}.** {row['statement']}")
            lines.append(
                f"  - Checked by: {row['checked_by']}. Largest deviation {row['deviation']:.2g}. `{row['check']}`"
            )
            if row["condition_or_counterexample"]:
                lines.append(f"  - {DETAIL[row['verdict']]}: {row['condition_or_counterexample']}.")
            if row["holds_in_this_reading"]:
                lines.append(f"  - A reading under which it holds: {row['holds_in_this_reading']}.")
            lines.append("")
    return "\n".join(lines)


def main(
    out: Annotated[list[Path] | None, typer.Option(help="Files to write, .csv or .md; none: print Markdown.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="A check's name, as in the column `check`.")] = None,
) -> None:
    """Check every statement and write the ledger."""
    checks = {statement.name: statement for statement in statements()}
    for name in only or []:
        if name not in checks:
            raise SystemExit(f"--only: no check {name!r}{nearest(name, checks)}")
    frame = run([checks[name] for name in only or checks])
    if not out:
        typer.echo(markdown(frame))
    for path in out or []:
        publish(path, markdown(frame) if path.suffix == ".md" else frame.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)
