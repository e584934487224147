"""What an exact replication of a paper would decide: each claim on results drawn with the paper's numbers as the truth.

    python -m rlvr.report.replication <paper> --draws 100

A claim that holds in the paper's own table must not be refuted by such results, and must be reproduced where seeds,
problems and samples suffice. With the null as the truth (all methods have one curve; methods that should be near each
other differ by the whole threshold) it must seldom be reproduced.

The truth of a method on a benchmark are solve rates p of its problems, whose means of 1 - (1 - p)^k are the printed
pass@k. Problems have the same order of difficulty for all methods. Each training seed shifts all its problems together
and each by itself; then c of n samples are right.

Dimensions: N problems, K values of k, S training seeds.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from tabulate import tabulate

from rlvr.claims.contrasts import PAPER, layout
from rlvr.claims.evaluate import HOLDS, evaluate, published, summarise
from rlvr.claims.verdicts import INCONCLUSIVE, REPRODUCED, UNJUDGED
from rlvr.config.plan import Plan
from rlvr.items.contrast import ClaimSpec, ContrastSpec, Evidence, PublishedContrast
from rlvr.planning.expansion import make_plan
from rlvr.statistics.references import Reference
from rlvr.statistics.scores import Scores

Array = NDArray[np.float64]
Curve = dict[int, float]  # k -> percent

RUNS = 0.7  # points: the sd of pass@1 between training seeds, an assumption
EACH = 0.2  # nats: the sd of the log-odds of one problem between training seeds
PARTS = 14  # pieces of the curve of log-odds over problems
SMOOTH = 0.02  # weight of its second differences, in points a nat
EXACT = 0.3  # points: a printed pass@k farther from the nearest curve is none of any pass@k
POWER = 0.8


# ---- the truth -----------------------------------------------------------------------------------


def solve_rates(curve: Curve, problems: int) -> Array:
    """Solve rates (N,), the hardest first, whose mean pass@k is as near to `curve` as a pass@k can be."""
    from scipy.optimize import least_squares

    ks, values_K = np.array(list(curve)), np.array(list(curve.values()))
    places_N = (np.arange(problems) + 0.5) / problems * (PARTS - 1)
    hats_NP = np.maximum(0.0, 1 - np.abs(places_N[:, None] - np.arange(PARTS)))

    def misses(odds_P: Array) -> Array:
        return np.concatenate([pass_at(rates(odds_P), ks) - values_K, SMOOTH * np.diff(odds_P, 2)])

    def rates(odds_P: Array) -> Array:
        return 1 / (1 + np.exp(-np.clip(hats_NP @ odds_P, -30, 30)))

    def slopes(odds_P: Array) -> Array:
        wrong_N1 = 1 - rates(odds_P)[:, None]
        by_odds_NK = 100 * ks * wrong_N1**ks * (1 - wrong_N1) / problems
        return np.concatenate([by_odds_NK.T @ hats_NP, SMOOTH * np.diff(np.eye(PARTS), 2, axis=0)])

    middle = np.log(values_K[0] + 0.5) - np.log(100.5 - values_K[0])
    found = least_squares(misses, middle + np.linspace(-4, 4, PARTS), jac=slopes, max_nfev=400)  # type: ignore[arg-type]
    return rates(found.x)


def pass_at(rates_N: Array, ks: NDArray[np.int64]) -> Array:
    """pass@k (K,) in percent: the mean of 1 - (1 - p)^k."""
    return 100 * (1 - (1 - rates_N[:, None]) ** ks).mean(axis=0)


def drawn(rates_N: Array, samples: int, trained: bool, generator: np.random.Generator) -> NDArray[np.int64]:
    """Correct samples (N,) of one training seed; a policy that was not trained has the rates as they are."""
    odds_N = np.log(rates_N + 1e-12) - np.log(1 - rates_N + 1e-12)
    if trained:
        of_run = RUNS / max(100 * float((rates_N * (1 - rates_N)).mean()), RUNS)
        odds_N = odds_N + generator.normal(0, of_run) + generator.normal(0, EACH, len(odds_N))
    return generator.binomial(samples, 1 / (1 + np.exp(-odds_N)))


# ---- a paper's claims ----------------------------------------------------------------------------


Cell = tuple[str, str]  # policies of an arm by the first one's name, and an evaluation


@dataclass(frozen=True)
class Own:
    """A claim with the paper's table, and the true value of each of its contrasts."""

    claim: ClaimSpec
    reference: Reference
    truths: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether it holds in the printed table, and for the nearest curves of pass@k."""
        near, bound = self.claim.near, self.claim.bound if self.claim.size is None else self.claim.size - EXACT
        true = all(abs(one) <= bound if near else one > bound for one in self.truths)
        return true and published(self.claim, self.reference)["published"] == HOLDS


class Truth:
    """The solve rates of each arm of a paper's claims, at scale `paper`."""

    def __init__(self, plan: Plan, paper: str, references: Path):
        self._plan = plan
        self._curves: dict[Cell, Curve] = {}
        self._policies: dict[Cell, tuple[str, ...]] = {}
        pairs = []
        for claim in layout(plan, paper):
            if claim.effort != PAPER or not claim.reference or claim.evidence != "scores":
                continue
            reference = Reference(pd.read_csv(references / claim.reference))
            pairs.append((claim, reference))
            for contrast, printed in _pairs(claim):
                self._read(contrast, printed, reference)
        self._rates = {cell: solve_rates(curve, self._problems(cell[1])) for cell, curve in self._curves.items()}
        self.own = [Own(claim, reference, self._truths(claim)) for claim, reference in pairs if self._known(claim)]

    def _read(self, contrast: ContrastSpec, printed: PublishedContrast, reference: Reference) -> None:
        for term, of_paper in zip(contrast.terms, printed.terms, strict=True):
            value = reference.value(printed.model, of_paper.method, of_paper.benchmark, of_paper.k)["published"]
            if value is not None and not of_paper.hard:
                cell = (term.policies[0], term.on)
                self._curves.setdefault(cell, {})[term.at_k] = value
                self._policies[cell] = term.policies

    def _known(self, claim: ClaimSpec) -> bool:
        cells = {(t.policies[0], t.on): t.at_k for c in claim.contrasts for t in c.terms}
        whole = all(term.levels is None for contrast in claim.contrasts for term in contrast.terms)
        return whole and bool(claim.published) and all(k in self._curves.get(cell, {}) for cell, k in cells.items())

    def _problems(self, evaluation: str) -> int:
        data: Any = self._plan.evaluations[evaluation].data
        return int(data.most or data.problems)

    def _truths(self, claim: ClaimSpec) -> tuple[float, ...]:
        def value(contrast: ContrastSpec) -> float:
            return sum(
                term.weight * float(pass_at(self._rates[term.policies[0], term.on], np.array([term.at_k]))[0])
                for term in contrast.terms
            )

        return tuple(value(contrast) for contrast in claim.contrasts) if self._known(claim) else ()

    def inexact(self) -> dict[Cell, float]:
        """The arms whose printed values no pass@k has, with the largest distance in points."""
        found = {}
        for cell, curve in self._curves.items():
            gaps_K = np.abs(pass_at(self._rates[cell], np.array(list(curve))) - np.array(list(curve.values())))
            if gaps_K.max() > EXACT:
                found[cell] = float(gaps_K.max())
        return found

    def scores(self, draw: int, of: Iterable[Cell] = (), changed: Callable[[Cell], Array] | None = None) -> Scores:
        """The scores of some arms in one draw, by default of all; `changed` gives them other solve rates."""
        found = {}
        for cell in of or self._policies:
            policies, rates_N = self._policies[cell], changed(cell) if changed else self._rates[cell]
            n = self._plan.evaluations[cell[1]].sampling.samples
            problems = [f"p{i}" for i in range(len(rates_N))]
            for policy in policies:
                generator = np.random.default_rng([draw, zlib.crc32(f"{policy} {cell[1]}".encode())])
                correct_N = drawn(rates_N, n, policy in self._plan.runs, generator)
                made = {"policy": policy, "evaluation": cell[1], "problem": problems, "n": n, "correct": correct_N}
                found[policy, cell[1]] = pd.DataFrame({**made, "level": ""})
        return found

    def without_effect(self, claim: ClaimSpec) -> Callable[[Cell], Array]:
        """Solve rates of a world in which the claim is false, as nearly true as can be.

        All arms of an evaluation have the rates of the claim's last arm on it. Where arms should be near each other, or
        one should not be below, the left one has a curve that is lower by the threshold.
        """
        last = {term.on: (term.policies[0], term.on) for c in claim.contrasts for term in c.terms if term.weight < 0}
        lower = claim.threshold if claim.near or claim.predicate == "not_below" else 0.0
        left = {(term.policies[0], term.on) for c in claim.contrasts for term in c.terms if term.weight > 0}
        made: dict[Cell, Array] = {}

        def rates(cell: Cell) -> Array:
            common = last.get(cell[1])
            if common is None:
                return self._rates[cell]
            if lower and cell in left:
                if cell not in made:
                    curve = {k: max(value - lower, 0.1) for k, value in self._curves[common].items()}
                    made[cell] = solve_rates(curve, len(self._rates[cell]))
                return made[cell]
            return self._rates[common]

        return rates


def _pairs(claim: ClaimSpec) -> Iterable[tuple[ContrastSpec, PublishedContrast]]:
    printed = {(one.says, *one.of): one for one in claim.published}
    found = (
        (contrast, printed.get((contrast.says, contrast.model, contrast.benchmark))) for contrast in claim.contrasts
    )
    return [(contrast, one) for contrast, one in found if one is not None and contrast.terms]


# ---- what is decided -----------------------------------------------------------------------------


def replicate(truth: Truth, draws: Iterable[int], names: Sequence[str] = ()) -> pd.DataFrame:
    """A row per claim: in how many draws it has which verdict, with the paper's numbers and with the null as the truth.

    `power` is the share in which normal errors of the drawn size would reproduce it: where all its contrasts' intervals
    lie where the claim says, by Bonferroni's bound.
    """
    own = [one for one in truth.own if not names or one.claim.claim in names]
    found = [(_Counts(one), truth.without_effect(one.claim)) for one in own]
    for draw in draws:
        scores = truth.scores(draw)
        for counts, null in found:
            claim, reference = counts.own.claim, counts.own.reference
            at_null = truth.scores(draw, cells(claim), null)
            counts.add(*(evaluate(claim, Evidence(made), reference) for made in (scores, at_null)))
    return pd.DataFrame([counts.row() for counts, _ in found])


def cells(claim: ClaimSpec) -> list[Cell]:
    """The arms of a claim, each on an evaluation."""
    return list(dict.fromkeys((term.policies[0], term.on) for contrast in claim.contrasts for term in contrast.terms))


@dataclass
class _Counts:
    """What became of a claim in each draw."""

    own: Own
    verdicts: Counter = field(default_factory=Counter)
    rows: list[list[dict[str, Any]]] = field(default_factory=list)
    at_null: int = 0

    def add(self, rows: list[dict[str, Any]], at_null: list[dict[str, Any]]) -> None:
        claim = self.own.claim
        self.rows.append(rows)
        self.verdicts[summarise(claim, rows, "paper")["verdict"]] += 1
        self.at_null += summarise(claim, at_null, "paper")["verdict"] == REPRODUCED

    def row(self) -> dict[str, Any]:
        claim = self.own.claim
        undecided = sum(self.verdicts[verdict] for verdict in (INCONCLUSIVE, *UNJUDGED))
        return {
            "claim": claim.claim,
            "of": claim.of,
            "contrasts": len(claim.contrasts),
            "smallest": min(self.own.truths),
            "holds": self.own.holds,
            "reproduced": self.verdicts[REPRODUCED],
            "undecided": undecided,
            "refuted": self.verdicts.total() - undecided - self.verdicts[REPRODUCED],
            "power": power(self.own, self.rows),
            "reproduced at the null": self.at_null,
        }


def power(one: Own, rows: list[list[dict[str, Any]]]) -> float:
    """The chance that all intervals lie where the claim says, for normal errors; NaN where nothing was judged."""
    from scipy.stats import norm

    claim, missed = one.claim, 0.0
    judged = [i for i in range(len(claim.contrasts)) if all(of_draw[i]["verdict"] not in UNJUDGED for of_draw in rows)]
    for i in judged:
        values = np.array([of_draw[i]["estimate"] for of_draw in rows])
        half = float(np.mean([of_draw[i]["high"] - of_draw[i]["low"] for of_draw in rows])) / 2
        error = max(float(values.std(ddof=1)), 1e-9)
        room = claim.bound - abs(one.truths[i]) if claim.near else one.truths[i] - claim.bound
        missed += float(norm.sf((room - half) / error))
    return max(0.0, 1 - missed) if judged else float("nan")


def main(
    papers: Annotated[list[str], typer.Argument(help="Papers with published tables.")],
    draws: Annotated[int, typer.Option(min=2, help="Replications.")] = 100,
    claim: Annotated[list[str], typer.Option(help="These claims alone.")] = [],  # noqa: B006
    root: Annotated[Path, typer.Option(help="The folder with config/.")] = Path("."),
) -> None:
    """Print, for each claim, how often an exact replication of the paper reproduces it."""
    plan = make_plan(root, "paper", papers)
    for paper in papers:
        truth = Truth(plan, paper, root / "config" / "papers")
        with typer.progressbar(range(draws), label=paper) as shown:
            frame = replicate(truth, shown, claim)
        print(f"## {plan.papers[paper].paper.short}, {draws} draws\n")
        print(tabulate(frame.to_dict("records"), headers="keys", tablefmt="pipe", floatfmt=".2f"), "\n")
        for (policy, evaluation), gap in truth.inexact().items():
            print(f"- {policy} on {evaluation}: no pass@k has these printed values (off by {gap:.1f} points)")


if __name__ == "__main__":
    typer.run(main)
