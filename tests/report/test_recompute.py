"""`rlvr recompute`: a snapshot's numbers again from its counts, by the code of the stages that made them."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from support.evidence_by_hand import SAMPLES
from test_snapshot import by_hand, taken
from typer.testing import CliRunner

from rlvr.claims import controls, evaluate, mechanism_table, mechanisms
from rlvr.claims.contrasts import layout
from rlvr.commands import app
from rlvr.config.paths import Paths
from rlvr.config.plan import asked_for
from rlvr.files import RecordError, publish, publish_lines, publish_packed, read_text
from rlvr.items import TABLES, kind_of, statistics, table
from rlvr.planning.expansion import make_plan
from rlvr.report import recompute as module
from rlvr.report import rerender
from rlvr.report.counts import COUNTS, by_column, by_row, scores_of
from rlvr.report.readme import CHECKSUMS, CLAIMS, CONTENTS
from rlvr.report.rejudge import NotInCounts, rejudge
from rlvr.statistics.scores import read

LIMIT = 5_000_000  # bytes of a snapshot


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """LENS at smoke scale: its stages' statistics, tables and verdicts on random counts, and the snapshot of them."""
    plan, folder = make_plan(ROOT, "smoke", ["lens"]), tmp_path_factory.mktemp("made")
    results, paths = folder / "results", Paths(str(folder / "results"), "smoke")
    by_hand(plan, results, "lens")
    spec = folder / "spec.json"
    for name in asked_for(plan, "lens"):
        item = plan.papers["lens"].item(name)
        kind, of_table = kind_of(item), item.folder == TABLES
        if kind.statistics is None or not (of_table or set(kind.reads) <= module.COUNTED):
            continue
        references = [str(ROOT / "config/papers" / named) for named in item.references()]
        spec.write_text(json.dumps(statistics.specification(plan, "lens", name, *references[:1] or [None])))
        numbers = Path(paths.statistics("lens", name))
        statistics.main(spec, results, numbers)
        if of_table:
            spec.write_text(json.dumps(table.specification(plan, "lens", name, *references[:1] or [None])))
            table.main(spec, [Path(file) for file in paths.table("lens", name)], numbers)
    criteria = [
        mechanisms.judged(one, "0.25 0.5" if one.runs else "", "smoke") for one in mechanisms.layout(plan, "lens")
    ]
    publish(paths.mechanisms("lens"), mechanisms.as_csv(criteria))
    known = [one.model_dump(mode="json") for one in controls.layout(plan, "lens")]
    spec.write_text(json.dumps({"scale": "smoke", "controls": known}))
    controls.main(spec, results, Path(paths.controls("lens")))
    claims = [claim.model_dump(mode="json") for claim in layout(plan, "lens")]
    spec.write_text(json.dumps({"scale": "smoke", "claims": claims, "references": str(ROOT / "config/papers")}))
    evaluate.main(spec, results, [Path(file) for file in paths.claims("lens")], Path(paths.mechanisms("lens")))
    taken(plan, results, folder / "snapshot")
    return results, folder / "snapshot"


@pytest.fixture
def snapshot(made, tmp_path):
    return shutil.copytree(made[1], tmp_path / "snapshot")


def run(*words) -> tuple[int, str]:
    """The exit code of `rlvr recompute` and what it prints."""
    done = CliRunner().invoke(app, ["recompute", *map(str, words), "--config-folder", str(ROOT / "config")])
    return done.exit_code, re.sub(r"\s+", " ", done.output)


def change(snapshot: Path) -> None:
    """Another count of LENS' first run, on one problem of the core's first benchmark."""
    file = next(snapshot.glob(f"*/.data/{COUNTS}"))
    lines = read_text(file).splitlines()
    layout = rerender.items_of(snapshot / "lens")["core"].layout
    policy = next(cell.policies[0] for cell in layout.cells if cell.arm == "lens")
    evaluation = next(iter(layout.panels[0].evaluations.values()))
    place = next(i for i, line in enumerate(lines) if f'"{policy}"' in line and f'"{evaluation}"' in line)
    line = json.loads(lines[place])
    first, *others = line["correct"].split(",")
    line["correct"] = ",".join([str((int(first) + SAMPLES // 2) % SAMPLES), *others])
    lines[place] = json.dumps(line)
    publish_packed(file, "\n".join(lines))


def test_equal_counts_give_equal_numbers(snapshot):
    assert run(snapshot) == (0, f"{snapshot}: all numbers are those of its counts ")


def test_pictures_that_a_snapshot_does_not_keep_are_drawn(made, tmp_path):
    results, _ = made
    out, again = tmp_path / "snapshot", tmp_path / "again"
    taken(make_plan(ROOT, "smoke", ["lens"]), results, out, items=["core", "table1", "core_frontier"])
    page = (out / "README.md").read_text()
    assert "Pictures and tables without a link are not kept" in page and not (out / "lens/table1.md").exists()
    assert "not kept" in page and not list(out.rglob("*.png"))
    code, text = run(out, "--out", again)
    assert code == 0 and all((again / "lens" / name).is_file() for name in ("core_frontier.png", "table1.md")), text
    shown = (again / "README.md").read_text()
    assert "(lens/core_frontier.png)" in shown and "not kept" not in shown
    (again / "lens/core_frontier.png").write_bytes(b"of an earlier time")
    (again / "gone.md").touch()
    assert run(out, "--out", again)[0] == 0, "a second time too"
    assert (again / "lens/core_frontier.png").stat().st_size > 1_000 and not (again / "gone.md").exists()
    assert (out / "README.md").read_text() == page and not list(out.rglob("*.png"))


def test_scores_come_back_as_they_were(made):
    results, snapshot = made
    for (policy, evaluation), frame in scores_of(snapshot / "lens/.data" / COUNTS).items():
        stored = read(results / "evaluations" / policy / evaluation / "scores.csv")
        assert frame.equals(stored[frame.columns]) and {"problem", "level", "n", "correct"} <= set(frame)


E_HEAD = {"evaluation": "e", "problem": ["1", "2"], "n": [4, 4]}
F_HEAD = {"evaluation": "f", "problem": ["3", "4", "5"], "n": [8, 8, 8]}


def counts_of(folder: Path, *lines: dict) -> Path:
    publish_lines(folder / COUNTS, lines)
    return folder / COUNTS


def test_scores_of_each_evaluation_have_its_own_problems(tmp_path):
    """The same policy answers both; numbers and names with spaces are as in the line."""
    of_e = [{"policy": name, "evaluation": "e", "correct": text} for name, text in (("a b", "1,2"), ("a", "3,4"))]
    of_f = {"policy": "a", "evaluation": "f", "correct": "8,0,5", "majority": "1,0.5,"}
    found = scores_of(counts_of(tmp_path, E_HEAD, *of_e, F_HEAD, of_f))
    assert {key: frame["correct"].tolist() for key, frame in found.items()} == {
        ("a b", "e"): [1, 2],
        ("a", "e"): [3, 4],
        ("a", "f"): [8, 0, 5],
    }
    assert found["a", "e"]["problem"].tolist() == ["1", "2"] and found["a", "f"]["n"].tolist() == [8, 8, 8]
    assert found["a", "f"]["majority"].isna().tolist() == [False, False, True] and "majority" not in found["a", "e"]
    assert scores_of(counts_of(tmp_path, E_HEAD)) == scores_of(tmp_path / "none") == {}


@pytest.mark.parametrize(
    "line, said",
    [
        ({"evaluation": "e", "correct": "1"}, "a on e has not one count for each problem"),
        ({"evaluation": "f", "correct": "1,2"}, "a on f is among those on e"),
    ],
)
def test_counts_that_do_not_fit_their_evaluation_are_named(tmp_path, line, said):
    with pytest.raises(RecordError, match=said):
        scores_of(counts_of(tmp_path, E_HEAD, {"policy": "a", **line}))


def test_one_changed_count_is_found(snapshot):
    change(snapshot)
    code, text = run(snapshot)
    assert code == 1 and f"lens/.data/{COUNTS}: is another file than" in text
    module.publish_checksums(snapshot)  # the numbers themselves show it
    code, text = run(snapshot)
    assert code == 1 and COUNTS not in text
    assert "lens/core: " in text and "lens/core.md: " in text, "statistics, and the table of them"
    assert "lens/.data/contrasts.csv.xz: " in text and f"{CLAIMS}: " in text


def test_a_changed_criterion_or_control_is_found(snapshot):
    """A run's number, an end of an interval, and differences of a control and a placebo: each is a line."""
    frame = mechanism_table.read(snapshot / "mechanisms.csv")
    first, second = frame[(frame["kind"] == "criterion") & frame["measured"].notna()].index[:2]
    frame.loc[first, "by_seed"] = "0.25 0.75"
    frame.loc[second, "low"] += 0.01
    for kind, column in (("control", "high"), ("placebo", "measured")):
        frame.loc[frame[(frame["kind"] == kind) & frame["measured"].notna()].index[0], column] += 0.01
    mechanism_table.publish_in(snapshot, frame)
    code, text = run(snapshot)
    assert code == 1 and "mechanisms.csv: 4 lines differ; line " in text


@pytest.mark.parametrize(
    "name",
    [
        "core.csv",
        "contrasts.csv.xz",
        "claims.jsonl.xz",
        "controls.jsonl.xz",
        "curves.jsonl.xz",
        COUNTS,
    ],
)
def test_a_missing_file_is_an_error_with_its_name(snapshot, name):
    next((snapshot / "lens/.data").glob(f"{name}*")).unlink()
    code, text = run(snapshot)
    assert code == 2 and f"{name}" in text and "is missing: numbers of the snapshot are made from it" in text


def test_a_snapshot_without_counts_says_so(snapshot):
    (snapshot / CHECKSUMS).unlink()
    code, text = run(snapshot)
    assert code == 2 and "is no snapshot with counts; make it anew" in text


def test_a_snapshot_of_an_earlier_version_and_an_out_with_other_files_are_named(snapshot, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    code, text = run(snapshot, "--out", tmp_path / "other")
    assert code == 2 and "has other files; name a new folder" in text
    shutil.copytree(snapshot, tmp_path / "another")
    (tmp_path / "another" / CONTENTS).write_text("{}")
    code, text = run(snapshot, "--out", tmp_path / "another")
    assert code == 2 and "has another snapshot; remove it" in text and (tmp_path / "another/runs.csv.xz").is_file()
    (snapshot / "lens/.data" / rerender.ITEMS).unlink()
    code, text = run(snapshot)
    assert code == 2 and "items.jsonl.xz is missing: an earlier version wrote" in text
    with pytest.raises(module.NoCounts, match="an earlier version wrote"):
        rejudge(snapshot, make_plan(ROOT, "smoke", ["lens"]), ROOT)
    code, text = run(tmp_path / "other")
    assert code == 2 and "contents.json is missing: " in text and "is no snapshot with counts" in text


def test_a_fault_in_a_process_is_named_with_its_place(snapshot):
    file = snapshot / "lens/.data" / COUNTS
    publish_packed(file, "\n".join(read_text(file).splitlines()[:-1]) + "\n")
    code, text = run(snapshot)
    assert code == 1 and re.search(r"a fault of rlvr: KeyError: .*\((?!_base)\w+\.py:\d+\)", text), text


def test_an_interruption_ends_it_without_a_word(snapshot, tmp_path):
    words = ["recompute", snapshot, "--out", tmp_path / "out", "--config-folder", ROOT / "config"]
    command = [sys.executable, "-m", "rlvr", *map(str, words)]
    ours: dict = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    asked = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # which a shell's job may ignore
    with subprocess.Popen(command, preexec_fn=asked, **ours) as process:
        first, copied = tmp_path / "out/mechanisms.csv", (snapshot / "mechanisms.csv").stat().st_mtime_ns
        while process.poll() is None and (not first.is_file() or first.stat().st_mtime_ns == copied):
            time.sleep(0.05)  # until the processes have begun and made a file anew
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=60)
    assert (process.returncode, text) == (130, "")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_rows_by_column_come_back_as_they_were():
    rows = [{"a": 1, "b": None}, {"a": 2.5}, {"b": [1, 2], "a": 3}, {"a": 4, "b": 0}]
    runs = {("metrics", "one"): rows, ("probe", "one"): [], ("probe", "two"): rows[:1]}
    back = by_row(line for (name, run), of in runs.items() for line in by_column(name, run, of))
    assert {(name, run): of for name, by_run in back.items() for run, of in by_run.items()} == runs


def test_what_claims_read_has_five_significant_digits():
    assert evaluate.rounded(0.123456789) == 0.12346 and evaluate.rounded(123456) == 123456
    assert evaluate.rounded({"m=2": [1.0000001, None, True]}) == {"m=2": [1.0, None, True]}
    assert math.isnan(evaluate.rounded(math.nan))


def test_it_is_small(snapshot):
    sizes = {path: path.stat().st_size for path in snapshot.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < LIMIT
    policies = len(scores_of(snapshot / "lens/.data" / COUNTS))
    assert sizes[snapshot / "lens/.data" / COUNTS] < 300 * policies, "bytes of a policy on a benchmark"


def test_unchanged_rules_judge_the_same_and_a_changed_claim_another(snapshot):
    plan = make_plan(ROOT, "smoke", ["lens"])
    names = (CLAIMS, "mechanisms.csv", "lens/.data/contrasts.csv.xz", "lens/.data/controls.jsonl.xz")
    before = {name: (snapshot / name).read_bytes() for name in names}
    rejudge(snapshot, plan, ROOT)
    assert {name: (snapshot / name).read_bytes() for name in before} == before
    assert {"criterion", "regime", "control", "placebo"} == set(pd.read_csv(snapshot / "mechanisms.csv")["kind"])
    assert run(snapshot) == (0, f"{snapshot}: all numbers are those of its counts ")
    criteria = plan.papers["lens"].paper.mechanism
    bound = criteria[0].model_copy(update={"at_least": 0.999})  # each run has 0.25 or 0.5 in this snapshot
    assert before["mechanisms.csv"].count(b",at least 0.999,") == 0
    claims = plan.papers["lens"].paper.claims
    first, claims[0] = claims[0], claims[0].model_copy(update={"says": "Other words"})
    criteria[0] = bound
    rejudge(snapshot, plan, ROOT)
    assert run(snapshot)[0] == 0, "by the numbers of the same runs"
    frame = pd.read_csv(snapshot / CLAIMS)
    assert set(frame[frame["claim"] == first.name]["says"]) == {"Other words"}
    anew = mechanism_table.read(snapshot / "mechanisms.csv")
    assert set(anew.loc[(anew["criterion"] == bound.name) & (anew["seeds"] > 0), "met"]) == {"no"}
    criteria[0] = bound.model_copy(update={"name": "another"})
    with pytest.raises(NotInCounts, match=r"lens: the snapshot has no numbers of another of LENS"):
        rejudge(snapshot, plan, ROOT)
    criteria[0] = bound
    scores = snapshot / "lens/.data" / COUNTS
    publish_packed(scores, read_text(scores).splitlines()[0] + "\n")
    with pytest.raises(NotInCounts, match=r"lens: the snapshot has no counts of .* missing in all"):
        rejudge(snapshot, plan, ROOT)
