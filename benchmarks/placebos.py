"""How often a method that is its own placebo is decided: cores of a snapshot, simulated.

A core has a row per method, placebo and set of problems: the difference of pass@k by training seed and problem. In each
simulated core a seed has the deviation of a measured one, with a random sign, so that a rare run that goes wrong is
among them; problems and the rest have the measured variances (two-way analysis of variance). The true difference is 0.

    python benchmarks/placebos.py docs/results
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from rlvr.claims.contrasts import EQUAL
from rlvr.claims.controls import PLACEBO
from rlvr.files import read_json
from rlvr.items.contrast import ContrastSpec, Evidence
from rlvr.report import counts, readme, rerender
from rlvr.statistics.intervals import Matrix, SeedsAndProblems
from rlvr.statistics.power import components
from rlvr.statistics.scores import matrix, pass_at


def differences(folder: Path) -> Iterator[tuple[str, Matrix]]:
    """The name of each row of a snapshot at the common rate, and its differences (S, N) in percent points."""
    for paper in read_json(folder / readme.CONTENTS)["papers"]:
        data = folder / paper["name"] / rerender.DATA
        of = counts.evidence_of(data)
        for one in counts.controls_of(data):
            for contrast in one.claim.contrasts if one.kind == PLACEBO and one.claim.effort != EQUAL else ():
                if contrast.terms:
                    yield f"{paper['short']}, {contrast.says}, {contrast.data}", _difference(contrast, of)


def _difference(contrast: ContrastSpec, of: Evidence) -> Matrix:
    """The weighted sum of pass@k, paired by seed and problem."""
    scores = ([of.scores[policy, term.on] for policy in term.policies] for term in contrast.terms)
    parts = zip(contrast.terms, scores, strict=True)
    return np.sum([100 * term.weight * matrix(frames, pass_at(term.at_k)) for term, frames in parts], axis=0)


def simulated(difference_SN: Matrix, cores: int, generator: np.random.Generator) -> Iterator[Matrix]:
    """Differences of cores in which the true one is 0."""
    (seeds, problems), of = difference_SN.shape, components(difference_SN)
    deviation_S = difference_SN.mean(axis=1) - difference_SN.mean()
    for _ in range(cores):
        own_S = generator.choice(deviation_S, seeds) * generator.choice([-1, 1], seeds)
        own_N = generator.normal(0, of.problems**0.5, problems)
        yield own_S[:, None] + own_N + generator.normal(0, of.rest**0.5, (seeds, problems))


def main(
    folder: Annotated[Path, typer.Argument(help="A snapshot.")] = Path("docs/results"),
    cores: Annotated[int, typer.Option(help="Simulated cores.")] = 4000,
) -> None:
    """Print, per row, the share of cores in which it is undecided, and in which the method is above its placebo."""
    interval, undecided_R = SeedsAndProblems(0.95), []
    for row, (name, difference_SN) in enumerate(differences(folder)):
        found = [interval.of(one) for one in simulated(difference_SN, cores, np.random.default_rng([44, row]))]
        undecided_R.append(np.mean([one.low <= 0 <= one.high for one in found]))
        above, half = np.mean([one.low > 0 for one in found]), np.mean([(one.high - one.low) / 2 for one in found])
        seeds, problems = difference_SN.shape
        shares = f"undecided {undecided_R[-1]:.3f}, above {above:.3f}; mean half-width {half:.2f}"
        print(f"{name} ({seeds} x {problems}): {shares}", flush=True)
    print(f"{len(undecided_R)} rows: undecided {np.mean(undecided_R):.3f}, at least {min(undecided_R):.3f}")


if __name__ == "__main__":
    typer.run(main)
