"""Programs that a policy wrote, right and wrong, beside the tests that they were run on."""

import json

import pandas as pd
from pydantic import Field

from rlvr.config.layers import ConfigError
from rlvr.config.layouts import ScoresLayout
from rlvr.config.plan import Item
from rlvr.items import TABLES, TableKind
from rlvr.items.inputs import Samples
from rlvr.items.rendered import Rendered
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import cell_columns
from rlvr.tables._methods import BenchmarksTable

RIGHT = "correct"


class Config(BenchmarksTable):
    right: int = Field(default=2, ge=1)  # programs that pass, of one problem
    wrong: int = Field(default=1, ge=0)  # and that fail


def expand(name: str, config: Config, scope: Scope) -> Item:
    if len(config.over()) > 1:
        raise ConfigError(f"{scope.place}.benchmarks: a table of programs needs exactly one benchmark")
    models, rows = scope.models(config.models), scope.rows(config)
    evaluations = scope.evaluations(config.over(), models, [1])
    for ids in evaluations.values():
        for data in (scope.plan.evaluations[name].data for name in ids):
            if data.verifier != "code":
                raise ConfigError(
                    f"{scope.place}.benchmark: {data.name} is judged by {data.verifier!r}, not by running code"
                )
    return Item(TABLES, name, config, scope.cells(models, rows), evaluations, tuple(config.over()))


class ProgramsLayout(ScoresLayout):
    right: int
    wrong: int


def statistics(layout: ProgramsLayout, samples: Samples) -> pd.DataFrame:
    """One row per program: of each method's first seed, different programs for the first problem that has enough.

    Enough is as many different ones that pass and that fail as are asked for; else the problem with the most.
    """
    rows = []
    (panel,) = layout.panels
    for cell in layout.cells:
        policy = cell.policies[0]
        completions, grades, problems = samples[policy, panel.evaluations[cell.model]]
        written: dict[str, dict[bool, dict[str, tuple[int, str]]]] = {}
        for completion, grade in zip(completions, grades, strict=True):
            if grade["extracted"] is not None:
                of_problem = written.setdefault(grade["problem"], {True: {}, False: {}})
                status = grade["status"]
                of_problem[status == RIGHT].setdefault(grade["extracted"], (completion["sample"], status))
        wanted = {True: layout.right, False: layout.wrong}
        name = max(written, key=lambda name: sum(min(len(written[name][of]), wanted[of]) for of in wanted))
        problem = next(row for row in problems if row["id"] == name)
        cases = json.loads(problem["gold"])["tests"]
        tests = [f"f({json.dumps(case['input'])[1:-1]}) = {json.dumps(case['output'])}" for case in cases]
        for right, count in wanted.items():
            for program, (sample, status) in list(written[name][right].items())[:count]:
                rows.append(
                    {
                        **{**cell_columns(cell, [policy]), "benchmark": panel.name},
                        **{"problem": name, "prompt": problem["prompt"], "sample": sample, "status": status},
                        **{"program": program, "tests": "; ".join(tests), "seeds": 1},
                    }
                )
    return pd.DataFrame(rows)


def render(layout: ProgramsLayout, statistics: pd.DataFrame) -> Rendered:
    """The table: a program a row, its problem and tests once."""
    lines, shown = [], None
    for row in statistics.to_dict("records"):
        first = (row["arm"], row["problem"]) != shown
        shown = row["arm"], row["problem"]
        lines.append(
            {
                "Method": row["label"] if first else "",
                "Problem": row["prompt"] if first else "",
                "Tests": row["tests"] if first else "",
                "Program": row["program"].strip(),
                "Verdict": row["status"],
            }
        )
    note = (
        "Different programs for one problem, of the first training seed, with the verdicts of the sandbox. The policy "
        "sees the problem, never the tests."
    )
    return Rendered.of(layout, pd.DataFrame(lines), [note])


TABLE = TableKind(
    config=Config,
    layout=ProgramsLayout,
    expand=expand,
    statistics=statistics,
    reads=("samples",),
    render=render,
)
