"""A paper's configuration is one folder: nothing else in config/ needs it, and each of its files is read."""

import shutil

import pytest
from conftest import ROOT
from support.own_config import copied

from rlvr.config import paper_folders
from rlvr.config.layers import ConfigError
from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources

PAPERS = paper_folders.names(ROOT / "config")


@pytest.mark.broad
@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_is_deleted_with_its_folder(tmp_path, paper):
    """No paper names another's published tables or arms; one that did would need an exception here."""
    shutil.rmtree(copied(tmp_path) / "config/papers" / paper)
    others = paper_folders.names(tmp_path / "config")
    assert others == [name for name in PAPERS if name != paper]
    for path in (tmp_path / "config/scale").glob("*.yaml"):
        read_sources(tmp_path, path.stem, [])
    for scale in ("smoke", "laptop"):
        assert [*make_plan(tmp_path, scale, others).papers] == others


@pytest.mark.broad
def test_each_file_of_a_papers_folder_is_read():
    """Its YAML files by name, its published tables because a table or a row of some paper names them."""
    folder = ROOT / "config/papers"
    tables = [item for of in make_plan(ROOT, "paper", PAPERS).papers.values() for item in of.tables.values()]
    read = {f"{paper}/{name}" for paper in PAPERS for name in paper_folders.FILES}
    read |= {name for item in tables for name in item.references()}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files <= read, f"nothing reads {', '.join(sorted(files - read))}"


def test_places_name_the_file_of_their_section():
    layer = paper_folders.read(ROOT / "config", "lens", ROOT)
    assert layer.place(("arms", "lens")) == "config/papers/lens/paper.yaml: arms.lens"
    assert layer.below("claims", []).place((0, "says")) == "config/papers/lens/claims.yaml: claims.0.says"


def test_deviations_are_the_items_of_a_list():
    text = "# Deviations\n\n- One\n  goes on.\n- Two: `a - b`.\n\n  In a second paragraph.\n"
    assert paper_folders.deviations(text, "d.md") == ["One goes on.", "Two: `a - b`. In a second paragraph."]
    with pytest.raises(ConfigError, match=r"d.md, line 3: begin a deviation with `- `"):
        paper_folders.deviations("# Deviations\n\nOne\n", "d.md")


def test_headings_that_follow_each_other_share_a_note():
    text = "# Notes\n\n## a, b\n## c\n\nOf three,\nin two lines.\n\n## d\n\nOf one.\n"
    of_three = "Of three, in two lines."
    assert paper_folders.notes(text, "n.md") == {"a": of_three, "b": of_three, "c": of_three, "d": "Of one."}
    for wrong, message in (("## a\n\nAgain.\n", "a has two notes"), ("## e\n", "e has a heading and no text")):
        with pytest.raises(ConfigError, match=rf"n.md: {message}"):
            paper_folders.notes(text + wrong, "n.md")
