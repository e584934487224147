"""Do two scales say the same of a claim? Their verdicts side by side, and in which direction the estimates point.

`claims.md` of a results folder ends with it. For snapshots of different scales:

    python -m rlvr.claims.agreement docs/results/claims.csv.xz docs/pretrained/claims.csv.xz
"""

from itertools import combinations
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tabulate import tabulate

from rlvr.claims.verdicts import DECIDED, HOLDS, JUDGED, KINDS, meaning

KEYS = ["paper", "short", "claim", "says", "of", "effort"]
WITHIN = "within"  # the predicate of a claim that two arms are near each other: no direction


def both(frame: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The claims that were judged at two scales, one per row; a column has its scale's name behind its own."""
    judged = frame[frame["verdict"].map(meaning).isin(JUDGED)]
    return judged[judged["scale"] == first].merge(
        judged[judged["scale"] == second], on=KEYS, suffixes=(f" {first}", f" {second}")
    )


def counts(pairs: pd.DataFrame, first: str, second: str) -> dict[str, object]:
    """How many claims are decided at both scales, and how many of those alike; how many estimates point the same way.

    An estimate points up where it is above the claim's threshold. No p is given: claims share runs, so they depend on
    each other.
    """
    decided = pairs[pairs[f"verdict {first}"].isin(DECIDED) & pairs[f"verdict {second}"].isin(DECIDED)]
    alike = decided[f"verdict {first}"].isin(HOLDS) == decided[f"verdict {second}"].isin(HOLDS)
    directed = pairs[pairs[f"predicate {first}"] != WITHIN]
    above = [directed[f"estimate {scale}"] > directed[f"threshold {scale}"] for scale in (first, second)]
    same, of = int((above[0] == above[1]).sum()), len(directed)
    return {
        "judged at both": len(pairs),
        "decided at both": len(decided),
        "decided alike": int(alike.sum()),
        "estimates on the same side": f"{same} of {of}",
    }


def lines(frame: pd.DataFrame) -> list[str]:
    """The section on each pair of scales that judged a claim, as Markdown; nothing for one scale."""
    made = []
    for first, second in combinations(dict.fromkeys(frame["scale"]), 2):
        pairs = both(frame, first, second)
        if pairs.empty:
            continue
        rows = [
            {"effort": effort, "claims": KINDS[str(kind)], **counts(part, first, second)}
            for (effort, kind), part in pairs.groupby(["effort", "of"], sort=False)
        ]
        verdicts = [f"verdict {scale}" for scale in (first, second)]
        differ = pairs[pairs[verdicts].isin(DECIDED).all(axis=1)]
        differ = differ[differ[verdicts[0]].isin(HOLDS) != differ[verdicts[1]].isin(HOLDS)]
        made += [f"## {first} and {second}", "", tabulate(rows, headers="keys", tablefmt="pipe"), ""]
        made += [
            f"- {row['short']}, {row['effort']}: {row['says']}: {row[verdicts[0]]} at {first}, "
            f"{row[verdicts[1]]} at {second}."
            for row in differ.to_dict("records")
        ]
        made += ["" if len(differ) else "No claim is decided one way at one of them and another way at the other.", ""]
    return made


def main(
    claims: Annotated[list[Path], typer.Argument(help="Files claims.csv, or .xz, of different scales.")],
) -> None:
    """Print, for each pair of scales, how many claims both decide, and alike."""
    if missing := [path for path in claims if not path.is_file()]:
        raise SystemExit(f"{missing[0]} is no file")
    print("\n".join(lines(pd.concat([pd.read_csv(path) for path in claims]))) or "No claim was judged at two scales.")


if __name__ == "__main__":
    typer.run(main)
