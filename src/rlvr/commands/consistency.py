"""`rlvr consistency`: published pass@k rows that no unbiased pass@k at one fixed n can have, and their ±."""

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.lines import fail, say, text_of
from rlvr.suggest import close, missing, nearest

COLUMNS = ("paper", "table", "model", "method", "benchmark", "k", "value", "ci")
ROW = COLUMNS[:5]
NEEDED = ("k", "value")
_K = re.compile(r"(?:pass@)?([1-9][0-9]{0,8})(?:\.0+)?")
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,20})?"
_VALUE = re.compile(rf"({_NUMBER})\s*(\\?%)?(?:\s*(?:±|\+/-|\\pm)\s*({_NUMBER})\s*(\\?%)?)?")
_WIDTH = re.compile(rf"({_NUMBER})\s*(?:\\?%)?")
_NO_VALUE = ("", "-", "–", "—", "n/a", "na", "nan", "none")


@dataclass(frozen=True)
class Shift:
    """A printed pass@k: its row's names, k, and the digits of its value and of the number after its ±."""

    line: int
    row: tuple[str, ...]
    k: int
    value: str
    ci: str  # empty: none
    percent: bool  # whether a percent sign follows


@dataclass(frozen=True)
class Table:
    """The pass@k cells of a file, and the number of lines without one."""

    file: Path
    cells: list[Shift]
    others: int

    @property
    def unit(self) -> int:
        """100 for fractions, else 1. Values are fractions where none is over 1 and none has a percent sign."""
        values = [Fraction(cell.value) for cell in self.cells]
        fractions = values and max(values) <= 1 and any(values) and not any(cell.percent for cell in self.cells)
        return 100 if fractions else 1

    def frame(self) -> Any:
        import pandas as pd

        rows = [(*cell.row, str(cell.k), cell.value, cell.ci) for cell in self.cells]
        return pd.DataFrame(rows, columns=[*COLUMNS])


def consistency(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables as CSV: k, value, what tells rows apart of paper, table, model, method, benchmark, and ci, "
            "the ± of a value."
        ),
    ],
    samples: Annotated[
        int | None, typer.Option(help="n, if known: at k = n values are multiples of 1 / problems.", min=1)
    ] = None,
    problems: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BENCHMARK=N",
            help="The number of problems of a benchmark, for this check and for the width of a ±.",
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the findings as CSV.")] = False,
) -> None:
    """Check that each row is non-decreasing and concave in k, and pass@mk at most m pass@k, rounding allowed for.

    Values are in percent (28.81, 28.81%, 39.1 ± 0.2, with a decimal point), or fractions in a file where none is over
    1 and none has a percent sign. Lines without a whole k or a value are skipped; any other unreadable line is an
    error. A finding does not say which number is wrong, or why. Averages over runs at different n may break these laws.

    A ± must not reach beyond 0 or 100 and, with --problems, must not be wider than 1.96 sqrt(v (100 - v) / problems):
    no 95 % interval over problems and samples is. That holds for one policy; several training runs may spread more.

    Example: rlvr consistency table.csv
    """
    import pandas as pd

    from rlvr.statistics.consistency import check_table, of_uncertainty

    sizes = _sizes(problems or [])
    tables = [_read(file) for file in files]
    widths = any(cell.ci for table in tables for cell in table.cells)
    if (samples is not None and not sizes) or (sizes and samples is None and not widths):
        fail("--samples and --problems: each needs the other")
    benchmarks = {cell.row[4] for table in tables for cell in table.cells}
    for name in (name for name in sizes if name not in benchmarks):
        fail(f"--problems: no row has the benchmark {name!r}{nearest(name, benchmarks)}")
    rows, sized = _checked_rows(tables, sizes, samples)
    parts = [check_table(table.frame(), sizes, samples, table.unit) for table in tables]
    findings = pd.concat(parts, ignore_index=True)
    _say_what_is_left_out(tables, rows, sized, samples)
    if as_csv:
        typer.echo(findings.to_csv(index=False, lineterminator="\n"), nl=False)
        return
    for _, part in findings.groupby(list(ROW), sort=False):
        typer.echo("  ".join(filter(None, (str(part.iloc[0][column]) for column in ROW))) or "the row without a name")
        for law, where, by in zip(part["law"], part["where"], part["by"], strict=True):
            typer.echo(f"    not {law}: {where}, by at least {by:.2g} points")
    wide = of_uncertainty(findings)
    inconsistent, too_wide = (
        part.groupby(list(ROW)).ngroups if len(part) else 0 for part in (findings[~wide], findings[wide])
    )
    typer.echo(f"{inconsistent} of {rows} rows in {len(files)} files cannot be an unbiased pass@k at one fixed n.")
    if widths:
        with_width = len({(table.file, cell.row) for table in tables for cell in table.cells if cell.ci})
        typer.echo(f"{too_wide} of {with_width} rows with a ± have one that cannot be of problems and samples.")


def _sizes(words: list[str]) -> dict[str, int]:
    sizes = {}
    for word in words:
        name, _, size = word.rpartition("=")
        if not name or not re.fullmatch("[1-9][0-9]{0,8}", size):
            fail(f"--problems: must be BENCHMARK=N (got {word[:80]!r})")
        if name in sizes:
            fail(f"--problems: {name!r} is given twice")
        sizes[name] = int(size)
    return sizes


def _checked_rows(tables: list[Table], sizes: dict[str, int], samples: int | None) -> tuple[int, int]:
    """The number of rows that a law covers, and of values at k = n; exits where there is nothing to check."""
    rows = sized = 0
    for table in tables:
        exact = [cell.row for cell in table.cells if cell.k == samples and cell.row[4] in sizes]
        several = [row for row, count in Counter(cell.row for cell in table.cells).items() if count > 1]
        wide = [cell.row for cell in table.cells if cell.ci]
        rows, sized = rows + len({*several, *exact, *wide}), sized + len(exact)
    if not rows:
        fail("nothing to check: no row has a value at two k")
    if samples is not None and not sized:
        fail(f"--samples: no row of {', '.join(sizes)} has k = {samples}")
    return rows, sized


def _say_what_is_left_out(tables: list[Table], rows: int, sized: int, samples: int | None) -> None:
    single = sum(len({cell.row for cell in table.cells}) for table in tables) - rows
    others = sum(table.others for table in tables)
    if single or others:
        say(f"not checked: {single} rows with a single k, {others} lines without a whole k or a value")
    if sized:
        say(f"{sized} values at k = {samples} were compared with multiples of 1 / problems")
    for table in tables:
        if table.unit == 100:
            say(f"{table.file}: read as fractions, since no value is over 1 or has a percent sign")


# ---- printed tables ------------------------------------------------------------------------------


def _read(file: Path) -> Table:
    """The pass@k cells of a reference table; exits with one line for an unreadable one."""
    reader = csv.reader(io.StringIO(text_of(file), newline=""), strict=True)
    cells, others, seen = [], 0, {}
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(file, header)
        for fields in filter(None, reader):
            if len(fields) != len(header):
                raise ValueError(f"has {len(fields)} fields, the header has {len(header)}")
            cell = _cell(reader.line_num, dict(zip(header, fields, strict=True)))
            if cell is None:
                others += 1
                continue
            if (first := seen.setdefault((cell.row, cell.k), cell.line)) != cell.line:
                raise ValueError(f"k = {cell.k} of this row is in line {first} too")
            cells.append(cell)
    except (ValueError, csv.Error) as error:
        fail(f"{file}, line {reader.line_num}: {error}")
    return Table(file, cells, others)


def _check_header(file: Path, header: list[str]) -> None:
    for column in COLUMNS:
        misspelt = close(column, [name for name in header if name not in COLUMNS])
        if column not in header and (misspelt or column in NEEDED):
            fail(f"{file}: the column {column} {missing(column, header, COLUMNS)}")
    if repeated := [name for name, count in Counter(header).items() if count > 1]:
        fail(f"{file}: the column {repeated[0]!r} is there twice")


def _cell(line: int, fields: dict[str, str]) -> Shift | None:
    """The pass@k of a line; None without a whole k or a value. Raises ValueError for an unreadable line."""
    fields = {column: " ".join(fields.get(column, "").split()) for column in COLUMNS}
    k, text = _K.fullmatch(fields["k"]), fields["value"]
    if re.fullmatch("[0-9]+", fields["k"]) and not k:
        raise ValueError(f"k: must be between 1 and 999,999,999 (got {fields['k'][:40]!r})")
    if not k or text.lower() in _NO_VALUE:
        return None
    value = _VALUE.fullmatch(text)
    if not value:
        example = "28.81, 28.81% or 39.1 ± 0.2, with a decimal point"
        raise ValueError(f"value: must be a number such as {example} (got {text[:40]!r})")
    if Fraction(value[1]) > 100:
        raise ValueError(f"value: pass@k is at most 100 percent (got {text[:40]!r})")
    percent = bool(value[2] or value[4])
    return Shift(
        line, tuple(fields[column] for column in ROW), int(k[1]), value[1], _width(fields["ci"], value[3]), percent
    )


def _width(text: str, beside: str | None) -> str:
    """The digits behind a ±, of the column ci or beside the value. Raises ValueError where unreadable, or for both."""
    if text.lower() in _NO_VALUE:
        return beside or ""
    width = _WIDTH.fullmatch(text)
    if not width:
        raise ValueError(f"ci: must be a number such as 0.2, with a decimal point (got {text[:40]!r})")
    if beside:
        raise ValueError(f"ci: the value has a ± of its own ({beside[:40]}); remove one of them")
    return width[1]
