"""verl's own trainers on a CPU, end to end: `make test-verl`, in an environment of its own."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch
import yaml
from conftest import ROOT, spec_file
from support.verl_without_gpu import COMMON, LIMIT, environment
from support.verl_without_gpu import RL as ON_CPU

from rlvr import verifiers
from rlvr.config.schema.specs import EvaluationSpec, RunSpec
from rlvr.estimators import Estimator
from rlvr.files import read_json, read_lines
from rlvr.papers.fade.weights import change
from rlvr.planning.expansion import make_plan
from rlvr.policies.store import HEAD, kept_files, load
from rlvr.records import Completion, KeptGroup, Problem, read_records
from rlvr.show.weights import under_its_state
from rlvr.training.rollouts import flip_key, flipped

pytestmark = pytest.mark.verl
SFT = [*COMMON, "model.enable_gradient_checkpointing=False", "engine.use_torch_compile=False"]
RL = [*ON_CPU, "rlvr.record_rollouts=True"]
CRITIC = ["critic.model.enable_gradient_checkpointing=False"]


def start(log: Path, module: str, *arguments: str, overrides: list[str]) -> subprocess.Popen:
    given = [word for line in overrides for word in ("--override", line)]
    with open(log, "a") as file:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments, *given],
            env=environment(),
            cwd=log.parent,
            stdout=file,
            stderr=file,
        )


def run(log: Path, module: str, *arguments: str, overrides: list[str]) -> int:
    process = start(log, module, *arguments, overrides=overrides)
    try:
        return process.wait(timeout=LIMIT)
    finally:
        process.kill()


def said(log: Path) -> str:
    return log.read_text(errors="replace")[-4000:]


def wait_until(happened, process: subprocess.Popen, log: Path) -> None:
    limit = time.monotonic() + LIMIT
    while not happened():
        assert process.poll() is None and time.monotonic() < limit, said(log)
        time.sleep(0.1)


def test_sft(workbench, tmp_path):
    """Other batches than in process, since verl orders demonstrations its own way; the same loss and its fall."""
    base, out, log = workbench.spec.base, tmp_path / "manifest.json", tmp_path / "log"
    arguments = [
        *("--spec", str(spec_file(base)), "--model", str(workbench.folder / "model" / "manifest.json")),
        *("--demonstrations", str(workbench.folder / base.sft_data.name / "demonstrations.jsonl")),
        *("--out", str(out), "--state", str(tmp_path / "state"), "--save-every", "60"),
    ]
    assert run(log, "rlvr.training.backends.verl.sft", *arguments, overrides=SFT) == 0, said(log)
    rows = list(read_lines(tmp_path / "metrics.jsonl"))
    theirs = list(read_lines(workbench.base.parent / "metrics.jsonl"))
    assert [row["step"] for row in rows] == [row["step"] for row in theirs]
    assert rows[0]["loss"] == pytest.approx(theirs[0]["loss"], rel=0.03)
    mean = [sum(row["loss"] for row in part[-30:]) / 30 for part in (rows, theirs)]
    assert mean[0] == pytest.approx(mean[1], rel=0.35) and mean[0] < 0.2
    policy = load(out)
    assert policy.model.dtype == torch.bfloat16 and policy.decode(policy.encode(["1 2 3 = 6"])) is not None
    assert read_json(out)["backend"].startswith("verl ")
    assert not (tmp_path / "outputs").exists(), "hydra's folder of a job is in the state's, not where one works"


METHODS = {"ace": "ace", "fade": "methods", "pacs": "methods"}  # and the paper of its settings
RANKS = {"ace": 1, "fade": 2, "pacs": 2}


def failing(once: str = "none", always: str = "none", limit: float = 0.5) -> list[str]:
    """Overrides that make rewards fail, once or always for the problems of a data set (`verl_on_cpu.reward`)."""
    return [
        "reward.reward_manager.module.path='pkg://verl_on_cpu.reward'",
        "reward.reward_manager.name=Failing",
        f"+failing.once={once}",
        f"+failing.always={always}",
        f"rlvr.failed_groups={limit}",
    ]


def spec_of(name: str) -> tuple[RunSpec, Path]:
    paper = METHODS[name]
    plan = make_plan(ROOT, "smoke", [paper])
    run_name, spec = next((n, s) for n, s in plan.runs.items() if s.estimator["name"] == name and "qwen2" in n)
    changes = {"backend": "verl", "steps": 2, "warmup_steps": 3, "reference_reset": 1 if name == "pacs" else 0}
    if name == "fade":
        changes |= {"last_layers": 1, "last_layers_resets": 1}  # between the steps
    probe = spec.probe.model_copy(update={"greedy": name == "ace", "keep_weights": name == "fade"})
    reward = spec.reward.model_copy(update={"flipped": 0.3 if name == "ace" else 0.0})
    changed = spec.model_copy(update={"rl": spec.rl.model_copy(update=changes), "probe": probe, "reward": reward})
    # Several microbatches for each rank's 6 responses; of FADE only the stop saves.
    changes = {"tokens_per_gpu": 128 if RANKS[name] > 1 else 16384} | ({"save_every": 100} if name == "fade" else {})
    return changed, spec_file(plan.executions[run_name].model_copy(update=changes))


def arguments_of(spec: RunSpec, execution: Path, workbench, folder: Path, ranks: int) -> list[str]:
    return [
        *("--spec", str(spec_file(spec)), "--base", str(workbench.base), "--execution", str(execution)),
        *("--problems", str(workbench.folder / spec.data.name / "problems.jsonl")),
        *("--validation", str(workbench.folder / spec.validation.name / "problems.jsonl")),
        *("--out", str(folder / "manifest.json"), "--state", str(folder / "state")),
        *("--gpus-per-node", str(ranks)),
    ]


def trained(method: str, workbench, folder: Path) -> tuple[RunSpec, Path]:
    """Two steps, the process ended after the first: FADE's by SIGTERM in rollouts, the others' by SIGKILL.

    In ACE's second step a reward fails. FADE and PACS train on two ranks.
    """
    spec, execution = spec_of(method)
    log, first = folder / "log", folder / "state" / "global_step_1"
    arguments = arguments_of(spec, execution, workbench, folder, RANKS[method])
    process = start(log, "rlvr.training.backends.verl.rl", *arguments, overrides=RL)
    family = []
    try:
        if method == "fade":
            wait_until(lambda: '"step": 1, "of": 2' in log.read_text(errors="replace"), process, log)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=LIMIT) == 75, said(log)
            assert "asked to stop during the rollouts" in log.read_text(errors="replace")
        else:
            wait_until(lambda: (first / "data.pt").exists(), process, log)
            family = [p for p in psutil.Process(process.pid).children(recursive=True) if trains(p)]
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert read_json(first / "rlvr.json")["metrics"][-1]["step"] == 1 and not (folder / "manifest.json").exists()
    assert next(read_lines(folder / "state" / "live" / "metrics.jsonl"))["step"] == 1  # there while the run goes on
    more = failing(once=spec.data.name) if method == "ace" else []
    assert run(log, "rlvr.training.backends.verl.rl", *arguments, overrides=[*RL, *more]) == 0, said(log)
    return spec, folder


def trains(process: psutil.Process) -> bool:
    """Ray's agents do not, and notice some time later that their raylet is gone."""
    try:
        return "Agent" not in process.name()
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="module", params=list(METHODS))
def run_of(request, workbench, tmp_path_factory):
    return trained(request.param, workbench, tmp_path_factory.mktemp(request.param))


def test_two_steps_resumed_merged_and_evaluated(run_of, workbench):
    spec, folder = run_of
    manifest = read_json(folder / "manifest.json")
    assert manifest["step"] == 2 and manifest["resumed_from"] == 1 and manifest["backend"].startswith("verl ")
    metrics, probes = (list(read_lines(folder / f"{name}.jsonl")) for name in ("metrics", "probe"))
    assert [row["step"] for row in metrics] == [1, 2] and [row["step"] for row in probes] == [0, 1, 2]
    assert not (folder / "state" / "live").exists()
    assert all(row["timing"]["tokens_per_second"] > 0 and row["grad_norm"] > 0 for row in metrics)
    assert all(row["logprob_gap"] < 1e-4 for row in metrics)  # transformers' generate against FSDP, in float32
    for row in metrics:
        assert sum(row["solve_rates"]) == row["prompts_drawn"] and row["unsolved"] == row["solve_rates"][0]
        assert sum(row["statuses"].values()) == row["prompts_drawn"] * spec.rollout.samples_per_prompt
        assert row["prompts_drawn"] + row["failed_groups"] == spec.rl.prompts_per_step
    assert [row["failed_groups"] for row in metrics] == [0, 1 if spec.estimator["name"] == "ace" else 0]
    assert all(row["failed_groups"] == 0 for row in probes)
    for row in probes:
        correct = sum(c * problems for c, problems in enumerate(row["solve_rates"]))
        assert len(row["solve_rates"]) == spec.probe.samples + 1
        assert correct / spec.probe.samples == pytest.approx(row["pass_rate"] * sum(row["solve_rates"]))
    if spec.probe.greedy:
        assert all(row["greedy"] in (0.0, 0.25, 0.5, 0.75, 1.0) for row in probes)  # of four problems
    if spec.estimator["name"] == "fade":
        assert [set(row["estimator"]) for row in metrics] == [set(metrics[0]["estimator"])] * 2

    sampling = EvaluationSpec(data=spec.validation, sampling=spec_evaluation())
    problems = workbench.folder / spec.validation.name / "problems.jsonl"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rlvr.sampling.generate", "--spec", str(spec_file(sampling))),
            *("--policy", str(folder / "manifest.json"), "--problems", str(problems)),
            *("--out", str(folder / "completions.jsonl.gz"), "--tokens", str(folder / "tokens.jsonl.gz")),
            *("--state", str(folder / "drawn")),
        ],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    completions = read_records(folder / "completions.jsonl.gz", Completion)
    assert len(completions) == sampling.sampling.samples * len(read_records(problems, Problem))
    assert sum(c.finished for c in completions) > len(completions) / 2


def test_the_weights_of_probed_steps_are_kept_and_measured(run_of, workbench):
    """FADE's run on two ranks, which was ended between them: those of step 0 are the base's, of 2 the policy's."""
    spec, folder = run_of
    steps = spec.kept_steps
    assert change.kept_steps(folder / "manifest.json") == steps == ([0, 1, 2] if spec.probe.keep_weights else [])
    if not steps:
        return
    assert not list((folder / "state" / "kept").iterdir())
    published = load(folder / "manifest.json").model.state_dict()
    begin = {name: weight.bfloat16() for name, weight in load(workbench.base).model.state_dict().items()}
    for step, expected in ((0, begin), (2, published)):
        found = change.Stored(kept_files(folder / "manifest.json"), f"{step}/")
        assert set(found) == set(expected) - {HEAD}  # which is tied
        assert all(torch.equal(found[name], expected[name].float()) for name in found)
    rows, _ = change.of_run(workbench.base, folder / "manifest.json")
    assert [row["step"] for row in rows] == [1, 2] and 0 < rows[0]["weights_l2"] != rows[1]["weights_l2"]


def test_the_rollouts_that_it_keeps_are_of_both_steps_with_their_weights(run_of, workbench):
    """Step 2 was repeated after a kill: its rollouts are there once."""
    spec, folder = run_of
    groups = read_records(folder / "rollouts.jsonl.gz", KeptGroup)
    assert [group.step for group in groups] == [1, 1, 2, 2]
    problems = {p.id: p for p in read_records(workbench.folder / spec.data.name / "problems.jsonl", Problem)}
    judge = verifiers.load(spec.data.verifier)
    for group in groups:
        assert group.prompt == problems[group.problem].prompt and group.gold == problems[group.problem].gold
        assert len(group.responses) == spec.rollout.samples_per_prompt
        for response, *verdict in zip(group.responses, group.statuses, group.extracted, strict=True):
            judged = judge(response, group.gold)
            assert tuple(verdict) in (judged, verifiers.settle(judged, False))
        if spec.critic is None:
            estimator = Estimator.of_run(spec.estimator, spec.steps)
            assert under_its_state(estimator, group) == pytest.approx(group.weights, rel=1e-3, abs=1e-5)


def test_rewards_are_turned_round_as_in_process(run_of):
    """ACE's run turns 30 % of its verdicts."""
    spec, folder = run_of
    for group in read_records(folder / "rollouts.jsonl.gz", KeptGroup):
        correct_PG = torch.tensor([[float(status == "correct") for status in group.statuses]])
        key = flip_key(spec.seed, group.step, group.problem)
        assert group.rewards == tuple(flipped(correct_PG, spec.reward.flipped, [key])[0].tolist())


def spec_evaluation():
    return next(iter(make_plan(ROOT, "smoke", ["ace"]).evaluations.values())).sampling


def test_the_names_of_metrics_are_those_of_the_trainer_in_process(run_of, workbench, tmp_path):
    spec, folder = run_of
    here = spec.model_copy(update={"rl": spec.rl.model_copy(update={"backend": "in_process"})})
    workbench.train(here, tmp_path)
    for name in ("metrics", "probe"):
        ours, theirs = (next(read_lines(f / f"{name}.jsonl")) for f in (tmp_path, folder))
        assert set(theirs) - {"failed_groups"} == set(ours) - {"sampling_rounds"}
        if name == "metrics":
            assert set(theirs["timing"]) - {"sync"} == set(ours["timing"])  # in process no engine needs the weights


def test_both_backends_take_the_same_steps_from_the_same_rollouts(run_of, workbench):
    """In float32 the trainer in process, on one device, learns from verl's rollouts of one or two ranks.

    Equal are the loss, gradient and learning rate of the optimizer steps, the weights after them, and what is summed
    over tokens. AdamW divides a moment by its size, so of gradients near zero the rounding decides where a weight
    goes: the moments show that the gradients are equal, and the weights are held less closely.
    """
    from support.verl_replay import Replay, first_moments, weights

    spec, folder = run_of
    metrics = list(read_lines(folder / "metrics.jsonl"))
    recorded = sorted((folder / "state" / "rollouts").glob("step-*.pt"))
    replay, rates = Replay(spec, workbench.base, recorded), []
    for step, (path, theirs) in enumerate(zip(recorded, metrics, strict=True), 1):
        record, planned = torch.load(path), spec.rl.prompts_per_minibatch
        first_PG = record["rewards_PG"][:planned]
        if spec.estimator["name"] == "pacs" and bool((first_PG == first_PG[:, :1]).all()):
            break  # at pi = pi_ref the gradient is rounding, which AdamW's fresh moments make a whole step
        row = replay.advance()
        updates, tolerance = record["updates"], 1e-3
        # The last minibatch lacks the groups that failed; verl's means are over the planned number of responses.
        groups = len(record["rewards_PG"])
        share = [1.0] * (len(updates) - 1) + [(groups - planned * (len(updates) - 1)) / planned]
        for name, smallest in (("loss", 1e-6), ("grad_norm", 0.0)):
            mean = sum(u[name] / part for u, part in zip(updates, share, strict=True)) / len(updates)
            assert row[name] == pytest.approx(mean, rel=tolerance, abs=smallest)
        assert sum(u["rlvr/tokens"] for u in updates) == int(record["lengths_PG"].sum())
        if spec.loss.kl_coefficient:  # without it the trainer in process leaves out groups of no weight: other tokens
            assert theirs["kl"] == pytest.approx(row["kl"], rel=0.01, abs=1e-7)
        assert theirs["clip_fraction"] == pytest.approx(row["clip_fraction"], abs=2e-3)
        assert theirs.get("estimator", {}) == pytest.approx(row.get("estimator", {}), rel=1e-5)
        rates += [u["next_learning_rate"] for u in updates]
        if theirs["failed_groups"]:
            break  # from here on the weights differ by that share
        if step in spec.last_layers_steps:
            replay._reset_last_layers()  # it was stopped in the next step's rollouts, after their reset
        shards = folder / "state" / f"global_step_{step}" / "actor"
        gradients = distance(replay.first_moments(), first_moments(shards))
        moved = distance(replay.model.state_dict(), weights(shards), start=load(workbench.base).model.state_dict())
        figures = {"ranks": RANKS[spec.estimator["name"]], "step": step, "gradients": gradients, "moved": moved}
        print(json.dumps({"method": spec.estimator["name"], **figures}))
        assert gradients < 1e-4 and moved < 1e-2
    if not rates:
        pytest.skip("the first minibatch, in the order in which verl's replies came, has no gradient")
    assert replay.learning_rates[1:] == pytest.approx(rates[:-1], rel=1e-6)
    first = spec.rl.learning_rate / 3
    assert replay.learning_rates[:4] == pytest.approx([first, 2 * first, 3 * first, 3 * first][: len(rates)])


def distance(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor], start=None) -> float:
    """|ours - theirs| / |ours - start|, over all tensors by name."""
    assert set(ours) == set(theirs)
    gap = sum(float((ours[name] - theirs[name]).square().sum()) for name in ours)
    return (gap / sum(float((ours[name] - (start[name] if start else 0)).square().sum()) for name in ours)) ** 0.5


def test_more_failed_groups_than_allowed_end_the_run(workbench, tmp_path):
    spec, execution = spec_of("ace")
    arguments = arguments_of(spec, execution, workbench, tmp_path, 1)
    overrides = [*RL, *failing(always=spec.validation.name)]
    assert run(tmp_path / "log", "rlvr.training.backends.verl.rl", *arguments, overrides=overrides) == 1
    log = (tmp_path / "log").read_text(errors="replace")
    problems = spec.probe.problems
    assert f"a rollout failed in {problems} of {problems} groups, and execution.failed_groups" in log
    assert "this reward fails on purpose" in log and not (tmp_path / "manifest.json").exists()


@pytest.mark.long  # two whole runs on two cores: twenty minutes beside other work
def test_two_runs_side_by_side_sample_with_their_own_weights(workbench, tmp_path):
    """Steps so large that log-probabilities by the other run's weights would not be those of the trainer."""
    runs: dict[Path, subprocess.Popen] = {}
    spec, execution = spec_of("ace")
    rl = spec.rl.model_copy(update={"learning_rate": 3e-3})
    try:
        for seed in (1, 2):
            folder = tmp_path / str(seed)
            folder.mkdir()
            arguments = arguments_of(
                spec.model_copy(update={"seed": seed, "rl": rl}), execution, workbench, folder, ranks=1
            )
            runs[folder] = start(folder / "log", "rlvr.training.backends.verl.rl", *arguments, overrides=RL)
        for folder, process in runs.items():
            assert process.wait(timeout=2 * LIMIT) == 0, said(folder / "log")
    finally:
        for process in runs.values():
            process.kill()
    gaps = [[row["logprob_gap"] for row in read_lines(folder / "metrics.jsonl")] for folder in runs]
    print(f"gaps of two runs side by side: {gaps}")
    assert all(len(of_run) == 2 and max(of_run) < 1e-4 for of_run in gaps)


def test_the_workflow_trains_by_verl_with_a_critic(tmp_path):
    """The rules sft and rl by verl at smoke scale, for PPO."""
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    scale, site = tmp_path / "config/scale/smoke.yaml", tmp_path / "config/cluster.yaml"
    smoke, cluster = yaml.safe_load(scale.read_text()), yaml.safe_load(site.read_text())
    smoke["settings"]["sft"] |= {"backend": "verl", "steps": 20}
    smoke["settings"]["rl"] |= {"backend": "verl", "steps": 1}
    cluster["environments"]["verl"] = sys.executable
    del cluster["rules"]["rl.verl"], cluster["rules"]["sft.verl"]  # eight GPUs
    paper = yaml.safe_load((tmp_path / "config/papers/ace/paper.yaml").read_text())
    paper["arms"]["ppo"] = {"settings": {"estimator": {"name": "reinforce"}, "critic": {"learning_rate": 1e-4}}}
    paper["tables"] = {"ppo": {**paper["tables"]["core"], "rows": ["ppo"], "compare_with": None}}
    for key in ("reference", "matched"):
        paper["tables"]["ppo"].pop(key, None)
    paper |= {"figures": {}, "first": {}, "core": {}, "sweeps": {}, "controls": []}
    for name in ("claims.yaml", "notes.md", "scales.yaml", "stated.yaml"):
        (tmp_path / "config/papers/ace" / name).unlink()
    (tmp_path / "config/papers/ace/paper.yaml").write_text(yaml.safe_dump(paper))
    for path, content in ((scale, smoke), (site, cluster)):
        path.write_text(yaml.safe_dump(content))
    plan = make_plan(tmp_path, "smoke", ["ace"])
    run_name = next(name for name in plan.runs if name.startswith("qwen2-tiny-ppo-"))
    manifest = tmp_path / "results" / "runs" / run_name / "manifest.json"
    command = [
        str(ROOT / ".venv/bin/python"),
        "-m",
        "snakemake",
        "-s",
        str(tmp_path / "Snakefile"),
        "-d",
        str(tmp_path),
    ]
    settings = ["scale=smoke", "papers=ace", "results=results"]

    def make(target: Path, overrides: list[str]) -> None:
        site.write_text(yaml.safe_dump({**cluster, "overrides": {"verl": overrides}}))
        done = subprocess.run(
            [*command, "--cores", "1", "--config", *settings, "--", str(target.relative_to(tmp_path))],
            env=environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=2 * LIMIT,
        )
        logs = "".join(path.read_text(errors="replace")[-3000:] for path in tmp_path.glob("results/logs/*/*.log"))
        assert done.returncode == 0, done.stderr[-2000:] + logs

    make(tmp_path / "results" / "sft" / plan.base_of(run_name) / "manifest.json", SFT)
    make(manifest, [*RL, *CRITIC])
    row = next(read_lines(manifest.parent / "metrics.jsonl"))
    assert (
        row["grad_norm"] > 0 and abs(row["positive_mass"]) < 10 and read_json(manifest)["backend"].startswith("verl ")
    )
