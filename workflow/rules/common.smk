# The plan, where files stand, and what rules are told. No rules here.
import json
import os
import shlex
import sys
from collections import defaultdict
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from rlvr import offspring
from rlvr.training.backends.verl.overrides import LOGICAL_CPUS
from rlvr.config.cluster import read_cluster
from rlvr.planning.expansion import make_plan
from rlvr.config.identity import what_is_made
from rlvr.config.load import ConfigError
from rlvr.config.paths import Paths
from rlvr.config.registries import environment, members
from rlvr.claims import contrasts as claims
from rlvr.planning import layouts
from rlvr.config.order import items_in_order, priorities
from rlvr.config.plan import (
    asked_for,
    at_matched_effort,
    core_items,
    runs_of,
)
from rlvr.verifiers import hook
from rlvr.workflow import locks, seen, targets, writable

# The folder of the Snakefile, which may be a module of another workflow, or run in another folder (-d).
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).parents[1]


IS_MAIN = (
    workflow.exec_mode == ExecMode.DEFAULT
    and Path(workflow.main_snakefile).resolve() == (ROOT / "Snakefile").resolve()
)


def own_file(path):
    """A file of this workflow, as jobs find it: relative where jobs run in the workflow's folder."""
    return str(path if ROOT == Path.cwd() else ROOT / path)


KNOWN = {
    "scale": "laptop",
    "papers": ",".join(
        sorted(path.stem for path in (ROOT / "config/papers").glob("*.yaml"))
    ),
    "results": "results",
    "cluster": own_file("config/cluster.yaml"),
}
for key in config:
    if key not in KNOWN:
        close = get_close_matches(key, KNOWN, n=1)
        sys.exit(
            f"--config {key}: unknown key; "
            + (f"did you mean {close[0]!r}?" if close else f"valid: {', '.join(KNOWN)}")
        )

SETTING = {key: str(value) for key, value in {**KNOWN, **config}.items()}
SCALES = sorted(path.stem for path in (ROOT / "config/scale").glob("*.yaml"))
# What the command line asks for; nothing where this is a job of another Snakemake, or a module.
ASKED = targets.asked() if IS_MAIN else targets.Asked(runs=False)
# Engines with an environment of their own, where several jobs share an evaluation.
SLICING = [name for name in members("sampling/engines") if environment(name)]
# Rules that a cluster runs as jobs; the others are collections.
RULES = (
    "data demonstrations overlap model sft sft_verl rl rl_verl generate merge agreement grade score "
    "diversity arm scored_statistics across_statistics diversity_statistics curve_statistics analytic_statistics "
    "ledger table analytic_table "
    "settings_table published_table collapse_table claims_of_paper claims figure report entrance"
).split() + [f"generate_{engine}" for engine in SLICING]
PATHS = Paths(SETTING["results"], SETTING["scale"])
try:
    PLAN = make_plan(ROOT, SETTING["scale"], SETTING["papers"].split(","))
    CLUSTER = read_cluster(Path(SETTING["cluster"]), ROOT, RULES)
except ConfigError as error:
    sys.exit(str(error))

# One thread a process: several runs side by side, never several threads in one (docs/benchmarks.md). A job that is told its
# caller ends with it, however that ends.
shell.prefix(
    f"export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 "
    f"RLVR_CALLER={shlex.quote(offspring.named())}; set -euo pipefail; "
)


def word(text):
    """A word of a rule's command: quoted for the shell, its braces not for Snakemake."""
    return shlex.quote(str(text)).replace("{", "{{").replace("}", "}}")


def in_environment(name):
    """How a rule starts Python of another environment (config/cluster.yaml), where it finds this package too."""
    where = f"{SETTING['cluster']}: environments.{name}"
    command = CLUSTER.environments.command(name, ROOT)
    return f"python -m rlvr.environment {word(where)} {word(command)}"


def one_of(names):
    """A wildcard constraint that admits these names and no others."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


def one_of_runs(names, every):
    """The same for some of the runs or policies. A pattern of thousands of names would be matched against each path, so
    that all of them are any name here, and `known` refuses what is none."""
    return "[^/]+" if set(names) == set(every) else one_of(names)


def known(name, names):
    if name not in names:
        close = get_close_matches(name, names, n=1)
        raise WorkflowError(
            f"{name}: nothing of this name at scale {SETTING['scale']}"
            + (f"; did you mean {close[0]}?" if close else "")
        )
    return name


WITH_DEMONSTRATIONS = {
    name for name, data in PLAN.data.items() if getattr(data, "demonstrations", None)
}


def is_kind(item, kind):
    """What makes an item's statistics: scores, the rows of runs (curves), closed forms, or nothing."""
    if item.content.kind in (
        *("analytic", "settings", "published", "across_benchmarks", "diversity"),
    ):
        return item.content.kind == kind
    return kind == ("scored" if item.evaluations else "curves") and bool(item.cells)


def places(folder, names_of):
    """A wildcard constraint for the names that each paper has below a folder, so that papers may share names."""
    found = {paper: sorted(names_of(plan)) for paper, plan in PLAN.papers.items()}
    branches = [
        f"(?<=/{paper}/{folder}/)(?:{'|'.join(map(re.escape, names))})"
        for paper, names in found.items()
        if names
    ]
    return "|".join(branches) or "(?!)"


def statistics_of_kind(kind):
    return places(
        "statistics",
        lambda plan: [
            name for name in plan.all_items() if is_kind(plan.item(name), kind)
        ],
    )


def tables_of_kind(*kinds):
    return places(
        "tables",
        lambda plan: [
            name
            for name, item in plan.tables.items()
            if any(is_kind(item, kind) for kind in kinds)
        ],
    )


# What verl trains.
BY_VERL = {name for name, spec in PLAN.runs.items() if spec.rl.backend == "verl"}
FINE_TUNED = {name: spec.sft for name, spec in PLAN.policies.items() if spec.sft}
FINE_TUNED_BY_VERL = {name for name, sft in FINE_TUNED.items() if sft.backend == "verl"}


wildcard_constraints:
    paper=one_of(PLAN.papers),
    data=one_of(PLAN.data),
    model=one_of(PLAN.models),
    run="[^/]+",
    sft=one_of(name for name, spec in PLAN.policies.items() if spec.sft),
    policy="[^/]+",
    evaluation=one_of(PLAN.evaluations),
    scored=statistics_of_kind("scored"),
    across=statistics_of_kind("across_benchmarks"),
    diverse=statistics_of_kind("diversity"),
    curves=statistics_of_kind("curves"),
    analytic=statistics_of_kind("analytic"),
    table=tables_of_kind("scored", "across_benchmarks", "diversity"),
    settings_table=tables_of_kind("settings"),
    published_table=tables_of_kind("published"),
    collapse_table=tables_of_kind("curves"),
    analytic_table=tables_of_kind("analytic"),
    figure=places("figures", lambda plan: plan.figures),
    arm=one_of(arm for paper in PLAN.papers.values() for arm in paper.arms),


# Training and sampling go in the order that finishes core tables first (docs/cost.md); what is made of their outputs
# takes seconds and goes before more of them, so that a table is there as soon as its last run is.
PRIORITY = defaultdict(int, priorities(PLAN))  # 0: asked for by name, and in no table
AT_ONCE = len(items_in_order(PLAN)) + 1


# Models of the hub need a GPU; the tiny ones do not.
ON_GPU = {"sft", "rl", "sft_verl", "rl_verl", "generate", "agreement"}
ON_GPU |= {f"generate_{engine}" for engine in SLICING}
if (
    "/" in PLAN.diversity.embedding
):  # an embedding model of the hub, not the small one that comes as a package
    ON_GPU.add("diversity")
KIND = "gpu" if any(model.source == "hub" for model in PLAN.models.values()) else "cpu"
# Those that the slurm profile puts together; some grading takes too long for it.
SHORT = {
    "merge",
    "score",
    "scored_statistics",
    "across_statistics",
    "diversity_statistics",
    "curve_statistics",
    "table",
    "collapse_table",
    "figure",
}
if not any(
    hook(made.data.verifier, "SLOW", False) for made in PLAN.evaluations.values()
):
    SHORT.add("grade")


def cluster(name):
    """What a job of this rule asks of a cluster; the short ones go one after another where they share a job."""
    if name in SHORT:
        return {**CLUSTER.resources(name, "short"), "serial": 1}
    return CLUSTER.resources(name, KIND if name in ON_GPU else "cpu")


def by_verl(rule, module):
    """How a stage by verl is started on the nodes of a rule's job, and what it is told of them and of the site."""
    nodes, gpus = CLUSTER.devices(rule, KIND)
    start = in_environment("verl")
    if nodes > 1:  # Ray on every node of the job, for as long as the command takes
        python = word(CLUSTER.environments.command("verl", ROOT))
        over = f"python -m rlvr.training.backends.verl.ray_nodes --python {python} --num-cpus {LOGICAL_CPUS}"
        start = f"{over} -- {start}"
    told = [f"-m {module} --gpus-per-node {gpus}"]
    told += [f"--nodes {nodes}"] if rule == "rl_verl" else []
    told += [f"--override {word(line)}" for line in CLUSTER.verl]
    return " ".join([start, *told])


RL_BY_VERL = by_verl("rl_verl", "rlvr.training.backends.verl.rl") if BY_VERL else ""
SFT_BY_VERL = (
    by_verl("sft_verl", "rlvr.training.backends.verl.sft") if FINE_TUNED_BY_VERL else ""
)


def given(option, paths):
    """An option for each path, as words to be quoted."""
    return [word for path in paths for word in (option, path)]


def spec_of(spec):
    """What a stage is told: what only describes a data set is left out, so that other words make nothing again."""
    return json.dumps(what_is_made(spec.model_dump(mode="json")), separators=(",", ":"))


def manifest(policy):
    if policy not in PLAN.runs:
        known(policy, [*PLAN.policies, *PLAN.runs])
    return PATHS.manifest(PLAN, policy)


PROBLEMS = {}


def problems_of(spec):
    # By the object, which is kept so that its id stays its own: thousands of inputs ask for a few sets.
    if id(spec) not in PROBLEMS:
        PROBLEMS[id(spec)] = (spec, PATHS.problems(spec))
    return PROBLEMS[id(spec)][1]


def item_layout(paper, item):
    """What a table or figure is made of, as canonical JSON: a change of it runs the rule again."""
    return json.dumps(layouts.of_item(PLAN, paper, item), sort_keys=True)


def reference_file(name):
    return own_file(f"config/reference/{name}")


def reference_of(wildcards, item):
    reference = (
        PLAN.papers[wildcards.paper].tables[item].content.reference
        if item in PLAN.papers[wildcards.paper].tables
        else None
    )
    return [reference_file(reference)] if reference else []


# Papers that claim something, and what their claims are evaluated from.
CLAIMING = [name for name, made in PLAN.papers.items() if made.paper.claims]


def evaluated_claims():
    """Every paper's claims at this scale."""
    return [path for paper in CLAIMING for path in PATHS.claims(paper)]


@cache
def claims_layout(paper):
    return claims.layout(PLAN, paper)


def claims_files(paper):
    laid = claims_layout(paper)
    pairs, runs = claims.needs(laid)
    published = dict.fromkeys(claim["reference"] for claim in laid)
    return [
        *(PATHS.scores(*pair) for pair in pairs),
        *(path for run in runs for path in PATHS.rows(run)),
        *(reference_file(name) for name in published if name),
    ]


# Pages: index.html is the overview, <paper>.html all of one paper.
PAGES = {page: layouts.items_of_page(PLAN, page) for page in ("index", *PLAN.papers)}


@cache
def page_files(page):
    """Each item's rendered file, its statistics, and the manifests of the policies behind it."""
    files = []
    for paper, name in PAGES[page]:
        item = PLAN.papers[paper].item(name)
        files += (
            PATHS.table(paper, name)
            if name in PLAN.papers[paper].tables
            else PATHS.figure(paper, name)
        )
        files += [
            PATHS.statistics(paper, source)
            for source in PLAN.papers[paper].statistics_of(name)
        ]
        files += [manifest(policy) for policy in item.policies()]
    overlaps = [
        PATHS.overlap(paper) for paper, _ in PAGES[page] if PLAN.papers[paper].data
    ]
    claimed = [
        path for paper in CLAIMING if paper == page for path in PATHS.claims(paper)
    ]
    return list(dict.fromkeys([*files, *overlaps, *claimed]))


def beside(page):
    """What a page shows that is no input of it; of the overview all that is there of each paper.

    Snakemake does not compare parameters whose function takes `input`, so this one asks for the inputs itself.
    """
    own = page_files(page)
    shown = seen.overview(PLAN, PATHS, own) if page == "index" else []
    return [shown, seen.claims(PATHS, own, paper="" if page == "index" else page)]


def scales_with_pages():
    """Scales that have an overview, this one among them."""
    found = Path(PATHS.results).glob("report/*/index.html")
    return sorted({PATHS.scale, *(path.parent.name for path in found)})
