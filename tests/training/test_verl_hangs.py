"""A run by verl that waits for ever, end to end on a CPU: `make test-verl`."""

import json

import pytest
from support.verl_without_gpu import RL
from test_verl_training import arguments_of, run, said, spec_of

from rlvr.training.backends.verl.state import RunFolder
from rlvr.training.backends.verl.watchdog import NOTE

pytestmark = pytest.mark.verl


def test_a_run_whose_prompts_get_lost_ends_saves_and_is_to_be_continued(workbench, tmp_path):
    """verl waits for the rollouts of the second step for ever; nothing but the watchdog saves the first one."""
    spec, execution = spec_of("ace")
    never_saves = json.loads(execution.read_text()) | {"save_every": 100, "save_minutes": 1e6}
    execution.write_text(json.dumps(never_saves))
    live = tmp_path / "state" / "live" / "metrics.jsonl"
    lost = ["reward.reward_manager.name=Lost", "reward.reward_manager.module.path='pkg://verl_on_cpu.reward'"]
    lost += [f"+lost.of={spec.data.name}", f"+lost.after='{live}'", "rlvr.hung_minutes=2"]  # six for the start
    arguments = arguments_of(spec, execution, workbench, tmp_path, 1)
    code = run(tmp_path / "log", "rlvr.training.backends.verl.rl", *arguments, overrides=[*RL, *lost])
    assert code == 75, said(tmp_path / "log")
    assert RunFolder(tmp_path / "state").steps() == [1]
    stacks = (tmp_path / "state" / NOTE).read_text()
    assert "at the rollouts of step 2" in stacks and "in _wait_for_next_poll" in stacks
    assert f"saved at step 1 of {spec.steps}, to be continued" in (tmp_path / "log").read_text(errors="replace")
