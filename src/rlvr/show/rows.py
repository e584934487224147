"""Rollouts as a parquet file, one row each."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rlvr.files import whole
from rlvr.show.groups import Shown
from rlvr.show.lookup import NotFound

TEXTS = ("problem", "prompt", "gold", "response", "status", "extracted")
WHOLE = ("step", "rollout", "tokens", "false_word")  # step 0: of an evaluation


def write(path: Path, groups: Iterable[Shown]) -> int:
    """Write the visible rollouts of groups, read one after another; returns their number. Raises NotFound for none.

    `weight: <method>` are weights, `false_word` is the place of the first false word of the working, or null.
    """
    import pyarrow as pa
    from pyarrow import parquet

    groups = iter(groups)
    first = next(groups, None)
    if first is None:
        raise NotFound("no such rollout, so no file is written")
    kinds = [(name, pa.string()) for name in TEXTS] + [(name, pa.int64()) for name in WHOLE]
    kinds += [(name, pa.float64()) for name in ("reward", "logp", "log_ratio", *map(_column, first.weights))]
    schema, count = pa.schema(kinds), 0
    with whole(path) as partial, parquet.ParquetWriter(partial, schema) as writer:
        for shown in chain([first], groups):
            table = pa.Table.from_pylist(list(rows(shown)), schema)
            writer.write_table(table)
            count += len(table)
    return count


def rows(shown: Shown) -> Iterator[dict[str, Any]]:
    """A row per visible rollout."""
    group = shown.group
    for i in shown.visible:
        yield {
            **{"step": group.step, "problem": group.problem, "prompt": group.prompt, "gold": group.gold, "rollout": i},
            **{"response": group.responses[i], "status": group.statuses[i], "extracted": group.extracted[i]},
            **{"reward": group.rewards[i], "tokens": group.lengths[i], "logp": group.logp[i]},
            "log_ratio": None if group.log_ratio is None else group.log_ratio[i],
            "false_word": shown.false_word(i),
            **{_column(method): weights[i] for method, weights in shown.weights.items()},
        }


def _column(method: str) -> str:
    return f"weight: {method}"
