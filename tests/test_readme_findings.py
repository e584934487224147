"""What README and docs/findings.md say was found: their intervals and counts are in the committed snapshots."""

import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from typer.testing import CliRunner

from rlvr.claims.contrasts import PAPER
from rlvr.claims.table import LEVEL, counted
from rlvr.claims.verdicts import DECIDED, JUDGED, OPPOSITE, SAME, SMALLER, meaning
from rlvr.commands import app
from rlvr.estimators._kind import ESTIMATORS

FOUND = (ROOT / "docs/findings.md").read_text()
BULLETS = [" ".join(text.split()) for text in re.split(r"\n- ", FOUND.partition("\n\nNone of this says")[0])[1:]]
README = (ROOT / "README.md").read_text()
PAGES = dict(re.findall(r"\[([\w-]+)\]\(config/papers/(\w+)/page\.md\)", README))
PAPERS = [line for line in README.splitlines() if line[2:].partition(" |")[0] in PAGES]
ROWS = [line for line in FOUND.splitlines() if line.startswith("| ")][2:]
NUMBER = r"[+−]?\d+\.\d+"
TRIPLE = re.compile(rf"({NUMBER}) (?:points of pass@\d+ )?\[({NUMBER}), ({NUMBER})\]")
WORDS = {
    SAME: r"(\d+) (?:point )?in the same",
    OPPOSITE: r"(\d+) in the opposite",
    SMALLER: r"in (\d+) our gain is\s+smaller",
}
ASKED = re.compile(r"[Oo]f (\d+) claims of the papers")


def named(bullet: str) -> str:
    return re.sub(r"\W+", "-", bullet[:30]).strip("-")


def snapshot(bullet: str) -> Path:
    """The snapshot that a bullet links, docs/results where it links none."""
    link = re.search(r"\((pretrained|results|league)(?:/README)?\.md\)", bullet)
    return ROOT / "docs" / (link[1] if link else "results")


@cache
def committed(folder: Path) -> list[tuple[float, float, float]]:
    """Every value with its interval in the CSV files of a snapshot."""
    found = []
    for path in [*folder.glob("*/.data/*.csv*"), folder / "claims.csv"]:
        frame = pd.read_csv(path) if path.is_file() else pd.DataFrame()
        for columns in [("estimate", "low", "high"), *((n, f"{n}_low", f"{n}_high") for n in ("value", "difference"))]:
            if set(columns) <= set(frame):
                found += frame[list(columns)].dropna().itertuples(index=False, name=None)
    return found


def rounds_to(row: tuple[float, ...], printed: tuple[float, ...]) -> bool:
    """Whether the row has the printed numbers; README writes a loss as a gain of the other sign."""
    low, high = sorted((-row[1], -row[2]))
    return any(
        all(abs(value - said) <= 0.05 + 1e-9 for value, said in zip(one, printed, strict=True))
        for one in (row, (-row[0], low, high))
    )


def triples(text: str) -> list[tuple[float, ...]]:
    return [tuple(float(number.replace("−", "-")) for number in numbers) for numbers in TRIPLE.findall(text)]


@pytest.mark.parametrize("bullet", [text for text in BULLETS if triples(text)], ids=named)
def test_an_estimate_of_readme_is_in_the_snapshot_that_it_links(bullet):
    missing = [one for one in triples(bullet) if not any(rounds_to(row, one) for row in committed(snapshot(bullet)))]
    assert not missing, f"{snapshot(bullet)} has none of {missing}"


@pytest.mark.parametrize("row", PAPERS, ids=named)
def test_readme_has_an_interval_of_each_paper_from_its_comparisons(row):
    found = pd.read_csv(next(ROOT.glob(f"docs/results/{PAGES[row[2:].partition(' |')[0]]}/.data/comparisons.csv*")))
    columns = ["difference", "difference_low", "difference_high"]
    assert triples(row) and all(_has(found[columns], one) for one in triples(row)), row


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_row_of_readmes_table_is_one_method_of_a_table_of_comparisons(row):
    """The same method and benchmark has all its differences, at the paper's setting, and whether it acts."""
    acts = [cell.strip() for cell in row.split("|")][2]
    tables = [pd.read_csv(path) for path in ROOT.glob("docs/results/*/.data/comparisons*.csv*")]
    methods = [rows for table in tables for _, rows in table[table["effort"] == PAPER].groupby(["benchmark", "arm"])]
    columns = ["difference", "difference_low", "difference_high"]
    found = [rows for rows in methods if all(_has(rows[columns], one) for one in triples(row)) and triples(row)]
    assert {rows["acts"].iloc[0] for rows in found} == ({acts} if triples(row) else set()), row


def _has(rows: pd.DataFrame, printed: tuple[float, ...]) -> bool:
    return any(rounds_to(row, printed) for row in rows.itertuples(index=False, name=None))


def test_readme_has_a_row_for_each_paper():
    assert len(PAPERS) == len([*ROOT.glob("config/papers/*/claims.yaml")])


def test_every_interval_is_read_and_a_wrong_one_is_missed():
    text = " ".join(FOUND.split())
    assert len(triples(text)) == len(re.findall(r"\[[+−]?\d", text)) > 15
    rows = committed(ROOT / "docs/results")
    assert any(rounds_to(row, (8.2, 5.5, 11.0)) for row in rows), "ACE with c summed over a placebo"
    assert not any(rounds_to(row, (8.2, 5.5, 11.1)) for row in rows)


def claims_of(folder: Path) -> pd.DataFrame:
    frame = counted(pd.read_csv(folder / "claims.csv"))
    return frame[(frame["effort"] == PAPER) & frame["verdict"].map(meaning).isin(JUDGED)]


@pytest.mark.parametrize("bullet", [text for text in BULLETS if ASKED.search(text)], ids=named)
def test_counts_of_claims_are_those_of_the_papers_own(bullet):
    judged = claims_of(snapshot(bullet))
    own = judged[judged["of"] == "paper"]["verdict"]
    assert int(ASKED.search(bullet)[1]) == len(own)
    assert {verdict: int(re.search(words, bullet)[1]) for verdict, words in WORDS.items()} == {
        verdict: int((own == verdict).sum()) for verdict in WORDS
    }


def test_what_remains_after_correction_for_many_claims_is_said():
    (laptop,) = (text for text in BULLETS if text.startswith("**Claims**"))
    judged = claims_of(ROOT / "docs/results")
    decided = judged[judged["verdict"].isin(DECIDED)]
    kept = int((decided["p_of_all_claims"] <= LEVEL).sum())
    assert f"{len(decided)} of {len(judged)} are decided; {kept} of them remain" in laptop
    pretrained = claims_of(ROOT / "docs/pretrained")
    decided = pretrained[pretrained["verdict"].isin(DECIDED)]
    assert not (decided["p_of_all_claims"] <= LEVEL).any()
    assert f"none of the {len(decided)} remains after correction" in " ".join(BULLETS)


def test_the_number_of_weights_for_other_trainers_is_that_of_the_registry():
    """All but PACS, whose weights follow the policy within a batch, which both adapters refuse."""
    named = [name for name in ESTIMATORS.names() if name != "pacs"]
    assert int(re.search(r"(\d+) policy weights work this way", README)[1]) == len(named)


def test_the_rows_that_no_unbiased_pass_at_k_gives_are_counted_by_the_command():
    files = sorted(str(path) for path in ROOT.glob("config/papers/*/reference/*.csv"))
    done = CliRunner().invoke(app, ["consistency", *files])
    found = re.search(r"(\d+) of (\d+)\s+rows in \d+ files\s+cannot be an unbiased", " ".join(done.output.split()))
    said = re.search(r"(\d+) of (\d+) published rows", " ".join(README.split()))
    assert found and said and found.groups() == said.groups()
