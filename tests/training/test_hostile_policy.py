"""A policy that writes hostile programs: in training they do no harm, earn nothing, and are stopped at their limits."""

import json
import shutil
import socket
from collections import Counter
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, Workbench
from support.runs_by_hand import changed

from rlvr.config.registries import BACKENDS
from rlvr.data.tasks.list_program import STATEMENTS
from rlvr.files import read_json, sha256
from rlvr.planning.expansion import make_plan
from rlvr.records import Problem, read_records
from rlvr.training.trainer import Trainer
from rlvr.verifiers import sandbox

HONEST = "x=x[::-1];"  # what the policy writes for it stays as it is
HONEST_SHARE = 0.1  # of rollouts right at most: the policy writes it in a sixth, and is right with a part of those


def hostile(forged: str, port: int) -> list[str]:
    """Statements in the place of all but one of the task's."""
    fork = "import os\nwhile 1: os.fork()"
    verdict = "import os\nfor d in range(3, 64):\n try: os.write(d, b'correct')\n except OSError: pass\n"
    files = f"open({forged!r}, 'w').write('correct')"
    return [
        "any(iter(int,1));",  # endless
        f"exec({fork!r});",
        'exec("while 1: x += x");',  # memory
        f"exec({verdict + files!r});",
        f'__import__("socket").create_connection(("127.0.0.1",{port})).send(b"here");',
    ]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    plan = make_plan(ROOT, "smoke", ["fade"])
    spec = next(spec for spec in plan.runs.values() if spec.estimator["name"] == "dr_grpo" and spec.seed == 1)
    return Workbench.made(tmp_path_factory.mktemp("programs"), spec, plan.execution)


PLAIN = [  # hostile statements of plain programs, which share a sandbox; the last two are the task's
    "x=[(a)for(a)in(range(999999))for(b)in(range(999999))if(a<0)];",
    "x=[max(range(999999))for(a)in(range(999999))];",  # a second and more within functions of C
    "x=[(x)for(a)in(range(999999))for(b)in(range(999999))];",  # memory
    *list(STATEMENTS)[-2:],
]


def corrupted(workbench: Workbench, statements: list[str], folder: Path) -> Workbench:
    """With a base policy that writes something else for the task's statements: its vocabulary has other words."""
    shutil.copytree(workbench.base.parent, folder)
    base = folder / workbench.base.name
    path = folder / "policy" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    words = dict(zip((word for word in STATEMENTS if word != HONEST), statements, strict=True))
    tokenizer["model"]["vocab"] = {words.get(word, word): index for word, index in vocabulary.items()}
    path.write_text(json.dumps(tokenizer))
    manifest = read_json(base)
    manifest["files"]["tokenizer.json"] = sha256(path)
    base.write_text(json.dumps(manifest))
    return Workbench(workbench.folder, workbench.spec, base, workbench.execution)


@pytest.mark.slow
def test_hostile_programs_inside_a_training_run(programs, tmp_path):
    forged = tmp_path / "forged"
    with socket.create_server(("127.0.0.1", 0)) as server:
        policy = corrupted(programs, hostile(str(forged), server.getsockname()[1]), tmp_path / "base")
        before = {process.pid for process in psutil.process_iter()}
        policy.train(changed(programs.spec, rl={"steps": 3}), tmp_path / "run")
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not forged.exists()
    left = [process for process in psutil.process_iter(["name"]) if process.pid not in before]
    assert not [process for process in left if process.info["name"] == "bwrap"]
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    statuses = sum((Counter(row["statuses"]) for row in rows), Counter())
    print(statuses)
    assert len(rows) == 3 and {"timeout", "out_of_memory", "wrong"} <= set(statuses)
    assert statuses["correct"] <= HONEST_SHARE * statuses.total()


@pytest.mark.slow
def test_hostile_plain_programs_cost_about_their_limits(programs, tmp_path, monkeypatch):
    """CPU seconds in the sandbox: one that ends the shared sandbox costs its own limit, and a tenth of it before."""
    policy, limit, ended = corrupted(programs, PLAIN, tmp_path / "base"), 1.0, []
    run = sandbox.run

    def recorded(program, *given, **more):
        ended.append((program, run(program, *given, **more)))
        return ended[-1][1]

    monkeypatch.setattr(sandbox, "run", recorded)
    models = (BACKENDS.load(policy.spec.rl.backend).policy(policy.base) for _ in range(2))
    problems = read_records(policy.folder / policy.spec.data.name / "problems.jsonl", Problem)
    trainer = Trainer(changed(policy.spec, probe={"problems": 0}), *models, problems, [])
    row = trainer.advance()
    trainer.verifier.close()
    alone = [outcome for program, outcome in ended if program]
    stopped = [outcome.stopped for outcome in alone if outcome.stopped or outcome.code]  # "" for a MemoryError
    seconds = sum(outcome.seconds for _, outcome in ended)
    print(row["statuses"], Counter(stopped), seconds)
    assert {"timeout", "out_of_memory", "wrong"} <= set(row["statuses"]) and stopped.count("time") >= 2
    assert limit * stopped.count("time") <= seconds <= 1.2 * limit * len(stopped)
