"""A policy that writes hostile programs: in training they do no harm, earn nothing, and are stopped at their limits."""

import json
import socket
from collections import Counter

import psutil
import pytest
from conftest import ROOT, Workbench
from runs_by_hand import changed

from rlvr.data.tasks.list_program import STATEMENTS
from rlvr.files import read_json, sha256
from rlvr.planning.expansion import make_plan

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


def corrupt(workbench: Workbench, statements: list[str]) -> None:
    """What the base policy writes for the task's statements is something else: its vocabulary has other words."""
    path = workbench.base.parent / "policy" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    words = dict(zip((word for word in STATEMENTS if word != HONEST), statements, strict=True))
    tokenizer["model"]["vocab"] = {words.get(word, word): index for word, index in vocabulary.items()}
    path.write_text(json.dumps(tokenizer))
    manifest = read_json(workbench.base)
    manifest["files"]["tokenizer.json"] = sha256(path)
    workbench.base.write_text(json.dumps(manifest))


def test_hostile_programs_inside_a_training_run(programs, tmp_path):
    forged = tmp_path / "forged"
    with socket.create_server(("127.0.0.1", 0)) as server:
        corrupt(programs, hostile(str(forged), server.getsockname()[1]))
        before = {process.pid for process in psutil.process_iter()}
        programs.train(changed(programs.spec, rl={"steps": 3}), tmp_path / "run")
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
