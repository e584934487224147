"""How often a comparison at equal pass@1 errs and finds: the curve and the interval of tables, on simulated scores.

In a regime the baseline's policy at a rate r has a pass@1 of x(r) and a pass@k of y(r), curves through points that GRPO
has here. It solves a problem with probability sigmoid(m + s z), z standard normal, with the m and s of x(r) and y(r).
Policies of a seed share z's parts: the problem, the base policy, and the random numbers of their samples. A run has its
own small part. The method is the baseline at other rates (no difference), or it has some points more of pass@k at the
same pass@1.

    python benchmarks/coverage.py --repeats 1000
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from scipy.optimize import root

from rlvr.statistics.frontier import Knot, OnCurve, at_pass_1
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.statistics.power import components, power_at, smallest_difference

GRID = (0.35, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)  # times the rate, as papers have
NULLS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.05)  # times the steps of the method that is the baseline
GAINS = (1.0, 2.0, 3.0)  # percent points of a method that is better, with BETTER times the steps
BETTER = 0.8
SAMPLES, K = 64, 32
Z = np.linspace(-7, 7, 2001)
DENSITY = np.exp(-(Z**2) / 2) / np.exp(-(Z**2) / 2).sum()


@dataclass(frozen=True)
class Regime:
    """Curves in percent over the rate, and standard deviations of z: of a seed, of a seed on a problem, and of a run's
    own, both; the rest is the problem's."""

    pass_1: Callable[[float], float]
    pass_k: Callable[[float], float]
    seed: float
    seed_problem: float
    run: float
    run_problem: float


REGIMES = {
    # (38.7, 96.4), (42.8, 94.7), (45.7, 91.3) at 0.35, 1 and 2 times the rate; the base policy has (35.0, 96.8).
    "50 steps": Regime(
        lambda r: 35 + 12.42 * (1 - np.exp(-0.99 * r)), lambda r: 96.8 - 2.1 * r**1.39, 0.05, 0.18, 0.003, 0.06
    ),
    # Pilots (docs/log.md): (48.6, 96.6), (51.0, 94.4), (51.7, 92.1), (52.5, 90.0), (51.9, 86.1) at 1/3, 2/3, 1, 4/3, 2
    # times ACE's rate. A run's own part is that of runs of one seed at neighbouring rates.
    "150 steps": Regime(
        lambda r: 39.8 + 13.6 * (1 - np.exp(-2.6 * r)) - 0.19 * r**3, lambda r: 98.1 - 6.1 * r, 0.04, 0.18, 0.01, 0.18
    ),
}


def solves(pass_1: float, pass_k: float) -> tuple[float, float]:
    """m and s of a policy with this pass@1 and pass@k, in percent."""

    def off(ms):
        p = 1 / (1 + np.exp(-ms[0] - ms[1] * Z))
        return [100 * DENSITY @ p - pass_1, 100 * DENSITY @ (1 - (1 - p) ** K) - pass_k]

    found = root(off, [-0.5, 1.5])
    assert found.success, (pass_1, pass_k)
    return tuple(found.x)


class Experiment:
    """The random numbers of one experiment, which all policies of a seed share but for a part of each run."""

    def __init__(self, regime: Regime, seeds: int, problems: int, seed: int):
        self.regime, self.random = regime, np.random.default_rng((seed, 7))
        self.draws_SNM = self.random.random((seeds, problems, SAMPLES), dtype=np.float32)
        own = regime.seed**2 + regime.seed_problem**2 + regime.run**2 + regime.run_problem**2
        self.z_SN = (1 - own) ** 0.5 * self.random.normal(size=problems) + self._noise(regime.seed, regime.seed_problem)

    def _noise(self, seed: float, cell: float) -> np.ndarray:
        shape = self.draws_SNM.shape[:2]
        return seed * self.random.normal(size=(shape[0], 1)) + cell * self.random.normal(size=shape)

    def scores(self, m: float, s: float) -> list[np.ndarray]:
        """pass@1 and pass@k (S, N) of a policy's runs."""
        z_SN = self.z_SN + self._noise(self.regime.run, self.regime.run_problem)
        correct_SN = (self.draws_SNM < (1 / (1 + np.exp(-m - s * z_SN)))[:, :, None]).sum(axis=2)
        return [pass_at_k(SAMPLES, correct_SN, k) for k in (1, K)]


def experiments(regime: Regime, times: float, gain: float, repeats: int, seeds: int, problems: int):
    """Differences (S, N) in percent points of the method and the baseline's curve; those that can be compared."""
    knots = {rate: solves(regime.pass_1(rate), regime.pass_k(rate)) for rate in GRID}
    method = solves(regime.pass_1(times), regime.pass_k(times) + gain)
    for i in range(repeats):
        one = Experiment(regime, seeds, problems, i)
        own_1, own_k = one.scores(*method)
        found = at_pass_1([Knot(rate, *one.scores(*of)) for rate, of in knots.items()], own_1)
        if isinstance(found, OnCurve):
            yield 100 * (own_k - found.score_SN)


def main(
    repeats: Annotated[int, typer.Option(help="Simulated experiments of each kind.")] = 1000,
    seeds: Annotated[int, typer.Option(help="Training seeds.")] = 12,
    problems: Annotated[int, typer.Option(help="Problems.")] = 150,
    only: Annotated[str, typer.Option(help=f"One of: {'; '.join(REGIMES)}.")] = "",
) -> None:
    """Print for each truth how often the 95 % interval is below and above 0, and the median that `rlvr power` says."""
    intervals = SeedsAndProblems(0.95)
    for name, regime in REGIMES.items() if not only else [(only, REGIMES[only])]:
        truths = [(times, 0.0) for times in NULLS] + [(BETTER, gain) for gain in GAINS]
        for times, gain in truths:
            made = list(experiments(regime, times, gain, repeats, seeds, problems))
            found = [intervals.of_difference(of, np.zeros_like(of)) for of in made]
            spreads = [components(of) for of in made]
            design = {"seeds": seeds, "problems": problems, "level": 0.05}
            said = np.median([power_at(gain, of, **design) for of in spreads[:100]])
            smallest = np.median([smallest_difference(of, **design, power=0.8) for of in spreads])
            below, above = (np.mean(of) for of in ([one.high < 0 for one in found], [one.low > 0 for one in found]))
            truth = f"better by {gain:g}, steps x {times:g}" if gain else f"the baseline, steps x {times:g}"
            values = [one.estimate for one in found]
            parts = [
                f"{name}; {truth}: below {below:.1%}, above {above:.1%}",
                f"mean {np.mean(values):+.3f} ± {np.std(values):.3f}",
                f"smallest difference {smallest:.2f}",
                *([f"rlvr power {said:.1%}"] if gain else []),
                f"not comparable {1 - len(made) / repeats:.1%}",
            ]
            print("; ".join(parts), flush=True)


if __name__ == "__main__":
    typer.run(main)
