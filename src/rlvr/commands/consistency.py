"""`rlvr consistency`: published pass@k rows that no unbiased pass@k at one fixed n can give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.lines import fail

COLUMNS = ("paper", "table", "model", "method", "benchmark", "k", "value")


def consistency(
    files: Annotated[
        list[Path], typer.Argument(help="Tables as CSV: paper, table, model, method, benchmark, k, value.")
    ],
    samples: Annotated[
        int | None, typer.Option(help="n, where it is known: at k = n values are multiples of 1 / problems.", min=1)
    ] = None,
    problems: Annotated[
        list[str] | None, typer.Option(metavar="BENCHMARK=N", help="Problems of a benchmark, for the same check.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the findings as CSV.")] = False,
) -> None:
    """Check that each row is non-decreasing and concave in k, and pass@mk at most m pass@k, rounding allowed for.

    A finding does not say which number is off, or why; averages over runs at different n need not keep these laws.
    """
    import pandas as pd

    from rlvr.statistics.consistency import check_table

    sizes = _sizes(problems or [])
    found, rows = [], 0
    for file in files:
        frame = _read(file)
        rows += frame.groupby(list(COLUMNS[:5]), sort=False).ngroups if len(frame) else 0
        found.append(check_table(frame, sizes, samples))
    findings = pd.concat(found, ignore_index=True)
    if as_csv:
        typer.echo(findings.to_csv(index=False, lineterminator="\n"), nl=False)
        return
    for _, part in findings.groupby(list(COLUMNS[:5]), sort=False):
        typer.echo("  ".join(str(part.iloc[0][column]) for column in COLUMNS[:5]))
        for law, where, by in zip(part["law"], part["where"], part["by"], strict=True):
            typer.echo(f"    not {law}: {where}, by at least {by:.2g} points")
    inconsistent = findings.groupby(list(COLUMNS[:5])).ngroups if len(findings) else 0
    typer.echo(f"{inconsistent} of {rows} rows in {len(files)} files cannot be an unbiased pass@k at one fixed n.")


def _sizes(words: list[str]) -> dict[str, int]:
    sizes = {}
    for word in words:
        name, _, size = word.rpartition("=")
        if not name or not size.isdigit() or int(size) < 1:
            fail("consistency", f"--problems: must be BENCHMARK=N (got {word!r})")
        sizes[name] = int(size)
    return sizes


def _read(file: Path) -> Any:
    """The pass@k cells of a reference table; other tables (settings, single numbers) have none."""
    import pandas as pd

    from rlvr.statistics.consistency import pass_at_k_cells

    try:
        frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        fail("consistency", f"{file}: {error}")
    missing = [column for column in COLUMNS if column not in frame]
    if missing:
        fail("consistency", f"{file}: no column {missing[0]!r}; expected {', '.join(COLUMNS)}")
    return pass_at_k_cells(frame)
