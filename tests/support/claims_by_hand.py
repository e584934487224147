"""Claims and scores of arms made by hand: what the claims' tests have in common."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from rlvr.claims.contrasts import PAPER, layout
from rlvr.claims.evaluate import evaluate
from rlvr.config.plan import Cell, Item, PaperPlan, Plan
from rlvr.config.schema.items import Claim, Row
from rlvr.config.schema.models_and_data import About
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Statistics
from rlvr.figures import over_steps
from rlvr.items.contrast import ClaimSpec, Evidence, TermSpec
from rlvr.statistics.pass_at_k import pass_at_k as pass_at_k_of
from rlvr.tables import pass_at_k

PROBLEMS, SAMPLES = 60, 4
HARD = np.arange(PROBLEMS) % 2 == 0
# Correct ones of four samples on each problem: pass@1, pass@2, pass@4 are c/4, 1 - C(4 - c, 2)/6, c > 0.
COUNTS = {
    "base": np.ones(PROBLEMS, int),
    "low": np.ones(PROBLEMS, int),
    "mid": np.full(PROBLEMS, 2),
    "high": np.full(PROBLEMS, 3),
    "bold": np.where(HARD, 0, 4),  # half of the problems, always: the same at every k
    "steep": np.where(HARD, 3, 2),  # above `low` by more where it is hard
}


def frame(policy: str, correct) -> pd.DataFrame:
    problems = [f"p{i}" for i in range(len(correct))]
    made = {"policy": policy, "evaluation": "x", "problem": problems, "n": SAMPLES, "correct": correct}
    return pd.DataFrame({**made, "level": np.where(HARD, "hard", "easy")[: len(correct)]})


SCORES = {(f"{arm}{seed}", "x"): frame(f"{arm}{seed}", counts) for arm, counts in COUNTS.items() for seed in (1, 2, 3)}


def item(content, arms, evaluations=("x",)) -> Item:
    cells = tuple(
        Cell("M", Row(arm=arm, label=arm), tuple((f"{arm}{s}", s) for s in ((1,) if arm == "base" else (1, 2, 3))))
        for arm in arms
    )
    if isinstance(content, over_steps.Config):
        return Item("figures", "t", content, cells)
    return Item("tables", "t", content, cells, {"M": evaluations}, tuple("bcd"[: len(evaluations)]))


TABLE = pass_at_k.Config(title="T", kind="pass_at_k", benchmark="b", models=["M"], every_arm=True, k=[1, 2, 4])
MEASURES = ["probe.entropy", "metrics.correct"]
CURVES = over_steps.Config(title="C", kind="over_steps", models=["M"], arms=["high"], measures=MEASURES)


def described(claim: Claim, content=TABLE, resamples=400, runs=None, evaluations=("x",), **changes) -> list[ClaimSpec]:
    """The layout of a claim, by the real thing, over a table or a figure with every arm of COUNTS."""
    paper = Paper(name="p", short="P", title="", authors="", year=2026, claims=[claim])
    plan = Plan("smoke", "", {"M": "m"}, {}, None, None)  # type: ignore[arg-type]
    plan.runs.update(runs or {})
    for name in evaluations:
        data = SimpleNamespace(name=name, about=About(hard_levels=["hard"]))
        plan.evaluations[name] = SimpleNamespace(data=data)  # type: ignore[assignment]
    made = PaperPlan(paper)
    if not isinstance(content, over_steps.Config):
        made.tables["t"] = item(content, COUNTS, evaluations)
    else:
        made.figures["t"] = item(content, [arm for arm in COUNTS if arm != "base"])
    statistics = Statistics(**{"resamples": resamples, "confidence": 0.95, "seed": 7, "largest_chance": 0.2, **changes})
    made.settings["M"] = SimpleNamespace(statistics=statistics)  # type: ignore[assignment]
    plan.papers["p"] = made
    return layout(plan, "p")


def claim(predicate: str, **given) -> Claim:
    return Claim(name="c", says="S", place="P", over="t", predicate=predicate, **given)  # type: ignore[arg-type]


def found(made: Claim, scores=None, **options) -> list[dict]:
    (one,) = described(made, **options)
    return evaluate(one, Evidence(scores or SCORES))


def noisy(seed: int, arms=("left", "right"), seeds=3, problems=40, shift=0.0, between_runs=0.0, samples=8):
    """Scores of arms with one law (but for `shift`): problems of any difficulty, runs that differ by chance."""
    generator, scores = np.random.default_rng(seed), {}
    difficulty_N = generator.beta(0.8, 0.8, problems)
    for i, arm in enumerate(arms):
        for run in range(1, seeds + 1):
            ability = generator.normal(shift * (i == 0), between_runs)
            chance_N = np.clip(difficulty_N + ability + generator.normal(0, 0.05, problems), 0, 1)
            made = frame(f"{arm}{run}", generator.binomial(samples, chance_N))
            scores[f"{arm}{run}", "x"] = made.assign(n=samples)
    return scores


def plain(
    ks=(1,), arms=("left", "right"), seeds=3, resamples=400, predicate="greater", threshold=0.0, seed=7
) -> ClaimSpec:
    """The layout of left − right at each k."""

    def term(weight, arm, k):
        policies = [f"{arm}{s}" for s in range(1, (seeds if arm != "base" else 1) + 1)]
        head = {"weight": weight, "arm": arm, "label": arm, "k": k, "levels": None, "evaluation": "x"}
        return {**head, "learning_rate": None, "policies": policies}

    content = {
        **{"paper": "p", "short": "P", "claim": "c", "says": "S", "place": "P", "of": "paper", "over": "t"},
        "effort": PAPER,
        **{
            "predicate": predicate,
            "threshold": threshold,
            "measure": None,
            "reference": None,
            "kind": ("tables", "pass_at_k"),
            **{"options": {}, "evidence": "scores", "rows": "runs"},
        },
        "contrasts": [
            {
                **{"says": f"left − right @{k}", "model": "M", "stand_in": "m", "benchmark": "b", "data": "x"},
                "terms": [term(1.0, arms[0], k), term(-1.0, arms[1], k)],
            }
            for k in ks
        ],
        "published": [],
        "statistics": {"resamples": resamples, "confidence": 0.95, "seed": seed, "largest_chance": 0.2},
    }
    return ClaimSpec.model_validate(content)


def each_contrast(one: ClaimSpec, change) -> ClaimSpec:
    """The claim with each contrast replaced by a dict's keys: `change(contrast)`."""
    parts = tuple(contrast.model_copy(update=change(contrast)) for contrast in one.contrasts)
    return one.model_copy(update={"contrasts": parts})


def of_policies(term: TermSpec, *policies: str, **changes) -> TermSpec:
    """The term with these policies at one learning rate."""
    return term.model_copy(update={"policies": policies, **changes})


def values(scores, arm: str, k: int, seeds: int) -> np.ndarray:
    frames = [scores[f"{arm}{s}", "x"] for s in range(1, seeds + 1)]
    return np.stack([pass_at_k_of(one["n"], one["correct"], k) for one in frames])
