"""The runs behind the results: their table, and references to them."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

import pandas as pd
from browse import CHOICE, NUMBER, TEXT, WIDE, Cell, raw, table

GROUP = ["method", "model", "learning_rate", "settings"]  # what the seeds of one arm have in common
COLUMNS = {
    **{"policy": ("Run", TEXT), "method": ("Method", CHOICE), "model": ("Model", CHOICE)},
    **{"learning_rate": ("Learning rate", NUMBER), "settings": ("Settings", TEXT), "seed": ("Seed", NUMBER)},
    **{"step": ("Steps", NUMBER), "seconds": ("Seconds", NUMBER), "commit": ("Commit", CHOICE)},
    **{"lock": ("Lock file", TEXT), "device": ("Device", TEXT), "finished": ("Finished", TEXT)},
}
INTRODUCTION = """# Runs

Every policy behind the [results](README.md). A name ends in a hash of every setting that changes the numbers.

"""


class Runs:
    """The policies of a snapshot (`runs.csv`)."""

    def __init__(self, folder: Path):
        self.folder = folder
        frame = pd.read_csv(folder / "runs.csv", dtype=str, keep_default_na=False)
        self.frame = frame.sort_values([*GROUP, "seed"], key=_by_number).reset_index(drop=True)
        self.by_policy = self.frame.set_index("policy")

    def page(self) -> str:
        """The page with all runs, each with an anchor."""
        rows = [
            (str(row["policy"]), [Cell(str(row[name]), _number(str(row[name]))) for name in COLUMNS])
            for row in self.frame.to_dict("records")
        ]
        return WIDE + INTRODUCTION + raw(table("Runs", dict(COLUMNS.values()), rows))

    def origin(self, policies: Iterable[str], page: str) -> dict[str, str]:
        """Facts on some policies: each arm with its seeds and a link to `page`, commits, lock files, devices."""
        known = [policy for policy in dict.fromkeys(policies) if policy in self.by_policy.index]
        if not known:
            return {}
        chosen = self.by_policy.loc[known]
        arms = [
            self._arm(dict(zip(GROUP, key, strict=True)), arm, page) for key, arm in chosen.groupby(GROUP, sort=False)
        ]
        distinct = {
            name: ", ".join(escape(value) for value in dict.fromkeys(chosen[name]))
            for name in ("commit", "lock", "device")
        }
        last = max(chosen["finished"])
        return {
            "Runs": f"<ul>{''.join(arms)}</ul>",
            **{"Commit": distinct["commit"], "Lock file": distinct["lock"], "Device": distinct["device"]},
            "Last finished": escape(last),
        }

    def _arm(self, arm: dict[str, str], runs: pd.DataFrame, page: str) -> str:
        words = f"{arm['method']} with {arm['model']}" + (f", {arm['settings']}" if arm["settings"] else "")
        rate = f", learning rate {arm['learning_rate']}" if arm["learning_rate"] else ""
        seeds = ", ".join(runs["seed"])
        return f'<li><a href="{page}#{runs.index[0]}">{escape(words + rate)}</a>, seeds {seeds}</li>'


def _by_number(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
