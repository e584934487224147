"""Published tables as numbers, found by the names that a paper gives to models, methods and benchmarks."""

from typing import Any, Self

import pandas as pd

from rlvr.config.published import COLUMNS, lookup_key

NOT_PUBLISHED: dict[str, float | None] = {"published": None, "published_ci": None}


class Reference:
    """A published table (columns of `rlvr.config.published.COLUMNS`), read once and looked up by name."""

    def __init__(self, frame: pd.DataFrame):
        self._values: dict[tuple[str, str, str, float | None], dict[str, float | None]] = {}
        plain_names = {name: lookup_key(name) for column in ("model", "benchmark") for name in set(frame[column])}
        for row in frame.to_dict("records"):
            ci, k = pd.to_numeric(row["ci"]), row["k"]
            key = (plain_names[row["model"]], row["method"], plain_names[row["benchmark"]], _number(k))
            self._values.setdefault(key, {"published": float(row["value"]), "published_ci": _number(ci)})

    @classmethod
    def empty(cls) -> Self:
        """A table without values."""
        return cls(pd.DataFrame(columns=pd.Index(COLUMNS)))

    def value(self, model: str | None, method: str | None, benchmark: str, k: int | None) -> dict[str, float | None]:
        """The paper's value and half-width, or None without a matching cell; k is None for a table without k."""
        if model is None or method is None:
            return dict(NOT_PUBLISHED)
        return dict(self._values.get((lookup_key(model), method, lookup_key(benchmark), _number(k)), NOT_PUBLISHED))


def _number(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
