"""Identity: a readable slug and a hash of every field that changes the numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rlvr import estimators, verifiers
from rlvr.config.schema.fields import Strict
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec

# Goes up when the code changes the numbers of an unchanged specification: all that was made becomes stale.
NUMERICS = 5


def canonical(spec: Strict) -> str:
    """The specification as JSON, the same for equal values however they were written (1, 1.0, 1e0).

    A field that the schema gives a neutral default is left out while it has it, so that a knob added later
    does not make every earlier run another run. What is said about a data set is left out: what is made of it does not
    depend on that.
    """
    content = what_is_made(spec.model_dump(mode="json", exclude_defaults=True)) | rewarded_by(spec)
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def rewarded_by(spec: Strict) -> dict[str, int]:
    """The version of the verifier that rewards and probes a run; {} of the first version and of all that is no run.

    Left out while it is 1, as a neutral default is, so that runs of verifiers that never changed keep their identity.
    An evaluation has none: its samples stay, and the rule `grade` grades them again.
    """
    version = verifiers.hook(spec.data.verifier, "VERSION", 1) if isinstance(spec, RunSpec) else 1
    return {"verifier_version": version} if version != 1 else {}


SAID = ("about", "stand_in")  # of a model or a data set, and not what it is


def what_is_made(node: Any) -> Any:
    """A dumped specification without what is only said about data sets, and without neutral later settings."""
    if isinstance(node, dict):
        kept = {key: what_is_made(value) for key, value in node.items() if key not in SAID}
        return kept | ({"estimator": as_before(kept["estimator"])} if "estimator" in kept else {})
    if isinstance(node, list):
        return [what_is_made(value) for value in node]
    return node


def as_before(estimator: dict[str, Any]) -> dict[str, Any]:
    """An estimator's settings without those that came after runs were made (`LATER`) and have their default.

    tests/test_defaults.py fixes these defaults, as those of the schema.
    """
    signature = estimators.signature(estimator["name"])
    neutral = {key: signature.settings[key].default for key in signature.later}
    return {key: value for key, value in estimator.items() if key not in neutral or value != neutral[key]}


def digest(spec: Strict) -> str:
    return hashlib.sha256(f"{NUMERICS}:{canonical(spec)}".encode()).hexdigest()[:10]


def data_id(spec: Strict) -> str:
    return f"{getattr(spec, 'name', 'data')}-{digest(spec)}"


def model_id(spec: Strict) -> str:
    return f"{getattr(spec, 'name', 'model')}-{digest(spec)}"


def policy_id(spec: PolicySpec) -> str:
    return f"{spec.model.name}-{'sft' if spec.sft else 'base'}-{digest(spec)}"


def run_id(spec: RunSpec) -> str:
    """For example `qwen2-tiny-ace_grpo-alpha2.0-lr0.0002-seed1-3f5a0c2b9e`: what differs from defaults is named."""
    words = [spec.base.model.name, method(spec), *(key + value for key, value in settings(spec).items())]
    return "-".join([*words, f"lr{spec.rl.learning_rate:g}", f"seed{spec.seed}", digest(spec)])


def method(spec: RunSpec) -> str:
    """The estimator, with the one that it modulates; PPO where there is a critic."""
    name = spec.estimator["name"]
    if spec.critic is not None:
        return "ppo"
    return f"{name}_{spec.estimator['base']}" if "base" in spec.estimator else name


def settings(spec: RunSpec) -> dict[str, str]:
    """The estimator's settings that differ from its defaults; dynamic sampling (dapo) and the ratio of sequences (gspo)
    by their names alone."""
    defaults = {key: setting.default for key, setting in estimators.signature(spec.estimator["name"]).settings.items()}
    given = {key: value for key, value in sorted(spec.estimator.items()) if key not in ("name", "base")}
    found = {key: str(value) for key, value in given.items() if value != defaults[key]}
    found |= {"dapo": ""} if spec.rollout.dynamic_sampling else {}
    return found | ({"gspo": ""} if spec.loss.ratio == "sequence" else {})


def evaluation_id(spec: EvaluationSpec) -> str:
    s = spec.sampling
    return f"{spec.data.name}-n{s.samples}-t{s.temperature:g}-p{s.top_p:g}-{digest(spec)}"
