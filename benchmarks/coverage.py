"""How often verdicts err and find: the whole procedure on simulated scores of two methods, at both efforts.

A policy trained at rate r solves problem n with probability sigmoid(a_n (1 + SHARPER r) + BETTER r + noise): pass@1
rises and pass@k falls with r, as under GRPO. The noise is of a seed's base policy, which all its policies share, and of
the run's own. The second method takes other steps (its rates count FASTER times), which is no difference at equal
pass@1; where it is said to be better, it also solves some hard problems now and then.

    python benchmarks/coverage.py --repeats 400
"""

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from rlvr.claims.contrasts import EQUAL, PAPER
from rlvr.claims.evaluate import evaluate
from rlvr.claims.verdicts import INCONCLUSIVE, NOT_COMPARABLE, REPRODUCED, together
from rlvr.items.contrast import RUNS as RUNS_ROWS
from rlvr.items.contrast import ClaimSpec, Evidence

SHARPER, BETTER, FASTER = 0.5, 0.45, 1.25
# What is true: the share of problems that the second method solves now and then, and its steps' size.
TRUTHS = {
    "equal": (0.0, 1.0),
    "equal, with larger steps": (0.0, FASTER),
    "better": (0.12, 1.0),
    "better still": (0.18, 1.0),
}
RATES = (0.35, 1.0, 2.0)
SAMPLES = 64
# Of the logits: a run's own level, and its level on a problem; and those of its base policy, which a seed shares.
RUNS, RUNS_ON_PROBLEMS = 0.04, 0.35
BASES, BASES_ON_PROBLEMS = 0.1, 0.35


def noise(generator, shape: tuple[int, int], seeds: float, cells: float) -> np.ndarray:
    """Deviations (S, N) of logits: of a seed, and of a seed on a problem."""
    return generator.normal(0, seeds, (shape[0], 1)) + generator.normal(0, cells, shape)


def solves(generator, abilities_N, rate: float, bases_SN, helped_N) -> np.ndarray:
    """Success probabilities (S, N) of the policies of one method at one rate."""
    logits_SN = (abilities_N + bases_SN) * (1 + SHARPER * rate) + BETTER * rate
    if rate:
        logits_SN = logits_SN + noise(generator, bases_SN.shape, RUNS, RUNS_ON_PROBLEMS)
    return np.maximum(1 / (1 + np.exp(-logits_SN)), helped_N)


def scores(generator, seeds: int, problems: int, better: float, faster: float) -> dict:
    """Score frames of two methods at all rates, and of the base policy of each seed."""
    abilities_N = generator.normal(-0.6, 1.9, problems)
    helped_N = np.where(generator.random(problems) < better, 0.08, 0.0)
    bases_SN = noise(generator, (seeds, problems), BASES, BASES_ON_PROBLEMS)
    found = {}
    for arm, times, helps in (("grpo", 1.0, 0 * helped_N), ("other", faster, helped_N)):
        for rate in (0.0, *RATES):
            chances_SN = solves(generator, abilities_N, times * rate, bases_SN, helps if rate else 0 * helps)
            for s, chance_N in enumerate(chances_SN):
                policy = f"base{s}" if rate == 0 else f"{arm}-{rate}-{s}"
                columns = {"problem": np.arange(problems).astype(str), "n": SAMPLES, "level": ""}
                found.setdefault(
                    (policy, "x"), pd.DataFrame(columns | {"correct": generator.binomial(SAMPLES, chance_N)})
                )
    return found


def claim(seeds: int, effort: str, seed: int, ks: list[int]) -> ClaimSpec:
    """`other` above `grpo` at each k."""

    def of_seeds(arm):
        return [f"{arm}{s}" for s in range(seeds)]

    def term(weight, arm, k):
        own = [{"learning_rate": rate, "policies": of_seeds(f"{arm}-{rate}-")} for rate in RATES]
        rates = [{"learning_rate": 0.0, "policies": of_seeds("base")}, *own] if effort == EQUAL else [own[1]]
        terms = {"weight": weight, "arm": arm, "label": arm, "k": k, "levels": None, "evaluation": "x"}
        return {**terms, "rates": rates}

    words = dict.fromkeys(("paper", "short", "claim", "says", "place", "of", "over"), "")
    head = {"says": "", "model": "m", "stand_in": "m", "benchmark": "b", "data": "b"}
    equal = {"at": of_seeds("grpo-1.0-"), "at_label": "grpo"} if effort == EQUAL else {}
    return ClaimSpec.model_validate(
        {
            **{**words, "effort": effort, "predicate": "greater", "threshold": 0.0, "measure": None},
            **{"reference": None, "published": (), "kind": ("tables", "pass_at_k"), "options": {}},
            **{"evidence": "scores", "rows": RUNS_ROWS},
            "statistics": {"resamples": 2000, "confidence": 0.95, "seed": seed, "largest_chance": 0.2},
            "contrasts": [head | equal | {"terms": [term(1.0, "other", k), term(-1.0, "grpo", k)]} for k in ks],
        }
    )


def main(
    repeats: Annotated[int, typer.Option(help="Simulated experiments of each kind.")] = 400,
    seeds: Annotated[int, typer.Option(help="Training seeds.")] = 8,
    problems: Annotated[int, typer.Option(help="Problems.")] = 150,
    only: Annotated[str, typer.Option(help=f"One of: {'; '.join(TRUTHS)}.")] = "",
    k: Annotated[str, typer.Option("--k", help="The k of the claim, all of which must hold.")] = "32",
) -> None:
    """Print the shares of verdicts, by what is true."""
    ks = [int(value) for value in k.split(",")]
    for truth, (better, faster) in TRUTHS.items() if not only else [(only, TRUTHS[only])]:
        for effort in (PAPER, EQUAL):
            verdicts, gains = [], []
            for i in range(repeats):
                made = scores(np.random.default_rng((i, 7)), seeds, problems, better, faster)
                rows = evaluate(claim(seeds, effort, i, ks), Evidence(made))
                verdicts.append(together([row["verdict"] for row in rows]))
                gains += [[row["estimate"] for row in rows]] if "estimate" in rows[0] else []
            shares = {v: round(verdicts.count(v) / repeats, 3) for v in dict.fromkeys(verdicts)}
            decided = 1 - shares.get(INCONCLUSIVE, 0) - shares.get(NOT_COMPARABLE, 0)
            mean = ", ".join(f"@{k} {gain:+.1f}" for k, gain in zip(ks, np.mean(gains, axis=0), strict=True))
            print(
                f"{truth}, {effort}: decided {decided:.3f}, for it {shares.get(REPRODUCED, 0)}; {shares}; mean {mean}"
            )


if __name__ == "__main__":
    typer.run(main)
