"""The runs behind results: a row per policy, their table, and the origin of a number."""

import re
import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr.config import identity
from rlvr.config.schema.specs import PolicySpec, RunSpec
from rlvr.report import origins
from rlvr.report.browse import CHOICE, NUMBER, TEXT, TableCell, table

FILE = "runs.csv.xz"  # of a snapshot
GROUP = ["method", "model", "learning_rate", "settings"]  # what the seeds of one arm have in common
COLUMNS = {
    **{"policy": ("Run", TEXT), "method": ("Method", CHOICE), "model": ("Model", CHOICE)},
    **{"learning_rate": ("Learning rate", NUMBER), "settings": ("Settings", TEXT), "stage": ("Stage", CHOICE)},
    **{"seed": ("Seed", NUMBER), "step": ("Steps", NUMBER), "seconds": ("Training seconds", NUMBER)},
    **{"resumed_from": ("Resumed from step", NUMBER), "commit": ("Commit", CHOICE), "lock": ("Lock file", TEXT)},
    **{"device": ("Device", TEXT), "finished": ("Finished (UTC)", TEXT)},
}
ORIGIN = {"commit": "Commit", "lock": "Lock file", "device": "Device"}


def row(policy: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """What is said of a policy, from its manifest."""
    facts = {key: manifest.get(key, "") for key in ("stage", "seed", "step", "seconds")}
    origin = {name: origins.in_order(manifest, getattr(origins, name)) for name in ORIGIN}
    return {"policy": policy, **described(manifest), **facts, **origin, "finished": origins.finished(manifest)}


def described(manifest: dict[str, Any]) -> dict[str, Any]:
    """A policy's method, model, learning rate and settings off the defaults, from its manifest.

    The learning rate of a base policy is that of its SFT; a published model has none.
    """
    spec, stage = manifest.get("spec"), manifest.get("stage")
    if stage == "rl":
        run = RunSpec.model_validate(spec)
        differ = ", ".join(f"{key} = {value}" if value else key for key, value in identity.settings(run).items())
        model, rate = run.base.model.name, run.rl.learning_rate
        return {"method": identity.method(run), "model": model, "learning_rate": rate, "settings": differ}
    if stage == "sft":
        policy = PolicySpec.model_validate(spec)
        rate = policy.sft.learning_rate if policy.sft else ""
        return {"method": "sft", "model": policy.model.name, "learning_rate": rate, "settings": ""}
    model = manifest["hub"]["repo"] if "hub" in manifest else ""
    return {"method": "", "model": model, "learning_rate": "", "settings": ""}


def duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else time.strftime("%-M min %-S s", time.gmtime(seconds))


def page_of(pages: str, model: str) -> str:
    """The page of a model: `pages` with its name for "{model}", fit for a file; "others" where it has none."""
    return pages.format(model=re.sub(r"[^A-Za-z0-9._-]", "-", model) or "others")


def total(seconds: pd.Series) -> str:
    """The sum of a column of texts, as a duration."""
    return duration(float(pd.to_numeric(seconds, errors="coerce").sum()))


def read(folder: Path) -> "RunPages":
    """The runs of a snapshot."""
    return RunPages(pd.read_csv(folder / FILE, dtype=str, keep_default_na=False))


class RunPages:
    """Policies in order of their arms and seeds.

    `page` is where their table is, "" for the same page; it may have a "{model}" (`page_of`).
    """

    def __init__(self, frame: pd.DataFrame, page: str = ""):
        self.frame = frame.astype(str).sort_values([*GROUP, "seed"], key=_by_number, ignore_index=True)
        self.by_policy, self.page = self.frame.set_index("policy"), page

    def at(self, page: str) -> "RunPages":
        return RunPages(self.frame, page)

    def of_models(self) -> Iterator[tuple[str, "RunPages"]]:
        """Each model with its policies."""
        return ((str(model), RunPages(own, self.page)) for model, own in self.frame.groupby("model"))

    def table(self) -> str:
        """All runs, each with an anchor. A column with one value for all is left out: `in_short` says most of these."""
        several = self.frame.columns[self.frame.nunique() > 1]
        columns = {name: COLUMNS[name] for name in COLUMNS if name == "policy" or name in several}
        lines = self.frame.to_dict("records")
        rows = [(line["policy"], [_cell(line[name], columns[name][1]) for name in columns]) for line in lines]
        return table("Runs", dict(columns.values()), rows)

    def in_short(self) -> str:
        """How many there are, how long they took, and where they come from, in two sentences."""
        distinct = {name: "; ".join(dict.fromkeys(self.frame[name])) for name in ORIGIN}
        last = max((text for text in self.frame["finished"] if text != origins.NOT_RECORDED), default="unknown")
        return (
            f"{len(self.frame)} policies, {total(self.frame['seconds'])} of training in all on {distinct['device']}; "
            f"the last finished {last}. Commit {distinct['commit']}, lock file {distinct['lock']}."
        )

    def origin(self, policies: Iterable[str]) -> dict[str, str]:
        """Facts on some policies, as HTML: each arm with its seeds, time, commits, lock files, devices."""
        known = [policy for policy in dict.fromkeys(policies) if policy in self.by_policy.index]
        if not known:
            return {}
        chosen = self.by_policy.loc[known]
        arms = "".join(self._arm(arm) for _, arm in chosen.groupby(GROUP, sort=False))
        return {
            "Runs": f"<ul>{arms}</ul>",
            "Training": total(chosen["seconds"]),
            **{title: escape(", ".join(dict.fromkeys(chosen[name]))) for name, title in ORIGIN.items()},
            "Last finished": escape(max(chosen["finished"])),
        }

    def _arm(self, runs: pd.DataFrame) -> str:
        """An arm with a link to each seed; to its first, if the runs are on another page, where the others follow."""
        method, model, rate, settings = (runs[column].iloc[0] for column in GROUP)
        parts = [settings, f"learning rate {rate}" if rate else ""]
        words = escape(", ".join(filter(None, [f"{method} with {model}", *parts])))
        if self.page:
            page = page_of(self.page, model)
            return f'<li><a href="{page}#{runs.index[0]}">{words}</a>, seeds {", ".join(runs["seed"])}</li>'
        seeds = [f'<a href="#{run}">{seed or "none"}</a>' for run, seed in runs["seed"].items()]
        return f"<li>{words}, seeds {', '.join(seeds)}</li>"


def _by_number(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers


def _cell(text: str, kind: str) -> TableCell:
    number = pd.to_numeric(text, errors="coerce") if kind == NUMBER else None
    return TableCell(text, None if pd.isna(number) else float(number))
