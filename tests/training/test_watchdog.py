"""A run that makes no step ends, says where it hung, saves what it can, and is continued or counted as failed."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, run_module

from rlvr.files import publish_json
from rlvr.training.backends.verl import rl, watchdog
from rlvr.training.backends.verl.state import EXTRAS, RunFolder
from rlvr.training.retry_guard import failures_of

# A trainer that hangs at its second step: at `place`, with `save`. Its patience is 0.3 s, in which it makes one step.
HANGING = """
import sys, time
from pathlib import Path
from rlvr.training.backends.verl.watchdog import Watchdog

folder = Path(sys.argv[1])
def save():
    dog.at("the checkpoint")  # as a save does
    (folder / "saved").touch()

def lost_prompt():
    while True:
        time.sleep(0.05)

dog = Watchdog(folder, folder / "stop", minutes=0.005)
dog.at("the rollouts of step 2", SAVE, [0.001])
lost_prompt()
"""


def hang(folder: Path, save: str, code: str = HANGING) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code.replace("SAVE", save), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)


def test_patience_is_ten_median_steps_and_twenty_minutes_at_least():
    assert watchdog.patience(20, [10, 30, 1000]) == 1200
    assert watchdog.patience(20, [400, 600, 500]) == 5000
    assert watchdog.patience(20, []) == 3600
    assert watchdog.patience(20, [9000] * 10 + [300] * 50) == 3000  # of the recent ones


def test_it_says_where_it_hung_and_saves_what_it_can(tmp_path):
    done = hang(tmp_path, "save")
    assert done.returncode == watchdog.HUNG, done.stderr
    assert (tmp_path / "saved").exists() and (tmp_path / "stop").exists()
    assert watchdog.note(tmp_path) == "no step for 0.0 minutes, at the rollouts of step 2"
    stacks = (tmp_path / watchdog.NOTE).read_text()
    assert "in lost_prompt" in stacks and "in lost_prompt" in done.stdout


def test_nothing_is_saved_in_an_update(tmp_path):
    done = hang(tmp_path, "None")
    assert done.returncode == watchdog.HUNG and not (tmp_path / "saved").exists()
    assert "cannot be saved here: the next process continues from the last checkpoint" in done.stdout


def test_a_trainer_that_goes_on_while_its_state_is_saved_gets_no_further(tmp_path):
    code = HANGING.replace('    (folder / "saved")', '    time.sleep(2)\n    (folder / "saved")')
    update = 'time.sleep(1.5); dog.at("the update of step 2"); (folder / "updated").touch()'
    done = hang(tmp_path, "save", code.replace("\nlost_prompt()\n", f"\n{update}\n"))
    assert done.returncode == watchdog.HUNG, done.stderr
    assert (tmp_path / "saved").exists() and not (tmp_path / "updated").exists()


def test_a_trainer_that_steps_is_left_alone(tmp_path):
    steps = '[(dog.at(f"step {n}", None, [0.001]), time.sleep(0.05)) for n in range(30)]; raise SystemExit(0)'
    done = hang(tmp_path, "None", HANGING.replace("\nlost_prompt()\n", f"\n{steps}\n"))
    assert done.returncode == 0 and watchdog.note(tmp_path) is None


def test_a_process_that_hangs_as_a_whole_is_overdue(tmp_path):
    now = time.time()
    assert watchdog.overdue(tmp_path, now - 3600 - 1199, 20) is None
    assert watchdog.overdue(tmp_path, now - 3600 - 1201, 20) == "the start, before the trainer's process"
    publish_json(tmp_path / watchdog.PATIENCE, {"at": "the update of step 5", "until": now - 1201})
    assert watchdog.overdue(tmp_path, now, 20) == "the update of step 5"
    publish_json(tmp_path / watchdog.PATIENCE, {"at": "the update of step 5", "until": now})
    assert watchdog.overdue(tmp_path, 0, 20) is None


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """`trainer(code)` makes a module that the stage starts in place of verl; it gets the file of overrides."""

    def made(code: str) -> RunFolder:
        module = tmp_path / "modules" / "in_place_of_verl.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text(f"import sys, time\nfrom pathlib import Path\nfolder = Path(sys.argv[1]).parent\n{code}")
        monkeypatch.setenv("PYTHONPATH", f"{module.parent}:{ROOT / 'src'}")
        monkeypatch.setattr(rl, "TRAINER", module.stem)
        monkeypatch.setattr(rl, "LOOK_EVERY", 0.2)
        (tmp_path / "state").mkdir(exist_ok=True)
        return RunFolder(tmp_path / "state")

    return made


SAVES = f"""
from rlvr.training.backends.verl.watchdog import Watchdog
def save():
    (folder / "global_step_4").mkdir()
    for name in ("data.pt", "{EXTRAS}"):
        (folder / "global_step_4" / name).touch()
dog = Watchdog(folder, folder / "stop", minutes=0.005)
dog.at("the rollouts of step 5", save, [0.001])
time.sleep(60)
"""


def test_the_stage_continues_a_run_that_got_further_before_it_hung(trainer, capfd):
    """`main` ends with the code "to be continued" where `train` returns without the rows of a finished run."""
    state = trainer(SAVES)
    rl.train(state, [], hung_minutes=20)
    said = "the run hung: no step for 0.0 minutes, at the rollouts of step 5"
    assert state.steps() == [4] and said in capfd.readouterr().out
    with pytest.raises(SystemExit, match=r"HungError: no step for .*, and no checkpoint since it began"):
        rl.train(state, [], hung_minutes=20)  # it saves nothing new


def test_the_stage_ends_a_process_whose_watchdog_hangs_too(trainer, capfd, monkeypatch):
    state = trainer(
        "import signal\nfrom rlvr.training.backends.verl.watchdog import stacks_on\nstacks_on(signal.SIGUSR1)\n"
        "def in_cuda(): time.sleep(60)\nin_cuda()"
    )
    monkeypatch.setattr(rl, "TO_PRINT", 1.0)
    monkeypatch.setattr(watchdog, "TO_SAVE", 0.5)
    with pytest.raises(SystemExit, match="HungError: no sign of life since the start"):
        rl.train(state, [], hung_minutes=0.02)
    assert "in in_cuda" in capfd.readouterr().err


def test_the_third_hang_at_one_step_is_final(tmp_path):
    state, log = tmp_path / "runs" / "a" / "state", tmp_path / "log"
    hung = "HungError: no step for 20.1 minutes, at the rollouts of step 5, and no checkpoint since it began"
    fails = f"import sys; open({str(log)!r}, 'w').write({hung!r}); sys.exit(1)"
    for _ in range(4):
        run_module("rlvr.training.retry_guard", str(state), str(log), "--", sys.executable, "-c", fails, check=False)
    assert len(failures_of(state)) == 3
