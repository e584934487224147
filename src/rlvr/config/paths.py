"""The paths of all files: only this module knows the layout of results/."""

from dataclasses import dataclass

from rlvr.config import identity
from rlvr.config.plan import Plan
from rlvr.config.schema.fields import Strict


@dataclass(frozen=True)
class Paths:
    """Paths below a results folder, at one scale.

    Data, models, runs and evaluations are named by identity, so scales share them. A paper's tables, figures and pages
    have the scale in their path.
    """

    results: str
    scale: str

    @property
    def papers(self) -> str:
        """The folder of the papers' tables and figures."""
        return f"{self.results}/papers/{self.scale}"

    def spec_file(self, digest: str) -> str:
        """A stage's specification, named by its digest (`rlvr.workflow.spec_files`)."""
        return f"{self.results}/plan/{digest}.json"

    def problems(self, data: Strict) -> str:
        return f"{self.results}/data/{identity.data_id(data)}/problems.jsonl"

    def demonstrations(self, data: Strict) -> str:
        return f"{self.results}/data/{identity.data_id(data)}/demonstrations.jsonl"

    def model(self, model: Strict) -> str:
        return f"{self.results}/models/{identity.model_id(model)}/manifest.json"

    def manifest(self, plan: Plan, policy: str) -> str:
        """The manifest of an RL run, of a base policy after SFT, or of a published model."""
        return f"{self.results}/{plan.stage(policy)}/manifest.json"

    def rows(self, run: str) -> list[str]:
        """A run's held-out probes, and its metrics per step."""
        return [self.probe(run), f"{self.results}/runs/{run}/metrics.jsonl"]

    def probe(self, run: str) -> str:
        return f"{self.results}/runs/{run}/probe.jsonl"

    def measured(self, measure: str, run: str) -> str:
        """The rows of a measure of a run; summary.json is beside them."""
        return f"{self.results}/measures/{measure}/{run}/rows.jsonl"

    def summary(self, measure: str, run: str) -> str:
        return f"{self.results}/measures/{measure}/{run}/summary.json"

    def claims(self, paper: str) -> list[str]:
        """A paper's evaluated claims, and their contrasts."""
        return [f"{self.results}/claims/{self.scale}/{paper}{part}.csv" for part in ("", "-contrasts")]

    def mechanisms(self, paper: str, *, first: bool = False) -> str:
        """A paper's criteria, judged; `first`: as far as the default target's runs decide them."""
        return f"{self.results}/{'first/' if first else ''}mechanisms/{self.scale}/{paper}.csv"

    def controls(self, paper: str) -> str:
        """A paper's placebos and controls, judged."""
        return f"{self.results}/controls/{self.scale}/{paper}.csv"

    def all_controls(self) -> str:
        """Those of all papers; there where every control was found."""
        return f"{self.results}/controls/{self.scale}.csv"

    def first_claims(self, paper: str) -> list[str]:
        """The same, as far as the default target's runs decide them."""
        return [f"{self.results}/first/{self.scale}/{paper}{part}.csv" for part in ("", "-contrasts")]

    def first_verdicts(self) -> list[str]:
        """The verdicts of the default target's own runs: a table, a picture, a sentence."""
        return [f"{self.results}/first/{self.scale}-verdicts.{suffix}" for suffix in ("md", "png", "txt")]

    def samples(self, policy: str, evaluation: str) -> list[str]:
        """Completions and their grades."""
        folder = f"{self.results}/evaluations/{policy}/{evaluation}"
        return [f"{folder}/completions.jsonl.gz", f"{folder}/grades.jsonl.gz"]

    def scores(self, policy: str, evaluation: str) -> str:
        return f"{self.results}/evaluations/{policy}/{evaluation}/scores.csv"

    def diversity(self, policy: str, evaluation: str) -> str:
        return f"{self.results}/evaluations/{policy}/{evaluation}/diversity.csv"

    def statistics(self, paper: str, item: str) -> str:
        return f"{self.papers}/{paper}/statistics/{item}.csv"

    def table(self, paper: str, table: str) -> list[str]:
        return [f"{self.papers}/{paper}/tables/{table}.{suffix}" for suffix in ("csv", "md", "tex")]

    def figure(self, paper: str, figure: str) -> list[str]:
        return [f"{self.papers}/{paper}/figures/{figure}.{suffix}" for suffix in ("pdf", "png")]

    def item(self, plan: Plan, paper: str, name: str) -> list[str]:
        """The files of a table or figure."""
        return self.table(paper, name) if name in plan.papers[paper].tables else self.figure(paper, name)

    def arm(self, paper: str, arm: str) -> str:
        return f"{self.papers}/{paper}/arms/{arm}.csv"

    def overlap(self, paper: str) -> str:
        return f"{self.papers}/{paper}/overlap.json"

    def other_verifier(self, paper: str) -> list[str]:
        """A paper's completions under another verifier; there where it was asked for."""
        return [f"{self.papers}/{paper}/other_verifier.{suffix}" for suffix in ("md", "csv")]

    def page(self, page: str) -> str:
        """A page of the report: `index` for the overview, or a paper."""
        return f"{self.results}/report/{self.scale}/{page}.html"

    def ledger(self) -> str:
        """The findings on the papers' exact statements; of every scale."""
        return f"{self.results}/theory/ledger.csv"

    def entrance(self) -> str:
        """The page that leads to the overview of each scale."""
        return f"{self.results}/report/index.html"
