"""The files that a host, a catalog or a container reads: they name targets and settings that exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import APART, ROOT, copied, snakemake

from rlvr import __version__

sys.path.insert(0, str(ROOT / ".ci"))

import notes

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
SCALES = {file.stem for file in (ROOT / "config/scale").glob("*.yaml")}


def commands(node):
    """The strings of all `run` keys."""
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key == "run")
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from commands(child)


def paths_of(job: dict) -> list[str]:
    """What a job's steps keep."""
    return [step["with"]["path"] for step in job["steps"] if "path" in step.get("with", {})]


def test_workflows_call_targets_that_exist():
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    every = (command for file in files for command in commands(yaml.safe_load(file.read_text())))
    called = {target for command in every for target in re.findall(r"\bmake ([a-z-]+)", command)}
    assert {"lint", "test", "test-package", "site", "dist"} <= called <= TARGETS


def test_every_target_of_tests_runs_in_ci_or_each_night():
    """But for those that are a part of another, or need more memory than the machines there have."""
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())["jobs"]["long"]
    each_night = set(nightly["strategy"]["matrix"]["target"])
    in_ci = set(re.findall(r"^(?:part|begin) ([a-z-]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE))
    assert nightly["steps"][-1]["run"] == "make ${{ matrix.target }}" and "test-slow" in each_night
    tests = {target for target in TARGETS if re.match("test|lint|site|check-recipes", target)}
    assert in_ci | each_night == {*tests - {"test-quick", "test-vllm"}, "install-test"}


def test_checks_of_a_request_build_the_site_and_have_latex():
    """The site is deployed from main alone; tests of tables and of BibTeX are skipped where there is no LaTeX."""
    run = list(commands(yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())))
    assert "make site" in run
    before = "\n".join(run).partition("make test\n")[0]
    assert {"bubblewrap", "texlive-latex-base", "texlive-latex-recommended"} <= set(before.split())


def test_make_help_has_the_six_targets_for_newcomers_and_then_every_other():
    """The second column begins at one place."""
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    first, then = (part.splitlines()[1:] for part in text.split("\n\n"))
    lines = [*first, *then]
    names, starts = zip(*[(line.split()[0], re.search(r"\S +", line).end()) for line in lines], strict=True)
    assert names[: len(first)] == ("run", "test", "install", "doctor", "site", "help")
    assert len(set(names)) == len(names) and len(set(starts)) == 1
    assert set(names) == TARGETS == set(" ".join(re.findall(r"^\.PHONY:(.*)", MAKEFILE, re.MULTILINE)).split())
    assert re.search(r"^ +test .* minutes", text, re.MULTILINE)


def test_the_glossary_names_every_scale():
    (row,) = re.findall(r"^\| \*\*scale\*\* \|(.*)", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", row)) == SCALES


# ---- marks of tests ----

MARKED = """
import pytest

def test_plain(): pass
@pytest.mark.chain
def test_chain(): pass
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.slow
@pytest.mark.verl
def test_slow_verl(): pass
@pytest.mark.long
def test_long(): pass
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"plain", "chain"}),
        (("-m", "not chain"), {"plain"}),
        (("-m", "slow and not long"), {"slow", "slow_verl"}),
        (("-m", "verl"), {"slow_verl"}),
    ],
)
def test_tests_that_are_apart_run_only_where_m_names_their_mark(options, expected, tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_marks.py").write_text(MARKED)
    words = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    words += ["-p", "no:cacheprovider", "--collect-only", *options, str(tmp_path)]
    found = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path).stdout
    assert set(re.findall(r"::test_(\w+)", found)) == expected


def test_marks_that_make_selects_are_those_apart():
    selected = set(re.findall(r"pytest .*-m '?(?!not )(\w+)", MAKEFILE))
    declared = set(re.findall(r'"(\w+): ', (ROOT / "pyproject.toml").read_text()))
    assert selected == APART == declared - {"broad", "chain"}


# ---- a release ----


def test_the_changelog_says_whether_its_newest_version_is_tagged():
    """A clone without tags can show that a version has none only where the heading says so too."""
    tags = subprocess.run(["git", "tag", "--list", f"v{__version__}"], cwd=ROOT, capture_output=True, text=True).stdout
    heading = (ROOT / "CHANGELOG.md").read_text().partition("\n")[0]
    assert not (tags.strip() and "no version is tagged" in heading), "take the words out of the heading"


def test_a_release_has_one_version_and_one_date():
    (version, date, words), *earlier = notes.sections((ROOT / "CHANGELOG.md").read_text())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert version == __version__ == citation["version"] == notes.version()
    assert date == citation["date-released"].isoformat() and words.startswith("- ")
    assert [older[1] for older in earlier] == sorted((older[1] for older in earlier), reverse=True)


def test_the_notes_of_a_tag_are_its_section(tmp_path):
    copy = copied(tmp_path / "project", ".ci/notes.py", "src/rlvr/__init__.py")
    text = "# Changelog\n\n## {} (2026-01-02)\n\n- New.\n  More.\n\n## 0.0.1 (2025-01-02)\n\n- Old.\n"

    def said(tag: str) -> tuple[int, str]:
        command = [sys.executable, str(copy / ".ci/notes.py"), tag]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    (copy / "CHANGELOG.md").write_text(text.format(__version__))
    assert said(f"v{__version__}") == (0, "- New.\n  More.\n")
    assert said("v99.0.0") == (1, f"the tag is v99.0.0, and the version of src/rlvr/__init__.py is {__version__}\n")
    (copy / "CHANGELOG.md").write_text(text.format("98.0.0"))
    assert said(f"v{__version__}") == (1, f"CHANGELOG.md has no section '## {__version__} (YYYY-MM-DD)'\n")


def test_a_release_takes_what_make_dist_leaves():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    build, publish = ([*commands(workflow["jobs"][job])] for job in ("build", "publish"))
    assert "make dist" in build and ".ci/notes.py" in build[0] and publish[0].startswith("gh release create ")
    recipe = MAKEFILE.partition("\ndist: ")[2].partition("\n\n")[0]
    assert "--outdir dist ." in recipe and "pip install" in recipe and "rlvr --help" in recipe
    (kept,) = (path.split() for path in paths_of(workflow["jobs"]["build"]))
    assert kept == ["dist/*", "build/notes.md"] and all(path in publish[0] for path in kept)


def test_workflows_may_read_and_two_jobs_may_write():
    """One deploys the site, one publishes a release; neither builds what it writes."""
    may_write = {"pages": {"deploy": {"pages": "write", "id-token": "write"}}}
    may_write["release"] = {"publish": {"contents": "write"}}
    for file in sorted((ROOT / ".github/workflows").glob("*.yml")):
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}, file.name
        rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
        assert rights == may_write.get(file.stem, {}), file.name
        assert not any("make" in command for job in rights for command in commands(workflow["jobs"][job])), file.name
    pages = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text())
    assert pages[True]["push"] == {"branches": ["main"]} and "pull_request" not in pages[True]  # YAML 1.1: `on` is true
    (folder,) = paths_of(pages["jobs"]["build"])
    assert f"sphinx-build --quiet --fail-on-warning --keep-going -c docs/site build/site {folder}\n" in MAKEFILE


def test_the_container_runs_targets_that_exist():
    text = (ROOT / "Dockerfile").read_text()
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    paths = [settings["build"][key] for key in ("dockerfile", "context")]
    assert all((ROOT / ".devcontainer" / path).exists() for path in paths)
    named = re.findall(r"make\W+([a-z-]+)", text.partition("RUN make")[1] + text.partition("RUN make")[2])
    named += settings["postCreateCommand"].removeprefix("make ").split()
    assert {"install", "run", "install-test"} <= set(named) <= TARGETS
    assert settings["remoteUser"] == re.search(r"^USER (\w+)", text, re.MULTILINE)[1]


@pytest.mark.parametrize(
    "file", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda file: file.stem
)
def test_an_issue_form_asks_for_something(file: Path):
    form = yaml.safe_load(file.read_text())
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids) > 2
    assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_the_catalog_finds_a_standard_workflow():
    """Its rules for the standardized usage: these files, rules that end with .smk, a README with two words."""
    for name in ("workflow/Snakefile", "config/README.md", ".snakemake-workflow-catalog.yml"):
        assert (ROOT / name).is_file(), name
    assert {file.suffix for file in (ROOT / "workflow/rules").iterdir()} == {".smk"}
    assert all(word in (ROOT / "README.md").read_text().lower() for word in ("snakemake", "workflow"))
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    scales = re.search(r"scale \((.+?)\)", usage["mandatory-flags"]["desc"])[1].split(", ")
    assert set(scales) == SCALES
    assert usage["mandatory-flags"]["flags"].removeprefix("--config scale=") in scales


def planned(*arguments: str) -> tuple[int, str, list[str]]:
    """The exit code of a dry run in this folder, its table of jobs, and what each makes or what is wrong."""
    done = snakemake("-n", "--cores", "2", *arguments, check=False)
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("    output: "))
    return done.returncode, done.stdout.partition("Job stats:")[2].partition("\n\n")[0], lines or [done.stderr]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["all", "corre"])
def test_the_catalogs_snakefile_is_the_workflow(target):
    whole, of_the_catalog = (
        planned("-s", name, "--config", "scale=smoke", "papers=ace", "--", target)
        for name in ("Snakefile", "workflow/Snakefile")
    )
    assert of_the_catalog == whole
    code, jobs, lines = whole
    if target == "all":
        assert code == 0 and "\nrl " in jobs and len(lines) > 10
    else:
        assert code != 0 and "did you mean core?" in lines[0]


def test_the_catalogs_configuration_plans_every_stage(tmp_path):
    options = ("--directory", str(tmp_path), "--configfile", ".test/config/config.yaml")
    done = snakemake("-n", "--cores", "2", *options)
    assert all(f"\n{stage} " in done.stdout for stage in ("sft", "rl", "generate", "grade", "score", "report"))


def test_agents_names_tests_and_targets_that_exist():
    text = (ROOT / "AGENTS.md").read_text()
    rows = re.findall(r"^\| (.+) \| `(tests/\S+\.py)` \|$", text, re.MULTILINE)
    assert len(rows) > 20 and len({file for _, file in rows}) == len(rows)
    assert [file for _, file in rows if not (ROOT / file).is_file()] == []
    assert text.count("`tests/") == len(rows), "each file stands in a row of the table"
    assert set(re.findall(r"^    make ([a-z-]+)", text, re.MULTILINE)) <= TARGETS


def test_the_index_of_what_tests_share_has_each_module():
    folder = ROOT / "tests" / "support"
    listed = re.findall(r"^(\w+)   +\S", (folder / "__init__.py").read_text(), re.MULTILINE)
    assert listed == sorted(file.stem for file in folder.glob("[a-z]*.py"))
