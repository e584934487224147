"""What a hub or an archive reads beside the data: cards, and a description for a DOI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rlvr.files import sha256

if TYPE_CHECKING:
    import pandas as pd

    from rlvr.export.tables import Facts

TAGS = ["rlvr", "reinforcement-learning", "pass-at-k", "reproducibility"]
SPREAD = "The interval is over problems, at 95 % (BCa bootstrap); it says nothing about other training seeds."
PROJECT = "rlvr-reproduction"


def dataset(title: str, licence: str, files: dict[str, str], runs: list[Facts], sets: dict[str, Any]) -> str:
    """README.md of the folder: the hub's metadata, what each file has, and which runs and sets are in it."""
    head = {
        "license": licence,
        "pretty_name": title,
        "tags": TAGS,
        "configs": [{"config_name": name, "data_files": pattern} for name, pattern in files.items()],
    }
    counted = ", ".join(f"{count} {name}" for name, count in Counter(run["estimator"] for run in runs).items())
    commits = ", ".join(dict.fromkeys(str(run["commit"]) for run in runs)) or "none"
    problems = (f"- {name}: {card['problems']} problems; licence: {card['licence']}" for name, card in sets.items())
    return _card(
        head,
        f"# {title}",
        f"{len(runs)} training runs ({counted or 'none'}), made by {PROJECT} at commit {commits}. "
        "A number of one run is no result: compare methods over their seeds, with an interval.",
        "\n".join(f"- `{pattern}`: {MEANING[name]}" for name, pattern in files.items()),
        "Problems are named, and not repeated:",
        "\n".join(problems),
        "`SHA256SUMS` has the checksum of every file. CITATION.cff names what to cite.",
    )


MEANING = {
    "runs": "one row a run: estimator, model, base policy, seed, learning rate, and all settings as JSON (`spec`)",
    "metrics": "one row a step of training, and a probe on held-out problems (`held_out`)",
    "scores": "one row a problem of an evaluation: n samples, `correct` of them",
    "completions": "one row a sample: its text, its verdict and the answer that was read",
}


def model(run: Facts, licence: str, scores: pd.DataFrame | None) -> str:
    """README.md beside a policy: how it was trained, and its pass@k."""
    spec = json.loads(run["spec"])
    source = spec.get("base", {}).get("model", {}).get("hub", {})
    head = {"library_name": "transformers", "license": licence, "tags": [*TAGS, run["estimator"]]}
    head |= {"base_model": source["repo"]} if source.get("repo") else {}
    return _card(
        head,
        f"# {run['run']}",
        f"{run['model']}, trained by `{run['estimator']}` on {run['data']}: seed {run['seed']}, "
        f"step {run['step']}, learning rate {run['learning_rate']:g}. Made by {PROJECT} at commit {run['commit']} on "
        f"{run['device']}.",
        *([] if scores is None else _scores(scores)),
        "All settings:",
        f"```json\n{json.dumps(spec, indent=2, sort_keys=True)}\n```",
    )


def _scores(scores: pd.DataFrame) -> list[str]:
    """pass@1 and pass@n of each evaluation, as a table."""
    import numpy as np

    from rlvr.statistics.intervals import over_problems
    from rlvr.statistics.scores import pass_at

    rows = ["| evaluation | problems | k | pass@k | interval |", "|---|---|---|---|---|"]
    for name, frame in scores.groupby("evaluation", sort=True):
        for k in dict.fromkeys((1, min(map(int, frame["n"])))):
            options: dict[str, Any] = {"resamples": 2000, "confidence": 0.95, "generator": np.random.default_rng(0)}
            found = over_problems(100 * pass_at(k)(frame), **options)
            rows.append(f"| {name} | {len(frame)} | {k} | {found.estimate:.1f} | {found.low:.1f} to {found.high:.1f} |")
    return ["\n".join(rows), f"One training seed. {SPREAD}"]


def zenodo(title: str, licence: str, creators: Sequence[str], runs: list[Facts]) -> str:
    """`.zenodo.json`: what an archive asks before it gives a DOI."""
    names = ", ".join(dict.fromkeys(run["estimator"] for run in runs)) or "no method"
    what = "settings, metrics, completions with verdicts, and scores"
    content = {
        "title": title,
        "upload_type": "dataset",
        "description": f"{len(runs)} runs of reinforcement learning with verifiable rewards ({names}): {what}.",
        "creators": [{"name": name} for name in creators],
        "license": licence,
        "keywords": TAGS,
    }
    return json.dumps(content, indent=2) + "\n"


def citation(title: str, licence: str, creators: Sequence[str]) -> str:
    """CITATION.cff of the folder."""
    content = {"cff-version": "1.2.0", "title": title, "type": "dataset", "license": licence}
    content |= {"message": "If you use these results, please cite them, and the papers whose methods they rerun."}
    return yaml.safe_dump(content | {"authors": [{"name": name} for name in creators]}, sort_keys=False)


def _card(head: dict[str, Any], *paragraphs: str) -> str:
    """A page with the hub's metadata before it."""
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    return "\n\n".join([f"---\n{front}---", *filter(None, paragraphs)]) + "\n"


def checksums(folder: Path) -> str:
    """A line `<sha256>  <path>` for each file, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(f"{sha256(path)}  {path.relative_to(folder)}\n" for path in files)
