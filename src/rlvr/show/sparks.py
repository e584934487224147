"""Two curves on one scale: as characters for a terminal, and as points of a picture."""

from rlvr.show.comparison import Curve

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 32  # characters


def lines(curve: Curve) -> tuple[str, str]:
    """Both curves as blocks, of at most WIDTH characters, between the smallest and the largest value of both."""
    low, high = _range(curve)
    return _blocks(curve.a, low, high), _blocks(curve.b, low, high)


def points(curve: Curve, width: float, height: float) -> tuple[str, str]:
    """Both curves as the points of SVG polylines in a box of this size."""
    low, high = _range(curve)
    first, last = curve.steps[0], curve.steps[-1]

    def line(values: list[float]) -> str:
        xs = [width * (step - first) / max(1, last - first) for step in curve.steps]
        ys = [height * (1 - (value - low) / (high - low or 1)) for value in values]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))

    return line(curve.a), line(curve.b)


def _range(curve: Curve) -> tuple[float, float]:
    return min(*curve.a, *curve.b), max(*curve.a, *curve.b)


def _blocks(values: list[float], low: float, high: float) -> str:
    cells = min(WIDTH, len(values))
    parts = [values[i * len(values) // cells : (i + 1) * len(values) // cells] for i in range(cells)]
    means = [sum(part) / len(part) for part in parts]
    return "".join(BLOCKS[round((len(BLOCKS) - 1) * (mean - low) / (high - low or 1))] for mean in means)
