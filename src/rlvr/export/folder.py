"""Writes the folder of `rlvr export`, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rlvr import suggest
from rlvr.export import cards, croissant, tables
from rlvr.files import publish, whole
from rlvr.show.lookup import NotFound, RunOrEvaluation, evaluations, runs


@dataclass(frozen=True)
class About:
    """What a card says of a folder."""

    title: str
    licence: str
    creators: Sequence[str]


@dataclass(frozen=True)
class Chosen:
    """Finished runs, and the graded evaluations of their policies and of those that they started from."""

    runs: list[RunOrEvaluation]
    evaluations: list[RunOrEvaluation]


def choose(results: Path, patterns: Sequence[str]) -> Chosen:
    """The finished runs whose names fit a pattern or begin so, all without one. Raises NotNamed if one fits none."""
    known = {named.name: named for named in runs(results) if named.manifest()}
    fitting = {name for pattern in patterns for name in _fitting(pattern, known, results)}
    found = [n for name, n in known.items() if not patterns or name in fitting]
    if not found:
        raise NotFound(f"{results} has no finished run")
    policies = [*(tables.base_of(named.manifest()) for named in found), *(named.name for named in found)]
    scored = (one for name in dict.fromkeys(policies) if name for one in evaluations(results, name).values())
    return Chosen(found, [one for one in scored if (one.folder / "scores.csv").is_file()])


def _fitting(pattern: str, known: Iterable[str], results: Path) -> list[str]:
    """The names that fit a pattern; the one that begins with a text without signs of a pattern."""
    fitting = [name for name in known if fnmatchcase(name, pattern)]
    return fitting or [suggest.named(pattern, known, f"the finished runs in {results}", f"ls {results}/runs")]


def export(
    results: Path, chosen: Chosen, out: Path, about: About, *, policies: bool, done: Callable[[RunOrEvaluation], Any]
) -> None:
    """Write the folder; `done` is called after each evaluation. With `policies` it has the trained policies too."""
    import pandas as pd

    with whole(out) as folder:
        folder.mkdir()
        facts = tables.runs(chosen.runs)
        pd.DataFrame(facts).to_parquet(folder / "runs.parquet", index=False)
        pd.DataFrame(tables.metrics(chosen.runs)).to_parquet(folder / "metrics.parquet", index=False)
        files = {"runs": "runs.parquet", "metrics": "metrics.parquet"}
        scores = tables.scores(chosen.evaluations) if chosen.evaluations else None
        if scores is not None:
            scores.to_parquet(folder / "scores.parquet", index=False)
            files |= {"scores": "scores.parquet", "completions": "completions/*.parquet"}
        for named in tables.write_completions(chosen.evaluations, folder / "completions"):
            done(named)
        for named, fact in zip(chosen.runs, facts, strict=True) if policies else ():
            own = None if scores is None else scores.loc[scores["policy"] == named.name]
            target = folder / "policies" / named.name
            shutil.copytree(named.folder / named.manifest()["policy"], target)
            publish(target / "README.md", cards.model(fact, about.licence, own))
        sets = tables.problems_of(results, chosen.evaluations)
        publish(folder / "README.md", cards.dataset(about.title, about.licence, files, facts, sets))
        publish(folder / "CITATION.cff", cards.citation(about.title, about.licence, about.creators))
        publish(folder / ".zenodo.json", cards.zenodo(about.title, about.licence, about.creators, facts))
        described = croissant.describe(folder, about.title, about.licence, about.creators, files)
        publish(folder / "croissant.json", described)
        publish(folder / "SHA256SUMS", cards.checksums(folder))
