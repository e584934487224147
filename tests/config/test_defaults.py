"""Defaults of the schema are fixed: an identity leaves them out, so a changed one changes numbers under an old id."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT
from pydantic import BaseModel

from rlvr import estimators
from rlvr.config import identity
from rlvr.config.schema.settings import Rl
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec
from rlvr.planning.expansion import make_plan

# Every default below a specification. A new setting needs a line here, with the value that changes nothing. To change a
# value, raise NUMERICS in rlvr.config.identity, or add a setting of another name.
DEFAULTS = {
    "Critic.clip": 0.5,
    "Critic.gamma": 1.0,
    "Critic.lam": 1.0,
    "Critic.learning_rate": None,
    "Critic.relative_rate": None,
    "Critic.warmup": 0,
    "Evaluation.engine": "in_process",
    "Evaluation.max_total_tokens": None,
    "Evaluation.precision": "float32",
    "LocalData.path": "",
    "LocalData.seed": None,
    "LocalData.skip": 0,
    "LocalModel.path": "",
    "Loss.dual_clip": None,
    "Loss.ratio": "token",
    "Mixture.pictures": "own",
    "Mixture.problems": None,
    "PolicySpec.start": None,
    "Probe.greedy": False,
    "Probe.keep_weights": False,
    "Probe.keep_steps": [],
    "Published.archive": None,
    "Published.fields": {},
    "Published.originals": {},
    "Published.pictures": "own",
    "Published.problems": None,
    "Published.sha256": {},
    "Published.shuffle_seed": 0,
    "Published.since": None,
    "Published.slack": 0.02,
    "Published.special_judges": [],
    "Published.subset": None,
    "Published.thinks": False,
    "Published.until": None,
    "Rl.backend": "in_process",
    "Rl.last_layers": 0,
    "Rl.last_layers_resets": 0,
    "Rl.reference_reset": 0,
    "Rl.reference_reset_moments": True,
    "RunSpec.critic": None,
    "RunSpec.selection": {"rule": "last"},
    "Selection.rule": "last",
    "Reward.box": "required",
    "Reward.flipped": 0.0,
    "Reward.format_share": 0.0,
    "ScratchModel.task": "operator_fill",
    "ScratchModel.vision": None,
    "Sft.backend": "in_process",
    "Sft.each_seed": None,
    "Sft.max_tokens": None,
    "Share.problems": None,
    "Share.skip": 0,
    "Synthetic.demonstrations": None,
    "Synthetic.max_chance": None,
    "Synthetic.max_solutions": None,
    "Synthetic.pictures": "own",
    "Synthetic.random_share": 0.0,
    "Synthetic.library": None,
    "Synthetic.lookup": None,
    "Synthetic.question": False,
    "Synthetic.unseen": None,
    "Synthetic.unseen_share": 1.0,
    "Synthetic.verifier": "operators",
    "WheelModel.path": "",
}
# The same of the settings of estimators that came after runs were made; all others are written into every identity.
LATER = {
    **{"pacs.std": "biased", "pacs.actor": False, "pacs.over": "sum"},
    **{"power_alpha.focus": "hard", "fade.unit": "nats", "a_grae.rate": "correct", "pass_at_k_loo.k": None},
    **{"lens.probability": "length_normalised", "lens.divisor": "rollouts", "lens.gamma": None},
    **{"ace.confidence": "own", "lens.placed": "own", "a_grae.fixed": None, "pacs.likelihood": "logistic"},
}
SAID_ONLY = ("about", "stand_in")  # in no identity
WHAT_TO_DO = (
    "runs with this default keep their id and get other numbers: raise NUMERICS in src/rlvr/config/identity.py, or "
    "keep the default and add a setting of another name; of a new setting write the default into "
    "tests/config/test_defaults.py"
)


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The schemas that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from models(argument)


def below(*roots: type[BaseModel]) -> list[type[BaseModel]]:
    """All schemas that a specification may hold, without what is only said about data."""
    found: dict[type[BaseModel], None] = {}
    waiting = list(roots)
    while waiting:
        model = waiting.pop()
        if model not in found:
            found[model] = None
            waiting += [
                inner
                for name, field in model.model_fields.items()
                if name not in SAID_ONLY
                for inner in models(field.annotation)
            ]
    return list(found)


def defaults() -> dict[str, Any]:
    return {
        f"{model.__name__}.{name}": json.loads(json.dumps(_plain(field.get_default(call_default_factory=True))))
        for model in below(RunSpec, PolicySpec, EvaluationSpec)
        for name, field in model.model_fields.items()
        if name not in SAID_ONLY and not field.is_required()
    }


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def test_no_default_below_an_identity_has_changed():
    found = defaults()
    changed = {name: (DEFAULTS[name], found[name]) for name in DEFAULTS.keys() & found if found[name] != DEFAULTS[name]}
    assert not changed, f"{changed}: {WHAT_TO_DO}"
    assert found.keys() == DEFAULTS.keys(), f"{sorted(found.keys() ^ DEFAULTS.keys())}: {WHAT_TO_DO}"


def test_no_identity_would_notice_a_changed_default(plan):
    class Changed(Rl):
        reference_reset: int = 1

    own = next(iter(plan.runs.values())).rl
    other = Changed(**own.model_dump(exclude={"reference_reset"}))
    assert (own.reference_reset, other.reference_reset) == (0, 1)
    assert identity.digest(other) == identity.digest(own), "one identity for two settings"


@pytest.mark.parametrize("scale", ["smoke", "paper"])
def test_an_estimators_defaults_are_written_into_the_run_and_so_into_its_identity(scale):
    """They are not in the table above: a changed one is another identity."""
    runs = make_plan(ROOT, scale, ["methods"]).runs.values()
    assert {spec.estimator["name"] for spec in runs} == set(estimators.names())
    for spec in runs:
        settings = estimators.kind(spec.estimator["name"]).settings
        assert spec.estimator.keys() == {"name", *settings}
        known = {key for key in settings if LATER.get(f"{spec.estimator['name']}.{key}", ...) == spec.estimator[key]}
        written = {key: value for key, value in spec.estimator.items() if key not in known}
        assert json.loads(identity.canonical(spec))["estimator"] == json.loads(json.dumps(written))
        for key in settings:
            less = {name: value for name, value in spec.estimator.items() if name != key}
            same = identity.digest(spec.model_copy(update={"estimator": less})) == identity.digest(spec)
            assert same == (key in known)


def test_no_default_of_a_later_setting_of_an_estimator_has_changed():
    kinds = {name: estimators.kind(name) for name in estimators.names()}
    found = {f"{name}.{key}": kind.settings[key].default for name, kind in kinds.items() for key in kind.later}
    assert found == LATER, WHAT_TO_DO


def test_a_later_setting_with_another_value_is_another_run():
    spec = next(s for s in make_plan(ROOT, "smoke", ["methods"]).runs.values() if s.estimator["name"] == "pacs")
    other = spec.model_copy(update={"estimator": {**spec.estimator, "std": "unbiased"}})
    assert identity.digest(other) != identity.digest(spec) and "-stdunbiased-" in identity.run_id(other)
