"""What training publishes has the same entries whichever backend trained."""

import torch
from safetensors.torch import save_file

from rlvr import provenance
from rlvr.files import read_json, read_lines
from rlvr.provenance import History
from rlvr.training.run_outputs import TrainedPolicy

ROWS = [{"step": step, "timing": {"step": 0.25}} for step in (1, 2)]
OF_A_RUN = {
    *("policy", "dtype", "files", "template", "id", "stage", "step", "seed", "spec", "seconds", "provenance"),
    *("selection", "prompts_left_out", "resumed_from", "wall_seconds_last_process"),
}


def outcome(folder, backend=None, **rows) -> TrainedPolicy:
    history = History(None, 0, provenance.collect())
    history.saved()
    (folder / "policy").mkdir(exist_ok=True)
    save_file({"weights": torch.zeros(1, dtype=torch.bfloat16)}, folder / "policy" / "model.safetensors")
    return TrainedPolicy(folder / "policy", {"model": "0"}, "{problem}", {"metrics": ROWS, **rows}, history, backend)


def test_a_run_has_the_same_entries_by_every_backend(plan, tmp_path):
    run, out = next(iter(plan.runs.values())), tmp_path / "manifest.json"
    outcome(tmp_path, probe=[{"step": 0}]).publish_run(out, run, 2, 3)
    ours = read_json(out)
    assert set(ours) == OF_A_RUN and (ours["seconds"], ours["prompts_left_out"], ours["policy"]) == (0.5, 3, "policy")
    assert ours["dtype"] == "bfloat16"
    assert list(read_lines(tmp_path / "metrics.jsonl")) == ROWS and list(read_lines(tmp_path / "probe.jsonl"))
    outcome(tmp_path, "other 1.0", probe=[]).publish_run(out, run, 2, 3)
    assert set(read_json(out)) == OF_A_RUN | {"backend"} and read_json(out)["backend"] == "other 1.0"


def test_an_sft_names_what_it_started_from(plan, tmp_path):
    policy, out = next(iter(plan.policies.values())), tmp_path / "manifest.json"
    (tmp_path / "model.json").write_text('{"files": {"weights": "1"}}')
    outcome(tmp_path).publish_sft(out, policy, policy.sft, tmp_path / "model.json")
    made = read_json(out)
    assert set(made) == OF_A_RUN - {"selection", "prompts_left_out"} | {"started_from"}
    assert made["started_from"] == {"weights": "1"} and not (tmp_path / "probe.jsonl").exists()
