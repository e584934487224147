"""The edit that docs/running.md describes plans one family of runs; the blocks of YAML in docs are settings."""

import re
from contextlib import suppress

import pytest
import yaml
from conftest import ROOT, whole_copy
from markdown_it import MarkdownIt
from test_readme import Copy
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config.cluster import Cluster

pytestmark = pytest.mark.slow

EDIT = re.compile(
    r"edit its list in `(?P<file>config/papers/\w+/paper\.yaml)`: `(?P<new>[^`]+)` added to `(?P<key>[\w.]+)`"
)


def runs_of_table(copy: Copy, table: str) -> set[str]:
    """The RL runs that a dry run of the table plans."""
    return set(re.findall(r"results/runs/([^/\s]+)/manifest\.json", copy.good(f"snakemake -n --quiet host -- {table}")))


def edit(copy: Copy, file: str, key: str, new: str) -> None:
    """Adds one value to the list at a key, in the file's own text."""
    path = copy.folder / file
    top, name = key.split(".")
    pattern = rf"(^{top}:.*?^  {name}:.*?^    values: \[[^]]*)(?=\])"
    text, count = re.subn(pattern, rf"\g<1>, {new}", path.read_text(), count=1, flags=re.DOTALL | re.MULTILINE)
    assert count == 1, f"{file}: {key} is no list"
    path.write_text(text)


def test_the_described_edit_plans_one_family_of_new_runs(tmp_path):
    found = EDIT.search(" ".join((ROOT / "docs/running.md").read_text().split()))
    assert found, "docs/running.md describes no edit of an ablation as this test reads it"
    copy, table = Copy(whole_copy(tmp_path / "checkout")), "results/papers/laptop/ace/tables/table4.md"
    before = runs_of_table(copy, table)
    edit(copy, found["file"], found["key"], found["new"])
    new = runs_of_table(copy, table) - before
    families = {re.sub(r"-seed\d+-[0-9a-f]+$", "", run) for run in new}
    assert len(families) == 1 and f"alpha{float(found['new'])}" in families.pop(), new
    assert len(new) == yaml.safe_load((copy.folder / "config/scale/laptop.yaml").read_text())["seeds"]


def yaml_blocks(document: str) -> list[dict]:
    """The blocks of a document that are YAML mappings."""
    found = []
    for token in MarkdownIt("commonmark").parse((ROOT / document).read_text()):
        with suppress(yaml.YAMLError):
            found += [yaml.safe_load(token.content)] if token.type in ("code_block", "fence") else []
    return [block for block in found if isinstance(block, dict)]


def test_blocks_of_cluster_md_are_settings_of_a_site():
    present = yaml.safe_load((ROOT / "config/cluster.yaml").read_text())
    blocks = yaml_blocks("docs/cluster.md")
    assert sum("kinds" in block for block in blocks) >= 2
    for block in blocks:
        Cluster.model_validate({**present, **block})


def test_measured_rates_of_cost_md_are_read(tmp_path):
    (block,) = [block for block in yaml_blocks("docs/cost.md") if "measured" in block]
    (tmp_path / "rates.yaml").write_text(yaml.safe_dump(block))
    done = CliRunner().invoke(app, ["plan", "ace", "--measured", str(tmp_path / "rates.yaml")])
    assert "my run" in done.stdout, done.stderr
