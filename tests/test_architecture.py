"""Imports go one way (docs/architecture.md)."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rlvr.items import FIGURE_KINDS, TABLE_KINDS, kinds
from rlvr.planning.expansion import make_plan
from rlvr.registry import papers

SOURCE = Path(__file__).resolve().parents[1] / "src" / "rlvr"

# These import nothing of ours, and every folder may import them.
BASE = {"child_processes", "files", "provenance", "registry", "run_in_env", "stage_options", "suggest"}
# A folder may import from these too, and from itself.
MAY_IMPORT = {
    **{room: set() for room in BASE},
    "suggest": {"files"},
    "records": set(),
    "estimators": set(),
    "verifiers": set(),
    "config": {"estimators", "records", "verifiers"},
    "data": {"config", "records", "verifiers"},
    "policies": {"config", "data", "records"},
    "training": {"config", "data", "estimators", "policies", "records", "verifiers"},
    "sampling": {"config", "policies", "records", "training"},
    "scoring": {"config", "data", "policies", "records", "statistics", "training", "verifiers"},
    "statistics": {"config"},
    "theory": {"config", "estimators"},
    "items": {"config", "scoring", "statistics", "theory"},  # it finds kinds by their names, and imports none
    "claims": {"config", "items", "statistics"},
    "figures": {"claims", "config", "estimators", "items", "statistics"},
    "tables": {"claims", "config", "figures", "items", "scoring", "statistics"},
    "papers": {
        *(
            "claims",
            "config",
            "estimators",
            "figures",
            "items",
            "policies",
            "records",
            "scoring",
            "statistics",
            "tables",
        ),
        *("theory", "training", "verifiers"),
    },
    "planning": {"claims", "config", "estimators", "items"},
    "cost": {"config", "data", "planning", "training"},
    "report": {"claims", "config", "items", "planning", "statistics", "verifiers"},
    "workflow": {"config", "cost", "planning", "training", "verifiers"},
    "show": {"config", "data", "estimators", "records", "scoring", "statistics", "training"},
    "export": {"config", "records", "show", "statistics"},
    "watch": {"config", "show", "training", "workflow"},
    "adapters": {"estimators", "training"},
    "commands": {
        *("claims", "config", "cost", "data", "estimators", "export", "planning", "policies", "records"),
        *("report", "sampling", "scoring", "show", "statistics", "training", "verifiers", "watch", "workflow"),
    },
    "__main__": {"commands"},
}
WITHOUT_TORCH = (
    "rlvr.commands",
    "rlvr.data.prepare",
    "rlvr.data.overlap",
    "rlvr.planning.expansion",
    "rlvr.config.paths",
    "rlvr.report.layout",
    "rlvr.config.order",
    "rlvr.cost.summary",
    "rlvr.items.statistics",
    "rlvr.tables.pass_at_k",
    "rlvr.items.table",
    "rlvr.items.figure",
    "rlvr.report.page",
    "rlvr.run_in_env",
    "rlvr.workflow.targets",
    "rlvr.workflow.spec_files",
    "rlvr.workflow.locks",
    "rlvr.sampling.merge",
    "rlvr.scoring.grade",
    "rlvr.scoring.score",
    "rlvr.scoring.diversity",
    "rlvr.show.terminal",
    "rlvr.show.page",
    "rlvr.show.rows",
    "rlvr.export.folder",
    "rlvr.watch.view",
)


def imports(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        if isinstance(node, ast.ImportFrom) and node.module == "rlvr":
            names = [f"rlvr.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("rlvr.")}
    return rooms


def test_every_room_is_listed():
    rooms = {path.stem if path.is_file() else path.name for path in SOURCE.iterdir()}
    assert rooms - {"__init__", "__pycache__", "py"} == set(MAY_IMPORT)  # py.typed is no module


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_imports_go_one_way(room):
    files = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    for path in files:
        wrong = imports(path) - MAY_IMPORT[room] - {room} - (set() if room in BASE else BASE)
        assert not wrong, f"{path.relative_to(SOURCE)} imports from {sorted(wrong)}"


RENDERS = {"tabulate", "matplotlib", "scipy", "statsmodels"}
# Other environments run these stages, and verl's on a CPU has none of those packages.
STAGES = ["data.prepare", "policies.build", "training.sft", "training.rl", "sampling.generate"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_other_environments_run_loads_nothing_that_renders(stage):
    code = f"import sys, rlvr.{stage}; print(*{RENDERS} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_plan_loads_nothing_that_renders_fits_or_trains():
    """A dry run has no time for it."""
    heavy = RENDERS | {"torch", "transformers"}
    code = (
        "import sys, rlvr.planning.expansion\nfrom rlvr.config.measures import RUN_MEASURES\n"
        "from rlvr.items import FIGURE_KINDS, TABLE_KINDS\n"
        "[list(registry.all()) for registry in (TABLE_KINDS, FIGURE_KINDS, RUN_MEASURES)]\n"
        f"print(*{heavy} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_light_stages_do_not_load_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---- papers are tenants --------------------------------------------------------------------------

ROOT = SOURCE.parents[1]
NAMES = re.compile(r"(?<![\w-])(?:ace|a-?grae|fade|lens|pacs)(?!\w)", re.IGNORECASE)
# A source: "ACE, Eq. 15", "FADE's Eq. 7", "A-GRAE, App. C.2".
SOURCES = re.compile(r"(?:ACE|A-GRAE|FADE|LENS|PACS)(?:'s)?,? (?:sec|Eq|App|Tables?|Figures?|Figs?|Def|Algorithm)[. ]")


def test_the_trunk_names_no_paper():
    """All but rlvr.papers and the estimators: there a paper is only a source of a formula."""
    own = (SOURCE / "papers", SOURCE / "estimators")
    files = [path for path in SOURCE.rglob("*.py") if not any(folder in path.parents for folder in own)]
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*files, *(ROOT / "workflow").rglob("*.smk")]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if NAMES.search(SOURCES.sub("", line))
    ]
    assert not named, "\n".join(named)


def test_no_paper_imports_another():
    for folder in sorted(path.parent for path in (SOURCE / "papers").glob("*/__init__.py")):
        for path in folder.rglob("*.py"):
            others = set(re.findall(r"rlvr\.papers\.(\w+)", path.read_text())) - {folder.name}
            assert not others, f"{path.relative_to(SOURCE)} imports from {others}"


def test_what_a_kind_reads_are_the_parameters_of_its_statistics():
    for registry in (TABLE_KINDS, FIGURE_KINDS):
        for name, kind in registry.all():
            if kind.statistics is not None:
                assert tuple(inspect.signature(kind.statistics).parameters)[1:] == kind.reads, name
    for name, kind in TABLE_KINDS.all():
        function = getattr(kind.render, "func", kind.render)
        assert set(kind.rendered_from) <= set(inspect.signature(function).parameters), name


def test_a_kind_of_one_paper_is_in_its_folder():
    """And a kind in a paper's folder is of this paper alone."""
    plan = make_plan(ROOT, "smoke", list(papers()))
    users: dict[tuple[str, str], set[str]] = {}
    for paper, made in plan.papers.items():
        for item in (*made.tables.values(), *made.figures.values()):
            users.setdefault((item.folder, item.content.kind), set()).add(paper)
    for (folder, kind), used_by in users.items():
        owner = re.match(r"rlvr\.papers\.(\w+)", kinds(folder).module(kind))
        assert owner is None or used_by == {owner[1]}, f"{folder}/{kind} is in papers/{owner[1]} and used by {used_by}"
