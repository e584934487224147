"""`make snapshot`: what it copies, what it says, and what it refuses."""

import json
import lzma
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from PIL import Image
from support.evidence_by_hand import evidence_by_hand
from support.scores_by_hand import LAYOUT, on_x
from test_pages import claims_row

from rlvr.claims import mechanism_table
from rlvr.claims.table import markdown
from rlvr.config.layers import ConfigError
from rlvr.config.paths import Paths
from rlvr.config.plan import asked_for, core_items
from rlvr.files import publish
from rlvr.planning.expansion import make_plan
from rlvr.report import findings, readme, rerender
from rlvr.report.history import objections, unused
from rlvr.report.runs import FILE, ORIGIN, described
from rlvr.report.snapshot import CannotStay, MissingResults, SnapshotRefused, main, take
from rlvr.statistics.table_rows import pass_at_k_rows

PROVENANCE = {"commit": "c0ffee", "lock_sha256": "beef", "processor": "a core", "finished": "2026-11-21T10:00:00Z"}
LENS = {"scale": "smoke", "paper": "lens", "short": "LENS", "claim": "all_k", "says": "LENS is ahead"}
CLAIM = claims_row(**LENS, verdict="inconclusive", deciding="LENS − GRPO @1", seeds=2, problems=12, p=0.4)


def manifest_of(plan, policy: str) -> str:
    """What the stages write of a policy, without its files."""
    run = plan.runs.get(policy)
    spec, stage = (run, "rl") if run else (plan.policies[policy], "sft")
    content = {"stage": stage, "seed": run.seed if run else 0, "step": 2, "seconds": 1.5, "provenance": PROVENANCE}
    return json.dumps({**content, "spec": spec.model_dump(mode="json")})


@pytest.fixture(scope="module")
def plan():
    return make_plan(ROOT, "smoke", ["lens"])


def by_hand(plan, folder: Path, paper: str) -> None:
    """Every file of a paper that the snapshot reads, but its claims."""
    paths, made = Paths(str(folder), "smoke"), plan.papers[paper]
    evidence_by_hand(plan, folder, paper)
    for judged in map(Path, (paths.mechanisms(paper), paths.controls(paper))):
        judged.parent.mkdir(parents=True, exist_ok=True)
        judged.write_text(",".join(mechanism_table.COLUMNS) + "\n")
    for name in asked_for(plan, paper):
        file = Path((paths.table if name in made.tables else paths.figure)(paper, name)[1])
        file.parent.mkdir(parents=True, exist_ok=True)
        for statistics in rerender.files(plan, paper, name, paths):
            statistics.parent.mkdir(parents=True, exist_ok=True)
            compared = statistics.stem == findings.COMPARISONS
            statistics.write_text("against,k,effort,arm\ngrpo,1,,x\n" if compared else "a,b\n1,2\n")
        if name in made.tables:
            file.write_text(name)
        else:
            Image.linear_gradient("L").convert("RGB").save(file)
        for policy in made.item(name).policies():
            manifest = folder / plan.stage(policy) / "manifest.json"
            manifest.parent.mkdir(parents=True, exist_ok=True)
            manifest.write_text(manifest_of(plan, policy))


def taken(plan, results: Path, out: Path, allow: str = "by hand", **options) -> list[str]:
    return take(plan, Paths(str(results), "smoke"), out, allow=allow, **options)


@pytest.fixture
def results(plan, tmp_path):
    """Every file that the snapshot reads, made by hand."""
    folder = tmp_path / "results"
    by_hand(plan, folder, "lens")
    claims = folder / "claims" / "smoke" / "lens.csv"
    claims.parent.mkdir(parents=True, exist_ok=True)
    decided = {**CLAIM, "claim": "other", "verdict": "contradicted", "low": -3.0, "high": -1.5, "estimate": -2}
    of_base = {**decided, "claim": "third", "about": "base", "says": "GRPO is ahead", "stand_in": "m"}
    pd.DataFrame([CLAIM, decided, of_base]).to_csv(claims, index=False)
    return folder


def test_it_holds_every_item_with_its_provenance(plan, results, tmp_path):
    out = tmp_path / "docs"
    (out / "gone").mkdir(parents=True)
    assert taken(plan, results, out) == ["lens"]
    assert not (out / "gone").exists()
    names = asked_for(plan, "lens")
    copied = {path.stem: path for path in (out / "lens").iterdir() if path.is_file()}
    tables, cores = plan.papers["lens"].tables, {name for _, name in core_items(plan)}
    assert set(copied) == {name for name in names if name in tables and name in cores}
    assert all(path.read_text() == name for name, path in copied.items())
    page = (out / "README.md").read_text()
    assert all(f"(lens/{path.name})" in page for path in copied.values())
    others = {plan.papers["lens"].item(name).content.title for name in names if name in {*tables} - cores}
    assert others and all(f"\n- {title}" in page for title in others) and "tables without a link" in page
    assert {item.name for item in rerender.items(out)} == set(names)
    assert "Taken although" in page and "c0ffee is no ancestor of HEAD" in page and "reason: by hand." in page
    runs = pd.read_csv(out / FILE)
    wanted = {policy for name in names for policy in plan.papers["lens"].item(name).policies()}
    assert set(runs["policy"]) == wanted and set(runs["commit"]) == {"c0ffee"} and len(runs) == len(wanted)
    assert f"{len(wanted)} policies" in page and "c0ffee" in page and "a core" in page
    assert "do not count as found" in page and "| two methods " in page
    (row,) = (line for line in page.splitlines() if "LENS is ahead" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:5] == ["LENS", "paper's setting", "LENS is ahead (Table 1)", "**contradicted**", "LENS − GRPO @1"]
    assert cells[5].startswith("−2.0 [−3.0, −1.5]"), "what was decided, and nothing else"
    assert page.index("c0ffee,") > page.index("## LENS"), "hashes come after the results"
    assert "GRPO is ahead" not in page and "GRPO is ahead" in (out / "claims.md").read_text()
    assert "LENS is ahead" in (out / "claims.md").read_text() and "inconclusive" in page


def test_claims_of_another_scale_stay_out(plan, results, tmp_path):
    claims = results / "claims" / "laptop" / "lens.csv"
    claims.parent.mkdir(exist_ok=True)
    pd.DataFrame([{**CLAIM, "scale": "laptop"}]).to_csv(claims, index=False)
    taken(plan, results, tmp_path / "docs")
    assert set(pd.read_csv(tmp_path / "docs" / readme.CLAIMS)["scale"]) == {"smoke"}


def test_what_is_refused_replaces_nothing(plan, results, tmp_path):
    out = tmp_path / "docs"
    (out / "kept").mkdir(parents=True)
    with pytest.raises(SnapshotRefused, match="c0ffee is no ancestor of HEAD, or not in this repository"):
        taken(plan, results, out, allow="")
    Path(Paths(str(results), "smoke").table("lens", "table1")[1]).unlink()
    with pytest.raises(MissingResults, match=r"table1\.md is missing"):
        taken(plan, results, out)
    assert (out / "kept").exists()


def test_items_by_name_stand_alone_and_without_claims(plan, results, tmp_path):
    out = tmp_path / "docs"
    assert taken(plan, results, out, items=["table1"]) == ["lens"]
    files = [file.name for file in out.rglob("*") if file.is_file()]
    assert sorted(files) == [
        *("README.md", "SHA256SUMS", "contents.json", "counts.jsonl.xz"),
        *("items.jsonl.xz", "runs.csv.xz", "table1.csv"),
    ]
    policies = set(plan.papers["lens"].item("table1").policies())
    assert set(pd.read_csv(out / FILE)["policy"]) == policies
    page = (out / "README.md").read_text()
    assert f"\n- {plan.papers['lens'].item('table1').content.title}" in page and "claims" not in page.lower()
    with pytest.raises(ConfigError, match="--item: unknown table or figure 'tabel1'; did you mean 'table1'"):
        taken(plan, results, out, items=["tabel1"])


def test_instead_of_pictures_it_has_what_they_are_drawn_from(plan, results, tmp_path):
    out, figures = tmp_path / "docs", set(asked_for(plan, "lens")) & set(plan.papers["lens"].figures)
    taken(plan, results, out)
    assert {file.name for file in out.rglob("*.png")} <= {*findings.PICTURES} and figures
    page = (out / "README.md").read_text()
    assert "(lens/core_curves.png)" not in page and "Pictures and tables without a link are not kept here" in page
    assert all(f"\n- {plan.papers['lens'].item(name).content.title} (figure)\n" in page for name in figures)


@pytest.mark.parametrize("of", ["controls", "mechanisms"])
def test_there_is_no_snapshot_without_criteria_or_controls(plan, results, tmp_path, of):
    (results / of / "smoke/lens.csv").unlink()
    with pytest.raises(MissingResults, match=rf"{of}/smoke/lens\.csv is missing \(1 missing files"):
        taken(plan, results, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_below_a_picture_are_the_words_on_it(plan, results, tmp_path):
    out, title = tmp_path / "docs", plan.papers["lens"].item("core_curves").content.title
    taken(plan, results, out)
    (out / "lens/core_curves.png").touch()
    picture, below = readme.page(out).split(f"\n**{title}**\n\n")[1].split("\n\n")[:2]
    assert picture.startswith(f"![{title}") and picture.endswith("](lens/core_curves.png)")
    assert "thin lines: the seeds" in below and "The paper gives numbers for the all-wrong groups alone" in below


def test_papers_that_stay_are_not_mixed_with_a_snapshot_of_items():
    with pytest.raises(SystemExit, match="--keep: not with --item"):
        main(papers="lens", keep="lens", items=["table1"])


def bytes_in(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_paper_is_taken_anew_and_the_others_stay(results, tmp_path):
    both, out = make_plan(ROOT, "smoke", ["lens", "ace"]), tmp_path / "o"
    by_hand(both, results, "ace")
    ours = {**CLAIM, "paper": "ace", "short": "ACE", "says": "ACE is ahead", "p": 0.001}
    pd.DataFrame([ours]).to_csv(results / "claims" / "smoke" / "ace.csv", index=False)
    with pytest.raises(CannotStay, match=r"runs\.csv\.xz is missing: .*; take all papers anew"):
        taken(both, results, out, keep=["lens"])
    assert taken(both, results, out) == ["lens", "ace"]
    whole = bytes_in(out)
    shutil.rmtree(results / "papers" / "smoke" / "lens")  # only the snapshot has LENS now
    (results / "claims" / "smoke" / "lens.csv").unlink()
    assert taken(both, results, out, keep=["lens"]) == ["ace"]
    again = bytes_in(out)
    rows = Path(FILE)  # kept rows come first
    lines = [sorted(lzma.decompress(one[rows]).splitlines()) for one in (again, whole)]
    assert lines[0] == lines[1] and again.keys() == whole.keys()
    assert {name for name in whole if again[name] != whole[name]} <= {rows}
    table = next(name for name in both.papers["ace"].paper.core.tables if name in asked_for(both, "ace"))
    Path(Paths(str(results), "smoke").table("ace", table)[1]).write_text("another")
    taken(both, results, out, keep=["lens"])
    assert (out / "ace" / f"{table}.md").read_text() == "another"
    frame = pd.read_csv(out / FILE)
    frame[frame["policy"] != both.papers["lens"].item("core").policies()[0]].to_csv(out / FILE, index=False)
    with pytest.raises(CannotStay, match="lens cannot stay as it is"):
        taken(both, results, out, keep=["lens"])
    assert (out / "ace" / f"{table}.md").read_text() == "another", "nothing was replaced"


def test_runs_csv_says_what_each_policy_is(plan, results, tmp_path):
    """Method, model, learning rate and settings, as the run's own name has them."""
    out = tmp_path / "docs"
    taken(plan, results, out)
    runs = pd.read_csv(out / FILE, keep_default_na=False).set_index("policy")
    columns = ["method", "model", "learning_rate", "settings", "stage", "seed", "step", "seconds"]
    assert list(runs.columns) == [*columns, *ORIGIN, "finished"]
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
    name = next(name for name in plan.runs if "-ace_grpo-aggregationsum-negativesincorrect-dapo-" in name)
    shown = described(json.loads(manifest_of(plan, name)))
    assert (shown["method"], shown["settings"]) == ("ace_grpo", "aggregation = sum, negatives = incorrect, dapo")


def test_results_are_of_head_where_the_code_that_makes_them_is_the_same(tmp_path):
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def commit(file: str, content: str) -> str:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content)
        git("add", "-A")
        git("commit", "-qm", "x")
        return git("rev-parse", "--short=12", "HEAD").strip()

    git("init", "-q")
    first = commit("src/rlvr/training/rl.py", "1")
    second = commit("src/rlvr/tables/one.py", "1")
    assert objections([first, second], tmp_path) == []
    assert objections([f"{first}+changes"], tmp_path) == [f"runs of {first} were made with changes that no commit has"]
    commit("src/rlvr/training/rl.py", "2")
    (differs,) = objections([second, second], tmp_path)
    assert differs == f"code that makes results differs between {second} and HEAD (src/rlvr/training/rl.py)"
    commit("src/rlvr/training/sft.py", "1")
    assert objections([second], tmp_path)[0].endswith("(src/rlvr/training/rl.py and 1 more)")
    now = commit("src/rlvr/training/backends/verl/rl.py", "1")
    commit("src/rlvr/training/backends/verl/rl.py", "2")
    commit("src/rlvr/sampling/engines/vllm.py", "2")
    assert objections([now], tmp_path)[0].endswith("(src/rlvr/sampling/engines/vllm.py and 1 more)")
    assert objections([now], tmp_path, unused(make_plan(ROOT, "laptop", ["ace"]))) == [], "it trains by neither"
    assert len(objections([now], tmp_path, unused(make_plan(ROOT, "gpu-verl", ["ace"])))) == 1
    (tmp_path / "src/rlvr/tables/one.py").write_text("2")
    assert objections([], tmp_path) == ["tracked files differ from HEAD"]


def assert_as_rendered(folder: Path, scratch: Path, but: tuple[str, ...] = ()) -> None:
    """Renders every table and figure of a snapshot, but some tables by the end of their names, and compares tables."""
    for item in rerender.items(folder):
        made = scratch / item.shown.name
        if item.shown.suffix == rerender.PICTURE:
            item.render(made, ROOT)
            with Image.open(made) as picture:
                assert len(set(picture.convert("L").get_flattened_data())) > 20, "a picture with lines"
        elif not item.name.endswith(but or "?"):
            item.render(made, ROOT)
            assert not item.shown.is_file() or made.read_text() == item.shown.read_text(), item.shown


def test_kept_items_are_rendered_again(tmp_path):
    """A table with published values, and a figure, from what a snapshot keeps."""
    plan, out = make_plan(ROOT, "smoke", ["ace"]), tmp_path / "docs"
    paths, names = Paths(str(tmp_path), "smoke"), ("table1", "core_frontier")
    rows = pass_at_k_rows(LAYOUT, on_x({name: [1, 2] for name in ("a1", "a2", "b1", "b2")}), None)
    for file in (file for item in names for file in rerender.files(plan, "ace", item, paths)):
        publish(file, rows.to_csv(index=False))
    rerender.keep(plan, "ace", names, paths, out / "ace")
    table = rerender.items_of(out / "ace")["table1"].shown
    assert_as_rendered(out, tmp_path)
    shutil.copyfile(tmp_path / table.name, table)
    assert_as_rendered(out, tmp_path)
    table.write_text(table.read_text().replace("Method", "method", 1))
    with pytest.raises(AssertionError, match=r"table1\.md"):
        assert_as_rendered(out, tmp_path)


def test_large_statistics_are_compressed(plan, results, tmp_path):
    (file,) = rerender.files(plan, "lens", "table1", Paths(str(results), "smoke"))
    file.write_text("a\n" + "1234567\n" * 10_000)
    rerender.keep(plan, "lens", ["table1"], Paths(str(results), "smoke"), tmp_path / "lens")
    (copied,) = (tmp_path / "lens" / ".data").glob("table1.csv*")
    assert copied.name == "table1.csv.xz" and copied.stat().st_size < 2_000 and len(pd.read_csv(copied)) == 10_000


SNAPSHOTS = sorted(path.parent for path in (ROOT / "docs").glob(f"*/{FILE}"))
CLAIMED = sorted(path.parent for path in (ROOT / "docs").glob("*/claims.md"))


@pytest.mark.parametrize("folder", SNAPSHOTS, ids=lambda folder: folder.name)
def test_the_committed_pages_are_what_the_code_writes(folder):
    assert readme.page(folder).splitlines() == (folder / "README.md").read_text().splitlines()


@pytest.mark.parametrize("folder", CLAIMED, ids=lambda folder: folder.name)
def test_the_committed_claims_are_what_the_code_writes(folder):
    assert markdown(pd.read_csv(folder / readme.CLAIMS)) == (folder / "claims.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("folder", SNAPSHOTS, ids=lambda path: path.name)
def test_the_committed_snapshots_are_what_the_code_renders(folder, tmp_path):
    """Tables, rendered again, give the same words, and figures are drawn; else `make snapshot` is due.

    But for tables at equal pass@1 of docs/pretrained, in which each method had a curve when it was made.
    """
    assert_as_rendered(folder, tmp_path, ("_matched",) if folder.name == "pretrained" else ())
