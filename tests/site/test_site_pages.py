"""The site's generated pages, without Sphinx and without a browser; tests/site/test_browser.py has both."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from support.layouts_by_hand import typed

SITE = ROOT / "docs" / "site"
sys.path.insert(0, str(SITE))

import api  # noqa: E402
import check  # noqa: E402
import mirror  # noqa: E402
import pages  # noqa: E402
import papers  # noqa: E402
import tutorial  # noqa: E402
from docstrings import markdown  # noqa: E402

from rlvr.config.layouts import ScoresLayout  # noqa: E402
from rlvr.figures._scored import OfTables  # noqa: E402
from rlvr.files import publish_lines  # noqa: E402
from rlvr.report import browse, claims, numbers, rerender, runs  # noqa: E402

RUN = {
    **{"method": "grpo", "model": "tiny", "learning_rate": "5e-05", "settings": "", "stage": "rl", "step": "50"},
    **{"seconds": "7", "commit": "c0ffee", "lock": "main.txt beef", "device": "a core", "finished": "2026-11-24"},
}


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A snapshot with two runs, and a table whose statistics are of both."""
    folder = tmp_path / "results"
    (folder / "ace" / ".data").mkdir(parents=True)
    rows = [{"policy": f"tiny-grpo-seed{seed}-ab", "seed": seed, **RUN} for seed in (2, 1)]
    rows += [{"policy": "base-cd", "seed": 1, **RUN, "model": "owner/model", "device": "a GPU"}]
    pd.DataFrame(rows).to_csv(folder / runs.FILE, index=False)
    numbers = {"label": "GRPO <b>", "model": "M", "stand_in": "tiny", "k": 32, "seeds": 2, "problems": 150}
    numbers |= {"value": -1.5, "value_low": -2.0, "value_high": 1e-5}
    numbers |= {"policies": "tiny-grpo-seed1-ab tiny-grpo-seed2-ab"}
    pd.DataFrame([numbers]).to_csv(folder / "ace" / ".data" / "core.csv", index=False)
    words = {"note": "Why.", "scale": "laptop"}
    table = typed(ScoresLayout, title="Core", kind="pass_at_k", **words).model_dump(mode="json")
    figure = typed(OfTables, title="A", kind="pass_at_k_curves", **words).model_dump(mode="json")
    items = [("core", "tables", {"layout": table}), ("curves", "figures", figure)]
    publish_lines(folder / "ace" / ".data" / rerender.ITEMS, (rerender.line(*item, ["core"]) for item in items))
    paper = {"name": "ace", "short": "ACE", "title": "T", "authors": "A", "year": 2026, "items": ["core", "curves"]}
    about = {"scale": "laptop", "title": "R", "about": "", "made_by": "make", "allowed": "", "papers": [paper]}
    (folder / "contents.json").write_text(json.dumps(about))
    (folder / "ace" / "curves.png").write_bytes(b"some bytes")
    (folder / "ace" / "core.md").write_text("# Core\n")
    return folder


def built(folder: Path, **pages: str) -> Path:
    folder.mkdir()
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return folder


def test_the_tutorial_runs_from_top_to_bottom():
    notebook = ROOT / "docs/tutorial.ipynb"
    assert tutorial.with_outputs(notebook) == notebook.read_text(), "run python docs/site/tutorial.py"
    assert str(ROOT) not in notebook.read_text()
    cells = tutorial.run(notebook)
    outputs = [output for kind, _, output in cells if kind == "code"]
    assert "1.73" in outputs[0]  # GRPO's weight of one success among four, sqrt(3)
    assert "3.13" in outputs[1]  # 1 + softplus(2)
    first, second = outputs[-1].strip().split(" = ")
    assert first == second  # the verdict by hand is the one in the results


def test_a_cell_that_fails_fails_the_page(tmp_path):
    notebook = tmp_path / "broken.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["assert 1 == 2"]}]}))
    with pytest.raises(AssertionError):
        tutorial.page(notebook)


def test_a_broken_link_a_missing_anchor_and_a_large_page_are_faults(tmp_path):
    good = '<a href="b.html#there">b</a><a href="https://example.org">out</a><button popovertarget="here"></button>'
    bad = '<h1 id="there"></h1><a href="gone.html">x</a><a href="a.html#not">x</a><a href="http://example.org">x</a>'
    site = built(tmp_path / "site", a=good + '<p id="here"></p>', b=bad, c="x" * (check.LARGEST + 1))
    wrong, sizes = check.faults(site)
    said = [line.rpartition(": ")[2].rpartition("; ")[2] for line in wrong]
    assert said == ["no such file", "no such anchor", "not https", f"at most {check.LARGEST:,}"]
    assert sizes["c.html"] == check.LARGEST + 1


def test_a_page_weighs_what_it_loads(tmp_path):
    site = built(tmp_path / "site", a='<img src="p.png"><img src="p.png"><script src="s.js?v=1"></script>')
    (site / "p.png").write_bytes(b"1" * 1000)
    (site / "s.js").write_bytes(b"1" * 100)
    wrong, sizes = check.faults(site)
    assert not wrong and sizes["a.html"] == (site / "a.html").stat().st_size + 1100


def test_a_number_leads_to_its_runs(snapshot):
    frames = rerender.items_of(snapshot / "ace")["core"].statistics()
    popovers = numbers.Popovers(runs.read(snapshot).at("runs-{model}.html"))
    page = numbers.numbers(frames["core"], "core", popovers)
    assert '<button type="button" popovertarget="runs-0">−1.5 [−2, 1e-05]</button>' in page
    assert page == numbers.numbers(frames["core"], "core", popovers), "another table leads to the same popover"
    (popover,) = popovers.html
    assert popover.startswith('<div popover id="runs-0"')
    assert '<a href="runs-tiny.html#tiny-grpo-seed1-ab">grpo with tiny, learning rate 5e-05</a>, seeds 1, 2' in popover
    assert "c0ffee" in popover and "main.txt beef" in popover and "0 min 14 s" in popover
    assert "GRPO &lt;b&gt;" in popover and "GRPO <b>" not in page + popover
    same_page = numbers.Popovers(runs.read(snapshot))
    numbers.numbers(frames["core"], "core", same_page)
    assert all(f'<a href="#tiny-grpo-seed{seed}-ab">{seed}</a>' in same_page.html[0] for seed in (1, 2))


def test_a_link_to_a_run_is_to_the_page_of_its_model(snapshot):
    facts = runs.read(snapshot).at("runs-{model}.html").origin(["tiny-grpo-seed2-ab", "base-cd"])["Runs"]
    assert re.findall('href="([^"]+)"', facts) == ["runs-tiny.html#tiny-grpo-seed2-ab", "runs-owner-model.html#base-cd"]


def test_long_statistics_are_a_row_per_method(snapshot):
    frames = rerender.items_of(snapshot / "ace")["core"].statistics()
    popovers = numbers.Popovers(runs.read(snapshot))
    page = numbers.numbers(pd.concat(3 * [frames["core"]]), "core", popovers, most=1)
    assert page.count("<tr") == 2 and 'popovertarget="runs-0">GRPO &lt;b&gt;</button>' in page and "3 rows" in page


def test_each_run_has_an_anchor_and_the_seeds_of_an_arm_are_in_order(snapshot):
    page = runs.read(snapshot).table()
    assert page.index('<tr id="tiny-grpo-seed1-ab">') < page.index('<tr id="tiny-grpo-seed2-ab">')


def test_an_estimate_of_a_claim_has_its_interval_and_its_runs(snapshot):
    frame = claims.complete(pd.read_csv(ROOT / "docs/results/claims.csv.xz")).head(1)
    row = frame.iloc[0]
    key = tuple(row[["scale", "paper", "claim", "effort"]])
    page = claims.verdicts(frame, runs.read(snapshot).at("runs.html"), {key: ["tiny-grpo-seed2-ab"]})
    assert f'<tr id="{claims.anchor(row)}">' in page
    assert row["unit"] in page and row["deciding"] in page
    assert "runs.html#tiny-grpo-seed2-ab" in page


def test_a_papers_settings_are_a_page_that_its_own_page_leads_to():
    page = papers.settings(ROOT, "lens")
    seeds = next(line for line in page.splitlines() if line.startswith("<tr><td>seeds"))
    assert ">3</td>" in seeds and "two independent runs on MATH + DAPO<small>sec. 6</small>" in seeds
    assert '<span class="badge contradicted">differs</span>' in seeds
    number = seeds.partition('popovertarget="deviation-')[2].partition('"')[0]
    assert f'<div popover id="deviation-{number}"' in page and f"{number}. Three seeds" in page
    assert "| llama-3.1-8b-instruct |" in page and "The paper states no duration of a run." in page
    assert "\n\n" not in page[page.index("<tbody>") : page.index("</tbody>")]  # or Markdown ends the block
    template = (SITE / "paper.md.j2").read_text()
    assert "](settings/{{ name }}.md)" in template and "\nsettings/{{ name }}\n" in template


def test_every_paper_has_its_estimator_and_its_readings_and_its_files_title():
    assert papers.estimator_of("agrae") == "a_grae"
    for page in (ROOT / "config/papers").glob("*/page.md"):
        name = page.parent.name
        readings = papers._readings(ROOT, papers.estimator_of(name))
        assert all(len(row) == 4 for row in readings)
        assert any(f"`{papers.estimator_of(name)}`" in row[0] for row in readings), name
        assert page.read_text().split("*")[1] in page.with_name("paper.yaml").read_text()


def test_the_api_has_signatures_and_docstrings(tmp_path):
    api.write(tmp_path / "api")
    page = (tmp_path / "api" / "estimators.md").read_text()
    assert "{py:function} advantages(rewards_PG: Tensor, *, log_ratio_PG: Tensor" in page
    assert "Confidence-aware error penalty" in page
    trl = (tmp_path / "api" / "adapters.md").read_text()  # whose trainer is not installed here
    assert "{py:class} GRPOTrainer(*args: Any, estimator: str=" in trl


def test_a_docstring_keeps_its_signs():
    text = "A * B * c_i for `x_i` <= |r|:\n\n    alpha * beta\n"
    assert markdown(text) == "A \\* B \\* c\\_i for `x_i` \\<= \\|r\\|:\n\n```text\nalpha * beta\n```"


def test_a_link_to_the_readme_leads_to_the_start_page(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "index.md").write_text("[x](docs/results/README.md) [y](docs/tutorial.ipynb)")
    (tmp_path / "docs" / "a.md").write_text("[x](../README.md) [y](tutorial.ipynb) [z](../config/README.md)")
    with pytest.raises(SystemExit, match="no such page: docs/not-there"):
        mirror.finish(ROOT, tmp_path, {"Start": ["docs/a", "docs/not-there"]})
    mirror.finish(ROOT, tmp_path, {"Start": ["docs/a", "docs/league/README"]})
    assert (tmp_path / "docs" / "a.md").read_text() == "[x](../index.md) [y](tutorial.md) [z](../config/README.md)"
    start = (tmp_path / "index.md").read_text()
    assert start.startswith("[x](docs/results/README.md) [y](docs/tutorial.md)")
    assert "docs/a" in start and "league" not in start


def test_a_papers_page_has_no_links_to_pictures_that_are_not_kept(snapshot):
    for picture in ("ace/curves.png", ""):
        (shown,) = papers.Snapshot(ROOT, snapshot).results("ace")["figures"]
        assert shown["picture"] == picture
        (snapshot / "ace" / "curves.png").unlink(missing_ok=True)


@pytest.mark.parametrize("most", [pages.MOST_PICTURES, 0])
def test_a_snapshot_has_its_pages_and_links_in_place_of_many_pictures(snapshot, tmp_path, monkeypatch, most):
    monkeypatch.setattr(pages, "MOST_PICTURES", most)
    for name in ("league", "results"):
        out = tmp_path / "docs" / name
        shutil.copytree(snapshot, out)
        pages.snapshot(papers.Snapshot(ROOT, snapshot), out)
        written = (out / "README.md").read_text()
        assert ("![A. " if most else "Figure: [A](") in written and "\n\nWhy. " in written
        assert ("\nace/*\n" in written) == (name == "league"), "papers' own pages lead to those of docs/results"
        pages_of_runs = {page.name: page.read_text() for page in out.glob("runs-*.md")}
        rows = {name: page.count('<tr id="') for name, page in pages_of_runs.items()}
        assert rows == {"runs-tiny.md": 2, "runs-owner-model.md": 1}
        assert "2 policies" in pages_of_runs["runs-tiny.md"] and "a GPU" in pages_of_runs["runs-owner-model.md"]
        assert "GRPO" in (out / "ace" / "numbers" / "core.md").read_text()
        assert "(numbers/core.md)" in (out / "ace" / "core.md").read_text()


def test_a_table_says_how_its_columns_sort():
    html = browse.table("Runs", {"Seed": browse.NUMBER}, [("a", [browse.TableCell("8 [7, 9]", 8)])])
    assert '<th scope="col" data-kind="number">Seed</th>' in html
    assert '<tr id="a"><td data-sort="8">8 [7, 9]</td></tr>' in html
    assert browse.TableCell("8", 8).html() == "<td>8</td>", "its text sorts"
    assert 'aria-label="Runs"' in html
