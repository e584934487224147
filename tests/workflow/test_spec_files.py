"""The specifications of stages, in files of the plan."""

import json
import re
import shutil
from pathlib import Path

import pytest
from support.checkout import Checkout

from rlvr.config.paths import Paths
from rlvr.workflow.spec_files import of_sources, spec_file

CONTENT = {"steps": 3, "rates": [0.5, 1e-6], "name": "\N{GREEK SMALL LETTER ALPHA}"}


@pytest.fixture
def paths(tmp_path):
    return Paths(str(tmp_path / "results"), "smoke")


def test_the_path_is_that_of_the_content(paths):
    path = spec_file(CONTENT, paths, write=True)
    assert json.loads(Path(path).read_text()) == CONTENT and Path(path).parent == Path(paths.results, "plan")
    assert spec_file(dict(reversed(CONTENT.items())), paths, write=False) == path
    assert spec_file({**CONTENT, "steps": 4}, paths, write=False) != path


def test_a_file_is_written_once_and_only_where_it_is_asked_for(paths):
    path = Path(spec_file(CONTENT, paths, write=False))
    assert not path.parent.exists()
    spec_file(CONTENT, paths, write=True)
    written = path.stat()
    spec_file(CONTENT, paths, write=True)
    assert path.stat().st_ino == written.st_ino and [path] == list(path.parent.iterdir())
    path.unlink()
    spec_file(CONTENT, paths, write=True)
    assert json.loads(path.read_text()) == CONTENT


@pytest.mark.slow
def test_what_runs_jobs_writes_and_what_runs_none_does_not(tmp_path):
    """A job of another Snakemake writes what it does not see: its file system may be late."""
    project = Checkout(tmp_path)
    model = next(iter(project.plan.models))
    manifest, plan = f"results/models/{model}/manifest.json", tmp_path / "results" / "plan"
    for arguments in ("-n", "--summary", "--touch --cores 1"):
        project.snakemake(f"{arguments} -- {manifest}")
        assert not plan.exists(), arguments
    for arguments in ("--cores 1", "--cores 1 --force --nolock --mode subprocess"):
        done = project.snakemake(f"{arguments} -- {manifest}")
        assert done.returncode == 0 and len(list(plan.iterdir())) == 1, done.stderr
        shutil.rmtree(plan)
        (tmp_path / manifest).unlink()


@pytest.mark.slow
def test_other_code_of_figures_draws_them_again(tmp_path):
    stage, folder = tmp_path / "figure.py", tmp_path / "figures"
    folder.mkdir()
    for file, text in ((stage, "a"), (folder / "bars.py", "b"), (folder / "rlvr.mplstyle", "c")):
        file.write_text(text)
    before = of_sources([folder], stage)
    (folder / "notes.txt").write_text("no code")
    assert of_sources([folder], stage) == before
    for file in (stage, *folder.glob("[!n]*")):
        text = file.read_text()
        file.write_text(text + "x")
        assert of_sources([folder], stage) != before, file
        file.write_text(text)
    project = Checkout(tmp_path / "project")
    target = "-- results/papers/smoke/fade/figures/figure7.png"  # of closed forms: no run
    assert project.snakemake(f"--cores 1 {target}").returncode == 0
    done = project.snakemake(f"-n {target}")
    assert "Nothing to be done" in done.stdout + done.stderr
    rules = project.folder / "workflow" / "rules" / "items.smk"
    other = '\nLOOKS["figure"] += "x"\n\n\nrule statistics:'
    rules.write_text(rules.read_text().replace("\nrule statistics:", other, 1))
    done = project.snakemake(f"-n {target}")
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout, flags=re.MULTILINE))
    assert jobs == {"figure": "1", "total": "1"}, done.stderr
