"""`rlvr show` and `rlvr compare`: what they print and write, and what they say where something is missing."""

import json
import re
from zipfile import ZipFile

import pandas as pd
import pytest
from support.kept_by_hand import FALSE, RIGHT, STATUSES, TEXTS, group, lay_evaluation, lay_run
from support.readers import read_by
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.estimators import Estimator
from rlvr.show.comparison import ComparedCurve, flips, scores
from rlvr.show.groups import Shown, task_of
from rlvr.show.highlight import pieces, printable
from rlvr.show.lookup import find
from rlvr.show.sparks import lines
from rlvr.show.weights import put_to
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.pass_at_k import pass_at_k


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    for run, estimator, counts in (("run-a", "dr_grpo", (0, 2, 4)), ("run-b", "ace", (1, 1, 4))):
        lay_run(folder, run, estimator)
        lay_evaluation(folder, run, counts)
    return folder


@pytest.fixture
def say(results):
    def said(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*words, "--results", str(results)])
        assert done.exit_code == code, done.output
        return done.stdout if code == 0 else done.stderr

    return said


EVALUATION = "run-a/fill-n4-t1-p1-0"


# ---- show ----


def test_a_run_is_shown_newest_step_first_with_weights_of_every_method_asked_for(say):
    said = say("show", "run-a", "--weigh", "lens", "--weigh", "ace:alpha=2.0")
    assert said.index("step 2 · p0 · 2 of 4 correct") < said.index("step 1 · p0")
    assert all(word in said for word in ("dr_grpo (trained)", "lens", "ace:alpha=2.0", "+0.500", "wrong: 1 * 2"))
    lens, ace = (put_to(Estimator(*m), [group(1)])[0] for m in (("lens", {}), ("ace", {"alpha": 2.0})))
    assert all(f"{weight:+.3f}" in said for weight in (*lens, *ace))


def test_the_first_false_step_is_marked_and_terminal_commands_are_not_passed_on(say):
    said = say("show", "run-a", "--limit", "1")
    assert "1 + 2 = ✗4 + 3 = 7" in said and RIGHT in said
    assert "\x1b" not in said and "�[31m" in said


def test_pieces_are_the_text_and_a_missing_step_has_its_place():
    shown = Shown(group(1), task_of({"task": "operator_fill"}), [0, 1, 2, 3])
    assert pieces(shown, 0) == (RIGHT, "", "")
    assert pieces(shown, 1) == ("1 + 2 = ", "4", " + 3 = 7 \\boxed{ 1 + 2 + 3 }") and "".join(pieces(shown, 1)) == FALSE
    assert pieces(Shown(group(1), None, [1]), 1) == (FALSE, "", "")  # of a published set: nothing checks it
    for i, text in enumerate(TEXTS):
        assert "".join(pieces(shown, i)).replace(" [a step is missing]", "") == printable(text)


def test_right_and_wrong_choose_rollouts_and_not_what_is_weighed(say):
    right, wrong = (say("show", "run-a", flag, "--limit", "1", "--weigh", "grpo") for flag in ("--right", "--wrong"))
    assert RIGHT in right and "wrong" not in right.replace("run-a", "") and RIGHT not in wrong
    assert "+1.000" in right and "-1.000" in wrong


def test_each_rollout_has_its_reward(say, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    said = say("show", "run-a", "--limit", "1").splitlines()
    (head,) = (line for line in said if "verdict" in line)
    place = head.index("reward") + len("reward")
    rows = [line for line in said if re.match(r"│ +\d ", line)]
    assert [line[:place].split()[-1] for line in rows] == ["1", "1", "0", "0"]
    page = tmp_path / "page.html"
    say("show", "run-a", "--html", str(page), "--limit", "1")
    assert re.findall(r">reward (\S+) ·", page.read_text()) == ["1", "1", "0", "0"]


def test_a_step_and_a_problem_choose_groups(say):
    said = say("show", "run-a", "--step", "1", "--prompt", "p1")
    assert said.count("of 4 correct") == 1 and "step 1 · p1" in said


def test_an_evaluation_is_shown_by_problem(say):
    said = say("show", EVALUATION, "--right", "--weigh", "rloo")
    assert "q0" not in said and "q1 · 2 of 4 correct" in said and "q2 · 4 of 4 correct" in said and "rloo" in said


def test_a_page_is_whole_and_escapes_what_models_wrote(say, tmp_path):
    page = tmp_path / "page.html"
    say("show", "run-a", "--html", str(page), "--weigh", "lens")
    text = page.read_text()
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "\x1b" not in text
    assert re.search(r'<mark title="[^"]*">4</mark> \+ 3 = 7', text)
    assert not re.search(r"(?:src|href)=|url\(|@import", text), "it must need no other file"
    assert text.count("<section>") == 4 and text.count("<li class=") == 16
    assert " 1 token\n" in re.sub("</div>", "\n", text) and "1 tokens" not in text
    assert "evaluation" not in say("show", EVALUATION, "--html", str(tmp_path / "e.html"))


def test_parquet_has_a_row_per_rollout(say, tmp_path):
    say("show", "run-a", "--parquet", str(tmp_path / "run.parquet"), "--weigh", "lens")
    say("show", EVALUATION, "--parquet", str(tmp_path / "evaluation.parquet"))
    run, evaluation = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("run", "evaluation"))
    assert len(run) == 16 and tuple(run["response"][:4]) == TEXTS and tuple(run["status"][:4]) == STATUSES
    assert run["weight: dr_grpo (trained)"].tolist()[:4] == [0.5, 0.5, -0.5, -0.5]
    assert run["false_word"].tolist()[1] == 4 and pd.isna(run["false_word"][0])
    assert len(evaluation) == 12 and evaluation["log_ratio"].isna().all() and evaluation["reward"].sum() == 6


def test_a_log_of_inspect_has_a_file_per_rollout(say, tmp_path):
    logs = {}
    for name, count in (("run-a", 16), (EVALUATION, 12)):
        path = tmp_path / f"{count}.eval"
        assert f"{count} rollouts" in say("show", name, "--inspect", str(path))
        with ZipFile(path) as log:
            logs[name] = {file: json.loads(log.read(file)) for file in log.namelist()}
        assert len(logs[name]) == count + 2
        for row in logs[name]["summaries.json"]:
            assert row.items() <= logs[name][f"samples/{row['id']}_epoch_{row['epoch']}.json"].items()
    run, evaluation = logs.values()
    about = run["header.json"]["eval"]
    assert run["header.json"]["version"] == 2 and run["header.json"]["status"] == "success"
    assert about["task"] == "training" and about["dataset"] == {"name": "fill"}
    about = evaluation["header.json"]["eval"]
    assert f"{about['model']}/{about['task']}" == EVALUATION
    first, second = (run[f"samples/step 2: p0_epoch_{i}.json"] for i in (1, 2))
    assert first["output"]["completion"] == first["messages"][1]["content"] == RIGHT
    assert first["scores"]["verifier"] == {"value": 1.0, "answer": "1 + 2 + 3", "explanation": "correct"}
    assert second["metadata"]["weight: dr_grpo (trained)"] == 0.5 and second["metadata"]["false_word"] == 4
    assert sum(row["scores"]["verifier"]["value"] for row in evaluation["summaries.json"]) == 6
    assert "must end with .eval" in say("show", "run-a", "--inspect", str(tmp_path / "run.json"), code=2)


READ = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
samples = sorted(log.samples, key=lambda one: (one.id, one.epoch))
rows = [[one.output.completion, one.scores["verifier"].as_float()] for one in samples]
print(json.dumps([log.status, rows]))
"""


@pytest.mark.slow
def test_inspect_reads_its_log(say, tmp_path):
    say("show", "run-a", "--inspect", str(tmp_path / "run.eval"))
    status, rows = read_by(["inspect_ai==0.3.285"], tmp_path / "venv", READ, str(tmp_path / "run.eval"))
    assert status == "success" and len(rows) == 16
    assert rows[:4] == [[text, score] for text, score in zip(TEXTS, (1.0, 1.0, 0.0, 0.0), strict=True)]


def test_what_is_missing_is_named(say, results):
    for words, message in (
        (("show", "run-c"), "run-c: none of the runs and evaluations in .* has this name; did you mean 'run-[ab]'"),
        (("show", "run"), "run: 2 of the runs and evaluations in .* begin so: run-a, run-b; give more of the name"),
        (("show", "run-a", "--step", "7"), "step 7: .*the nearest is 2"),
        (("show", "run-a", "--prompt", "p7"), "'p7': no kept rollout is of this problem; did you mean 'p[01]'"),
        (("show", EVALUATION, "--prompt", "q7"), "'q7': .* has no such problem; did you mean 'q[012]'"),
        (("show", EVALUATION, "--step", "1"), "is an evaluation, which has no steps"),
        (("show", EVALUATION, "--weigh", "ace"), "ace: needs log pi_ref, which these rollouts do not have"),
        (("show", "run-a", "--weigh", "lends"), "unknown method 'lends'; did you mean 'lens'"),
        (("show", "run-a", "--weigh", "ace:alpah=1"), "--weigh ace: alpah: ace has no such setting; did you mean 'alp"),
        (("compare", "run-a", EVALUATION), "compare two of the same kind"),
    ):
        said = say(*words, code=2)
        assert re.search(message, said) and said.count("\n") == 1, said
    (results / "runs" / "run-a" / "rollouts.jsonl.gz").unlink()
    assert "run-a has no rollouts.jsonl.gz: it was made by an earlier version" in say("show", "run-a", code=2)
    (results / EVALUATION.replace("run-a", "evaluations/run-a") / "grades.jsonl.gz").unlink()
    assert "has no grades.jsonl.gz: it is not graded yet" in say("show", EVALUATION, code=2)


def test_a_device_is_not_replaced_by_a_file(say, tmp_path):
    for words in (("show", "run-a", "--html"), ("show", "run-a", "--parquet"), ("compare", "run-a", "run-b", "--html")):
        assert f"{tmp_path} is no file" in say(*words, str(tmp_path), code=2)
    both = ("--html", str(tmp_path / "h"), "--parquet", str(tmp_path / "p"))
    assert "give one of them" in say("show", "run-a", *both, code=2)


def test_a_run_that_goes_on_shows_what_its_checkpoints_hold(say, results):
    folder = results / "runs" / "run-a"
    (folder / "state").mkdir()
    (folder / "rollouts.jsonl.gz").rename(folder / "state" / "rollouts.jsonl.gz")
    (folder / "manifest.json").unlink()
    assert "step 2 · p0" in say("show", "run-a")


# ---- compare ----


def test_two_runs_differ_in_settings_curves_and_scores(say, tmp_path):
    said = say("compare", "run-a", "run-b")
    assert re.search(r"estimator.name +dr_grpo +ace", said) and "seed" not in said
    assert re.search(r"pass rate, training +1-2 .* 0.2 +0.3 +\+0.1", said)
    assert re.search(r"q0 +0 of 4 +1 of 4 +\+25.0", said)
    page = tmp_path / "c.html"
    say("compare", "run-a", "run-b", "--html", str(page))
    text = page.read_text()
    assert "<script" not in text and text.count("<polyline") == 2 * text.count("<svg") > 0 and "estimator.name" in text
    assert "steps 1 to 2, values 0.1 to 0.3<br>A 0.2 · B 0.3" in text
    assert text.count('class="wide"') == text.count('class="wide" tabindex="0"') > 0, "what scrolls takes the focus"


def test_pass_at_k_and_its_intervals_are_those_of_the_statistics(results):
    a, b = (find(results, f"{run}/fill-n4-t1-p1-0") for run in ("run-a", "run-b"))
    found = scores(a, b)
    assert [at.k for at in found.at_k] == [1, 2, 4] and found.problems == 3
    for at in found.at_k:
        left, right = (pass_at_k(4, counts, at.k)[None] for counts in ([0, 2, 4], [1, 1, 4]))
        of = SeedsAndProblems(0.95, (0.0, 1.0))
        assert (at.a, at.b) == (of.of(left), of.of(right))
        assert at.difference == of.of_difference(right, left)


def test_flips_are_problems_on_other_sides_of_a_half_or_solved_by_one_alone():
    a, b = ([0, 0, 5, 6, 4, 10], [0, 1, 6, 4, 5, 0])
    frames = [pd.DataFrame({"problem": list("uvwxyz"), "n": 10, "correct": counts}) for counts in (a, b)]
    found = flips(*frames)
    assert [flip.problem for flip in found] == ["z", "x", "v"]  # the largest loss first; a half is on neither side
    assert [flip.gain for flip in found] == pytest.approx([-1.0, -0.2, 0.1])
    assert {flip.problem for flip in flips(*frames[::-1])} == {"z", "x", "v"}


def test_scores_on_other_problems_are_refused(say, results):
    lay_evaluation(results, "run-b", (1, 2))
    other = EVALUATION.replace("-a/", "-b/")
    assert "has scores on other problems than run-a" in say("compare", EVALUATION, other, code=2)


def test_a_run_compared_with_itself_differs_in_nothing(say):
    said = say("compare", "run-a", "run-a")
    assert "No setting differs." in said and "flipped" not in said and "+0" in said


def test_curves_of_a_terminal_share_a_scale():
    curve = ComparedCurve("x", list(range(100)), [float(i) for i in range(100)], [50.0] * 100)
    a, b = lines(curve)
    assert len(a) == len(b) == 32 and a[0] == "▁" and a[-1] == "█" and set(b) <= {"▄", "▅"} and a == "".join(sorted(a))
