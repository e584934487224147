"""The spectrum of a change of weights as large as the head of a 7B model, against one that is known.

    python tests/papers/fade/spectrum_benchmark.py [--rows 152064] [--columns 3584] [--exact]

The matrix is noise with one planted direction. `--exact` takes its singular values from the eigenvalues of A'A in
float64 too, which costs some minutes.
"""

import argparse
import json
import resource
import time

import torch

from rlvr.papers.fade.weights import spectrum

RATIO = 8.0  # of the planted direction's size to the noise's largest singular value


def planted(rows: int, columns: int) -> torch.Tensor:
    """Noise of unit scale, whose largest singular value is near sqrt(rows) + sqrt(columns), and a direction."""
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.nn.functional.normalize(torch.randn(n, generator=generator), dim=0) for n in (rows, columns))
    matrix = torch.randn(rows, columns, generator=generator)
    return matrix.addr_(u, v, alpha=RATIO * (rows**0.5 + columns**0.5))


def exact(matrix: torch.Tensor, block: int = 4096) -> torch.Tensor:
    gram = torch.zeros(matrix.shape[1], matrix.shape[1], dtype=torch.float64)
    for rows in matrix.split(block):
        gram.addmm_(rows.double().T, rows.double())
    return torch.linalg.eigvalsh(gram).flip(0).clamp(min=0).sqrt()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=152_064)
    parser.add_argument("--columns", type=int, default=3_584)
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args()
    matrix = planted(options.rows, options.columns)
    began, cpu = time.perf_counter(), time.process_time()
    found = spectrum.of(matrix)
    figures = {
        "threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "s1_over_s2": found.gap,
        "largest_error": float(found.error[:2].max()),
    }
    if options.exact:
        values = exact(matrix)
        figures |= {"exact_s1_over_s2": float(values[0] / values[1])}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
