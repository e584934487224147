"""`make snapshot`: what it copies, what it says, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from PIL import Image

from rlvr.claims import grid
from rlvr.claims.contrasts import layout, needs
from rlvr.claims.table import markdown
from rlvr.config.layers import ConfigError
from rlvr.config.paths import Paths
from rlvr.config.plan import asked_for
from rlvr.planning.expansion import make_plan
from rlvr.report.snapshot import FACTS, Missing, copy, described, take

PROVENANCE = {"commit": "c0ffee", "lock_sha256": "beef", "processor": "a core", "finished": "2026-11-21T10:00:00Z"}
CLAIM = {
    **{
        "scale": "smoke",
        "paper": "lens",
        "short": "LENS",
        "claim": "all_k",
        "says": "LENS is ahead",
        "place": "Table 1",
    },
    **{"over": "table1", "effort": "paper's setting", "verdict": "inconclusive", "contrasts": 10, "run": 10},
    **{"deciding": "LENS − GRPO @1", "estimate": 0.5, "low": -1.0, "high": 2.0, "seeds": 2, "problems": 12},
    **{"unit": "training seeds × problems", "published": "holds in its own table", "published_cells": "10 of 10"},
    **{"published_exceptions": "", "learning_rates": "", "low_of_all": -2.0, "high_of_all": 3.0, "p": 0.4},
    **{"reason": "", "stand_in": "qwen2-tiny", "data": "operators"},
}


def manifest_of(plan, policy: str) -> str:
    """What the stages write of a policy, without its files."""
    run = plan.runs.get(policy)
    spec, stage = (run, "rl") if run else (plan.policies[policy], "sft")
    content = {"stage": stage, "seed": run.seed if run else 0, "step": 2, "seconds": 1.5, "provenance": PROVENANCE}
    return json.dumps({**content, "spec": spec.model_dump(mode="json")})


@pytest.fixture(scope="module")
def plan():
    return make_plan(ROOT, "smoke", ["lens"])


@pytest.fixture
def results(plan, tmp_path):
    """Every file that the snapshot reads, made by hand."""
    folder = tmp_path / "results"
    paths, made = Paths(str(folder), "smoke"), plan.papers["lens"]
    for name in asked_for(plan, "lens"):
        file = Path((paths.table if name in made.tables else paths.figure)("lens", name)[1])
        file.parent.mkdir(parents=True, exist_ok=True)
        if name in made.tables:
            file.write_text(name)
        else:
            Image.linear_gradient("L").convert("RGB").save(file)
        for policy in made.item(name).policies():
            manifest = folder / plan.stage(policy) / "manifest.json"
            manifest.parent.mkdir(parents=True, exist_ok=True)
            manifest.write_text(manifest_of(plan, policy))
    claims = folder / "claims" / "smoke" / "lens.csv"
    claims.parent.mkdir(parents=True)
    decided = {
        **CLAIM,
        "effort": "equal pass@1",
        "verdict": "contradicted",
        "low": -3.0,
        "high": -1.5,
        "estimate": -2,
    }
    pd.DataFrame([CLAIM, decided]).to_csv(claims, index=False)
    return folder


def test_it_holds_every_item_with_its_provenance(plan, results, tmp_path):
    out = tmp_path / "docs"
    (out / "gone").mkdir(parents=True)
    assert take(plan, Paths(str(results), "smoke"), out) == ["lens"]
    assert not (out / "gone").exists()
    names = asked_for(plan, "lens")
    copied = {path.stem: path for path in (out / "lens").iterdir()}
    assert set(copied) == set(names)
    assert all(copied[name].read_text() == name for name in names if name in plan.papers["lens"].tables)
    for name in plan.papers["lens"].figures:
        with Image.open(copied[name]) as shown:
            assert (shown.format, shown.mode, shown.size) == ("PNG", "P", (256, 256))
    page = (out / "README.md").read_text()
    assert all(f"(lens/{path.name})" in page for path in (out / "lens").iterdir())
    runs = pd.read_csv(out / "runs.csv")
    wanted = {policy for name in names for policy in plan.papers["lens"].item(name).policies()}
    assert set(runs["policy"]) == wanted and set(runs["commit"]) == {"c0ffee"} and len(runs) == len(wanted)
    assert f"{len(wanted)} policies" in page and "c0ffee" in page and "a core" in page
    found = "- LENS, smoke, equal pass@1: LENS is ahead (Table 1). **Contradicted**: LENS − GRPO @1 −2.0 [−3.0, −1.5]"
    assert found in page and page.count("LENS is ahead") == 1, "what was decided, and nothing else"
    assert "LENS is ahead" in (out / "claims.md").read_text() and "inconclusive" in page


def test_claims_of_another_scale_bring_the_policies_behind_them(plan, results, tmp_path):
    other = make_plan(ROOT, "full-laptop", ["lens", "ace"])
    claims = results / "claims" / "full-laptop" / "lens.csv"
    claims.parent.mkdir()
    pd.DataFrame([{**CLAIM, "scale": "full-laptop"}]).to_csv(claims, index=False)
    with pytest.raises(Missing, match=r"manifest\.json is missing"):
        take(plan, Paths(str(results), "smoke"), tmp_path / "docs", [other])
    found = needs(layout(other, "lens"))
    pairs, runs = found.scores, found.runs
    behind = {*runs, *(policy for policy, _ in pairs)}
    for policy in behind:
        manifest = results / other.stage(policy) / "manifest.json"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_text(manifest_of(other, policy))
    take(plan, Paths(str(results), "smoke"), tmp_path / "docs", [other])
    policies = set(pd.read_csv(tmp_path / "docs" / "runs.csv")["policy"])
    assert behind < policies and len(behind) > 90 and not any("-ace-" in policy for policy in policies)
    page = (tmp_path / "docs" / "README.md").read_text()
    assert "Claims stand at full-laptop scale too." in page and "| LENS    | full-laptop |" in page


def test_what_was_not_made_is_named_and_nothing_is_replaced(plan, results, tmp_path):
    out = tmp_path / "docs"
    (out / "kept").mkdir(parents=True)
    table = Path(Paths(str(results), "smoke").table("lens", "table1")[1])
    table.unlink()
    with pytest.raises(Missing, match=r"table1\.md is missing"):
        take(plan, Paths(str(results), "smoke"), out)
    assert (out / "kept").exists()


def test_items_by_name_stand_alone_and_without_claims(plan, results, tmp_path):
    out = tmp_path / "docs"
    assert take(plan, Paths(str(results), "smoke"), out, items=["table1"]) == ["lens"]
    assert sorted(file.name for file in out.rglob("*") if file.is_file()) == ["README.md", "runs.csv", "table1.md"]
    policies = set(plan.papers["lens"].item("table1").policies())
    assert set(pd.read_csv(out / "runs.csv")["policy"]) == policies
    page = (out / "README.md").read_text()
    assert "(lens/table1.md)" in page and "claims" not in page
    with pytest.raises(ConfigError, match="--item: unknown table or figure 'tabel1'; did you mean 'table1'"):
        take(plan, Paths(str(results), "smoke"), out, items=["tabel1"])


def test_runs_csv_says_what_each_policy_is(plan, results, tmp_path):
    """Method, model, learning rate and settings, as the run's own name has them."""
    out = tmp_path / "docs"
    take(plan, Paths(str(results), "smoke"), out)
    runs = pd.read_csv(out / "runs.csv", keep_default_na=False).set_index("policy")
    columns = ["method", "model", "learning_rate", "settings", "stage", "seed", "step", "seconds"]
    assert list(runs.columns) == [*columns, *FACTS]
    trained = {policy: row for policy, row in runs.iterrows() if policy in plan.runs}
    for policy, row in trained.items():
        spec = plan.runs[policy]
        words = [part.replace(" = ", "") for part in row["settings"].split(", ") if part]
        begin = "-".join([row["model"], row["method"], *words, f"lr{row['learning_rate']:g}", f"seed{row['seed']}"])
        assert policy.rsplit("-", 1)[0] == begin and row["learning_rate"] == spec.rl.learning_rate
    assert {"grpo", "lens"} <= {row["method"] for row in trained.values()}
    assert "std = unbiased" in {row["settings"] for row in trained.values()}, "GRPO of LENS"
    bases = runs[~runs.index.isin(list(plan.runs))]
    assert len(bases) and set(bases["method"]) == {"sft"} and set(bases["settings"]) == {""}
    assert set(bases["learning_rate"]) == {0.008}


def test_a_published_model_is_named_by_its_repository():
    shown = described({"hub": {"repo": "owner/model", "commit": "1" * 40}})
    assert shown == {"method": "", "model": "owner/model", "learning_rate": "", "settings": ""}


def test_a_method_names_what_it_modulates_and_dynamic_sampling():
    plan = make_plan(ROOT, "smoke", ["ace"])
    name = next(name for name in plan.runs if "-ace_grpo-aggregationsum-dapo-" in name)
    shown = described(json.loads(manifest_of(plan, name)))
    assert (shown["method"], shown["settings"]) == ("ace_grpo", "aggregation = sum, dapo")


def test_the_committed_snapshot_is_what_the_code_renders(tmp_path):
    """Its claims, rendered again, give the same words and the same picture; else `make snapshot` is due."""
    folder = ROOT / "docs" / "results"
    claims = pd.read_csv(folder / "claims.csv")
    assert markdown(claims) == (folder / "claims.md").read_text()
    grid.publish(claims, tmp_path / "claims.png")
    copy(tmp_path / "claims.png", tmp_path / "copied.png")
    with Image.open(tmp_path / "copied.png") as made, Image.open(folder / "claims.png") as committed:
        assert made.size == committed.size
        difference = np.abs(np.asarray(made.convert("L"), int) - np.asarray(committed.convert("L"), int))
    assert (difference > 64).mean() < 1e-5, "a marker has ten times as many pixels; edges may round differently"
