"""What README and docs/findings.md say was found: their intervals and counts are in the committed snapshots."""

import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from typer.testing import CliRunner

from rlvr.claims.contrasts import EQUAL, PAPER
from rlvr.claims.table import LEVEL, counted
from rlvr.claims.verdicts import DECIDED, JUDGED, OPPOSITE, SAME, SMALLER, meaning
from rlvr.commands import app
from rlvr.estimators._kind import ESTIMATORS
from rlvr.report.readme import CLAIMS

FOUND = (ROOT / "docs/findings.md").read_text()
BULLETS = [" ".join(text.split()) for text in re.split(r"\n- ", FOUND.partition("\n\nNone of this says")[0])[1:]]
README = (ROOT / "README.md").read_text()
PAGES = dict(re.findall(r"\[([\w-]+)\]\(config/papers/(\w+)/page\.md\)", README))
PAPERS = [line for line in README.splitlines() if re.split(r"[,|]", line[2:])[0].strip() in PAGES]
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
    for path in [*folder.glob("*/.data/*.csv*"), folder / CLAIMS, folder / "mechanisms.csv"]:
        frame = pd.read_csv(path) if path.is_file() else pd.DataFrame()
        ends = [("estimate", "low", "high"), ("measured", "low", "high")]
        for columns in [*ends, *((n, f"{n}_low", f"{n}_high") for n in ("value", "difference"))]:
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


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def methods(papers: str = "*") -> list[pd.DataFrame]:
    """The committed comparisons of each method on each benchmark."""
    tables = [pd.read_csv(path) for path in ROOT.glob(f"docs/results/{papers}/.data/comparisons*.csv*")]
    return [rows for table in tables for _, rows in table.groupby(["benchmark", "arm"])]


def has(rows: pd.DataFrame, effort: str, text: str) -> bool:
    """Whether each interval in a text is a difference of a method."""
    found = rows.loc[rows["effort"] == effort, ["difference", "difference_low", "difference_high"]]
    return all(_has(found, one) for one in triples(text))


@pytest.mark.parametrize("row", PAPERS, ids=named)
def test_a_row_of_readme_is_one_method_of_its_papers_comparisons(row):
    paper, _, acts, *differences, matched = cells(row)
    of_paper = methods(PAGES[re.split(",", paper)[0]])
    found = [rows for rows in of_paper if has(rows, PAPER, " ".join(differences)) and has(rows, EQUAL, matched)]
    assert all(triples(cell) for cell in differences) and {rows["acts"].iloc[0] for rows in found} == {acts}, row


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_row_of_the_table_of_findings_is_one_method_of_a_table_of_comparisons(row):
    """It has differences at the paper's setting and at equal pass@1, whether it acts, and what is detectable."""
    _, acts, first, last, placebos, matched, detectable = cells(row)
    of_row = f"{first} {last} {placebos}"
    found = [rows for rows in methods() if has(rows, PAPER, of_row) and has(rows, EQUAL, matched)]
    assert triples(first) and triples(last) and {rows["acts"].iloc[0] for rows in found} == {acts}, row
    for effort, said in zip((PAPER, EQUAL), detectable.split(", "), strict=True):
        own = pd.concat([rows[rows["effort"] == effort] for rows in found])
        assert said == "–" or (own["detectable"] - float(said)).abs().min() <= 0.05 + 1e-9, row


def _has(rows: pd.DataFrame, printed: tuple[float, ...]) -> bool:
    return any(rounds_to(row, printed) for row in rows.itertuples(index=False, name=None))


def test_readme_has_a_row_for_each_paper():
    assert {re.split(r"[,|]", row[2:])[0].strip() for row in PAPERS} == {*PAGES}
    assert {*PAGES.values()} == {path.parent.name for path in ROOT.glob("config/papers/*/claims.yaml")}


def test_every_interval_is_read_and_a_wrong_one_is_missed():
    text = " ".join(FOUND.split())
    assert len(triples(text)) == len(re.findall(r"\[[+−]?\d", text)) > 15
    rows = committed(ROOT / "docs/results")
    assert any(rounds_to(row, (8.2, 5.5, 11.0)) for row in rows), "ACE with c summed over a placebo"
    assert not any(rounds_to(row, (8.2, 5.5, 11.1)) for row in rows)


def claims_of(folder: Path) -> pd.DataFrame:
    frame = counted(pd.read_csv(folder / CLAIMS))
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
