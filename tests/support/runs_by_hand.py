"""Specifications of runs that differ in a setting, and runs that must not differ."""

from conftest import without_timing


def changed(spec, **sections):
    """A specification with some settings of some sections replaced."""
    update = {name: getattr(spec, name).model_copy(update=change) for name, change in sections.items()}
    return spec.model_copy(update=update)


def same_results(left, right, steps=12):
    assert without_timing(left / "metrics.jsonl") == without_timing(right / "metrics.jsonl")
    for name in ("probe.jsonl", "rollouts.jsonl.gz", f"policy-step{steps}/model.safetensors"):
        assert (left / name).read_bytes() == (right / name).read_bytes(), name
