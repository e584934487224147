"""A run that ends with failures closes with one line per distinct cause, with its count and its remedy."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT
from support.checkout import Checkout

from rlvr.workflow import failures
from rlvr.workflow.failures import Failure, lines
from rlvr.workflow.scheduler_reasons import Reason, note, summary

BUBBLEWRAP = "bubblewrap (bwrap) is not installed: install it (Debian, Ubuntu: apt-get install bubblewrap)"


@pytest.fixture
def failed(tmp_path):
    """`failed(rule, text)` is a failed job with that log."""
    count = iter(range(1000))

    def made(rule: str, text: str) -> Failure:
        log = tmp_path / f"{next(count)}.log"
        log.write_text(text)
        return Failure(rule, log)

    return made


def test_alike_failures_are_one_line_with_their_count(failed):
    jobs = [failed("rl", f'{{"step": {i}}}\n{BUBBLEWRAP}\n') for i in range(76)]
    jobs += [failed("grade_alone", f"{BUBBLEWRAP}\n") for _ in range(16)]
    jobs.append(failed("sft", "Traceback ...\nOSError: [Errno 28] No space left on device: 'results/a'\n"))
    first, second, last = lines(jobs, waiting=977)
    assert first == f"92 jobs (76 rl, 16 grade_alone) failed: {BUBBLEWRAP} (log: {jobs[0].log})"
    assert second.startswith("1 sft job failed: OSError: [Errno 28] No space left") and "free some space" in second
    assert last == "977 jobs did not start: they need the output of a failed job, or the run ended first"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("RecordError: data/a/problems.jsonl, line 3: x", "RecordError: data/b/problems.jsonl, line 4: x"),
        ("CUDA error at 0x7f00aa", "CUDA error at 0x7fffbb"),
        ("lost after 3.5 s", "lost after 12 s"),
    ],
)
def test_numbers_addresses_and_paths_make_no_new_cause(failed, one, other):
    assert len(lines([failed("rl", one), failed("rl", other)])) == 1


def test_different_errors_are_different_causes(failed):
    texts = ["torch.OutOfMemoryError: CUDA out of memory.", "ModuleNotFoundError: No module named 'vllm'", ""]
    texts += ["ModuleNotFoundError: No module named 'pandas'", "ValueError: no message in the queue"]
    found = lines([failed("rl", text) for text in texts])
    assert len(found) == 5
    assert "docs/cost.md" in found[0] and "make install-cluster" in found[1] and "probably killed" in found[2]
    assert ": make install (log" in found[3] and "killed" not in found[4]


@pytest.mark.parametrize("last", ["Loading checkpoint shards:  50%|#####     | 1/2", '{"step": 12, "kl": 0.1}'])
def test_a_log_that_ends_without_an_error_is_of_a_killed_job(failed, last):
    (line,) = lines([failed("generate", f"begins\n{last}\n")])
    assert line.startswith("1 generate job failed: no error in its log, which ends with ") and "probably killed" in line


@pytest.mark.parametrize(
    "last",
    ["ValueError: it failed in 12 % of the groups", "OSError: https://hf.co/qwen2%2Fa: 404", "the disk is 100% full"],
)
def test_an_error_with_a_percentage_is_an_error(failed, last):
    (line,) = lines([failed("rl", f"begins\n{last}\n")])
    assert f"failed: {last}" in line and "killed" not in line


def test_an_error_that_was_caught_before_the_end_is_not_the_cause(failed):
    (line,) = lines([failed("rl", "OSError: cache busy, will retry\nresults/runs/a: in use by another process\n")])
    assert "in use by another process" in line and "OSError" not in line
    trace = "Traceback (most recent call last):\n  File x\nValueError: bad\nshutting down\n"
    (line,) = lines([failed("rl", trace)])
    assert "1 rl job failed: ValueError: bad" in line


def test_a_job_without_a_log_has_no_place_and_no_failure_no_line():
    assert "(log" not in lines([Failure("rl", None)])[0]
    assert lines([], waiting=5) == []


class SomeJob:
    """A job of Snakemake, as far as failures ask for it, or a group of some."""

    def __init__(self, folder: Path, name: str, *jobs, began: bool = False, done: bool = False):
        self.jobs, self.rule, self.attempt = jobs, SimpleNamespace(name=name, restart_times=10), 1
        self.log, self.output = [folder / f"{name}.log"], [folder / f"{name}.out"]
        for there, path in ((began, self.log[0]), (done, self.output[0])):
            path.write_text("ValueError: x\n") if there else None

    def is_group(self) -> bool:
        return bool(self.jobs)


def test_the_jobs_of_a_failed_group_that_began_are_not_said_to_wait(tmp_path):
    """Snakemake's failed jobs are groups, and its remaining jobs single ones."""
    ended = SomeJob(tmp_path, "merge", began=True, done=True)
    broken, after = SomeJob(tmp_path, "grade", began=True), SomeJob(tmp_path, "score")
    single, later = SomeJob(tmp_path, "rl", began=True), SomeJob(tmp_path, "table")
    failed = [SomeJob(tmp_path, "group", ended, broken, after), single]
    assert [failure.rule for failure in failures.of(failed)] == ["grade", "rl"]
    assert failures.waiting([ended, broken, after, later], failed) == 2


def test_a_group_of_which_no_job_began_is_named(tmp_path):
    group = SomeJob(tmp_path, "group", SomeJob(tmp_path, "merge"), SomeJob(tmp_path, "grade"))
    reason = Reason("SLURM-job '7' failed, SLURM status is: 'TIMEOUT'.", began=True)
    (line,) = lines(failures.of([group], {group: reason}), failures.waiting(group.jobs, [group]))
    assert line.startswith("2 jobs (1 merge, 1 grade) failed: ") and "`longest`" in line and "killed" not in line


REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: main
sbatch: error: Batch job submission failed: Invalid partition name specified'.
    sbatch call:
        sbatch --parsable -p main
"""


def test_a_refused_job_or_group_closes_with_the_words_of_sbatch(tmp_path):
    """The log of an earlier attempt is not the refused job's."""
    single = SomeJob(tmp_path, "data")
    group = SomeJob(tmp_path, "group", SomeJob(tmp_path, "grade", began=True), SomeJob(tmp_path, "score"))
    errors: list[str] = []
    shown: list[str] = []

    def show(self, job_info, msg=None, **more):
        shown.append(msg)

    executor = type("Executor", (), {"print_job_error": show})
    reasons = note(executor, SimpleNamespace(error=errors.append))
    for job in (single, group):
        executor().print_job_error(SimpleNamespace(job=job, external_jobid=None), REFUSED, aux_logs=[])
    assert shown == [REFUSED, REFUSED] and errors == [REFUSED.rstrip()]  # Snakemake drops a group's
    (line,) = lines(
        failures.of([single, group], reasons), failures.waiting([single, *group.jobs], [single, group], reasons)
    )
    assert line.startswith("3 jobs (1 data, 1 grade, 1 score) failed: SLURM sbatch failed. ")
    assert "invalid partition specified: main sbatch: error: Batch" in line and "--parsable" not in line
    assert line.endswith(": edit config/cluster.yaml, which says what jobs ask for")
    assert [one.rule.restart_times for one in (single, *group.jobs)] == [0, 0, 0], "the next try is refused too"


@pytest.mark.parametrize(
    ("message", "attempt", "retries"),
    [
        ("sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds)", 1, 0),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", 1, 0),
        ("the same, of a retry that asks for more: Requested time limit is invalid", 2, 10),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", 1, 10),
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", 1, 10),
        ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", 1, 10),
    ],
)
def test_a_job_that_is_refused_for_what_it_asks_for_is_not_tried_again(tmp_path, message, attempt, retries):
    executor, job = type("Executor", (), {"print_job_error": lambda *_, **__: None}), SomeJob(tmp_path, "rl")
    job.attempt = attempt
    note(executor, SimpleNamespace(error=print))
    executor().print_job_error(SimpleNamespace(job=job, external_jobid=None), message)
    assert job.rule.restart_times == retries


def test_a_job_that_the_scheduler_ended_closes_with_its_state(tmp_path):
    message = "SLURM-job '45' failed, SLURM status is: 'OUT_OF_MEMORY'. "
    message += "Detailed failure reason unavailable (status command is not 'sacct')."
    reason = Reason(summary(message), began=True)
    assert reason.text == "SLURM-job '45' failed, SLURM status is: 'OUT_OF_MEMORY'"
    log = tmp_path / "rl.log"
    log.write_text('{"step": 3}\n')
    (line,) = lines(
        [Failure("rl", log, reason), Failure("rl", log, Reason(reason.text.replace("45", "46"), began=True))]
    )
    assert line.startswith("2 rl jobs failed: no error in its log, which ends with ") and "`mem_mb_limit`" in line
    log.write_text("ValueError: bad\n")
    assert "failed: ValueError: bad (log" in lines([Failure("rl", log, reason)])[0]


def test_everything_that_nodes_lack_is_a_line(failed):
    driver, hub = "missing: nvidia-smi does not answer: the node has no GPU driver", "missing: hub: fetch"
    jobs = [failed(name, f"node a\n{driver}\nok: lock\n{hub}\nok: shm\n") for name in ("check_a", "check_b")]
    assert [line.split(" (log")[0] for line in lines(jobs)] == [
        f"2 jobs (1 check_a, 1 check_b) failed: {what}" for what in (driver, hub)
    ]


@pytest.mark.parametrize("profile", sorted(path.parent.name for path in ROOT.glob("workflow/profiles/*/config.yaml")))
def test_every_profile_shows_the_logs_of_failed_jobs(profile):
    text = (ROOT / "workflow/profiles" / profile / "config.yaml").read_text()
    plain = "\n".join(line for line in text.splitlines() if not re.match(r"\?|__| {2}- ", line))
    options = yaml.safe_load("\n".join(line.removeprefix("  ") for line in plain.splitlines()))
    assert options["show-failed-logs"] is True


def test_a_run_closes_with_the_cause_of_its_failures(workbench, tmp_path):
    """Two runs share a broken file of problems: one line, and their evaluations did not begin."""
    checkout = Checkout(tmp_path / "site", workbench)
    for manifest in (checkout.folder / "results/sft").glob("*/manifest.json"):
        manifest.write_text("{}")
    targets = [checkout.manifest(number) for number in (0, 1)]
    done = checkout.snakemake("--keep-going --cores 1 --", *targets)
    assert done.returncode == 1
    closing = [line for line in done.stderr.splitlines() if re.match(r"\d+ .*jobs? .*failed: ", line)]
    assert len(closing) == 1 and closing[0].startswith("2 rl jobs failed: ")
    log = Path(re.search(r"\(log: (\S+)\)$", closing[0])[1])
    assert (checkout.folder / log).is_file()
    assert failures.retry_guard.said((checkout.folder / log).read_text())[:40] in closing[0]
