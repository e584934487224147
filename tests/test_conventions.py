"""The files that a host, a catalog or a container reads: they name targets and settings that exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def commands(node):
    """The strings of all `run` keys."""
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key == "run")
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from commands(child)


def test_workflows_call_targets_that_exist():
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    called = {
        target
        for file in files
        for command in commands(yaml.safe_load(file.read_text()))
        for target in re.findall(r"\bmake ([a-z-]+)", command)
    }
    assert {"lint", "test", "test-package", "site"} <= called <= TARGETS


def test_workflows_may_read_and_the_site_alone_may_be_deployed():
    for file in sorted((ROOT / ".github/workflows").glob("*.yml")):
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}, file.name
        rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
        deploys = {"deploy": {"pages": "write", "id-token": "write"}}
        assert rights == (deploys if file.stem == "pages" else {}), file.name
    pages = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text())
    assert pages[True]["push"] == {"branches": ["main"]} and "pull_request" not in pages[True]  # YAML 1.1: `on` is true
    (folder,) = (step["with"]["path"] for step in pages["jobs"]["build"]["steps"] if "path" in step.get("with", {}))
    assert f"sphinx-build --quiet --fail-on-warning --keep-going -c docs/site build/site {folder}\n" in MAKEFILE


def test_the_container_runs_targets_that_exist():
    text = (ROOT / "Dockerfile").read_text()
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
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


def test_the_catalogs_configuration_plans_every_stage(tmp_path):
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", "--directory", str(tmp_path)]
    done = subprocess.run(
        [*command, "--configfile", ".test/config/config.yaml"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert all(f"\n{stage} " in done.stdout for stage in ("sft", "rl", "generate", "grade", "score", "report"))
