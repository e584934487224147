"""Claims on the pages: the overview's matrix and a paper's list."""

import base64
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr.claims import grid
from rlvr.claims.table import cautions, counts, gather, numbers, published
from rlvr.claims.verdicts import NOT_RUN, VERDICTS, meaning
from rlvr.statistics.shown import records

SHORT = {
    "holds in its own table": "holds",
    "does not hold in its own table": "does not hold",
    "no published numbers": "no numbers",
}


class Claims:
    """The claims evaluated so far, at every scale; empty where there are none."""

    def __init__(self, results: Path):
        self.frame = gather(results / "claims")
        if self.frame.empty:  # as far as the default target decides them
            first = gather(results / "first")
            self.frame = first if first.empty else first[first["verdict"] != NOT_RUN]

    def of(self, paper: str) -> list[dict[str, Any]]:
        """A paper's claims in order, each with its results by scale and effort."""
        if self.frame.empty:
            return []
        frame = self.frame[self.frame["paper"] == paper]
        return [_claim(rows) for _, rows in frame.groupby("claim", sort=False)]

    def cautions(self, papers: list[str]) -> list[str]:
        """What a reader of the verdicts on these papers must know."""
        return cautions(self.frame if self.frame.empty else self.frame[self.frame["paper"].isin(papers)])

    def picture(self, papers: list[str]) -> str:
        """The picture of all claims (`rlvr.claims.grid`) as PNG in base64; empty where there are none."""
        frame = self.frame if self.frame.empty else self.frame[self.frame["paper"].isin(papers)]
        if frame.empty:
            return ""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "claims.png"
            grid.publish(frame, path)
            return base64.b64encode(path.read_bytes()).decode()

    def matrix(self, papers: list[str]) -> dict[str, Any]:
        """One row per claim: whether the paper's numbers agree, and a verdict per scale and effort evaluated so far."""
        if self.frame.empty:
            return {"columns": [], "papers": [], "counts": []}
        frame = self.frame[self.frame["paper"].isin(papers)]
        columns = list(dict.fromkeys(zip(frame["scale"], frame["effort"], strict=True)))
        entries = []
        for paper in dict.fromkeys(frame["paper"]):
            rows = []
            for claim in self.of(paper):
                by_column = {(result["scale"], result["effort"]): result for result in claim["results"]}
                rows.append({**claim, "cells": [by_column.get(column) for column in columns]})
            entries.append({"name": paper, "short": frame[frame["paper"] == paper]["short"].iloc[0], "claims": rows})
        return {"columns": columns, "papers": entries, "counts": by_verdict(frame)}


def by_verdict(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of `counts` by scale and effort, each with its verdicts as `by_verdict`."""
    rows = records(counts(frame, ["scale", "effort"]))
    return [{**row, "by_verdict": {verdict: row[verdict] for verdict in VERDICTS if row.get(verdict)}} for row in rows]


def _claim(rows: pd.DataFrame) -> dict[str, Any]:
    first = rows.iloc[0]
    return {
        "name": first["claim"],
        "says": first["says"],
        "place": first["place"],
        "over": first["over"],
        "published": published(first),
        "exceptions": first["published_exceptions"] if isinstance(first["published_exceptions"], str) else "",
        "published_short": SHORT[first["published"]],
        "results": [
            {
                "scale": row["scale"],
                "effort": row["effort"],
                "verdict": row["verdict"],
                "badge": meaning(row["verdict"]).replace(" ", "-"),
                "run": f"{row['run']} of {row['contrasts']}",
                "deciding": row["deciding"] if isinstance(row["deciding"], str) else "",
                "numbers": numbers(row),
                "rates": row["learning_rates"] if isinstance(row["learning_rates"], str) else "",
                "reason": row["reason"] if isinstance(row["reason"], str) else "",
            }
            for _, row in rows.iterrows()
        ],
    }
