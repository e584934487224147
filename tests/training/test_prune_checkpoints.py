"""What a published run of verl frees; the trainer in process is in test_training.py."""

from rlvr.files import read_json
from rlvr.training import backends
from rlvr.training.backends.verl.state import free


def test_a_published_run_of_verl_frees_its_optimizer_and_older_checkpoints(tmp_path):
    kept = ["actor/model_world_size_2_rank_0.pt", "actor/huggingface/config.json", "data.pt", "rlvr.json"]
    freed = ["actor/optim_world_size_2_rank_0.pt", "critic/model_world_size_2_rank_0.pt", "reference/rank-0.pt"]
    for step in (10, 20):
        for name in (*kept, *freed):
            path = tmp_path / f"global_step_{step}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x" * 100)
    last = tmp_path / "global_step_20"
    for _ in range(2):  # a run that is published again frees nothing more
        free(tmp_path, last)
        assert sorted(str(path.relative_to(last)) for path in last.rglob("*") if path.is_file()) == sorted(kept)
        assert read_json(tmp_path / "freed.json") == {"bytes": 100 * (len(kept) + 2 * len(freed))}
    assert backends.steps(tmp_path) == [20]
