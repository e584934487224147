"""How often a method that is its own placebo is decided: cores of the laptop scale, simulated.

A core has a row per benchmark and k: the difference of pass@k between two arms of one law, by training seed and
problem. Its three variances, in squared percent points, are those of pilots of the laptop scale: GRPO at the learning
rate 3e-4 less GRPO at 2e-4, four seeds, 150 problems.

    python benchmarks/placebos.py --cores 4000
"""

from typing import Annotated

import numpy as np
import typer

from rlvr.statistics.intervals import SeedsAndProblems

# Of seeds, of problems, of what is left.
VARIANCES = {
    "easier problems, k = 1": (0.4, 14.5, 257.0),
    "easier problems, k = 32": (1.7, 37.3, 511.0),
    "unseen digit, k = 1": (2.8, 0.0, 515.0),
    "unseen digit, k = 32": (15.2, 0.0, 1068.0),
}


def main(
    cores: Annotated[int, typer.Option(help="Simulated cores.")] = 4000,
    seeds: Annotated[int, typer.Option(help="Training seeds.")] = 16,
    problems: Annotated[int, typer.Option(help="Problems.")] = 150,
) -> None:
    """Print, per row, the share of cores in which it is undecided, and in which the method is above its placebo."""
    generator, interval = np.random.default_rng(44), SeedsAndProblems(0.95)
    undecided_RC, above_RC = (np.zeros((len(VARIANCES), cores), bool) for _ in range(2))
    for row, (name, variances) in enumerate(VARIANCES.items()):
        of_seeds, of_problems, of_rest = np.sqrt(variances)
        width = 0.0
        for core in range(cores):
            difference_SN = generator.normal(0, of_rest, (seeds, problems))
            difference_SN += generator.normal(0, of_seeds, (seeds, 1)) + generator.normal(0, of_problems, problems)
            found = interval.of(difference_SN)
            undecided_RC[row, core], above_RC[row, core] = found.low <= 0 <= found.high, found.low > 0
            width += (found.high - found.low) / 2 / cores
        shares = f"undecided {undecided_RC[row].mean():.3f}, above {above_RC[row].mean():.3f}"
        print(f"{name}: {shares}; mean half-width {width:.2f}")
    print(f"above in every row, so that a claim over all would hold: {above_RC.all(axis=0).mean():.4f} of cores")


if __name__ == "__main__":
    typer.run(main)
