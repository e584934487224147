"""Where every file stands: the one place that knows the layout of results/."""

from __future__ import annotations

from dataclasses import dataclass

from rlvr.config import identity
from rlvr.config.plan import Plan
from rlvr.config.schema import Strict


@dataclass(frozen=True)
class Paths:
    """Paths below a results folder."""

    results: str = "results"

    def problems(self, data: Strict) -> str:
        return f"{self.results}/data/{identity.data_id(data)}/problems.jsonl"

    def demonstrations(self, data: Strict) -> str:
        return f"{self.results}/data/{identity.data_id(data)}/demonstrations.jsonl"

    def model(self, model: Strict) -> str:
        return f"{self.results}/models/{identity.model_id(model)}/manifest.json"

    def manifest(self, plan: Plan, policy: str) -> str:
        """Of an RL run, of a base policy after SFT, or of a published model as it is."""
        return f"{self.results}/{plan.stage(policy)}/manifest.json"

    def rows(self, run: str) -> list[str]:
        """A run's held-out probes, and its metrics a step."""
        return [self.probe(run), f"{self.results}/runs/{run}/metrics.jsonl"]

    def probe(self, run: str) -> str:
        return f"{self.results}/runs/{run}/probe.jsonl"

    def claims(self, scale: str, paper: str) -> list[str]:
        """A paper's claims evaluated at one scale, and their contrasts."""
        return [f"{self.results}/claims/{scale}/{paper}{part}.csv" for part in ("", "-contrasts")]

    def scores(self, policy: str, evaluation: str) -> str:
        return f"{self.results}/evaluations/{policy}/{evaluation}/scores.csv"

    def diversity(self, policy: str, evaluation: str) -> str:
        return f"{self.results}/evaluations/{policy}/{evaluation}/diversity.csv"

    def statistics(self, paper: str, item: str) -> str:
        return f"{self.results}/papers/{paper}/statistics/{item}.csv"

    def table(self, paper: str, table: str) -> list[str]:
        return [f"{self.results}/papers/{paper}/tables/{table}.{suffix}" for suffix in ("csv", "md", "tex")]

    def figure(self, paper: str, figure: str) -> list[str]:
        return [f"{self.results}/papers/{paper}/figures/{figure}.{suffix}" for suffix in ("pdf", "png")]

    def overlap(self, paper: str) -> str:
        return f"{self.results}/papers/{paper}/overlap.json"
