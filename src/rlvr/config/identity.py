"""Identity: a readable slug and a hash of every field that changes the numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rlvr import estimators, verifiers
from rlvr.config.schema import EvaluationSpec, PolicySpec, RunSpec, Strict

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


def what_is_made(node: Any) -> Any:
    """A dumped specification without what is only said about data sets."""
    if isinstance(node, dict):
        return {key: what_is_made(value) for key, value in node.items() if key != "about"}
    if isinstance(node, list):
        return [what_is_made(value) for value in node]
    return node


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
    settings = dict(spec.estimator)
    name = settings.pop("name")
    defaults = {key: setting.default for key, setting in estimators.signature(name).settings.items()}
    words = [spec.base.model.name, f"{name}_{settings.pop('base')}" if "base" in settings else name]
    if spec.critic is not None:
        words = [spec.base.model.name, "ppo"]
    words += [f"{key}{value}" for key, value in sorted(settings.items()) if value != defaults[key]]
    if spec.rollout.dynamic_sampling:
        words.append("dapo")
    if spec.loss.ratio == "sequence":
        words.append("gspo")
    return "-".join([*words, f"lr{spec.rl.learning_rate:g}", f"seed{spec.seed}", digest(spec)])


def evaluation_id(spec: EvaluationSpec) -> str:
    s = spec.sampling
    return f"{spec.data.name}-n{s.samples}-t{s.temperature:g}-p{s.top_p:g}-{digest(spec)}"
