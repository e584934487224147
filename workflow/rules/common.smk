# The plan, the paths of files, and functions for rules. No rules here.
import atexit
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
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import ExecMode

from rlvr import child_processes, verifiers
from rlvr.config import paper_folders, registries
from rlvr.config.cluster import read_cluster
from rlvr.cost import refusals
from rlvr.planning.kept import once, plan_of
from rlvr.config.identity import data_id, once_per_object, policy_id, what_is_made
from rlvr.config.load import ConfigError
from rlvr.config.measures import RUN_MEASURES
from rlvr.config.paths import Paths
from rlvr.report import ending, layout as pages
from rlvr.config.order import items_in_order, priorities
from rlvr.config.plan import asked_for, by_name, companions, core_items, runs_of
from rlvr.workflow import (
    between,
    doubts,
    failures,
    gated,
    locks,
    needs,
    notices,
    disk_space,
    optional_inputs,
    partitions,
    quick,
    scheduler_reasons,
    spec_files,
    targets,
    writable,
)
from rlvr.workflow.needs import Job, Site
from rlvr.workflow.rules import of_the_cluster
from rlvr.workflow.spec_files import digest, runs_jobs
from rlvr.suggest import nearest

quick.prepare()

# The folder of the Snakefile: it may be a module of another workflow, or run in another folder (-d).
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).parents[1]


# The second includes the first; another workflow may have this one as a module.
SNAKEFILES = [(ROOT / name).resolve() for name in ("Snakefile", "workflow/Snakefile")]
IS_MAIN = workflow.exec_mode == ExecMode.DEFAULT and Path(workflow.main_snakefile).resolve() in SNAKEFILES


def own_file(path):
    """The path of a file of this workflow for jobs: relative if they run in the workflow's folder."""
    return str(path if ROOT == Path.cwd() else ROOT / path)


KNOWN = {
    "scale": "laptop",
    "papers": ",".join(paper_folders.names(ROOT / "config")),
    "results": "results",
    "cluster": own_file("config/cluster.yaml"),
    "mine": "",  # an arm of config/papers/methods/, for `league`
    "own": "",  # a file of `rlvr train` or `rlvr evaluate`: models, data and a paper of your own
    "logger": "",  # where figures also go while a run goes on, beside `execution.loggers`: tensorboard,trackio,wandb
    "gpus": "",  # GPUs of a job at most; empty: as the cluster's file says
    "controls": "",  # whether a missing control makes `claims` fail or warn; empty: as the scale says
    "needs": "refuse",  # whether a missing need of this machine is refused before the first job, or warned of
}
for key in config:
    if key not in KNOWN:
        sys.exit(f"--config {key}: unknown key{nearest(key, KNOWN)}")

if "own" in config:  # its scale is part of it, and its paper has its name
    if "scale" in config or "papers" in config:
        sys.exit("--config own: this file has a scale and a paper of its own; leave out `scale` and `papers`")
    KNOWN |= {"scale": "own", "papers": Path(config["own"]).stem}
SETTING = {key: str(value) for key, value in {**KNOWN, **config}.items()}
SCALES = sorted(path.stem for path in (ROOT / "config/scale").glob("*.yaml"))
if SETTING["needs"] not in ("refuse", "warn"):
    sys.exit(f"--config needs={SETTING['needs']}: refuse or warn")
if SETTING["controls"] not in ("", "warn", "fail"):
    sys.exit(f"--config controls={SETTING['controls']}: warn or fail")
LOGGERS = list(filter(None, SETTING["logger"].split(",")))
for name in LOGGERS:
    if name not in registries.LOGGERS.names():
        known_loggers = nearest(name, registries.LOGGERS.names())
        sys.exit(f"--config logger={SETTING['logger']}: unknown {name!r}{known_loggers}")
# What the command line asks for; empty in a job of another Snakemake, or in a module.
COMMAND_LINE = targets.command_line() if IS_MAIN else targets.CommandLine(runs=False)
# Engines with a separate environment, where several jobs share an evaluation.
SLICING = [name for name, engine in registries.ENGINES.all() if engine.environment]
# The same by one backend, named as in config/cluster.yaml.
BY_BACKEND = [f"{stage}.{name}" for stage in ("sft", "rl") for name in registries.BACKENDS.names()]
PATHS = Paths(SETTING["results"], SETTING["scale"])
try:
    PLAN = plan_of(ROOT, SETTING["scale"], SETTING["papers"].split(","), SETTING["mine"], SETTING["own"])
    CLUSTER = read_cluster(Path(SETTING["cluster"]), ROOT, of_the_cluster(ROOT))
    if SETTING["gpus"]:
        if not (SETTING["gpus"].isdecimal() and int(SETTING["gpus"]) > 0):
            sys.exit(f"--config gpus={SETTING['gpus']}: a whole number of GPUs, at least 1")
        CLUSTER = CLUSTER.with_gpus(int(SETTING["gpus"]))
    # By run or policy, why it cannot fit its GPUs; config/hardware.yaml knows only published models.
    asked = ("refused", sorted(SETTING.items()), Path(SETTING["cluster"]).read_text(encoding="utf-8"))
    REFUSED = {} if SETTING["own"] else once(ROOT, asked, lambda: refusals.refused(PLAN, CLUSTER, ROOT))
except ConfigError as error:
    sys.exit(str(error))

# What Triton, vLLM and inductor compile stays on the node: a hundred jobs would fight over one folder of a network home.
NODE_LOCAL = "${{TMPDIR:-/tmp}}/rlvr-$(id -u)"  # Snakemake formats the prefix
CACHES = {"TRITON_CACHE_DIR": "triton", "VLLM_CACHE_ROOT": "vllm", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
# One thread a process: several runs side by side, never several threads in one (docs/benchmarks.md). A job with the name
# of its caller ends with it, however that ends.
shell.prefix(
    f"export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 "
    f"RLVR_DEVICE={PLAN.execution.device} RLVR_CALLER={shlex.quote(child_processes.named())} "
    + " ".join(f'{name}="${{{{{name}:-{NODE_LOCAL}/{folder}}}}}"' for name, folder in CACHES.items())
    + "; set -euo pipefail; "
)


def python_of(name):
    """The command that starts a site's Python for a backend or an engine; it also finds this package."""
    if name not in CLUSTER.environments:
        return "python"
    where = f"{SETTING['cluster']}: environments.{name}"
    command = CLUSTER.python(name, ROOT)
    return f"python -m rlvr.run_in_env {shlex.quote(where)} {shlex.quote(command)}"


def one_of(names):
    """A wildcard constraint for exactly these names."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


def known(name, names):
    if name not in names:
        close = get_close_matches(name, names, n=1)
        raise WorkflowError(
            f"{name}: no target of this name at scale {SETTING['scale']}"
            + (f"; did you mean {close[0]}?" if close else "")
        )
    return name


def fitting(policy):
    if policy in REFUSED:
        raise WorkflowError(REFUSED[policy])
    return policy


WITH_DEMONSTRATIONS = {data_id(spec.sft_data) for spec in PLAN.policies.values() if spec.sft_data}


def places(folder, names_of):
    """A wildcard constraint for the names of each paper below a folder; papers may share names."""
    found = {paper: sorted(names_of(plan)) for paper, plan in PLAN.papers.items()}
    branches = [
        f"(?<=/{paper}/{folder}/)(?:{'|'.join(map(re.escape, names))})" for paper, names in found.items() if names
    ]
    return "|".join(branches) or "(?!)"


def with_statistics(plan):
    """The items with statistics."""
    return [name for name in plan.all_items() if name in plan.statistics_of(name)]


def task_option(data):
    """Tells the score stage the generated task of a benchmark, and the verifier if it reads answers without a box."""
    task = f"--task {data.task} " if data.task in registries.TASKS.names() else ""
    reads = verifiers.kind(data.verifier).boxed_version is not None
    return (task + (f"--verifier {data.verifier}" if reads else "")).strip()


def trained_from(policy):
    """The manifest of what an SFT starts from: a policy, or a model."""
    return manifest(policy_id(policy.start)) if policy.start else PATHS.model(policy.model)


FINE_TUNED = {name: spec.sft for name, spec in PLAN.policies.items() if spec.sft}
# By policy or run: its backend, and its model, which may need more GPUs than others.
BACKENDS = {
    "sft": {name: (sft.backend, PLAN.policies[name].model.name) for name, sft in FINE_TUNED.items()},
    "rl": {name: (spec.rl.backend, spec.base.model.name) for name, spec in PLAN.runs.items()},
}


wildcard_constraints:
    paper=one_of(PLAN.papers),
    measure=one_of(RUN_MEASURES.names()),
    data=one_of(PLAN.data),
    model=one_of(PLAN.models),
    # Any name, for `known` to refuse: a pattern of thousands of names would be matched against each path.
    run="[^/]+",
    sft=one_of(FINE_TUNED),
    policy="[^/]+",
    evaluation=one_of(PLAN.evaluations),
    item=places("statistics", with_statistics),
    table=places("tables", lambda plan: plan.tables),
    figure=places("figures", lambda plan: plan.figures),
    arm=one_of(arm for paper in PLAN.papers.values() for arm in paper.arms),


# Training and sampling run in the order that finishes core tables first (docs/cost.md). Later stages take seconds and
# go before further training, so a table is ready as soon as its last run is.
PRIORITY = defaultdict(int, priorities(PLAN))  # 0: requested by name, and in no table
AT_ONCE = len(items_in_order(PLAN)) + 1


# Models of the hub need a GPU, others where the scale says so.
GPU = "gpu" if any(model.source == "hub" for model in PLAN.models.values()) else PLAN.execution.device
if SETTING["own"]:
    GPU = PLAN.execution.device
# So does an embedding model of the hub; the small one is a package.
OF_THE_HUB = "/" in PLAN.diversity.embedding
EMBEDDING = GPU if OF_THE_HUB else "cpu"
# Some grading takes too long to share a job.
ALONE = {name for name, of in PLAN.evaluations.items() if verifiers.kind(of.data.verifier).slow}


def cluster(name, kind="cpu"):
    """The resources of a rule's job on a cluster; short rules run one after another in a shared job."""
    return CLUSTER.resources(name, kind) | ({"serial": 1} if kind == "short" else {})


def start_of(stage, backend, model):
    """The command that starts a training stage on the nodes of its job; the rule's options follow."""
    devices = CLUSTER.devices(f"{stage}.{backend}.{model}", GPU)
    lines, python = CLUSTER.overrides.get(backend, []), CLUSTER.python(backend, ROOT)
    entry = registries.BACKENDS.load(backend).stages[stage]
    return entry.command(python_of(backend), python, *devices, lines)


def by_backend(stage, wildcard):
    """The resources of a training job and the command that starts it, by backend and model of its run or policy."""
    options = {}
    for backend, model in sorted(set(BACKENDS[stage].values())):
        resources = CLUSTER.resources(f"{stage}.{backend}.{model}", GPU)
        options[backend, model] = {**resources, "start": start_of(stage, backend, model)}
    if len({"mem_mb" in own for own in options.values()}) > 1:
        names = ", ".join(sorted({backend for backend, _ in options}))
        sys.exit(f"{SETTING['cluster']}: mem_mb is given for one of {names} and not for all; a rule needs it of each")
    return by_job(options, lambda w: BACKENDS[stage][known(getattr(w, wildcard), BACKENDS[stage])])


def threads_of_sft(policy):
    """More than one where nothing runs beside it: runs wait for the SFT that all seeds have in common."""
    spec = PLAN.policies[known(policy, PLAN.policies)]
    return 1 if spec.start else registries.BACKENDS.load(spec.sft.backend).sft_threads


def by_model(rule):
    """The resources of a job that samples, by the model of its policy."""
    names = sorted({model.name for model in PLAN.models.values()})
    return by_job({name: cluster(f"{rule}.{name}", GPU) for name in names}, lambda w: model_of(w.policy))


def model_of(policy):
    """The name of a policy's model."""
    if policy not in PLAN.runs:
        known(policy, PLAN.policies)
    return PLAN.policies[PLAN.base_of(policy)].model.name


def by_job(options, kind_of):
    """Resources that depend on the kind of job, which `kind_of` tells by its wildcards."""

    def resource(key):
        def value(wildcards, attempt):
            option = options[kind_of(wildcards)].get(key)
            return option(wildcards, attempt) if callable(option) else option

        return value

    return {key: resource(key) for keys in options.values() for key in keys}


def given(option, paths):
    """One option per path, as words that Snakemake quotes."""
    return [word for path in paths for word in (option, path)]


def spec_file(content):
    """The path of a file with a stage's specification. As a parameter it reruns the rule when the content changes."""
    return spec_files.spec_file(content, PATHS, write=runs_jobs(workflow))


@once_per_object
def file_of(spec, write):
    return spec_files.spec_file(what_is_made(spec.model_dump(mode="json")), PATHS, write=write)


def spec_of(spec):
    """The file of a specification, without descriptions of data sets, so that new wording reruns nothing."""
    return file_of(spec, runs_jobs(workflow))


def execution_of(run):
    """The file of a run's execution settings: a resource, not a parameter, since a change makes no run stale."""
    content = PLAN.executions[run].model_dump(mode="json")
    return spec_file({**content, "loggers": list(dict.fromkeys([*content["loggers"], *LOGGERS]))})


def source_of(kind):
    """The path of a local data set or model: a resource, not a parameter, since a moved file makes no run stale."""
    return lambda w: getattr({"data": PLAN.data, "model": PLAN.models}[kind][w[kind]], "path", "")


def manifest(policy):
    if policy not in PLAN.runs:
        known(policy, [*PLAN.policies, *PLAN.runs])
    return PATHS.manifest(PLAN, policy)


problems_of = once_per_object(PATHS.problems)


def reference_file(name):
    return own_file(f"config/papers/{name}")


def references_of(paper, name):
    """The paths of the published tables of a table, its own first."""
    return [reference_file(named) for named in PLAN.papers[paper].item(name).references()]


def reference_of(paper, name):
    """The path of a table's own published table."""
    return next(iter(references_of(paper, name)), None)
