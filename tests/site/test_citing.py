"""BibTeX entries: what the papers' files and CITATION.cff say, as BibTeX itself reads them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, copied

sys.path.insert(0, str(ROOT / "docs" / "site"))

import citing

BIBTEX = shutil.which("bibtex")


def entries(text: str) -> list[str]:
    return re.findall(r"```bibtex\n(.+?)```", text, re.DOTALL)


def test_the_page_has_the_entries_of_the_papers_files():
    text = (ROOT / citing.PAGE).read_text()
    assert text == citing.page(ROOT), f"{citing.PAGE} is out of date: python docs/site/citing.py"
    assert len(entries(text)) == 1 + len(citing.names(ROOT)) >= 6


@pytest.mark.parametrize("name", citing.names(ROOT))
def test_citation_cff_and_a_papers_page_name_it_as_its_file_does(name):
    paper = yaml.safe_load((ROOT / f"config/papers/{name}/paper.yaml").read_text())
    references = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    (found,) = (one for one in references if one["notes"] == paper["short"])
    authors = ", ".join(f"{author['given-names']} {author['family-names']}" for author in found["authors"])
    assert (found["title"], authors, found["year"]) == (paper["title"], paper["authors"], paper["year"])
    assert f"({found['url']})" in (ROOT / f"config/papers/{name}/page.md").read_text()


def test_a_changed_file_changes_the_page(tmp_path):
    root = copied(tmp_path, "config/papers", "CITATION.cff", citing.PAGE)
    before = citing.page(root)
    paper = root / "config/papers/pacs/paper.yaml"
    paper.write_text(paper.read_text().replace("title: Implicit Actor", "title: Right & Wrong 50% Actor"))
    changed = citing.page(root)
    assert changed != before and r"  title = {{Right \& Wrong 50\% Actor Critic Coupling" in changed
    cff = root / "CITATION.cff"
    cff.write_text(re.sub(r"^version: .*$", "version: 7.8.9", cff.read_text(), flags=re.MULTILINE))
    assert "note = {Version 7.8.9, " in citing.page(root)


@pytest.mark.skipif(BIBTEX is None, reason="needs BibTeX: apt-get install texlive-latex-base")
def test_bibtex_reads_every_entry(tmp_path):
    every = entries((ROOT / citing.PAGE).read_text())
    (tmp_path / "all.bib").write_text("\n".join(every))
    (tmp_path / "all.aux").write_text("\\citation{*}\n\\bibdata{all}\n\\bibstyle{plain}\n")
    done = subprocess.run([BIBTEX, "all"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "Warning" not in done.stdout, done.stdout
    items = re.split(r"\\bibitem", (tmp_path / "all.bbl").read_text())[1:]
    assert len(items) == len(every)
    (fade,) = (" ".join(item.split()) for item in items if "2026fade}" in item)
    assert "Juliette Decugis, Sean O'Brien, Francis Bach, Gabriel Synnaeve, and Taco Cohen" in fade
    assert "Don't Let Gains FADE" in fade  # the style would write: Don't let gains fade
