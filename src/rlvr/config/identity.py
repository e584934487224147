"""Identity: a readable slug and a hash of every field that changes the numbers."""

import hashlib
import json
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from rlvr import estimators, verifiers
from rlvr.config.registries import BACKENDS, ENGINES, BackendKind, EngineKind
from rlvr.config.schema.fields import Strict
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec

Result = TypeVar("Result")

# Increase it when the code changes the numbers of an unchanged specification; all results become stale.
NUMERICS = 5

MOST_KEPT = 20_000  # results of `once_per_object`, so that a long process does not grow


def canonical(spec: Strict) -> str:
    """The specification as JSON; equal values give equal text, however they are written (1, 1.0, 1e0).

    Fields at a neutral default are left out, so a knob added later leaves earlier runs their identity. `about` of a
    data set is left out: no number depends on it.
    """
    content = _made(spec) | rewarded_by(spec) | made_by(spec)
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def once_per_object(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function(spec, *rest)`, computed once per object and `rest`: thousands of jobs share a few specifications."""
    kept: dict[tuple[Hashable, ...], tuple[Strict, Result]] = {}

    def result(spec: Strict, *rest: Hashable) -> Result:
        key = id(spec), *rest
        if key not in kept:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[key] = spec, function(spec, *rest)  # the object is kept, so that no other gets its id
        return kept[key][1]

    return result


def _made(spec: Strict) -> dict[str, Any]:
    """`what_is_made` of a specification, section by section: thousands of runs share a few sections."""
    if not isinstance(spec, RunSpec | EvaluationSpec | PolicySpec):
        return what_is_made(spec.model_dump(mode="json", exclude_defaults=True))
    fields, sections = type(spec).model_fields, {name: value for name, value in spec if isinstance(value, Strict)}
    others = spec.model_dump(mode="json", exclude_defaults=True, exclude=set(sections))
    made = {name: _made_once(value) for name, value in sections.items() if value != fields[name].default}
    return what_is_made(others) | made


_made_once = once_per_object(_made)


def rewarded_by(spec: Strict) -> dict[str, int | str]:
    """The version of the verifier that rewards and probes a run; {} for version 1, and for all other specifications.

    It is the version of the verdicts that the run sees: only on boxes if a box is required (`boxed_version`).

    Version 1 is left out like a neutral default, so runs with unchanged verifiers keep their identity. An evaluation
    has none: its samples stay valid, and the rule `grade` grades them again.
    """
    if not isinstance(spec, RunSpec):
        return {}
    kind = verifiers.kind(spec.data.verifier)
    version = (kind.boxed_version if spec.reward.box == "required" else None) or kind.version
    return {"verifier_version": version} if version != 1 else {}


def made_by(spec: Strict) -> dict[str, int]:
    """The versions of the trainers and the sampler that make what is specified, as far as they are not 1."""
    members: dict[str, BackendKind | EngineKind] = {}
    base = spec.base if isinstance(spec, RunSpec) else spec
    if isinstance(base, PolicySpec) and base.sft is not None:
        members["sft_version"] = BACKENDS.load(base.sft.backend)
    if isinstance(spec, RunSpec):
        members["rl_version"] = BACKENDS.load(spec.rl.backend)
    if isinstance(spec, EvaluationSpec):
        members["engine_version"] = ENGINES.load(spec.sampling.engine)
    return {key: member.version for key, member in members.items() if member.version != 1}


SAID = ("about", "stand_in", "path")  # of a model or a data set, and not what it is


def what_is_made(node: Any) -> Any:
    """A dumped specification without `about` of data sets and without neutral later settings."""
    if isinstance(node, list):
        return [what_is_made(value) for value in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key not in SAID}
    for key, value in kept.items():
        if isinstance(value, (dict, list)):
            kept[key] = what_is_made(value)
    return kept | ({"estimator": without_later_defaults(kept["estimator"])} if "estimator" in kept else {})


def without_later_defaults(estimator: dict[str, Any]) -> dict[str, Any]:
    """An estimator's settings without those in `later` that have their default: older runs lack them.

    tests/config/test_defaults.py fixes these defaults, as those of the schema.
    """
    kind = estimators.kind(estimator["name"])
    return {
        key: value for key, value in estimator.items() if key not in kind.later or value != kind.settings[key].default
    }


def digest(spec: Strict) -> str:
    return hashlib.sha256(f"{NUMERICS}:{canonical(spec)}".encode()).hexdigest()[:10]


def data_id(spec: Strict) -> str:
    return f"{getattr(spec, 'name', 'data')}-{digest(spec)}"


def model_id(spec: Strict) -> str:
    return f"{getattr(spec, 'name', 'model')}-{digest(spec)}"


@once_per_object
def policy_id(spec: PolicySpec) -> str:
    return f"{spec.model.name}-{'sft' if spec.sft else 'base'}-{digest(spec)}"


def run_id(spec: RunSpec) -> str:
    """For example `qwen2-tiny-ace_grpo-alpha2.0-lr0.0002-seed1-3f5a0c2b9e`: with the settings off their defaults."""
    words = [spec.base.model.name, method(spec), *[key + value for key, value in settings(spec).items()]]
    return "-".join([*words, f"lr{spec.rl.learning_rate:g}", f"seed{spec.seed}", digest(spec)])


def method(spec: RunSpec) -> str:
    """The estimator and the base that it modulates; `ppo` where there is a critic."""
    name = spec.estimator["name"]
    if spec.critic is not None:
        return "ppo"
    return f"{name}_{spec.estimator['base']}" if "base" in spec.estimator else name


def settings(spec: RunSpec) -> dict[str, str]:
    """The estimator's settings off their defaults; `dapo` (dynamic sampling) and `gspo` (sequence ratio) by name."""
    known = estimators.kind(spec.estimator["name"]).settings
    values = sorted(spec.estimator.items())
    changes = {k: str(value) for k, value in values if k not in ("name", "base") and value != known[k].default}
    changes |= {"dapo": ""} if spec.rollout.dynamic_sampling else {}
    return changes | ({"gspo": ""} if spec.loss.ratio == "sequence" else {})


def evaluation_id(spec: EvaluationSpec) -> str:
    s = spec.sampling
    return f"{spec.data.name}-n{s.samples}-t{s.temperature:g}-p{s.top_p:g}-{digest(spec)}"
