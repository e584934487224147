"""docs/recipes.md: its rows are read, its commands exist, its numbers hold, and a wrong one fails with its name."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import typer
from conftest import ROOT
from support.scripts import benchmark

from rlvr.commands import app

script = benchmark("recipes")
TEXT = script.PAGE.read_text()
RECIPES = script.recipes(TEXT)


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "benchmarks/recipes.py", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)


def test_every_row_of_the_page_is_read():
    assert [recipe.name for recipe in RECIPES] == re.findall(r"^\| \*\*([^*]+)\*\*", TEXT, re.M)
    assert len({recipe.name for recipe in RECIPES}) == len(RECIPES) > 10
    assert [recipe.name for recipe in RECIPES if recipe.reads_runs] == ["power"]
    assert all(recipe.trains for recipe in RECIPES if recipe.reads_runs)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_is_a_documented_command_with_its_number_within_bounds(recipe):
    assert recipe.low <= recipe.expected <= recipe.high
    *_, last = recipe.command.split(" | ")
    program, *words = last.split()
    if program == "rlvr":
        assert words[0] in typer.main.get_command(app).commands, recipe.command  # type: ignore[attr-defined]
        return
    others = [page for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if page != script.PAGE]
    assert program == "snakemake" and any(recipe.command in page.read_text() for page in others), recipe.command


def test_a_figure_is_a_number_that_is_printed_or_in_a_file(tmp_path):
    (tmp_path / "a.csv").write_text("arm,k,difference\ngrpo,32,\nace,1,0.5\nace,32,-1.5e-05\n")
    (tmp_path / "a.md").write_text("first line 7\n| method | −2,041.5 |\n")

    def value(figure: str, said: str = "") -> float:
        return script.Recipe("a", "rlvr", figure, 0, 0, 0, "1 min").value(said, tmp_path)

    assert value("prints `(ACE) ... gains {} points`", "ACE 1 gains 2\n(ACE) 3  gains   +4.5 points") == 4.5
    assert value("`a.md`: `method ... {}`") == -2041.5
    assert value("`a.csv`: `difference` where `arm = ace`, `k = 32`") == -1.5e-05
    for figure, error in (
        ("prints `first ... {}`", RuntimeError),
        ("`a.md`: `first line |{}`", RuntimeError),
        ("`b.csv`: `difference`", RuntimeError),
        ("`a.csv`: `difference` where `arm = ace`", RuntimeError),
        ("`a.csv`: `difference` where `arm = grpo`", ValueError),
        ("`a.csv`: `difference` where `seed = 1`", KeyError),
    ):
        with pytest.raises(error):
            value(figure, "first\nline 7")


def test_a_wrong_number_fails_with_the_name_of_its_recipe(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(TEXT.replace("| 14 | 14 | 14 |", "| 15 | 15 | 15 |"))
    done = run("--page", str(page), "--only", "consistency", "--only", "passk")
    assert done.returncode == 1
    assert "consistency: prints `{} of 203 rows` is 14, expected 15, bounds 15 to 15" in done.stderr.splitlines()
    assert "| 14 | 15 |" in done.stdout and "| 0.9 | 0.9 |" in done.stdout and "passk: prints" not in done.stderr


def test_a_command_that_fails_and_an_unknown_name_are_errors(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(TEXT.replace("rlvr passk --k 8", "rlvr passk --k 64"))
    done = run("--page", str(page), "--only", "passk")
    assert done.returncode == 1 and "passk: echo" in done.stderr and "exit code 2" in done.stderr
    assert run("--only", "thoery").returncode == 2


@pytest.mark.slow
def test_the_numbers_without_training_hold():
    done = run("--quick")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n| ") == len([recipe for recipe in RECIPES if not recipe.trains])
