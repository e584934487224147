"""Stage: theory. Every statement of the five papers that can be checked exactly, with what the check found."""

import importlib
from collections import Counter
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.config import registries
from rlvr.files import publish
from rlvr.theory.statement import Chapter, Statement

CONTENT = {"holds": "Note", "holds under a condition": "Condition", "fails": "Counterexample"}
INTRODUCTION = """# Theory ledger

Theorems, propositions and identities of the five papers that can be checked exactly on a small policy: what they say in
our words, how each was checked, the largest deviation found, and a verdict. `Holds under a condition` is used \
where the paper
does not state the condition. A statement that fails as printed often holds in another reading, which then is \
given. A failed
derivation says nothing about how well a method trains. Statements marked as ours are consequences \
that the papers do not draw.

One check alone: `python -m rlvr.theory.ledger --only {example}`.
"""


def chapters() -> list[Chapter]:
    """The chapter of every paper that has one, by their places in the ledger."""
    found = [importlib.import_module(f"rlvr.theory.{name}").chapter for name in registries.chapters()]
    return sorted(found, key=lambda chapter: (chapter.place, chapter.paper))


def statements() -> list[Statement]:
    return [statement for chapter in chapters() for statement in chapter.statements]


def run(chosen: list[Statement]) -> pd.DataFrame:
    """A row a statement."""
    rows = []
    for statement in chosen:
        found = statement.check()
        rows.append(
            {
                "check": statement.name,
                "paper": statement.paper,
                "place": statement.place,
                "statement": statement.says,
                "verdict": found.verdict,
                "deviation": float(f"{abs(found.deviation):.3g}"),
                "condition_or_counterexample": found.detail,
                "holds_in_this_reading": found.reading,
                "checked_by": statement.how,
            }
        )
    return pd.DataFrame(rows)


def markdown(frame: pd.DataFrame) -> str:
    """A section a paper, a block a statement: longer than a table, and readable."""
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
                word = CONTENT[row["verdict"]]
                lines.append(f"  - {word}: {row['condition_or_counterexample']}.")
            if row["holds_in_this_reading"]:
                lines.append(f"  - A reading under which it holds: {row['holds_in_this_reading']}.")
            lines.append("")
    return "\n".join(lines)


def main(
    out: Annotated[list[Path] | None, typer.Option(help="Files to write: .csv, .md. None: print the Markdown.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="A check's name, as in the column `check`.")] = None,
) -> None:
    """Check every statement and write the ledger."""
    known = {statement.name: statement for statement in statements()}
    for name in only or []:
        if name not in known:
            raise SystemExit(f"unknown check {name!r}; one of {', '.join(known)}")
    frame = run([known[name] for name in only] if only else list(known.values()))
    if not out:
        typer.echo(markdown(frame))
    for path in out or []:
        publish(path, markdown(frame) if path.suffix == ".md" else frame.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)
