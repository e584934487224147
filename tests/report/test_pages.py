"""From scores made by hand to claims on pages: the stage, the table of all scales, a page's rows."""

import html
import json
import math
import re

import pandas as pd
import pytest
from conftest import ROOT, run_module
from PIL import Image
from support.layouts_by_hand import having, typed

from rlvr.claims.contrasts import EQUAL, PAPER, layout, needs
from rlvr.claims.evaluate import evaluate, summarise
from rlvr.claims.table import CHOSEN, gather, numbers
from rlvr.config.paths import Paths
from rlvr.files import RecordError, publish_lines
from rlvr.items.contrast import Evidence
from rlvr.planning.expansion import make_plan
from rlvr.report import claims
from rlvr.report import html as html_page
from rlvr.report import layout as pages
from rlvr.report.page import Page
from rlvr.statistics.scores import read_all
from rlvr.tables.pass_at_k import sentences

PROBLEMS = 12
NONE = "no published numbers"


@pytest.fixture(scope="module")
def lens():
    return make_plan(ROOT, "smoke", ["lens"])


@pytest.fixture(scope="module")
def results(tmp_path_factory, lens):
    """What LENS' claims read, as if LENS had half of its samples right on each problem and GRPO a quarter."""
    folder = tmp_path_factory.mktemp("results")
    paths = Paths(str(folder), "smoke")
    found = needs(layout(lens, "lens"))
    for policy, evaluation in found.scores:
        estimator = lens.runs[policy].estimator if policy in lens.runs else {}
        better = (estimator.get("name"), estimator.get("placed")) == ("lens", "own")  # its placebo is as GRPO
        path = folder / paths.scores(policy, evaluation)
        path.parent.mkdir(parents=True)
        rows = {"policy": policy, "evaluation": evaluation, "problem": [f"p{i}" for i in range(PROBLEMS)]}
        pd.DataFrame({**rows, "level": "n=2", "n": 32, "correct": 16 if better else 8}).to_csv(path, index=False)
    for run in found.runs:
        better = lens.runs[run].estimator["name"] == "lens"
        of_run = (folder / paths.probe(run)).parent
        measured = {"pass_rate": 0.6 if better else 0.5, "all_wrong": 0.2 if better else 0.3}
        measured["solve_rates"] = [2, 4, 4] if better else [3, 4, 3]
        measured["pass_rate_by_level"] = {"n=2": measured["pass_rate"]}
        measured["problems_by_level"] = {"n=2": 4}
        publish_lines(of_run / "probe.jsonl", [{"step": step, **measured} for step in (0, 1, 2)])
        row = {"all_wrong": 0.3, "unsolved": 1, "prompts_drawn": 4}
        publish_lines(of_run / "metrics.jsonl", [{"step": step, **row} for step in (1, 2)])
    out, spec = paths.claims("lens"), folder / "spec.json"
    references = str(ROOT / "config/papers")
    claims = [claim.model_dump(mode="json") for claim in layout(lens, "lens")]
    spec.write_text(json.dumps({"scale": "smoke", "claims": claims, "references": references}))
    run_module(
        *("rlvr.claims.evaluate", "--spec", str(spec), "--results", str(folder)),
        *(part for path in out for part in ("--out", path)),
    )
    return folder


def test_the_stage_finds_what_was_made(results, lens):
    found = pd.read_csv(results / "claims/smoke/lens.csv").set_index(["claim", "effort"])
    verdicts = found["verdict"]
    for claim in ("all_k", "all_k_numina", "mixed_helps", "negative_helps", "negative_most", "curve"):
        assert verdicts[claim, PAPER] == "same direction", claim
    assert verdicts["readings_agree", PAPER] == "identical", "two arms with equal scores"
    assert verdicts["mixed_at_1", PAPER] == "opposite direction", "a half is further above a quarter at k = 2"
    assert verdicts["curve_hard", PAPER] == "same direction"
    assert verdicts["negative_groups_remain", PAPER] == "not comparable", "a level of the paper's own data"
    assert verdicts["hard_more", PAPER] == "no practical difference"
    assert verdicts["all_k", EQUAL] == "not comparable", "GRPO has one pass@1 at all its rates"
    at_8 = (math.comb(24, 8) - math.comb(16, 8)) / math.comb(32, 8)  # of GRPO's misses what LENS does not miss
    assert found.loc[("all_k", PAPER), "estimate"] == pytest.approx(100 * at_8, rel=1e-4)
    assert (found.loc[("all_k", PAPER), "run"], found.loc[("all_k", PAPER), "contrasts"]) == (8, 10), "99.9 and 100 @16"
    assert found.loc[("mixed_at_1", PAPER), "published"] == "does not hold in its own table"
    assert found.loc[("mixed_at_1", PAPER), "published_cells"] == "3 of 4"
    contrasts = pd.read_csv(results / "claims/smoke/lens-contrasts.csv")
    counts = contrasts[contrasts["placebo"].isna()].groupby(["claim", "effort"]).size()
    assert (found["contrasts"] == counts.reindex(found.index)).all()
    equal = contrasts[(contrasts["claim"] == "all_k") & (contrasts["effort"] == EQUAL)]
    assert len(equal) and set(equal["verdict"]) == {"not comparable"}
    assert equal["reason"].str.contains("over its learning rates").all()


def test_the_stage_writes_what_its_functions_say(results, lens):
    paths, laid = Paths(str(results), "smoke"), layout(lens, "lens")
    scores = read_all([results / paths.scores(*pair) for pair in needs(laid).scores])
    found = pd.read_csv(results / "claims/smoke/lens.csv").set_index(["claim", "effort"])
    one = next(claim for claim in laid if (claim.claim, claim.effort) == ("negative_most", PAPER))
    summary = summarise(one, evaluate(one, Evidence(scores)), "smoke")
    row = found.loc["negative_most", PAPER]
    assert summary["estimate"] == pytest.approx(100 * (0.5 - 0.25 - 0.125)) == row["estimate"]
    assert (row["deciding"], row["run"], row["contrasts"]) == (summary["deciding"], 1, 1)


def claims_row(**changes) -> dict:
    row = {
        **{"scale": "laptop", "paper": "p", "short": "P", "claim": "c", "says": "A is above B", "place": "Table 1"},
        **{"of": "paper", "over": "t", "effort": PAPER, "predicate": "greater", "threshold": 0.0},
        **{"verdict": "reproduced", "contrasts": 4, "run": 2, "deciding": "A − B @1 on b"},
        **{"estimate": 1.25, "low": -0.5, "high": 3.0, "low_of_all": -1.04, "high_of_all": 3.5, "p": 0.04},
        **{"seeds": 3, "problems": 90, "unit": "training seeds × problems", "learning_rates": "A 1e-05"},
        **{"reason": "", "model": "M", "stand_in": "m", "data": "d", "about": "method", "distinct": 1},
        **{"distinct_decided": 0},
        **{"published": "holds in its own table", "published_cells": "2 of 2", "published_exceptions": ""},
    }
    return {**row, **changes}


@pytest.fixture
def by_hand(tmp_path):
    """A paper at two scales: one claim decided, one not run at the larger, one at equal pass@1."""
    rows = {
        "laptop": [
            claims_row(),
            claims_row(effort=EQUAL, verdict="contradicted", estimate=-2.0, low=-3.0, high=-1.0),
            claims_row(claim="d", verdict="inconclusive", problems=None, unit="training seeds", published=NONE),
            claims_row(paper="q", short="Q", claim="e", says="<b>", verdict="inconclusive"),
            claims_row(paper="q", short="Q", claim="f", about="base"),
        ],
        "paper": [claims_row(scale="paper", verdict="not run", estimate=None, low=None, high=None, run=0, deciding="")],
    }
    for scale, own in rows.items():
        folder = tmp_path / "claims" / scale
        folder.mkdir(parents=True)
        for paper in {row["paper"] for row in own}:
            pd.DataFrame([row for row in own if row["paper"] == paper]).to_csv(folder / f"{paper}.csv", index=False)
        (folder / "p-contrasts.csv").write_text("claim\n")
    return tmp_path


def test_numbers_in_a_cell():
    assert numbers(pd.Series(claims_row())) == "+1.2 [−0.5, +3.0] (3 seeds, 90 problems)"
    wider = "+1.2 [−0.5, +3.0]; for 2 contrasts [−1.0, +3.5] (3 seeds, 90 problems)"
    assert numbers(pd.Series(claims_row(verdict="contradicted"))) == wider, "what contradicts is the wider one"
    assert numbers(pd.Series(claims_row(verdict="contradicted", run=1))) == "+1.2 [−0.5, +3.0] (3 seeds, 90 problems)"
    curve = claims_row(unit="training seeds", problems=None, estimate=0.01234, low=-0.00021, high=0.1)
    assert numbers(pd.Series(curve)) == "+0.0123 [−0.00021, +0.1] (3 seeds)"
    edge = claims_row(verdict="contradicted", run=1, estimate=-3.7, low=-7.4, high=-0.016)
    assert numbers(pd.Series(edge)) == "−3.7 [−7.4, −0.02] (3 seeds, 90 problems)", "no -0.0 where it decides"
    assert numbers(pd.Series(claims_row(estimate=None))) == ""


def test_all_scales_in_one_table(by_hand):
    frame = gather(by_hand / "claims")
    assert len(frame) == 6 and list(frame["scale"]) == ["laptop"] * 5 + ["paper"]
    outs = (f"--out={by_hand}/claims.md", f"--out={by_hand}/all.csv")
    run_module("rlvr.claims.table", "--folder", str(by_hand / "claims"), *outs)
    text = (by_hand / "claims.md").read_text()
    assert pd.read_csv(by_hand / "all.csv").shape == frame.shape
    assert all(words in text.replace("  ", " ") for words in ("## P\n", "## Q\n", "**contradicted**", "| 2 of 4 |"))
    assert "max-t" in text and "1 of 3 claims are decided" in text and "nan" not in text.lower()


def page_layout(page: str, papers=("p", "q")) -> dict:
    return {
        **{"page": page, "scale": "laptop", "about_scale": "", "stand_ins": {"models": {}, "data": {}}, "notes": []},
        "every_paper": [
            {"name": name, "short": name.upper(), "answers": [], "runs": [], "evaluations": []}
            for name in (("p", "q") if page == "index" else ())
        ],
        "title": "",
        "leagues": {"league": "A league"} if page == "index" else {},
        "papers": [
            {"name": name, "short": name.upper(), "title": "Title", "authors": "A", "deviations": [], "sets": False}
            | {"arms": {}, "items": [], "placebos": {}}
            for name in papers
        ],
    }


def rows_of(text: str) -> list[list[str]]:
    """The cells of the rows of a page's table of claims."""
    (table,) = re.findall(r"<caption>Claims</caption>.*?<tbody>(.*?)</tbody>", text, flags=re.DOTALL)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr id=.*?</tr>", table)]


def test_a_papers_page_has_every_verdict_on_its_claims(by_hand):
    text = Page(page_layout("p", ["p"]), by_hand).render()
    assert "undefined" not in text and "nan" not in text.partition("<script>")[0].lower()
    assert 'href="#claims">Claims</a>' in text
    rows = rows_of(text)
    assert [re.findall(r'class="badge ([\w-]+)"', row[1]) for row in rows] == [
        ["reproduced"], ["contradicted"], ["inconclusive"], ["not-run"]
    ]  # fmt: skip
    assert rows[0][0] == "A is above B<small>Table 1. Here: m on d.</small>", "a stand-in is named beside the claim"
    assert rows[3][0].endswith("<small>Table 1. Not run here.</small>")
    assert ">+1.2 [−0.5, +3.0]</button>" in rows[0][2] and "<th" in text and ">Paper</th>" not in text
    assert [row[4] for row in rows] == ["paper&#x27;s setting", "equal pass@1", *2 * ["paper&#x27;s setting"]]
    assert [row[5] for row in rows] == [*2 * ["holds in its own table"], NONE, "holds in its own table"], "on every row"
    (origin,) = re.findall(r'<div popover id="of-p-c-laptop-papers-setting".*?</div>', text)
    for fact in ("<dd>A − B @1 on b</dd>", "<dd>2 of 4</dd>", "<dd>holds in its own table (2 of 2)</dd>"):
        assert fact in origin
    assert 'popovertarget="of-p-c-paper-papers-setting"' in rows[3][1], "its facts, without an estimate"


def test_a_legend_has_each_verdict_of_a_page_and_no_other(by_hand):
    text = Page(page_layout("p", ["p"]), by_hand).render()
    (legend,) = re.findall(r'<div class="wide legend".*?</div>', text, flags=re.DOTALL)
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr><td>.*?</tr>", legend)]
    assert [re.sub("<.*?>", "", row[0]) for row in rows] == ["reproduced", "contradicted", "inconclusive", "not run"]
    assert rows[0][1:] == ["1 / 0 / 0", "the 95 % interval of every contrast lies where the claim says"]
    assert "laptop, paper's setting / laptop, equal pass@1 / paper, paper's setting" in text


def test_the_overview_has_the_claims_of_all_papers(by_hand):
    text = Page(page_layout("index"), by_hand).render()
    rows = rows_of(text)
    assert [row[0] for row in rows] == ["P", "P", "P", "Q", "Q", "P"] and rows[3][1].startswith("&lt;b&gt;")
    assert text.count(html.escape(CHOSEN)) == 2, "the caution beside the counts and above the rows"
    assert 'id="claims"' not in text and text.count("<caption>Claims</caption>") == 1
    body = text[text.index("<h1") :]
    places = [body.index(f'id="{name}"') for name in ("what-was-found", "claims-one-by-one", "papers")]
    assert places == sorted(places)


def test_a_papers_page_has_its_part_of_the_ledger(by_hand):
    assert 'id="theory"' not in Page(page_layout("p", ["p"]), by_hand).render()
    rows = [("P", "Eq. 1", "It is <even>.", "fails", "at 3", "for 2"), ("Q", "Eq. 2", "Other.", "holds", "", "")]
    names = ["paper", "place", "statement", "verdict", "condition_or_counterexample", "holds_in_this_reading"]
    path = by_hand / "theory" / "ledger.csv"
    path.parent.mkdir()
    pd.DataFrame(rows, columns=names).assign(checked_by="enumeration", deviation=0.5).to_csv(path, index=False)
    section = Page(page_layout("p", ["p"]), by_hand).render().partition('<h2 id="theory">')[2]
    assert "1 statements" in section and "<td>fails</td>" in section and "It is &lt;even&gt;." in section
    assert "at 3<small>It holds in this reading: for 2.</small>" in section and "Other." not in section


def test_a_papers_page_has_its_completions_under_another_verifier_once_asked_for(by_hand):
    assert "Under another verifier" not in Page(page_layout("p", ["p"]), by_hand).render()
    path = by_hand / "papers" / "laptop" / "p" / "other_verifier.md"
    path.parent.mkdir(parents=True)
    path.write_text("Both.\n\n| policy | gold |\n| --- | --- |\n| `base` | `x \\| <b> $5$` |\n")
    section = Page(page_layout("p", ["p"]), by_hand).render().partition('id="under-another-verifier')[2]
    assert "<p>Both.</p>" in section and "<code>x | &lt;b&gt; $5$</code>" in section
    assert "Under another verifier" not in Page(page_layout("index"), by_hand).render()


def test_a_papers_page_has_its_criteria(by_hand):
    assert "mechanism" not in Page(page_layout("p", ["p"]), by_hand).render()
    row = {"scale": "laptop", "paper": "p", "short": "P", "kind": "criterion", "criterion": "acts", "arm": "a"}
    row |= {"stand_in": "m", "label": "Arm A", "says": "It moves", "place": "sec. 1", "bound": "at least 2", "seeds": 8}
    row |= {"measured": 0.5, "low": 0.25, "high": 0.75, "met": "no", "by_seed": "0.5 0.5"}
    path = by_hand / "mechanisms/laptop/p.csv"
    path.parent.mkdir(parents=True)
    pd.DataFrame([row]).to_csv(path, index=False)
    section = Page(page_layout("p", ["p"]), by_hand).render().partition('id="does-the-mechanism-act')[2]
    assert (
        "It moves (sec. 1)." in section
        and "Met: 0 of 1 criterion rows." in section
        and "0.5<small>[0.25, 0.75]</small>" in section
        and ">m<" in section
    )


def test_a_page_without_claims_says_how_to_get_them(tmp_path):
    assert claims.evaluated(tmp_path).empty
    assert "None was evaluated so far: <code>snakemake claims</code>" in Page(page_layout("index"), tmp_path).render()


def test_words_of_a_papers_file_are_no_markup_of_a_page(tmp_path):
    layout = page_layout("p", ["p"])
    layout["papers"][0] |= {"deviations": ["a_b_c is *not* <b>, but `x_i` is\n  code"]}
    text = Page(layout, tmp_path).render()
    assert "<li>a_b_c is *not* &lt;b&gt;, but <code>x_i</code> is code</li>" in text


def test_a_picture_with_a_dark_one_is_both_and_any_is_part_of_the_page(tmp_path):
    for name in ("a.png", "b.png", "b-dark.png"):
        Image.linear_gradient("L").save(tmp_path / name)
    text = html_page.page("# T\n\n![A](a.png)\n\n![B](b.png)\n", {path.name: path for path in tmp_path.iterdir()})
    assert text.count("<picture>") == 1 and text.count("data:image/webp;base64,") == 3
    assert text.index('alt="A"') < text.index('media="(prefers-color-scheme: dark)"') < text.index('alt="B"')


def test_a_league_has_a_page_that_the_overview_links_where_it_exists(tmp_path):
    plan = make_plan(ROOT, "smoke", ["methods"])
    assert {"index", "methods", "league", "mine"} == set(pages.names(plan))
    items = [name for _, name in pages.items_of_page(plan, "league")]
    assert items == ["league", "league_frontier", "league_tree", "league_profile"]
    assert pages.of_page(plan, "league")["title"] == "A league of every policy weight"
    assert 'href="league.html"' not in Page(page_layout("index"), tmp_path).render()
    (tmp_path / "report/laptop").mkdir(parents=True)
    (tmp_path / "report/laptop/league.html").write_text("")
    assert '<a href="league.html">A league</a>' in Page(page_layout("index"), tmp_path).render()


def test_real_claims_on_a_page(results):
    text = Page(page_layout("lens", ["lens"]), results).render()
    assert text.count('class="badge reproduced"') >= 8
    assert "App. E" in text and "does not hold in its own table (3 of 4)" in text


def test_sentences_of_a_table_of_several_benchmarks_name_each():
    rows = [("x", "A", None), ("x", "B", 1.0), ("y", "A", None), ("y", "B", -1.0)]
    frame = pd.DataFrame(rows, columns=["benchmark", "label", "difference"])
    frame = frame.assign(difference_low=frame["difference"], difference_high=frame["difference"])
    frame = frame.assign(model="M", stand_in="M", score="pass", k=1, difference_p_holm=0.01)
    assert sentences(frame, 0.05) == [
        "M on x, pass@1 against A: B +1.0 [+1.0, +1.0], higher.",
        "M on y, pass@1 against A: B −1.0 [−1.0, −1.0], lower.",
    ]
    on_stand_in = sentences(frame[frame["benchmark"] == "x"].assign(stand_in="m", data="d"), 0.05)
    assert on_stand_in[0].startswith("m on d (in place of M on x), pass@1"), "with one benchmark too"


# ---- published tables that nothing was run of ----


def test_rows_of_a_published_table_are_marked_as_not_run(tmp_path):
    from rlvr.papers.pacs.tables.published import NOT_RUN, PublishedLayout, render

    rows = [("m", "A", "x", 1, 1.5), ("m", "A", "y", 1, 2.0), ("m", "B", "x", 1, 3.25), ("n", "A", "y", 1, 4.0)]
    frame = pd.DataFrame(rows, columns=["model", "method", "benchmark", "k", "value"])
    frame.to_csv(tmp_path / "published.csv", index=False)
    layout = typed(PublishedLayout, kind="published", title="T", note="Why.", others=False, columns=())
    shown = render(layout, tmp_path / "published.csv")
    assert list(shown.frame.columns) == ["Model", "Method", "ours", "x (published)", "y (published)"]
    assert shown.frame.to_numpy().tolist() == [
        ["m", "A", NOT_RUN, "1.5", "2.0"],
        ["m", "B", NOT_RUN, "3.25", ""],
        ["n", "A", NOT_RUN, "", "4.0"],
    ]
    assert shown.notes == ["3 rows not yet run. Why."] and "nothing of this table was run" in shown.markdown()
    pd.concat([frame, frame.assign(k=8)]).to_csv(tmp_path / "published.csv", index=False)
    several = render(having(layout, note=None), tmp_path / "published.csv")
    assert "x @8 (published)" in several.frame.columns
    others = render(having(layout, note="Theirs.", others=True), tmp_path / "published.csv")
    assert "ours" not in others.frame.columns and others.notes == ["Theirs."]


def test_table_3_of_a_grae_is_set_by_the_stages_command(tmp_path):
    out = [tmp_path / f"table3.{suffix}" for suffix in ("csv", "md", "tex")]
    reference = ROOT / "config/papers/agrae/reference/table3.csv"
    spec = tmp_path / "spec.json"
    layout = {"kind": "published", "title": "T", "note": "", "others": False, "columns": []}
    spec.write_text(json.dumps({"layout": layout, "reference": str(reference)}))
    run_module("rlvr.items.table", f"--spec={spec}", *(f"--out={path}" for path in out))
    table, published = pd.read_csv(out[0]), pd.read_csv(reference)
    assert set(table["ours"]) == {"not yet run"} and len(table) == len(published.groupby(["model", "method"]))
    values = table.drop(columns=["Model", "Method", "ours"]).to_numpy()
    assert sorted(float(v) for v in values.ravel() if v == v) == sorted(published["value"].astype(float))
    assert all(path.stat().st_size > 300 for path in out)


def test_whole_bounds_are_written_alike_beside_any_other_claims(tmp_path):
    """Else the claims of one paper differ from the same rows of five."""
    whole = claims_row(threshold=0, no_effect=0, size=2)
    (tmp_path / "laptop").mkdir()
    pd.DataFrame([whole]).to_csv(tmp_path / "laptop/p.csv", index=False)
    (row,) = gather(tmp_path).to_dict("records")
    assert [str(row[name]) for name in ("threshold", "no_effect", "size")] == ["0.0", "0.0", "2.0"]


def test_claims_of_an_earlier_version_are_named(by_hand):
    path = by_hand / "claims" / "laptop" / "p.csv"
    pd.DataFrame([claims_row()]).drop(columns=["p"]).to_csv(path, index=False)
    with pytest.raises(RecordError, match=r"laptop/p.csv: an earlier version wrote it; remove it"):
        gather(by_hand / "claims")
