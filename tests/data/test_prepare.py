"""`rlvr data prepare` and its stage: problems, cards, errors."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest
from conftest import ROOT, run_module, spec_file
from pydantic import ValidationError
from support.published_sets import (
    DATA,
    GOOD,
    LONG,
    PNG,
    QUESTION,
    ROW,
    SETS,
    golds,
    gpqa_row,
    lines,
    livecodebench_row,
    parquet,
    picture,
    rlvr,
    small,
)

from rlvr.config.identity import data_id
from rlvr.config.schema.models_and_data import Published, Synthetic
from rlvr.data import card, prepare, published, sources
from rlvr.files import read_json
from rlvr.records import Problem, read_records
from rlvr.verifiers.operator_chain import parse


def test_prepare_writes_problems_and_cards_with_the_overlap(here):
    parquet(here / "aime24.parquet", [{"problem": LONG, "solution": "\\boxed{204}"}, {"problem": "b", "solution": "x"}])
    lines(here / "brought.jsonl", [{"problem": LONG.upper(), "answer": "204"}, {"problem": "c", "answer": "070"}])
    first = rlvr("prepare", "aime-2024", "--from", "aime24.parquet", "--any-count")
    assert first.exit_code == 0, first.stderr
    assert first.stdout == (
        "aime-2024: 1 problems from 2 rows, 1 left out, 0 repeated; published are 30; see data/aime-2024/card.md\n"
    )
    assert rlvr("prepare", "aime-2025", "--from", "brought.jsonl", "--any-count").exit_code == 0
    made = read_json(here / "data" / "aime-2025" / "card.json")
    assert made["licence"] == "Apache-2.0" and made["source"] == "https://huggingface.co/datasets/math-ai/aime25"
    assert made["revision"] == {"asked": SETS["aime-2025"].revision, "pinned": True, "resolved": None}
    assert (made["rows"], made["problems"], made["expected"], made["differs"]) == (2, 2, 30, True)
    assert made["fields"] == {"prompt": "problem", "gold": "answer", "solution": "solution"}
    assert made["prompts"]["pacs"] == "pacs"
    assert list(made["files"].values()) == [hashlib.sha256((here / "brought.jsonl").read_bytes()).hexdigest()]
    problems = here / "data" / "aime-2025" / "problems.jsonl"
    assert made["sha256"] == hashlib.sha256(problems.read_bytes()).hexdigest()
    assert made["overlap"] == {
        "aime-2024": {"equal": 1, "near": 0, "equal_examples": [["aime-2025-0", "aime-2024-0"]], "near_examples": []}
    }
    text = (here / "data" / "aime-2025" / "card.md").read_text()
    for part in ("published: 30, so the numbers DIFFER", "got unknown", "| aime-2024 | 1 | 0 |", "336^\\circ"):
        assert part in text
    first_text = (here / "data" / "aime-2024" / "card.md").read_text()
    assert "Left out, answer is no integer: 1 (row 2)" in first_text and "Overlap" not in first_text


def test_the_folder_may_be_this_one_and_what_was_there_is_replaced(here):
    rows = [{"images": [picture(PNG)], "problem": f"Find {name}.", "answer": "5"} for name in "xy"]
    for count in (2, 1):
        parquet(here / "in" / "g.parquet", rows[:count])
        assert rlvr("prepare", "geometry3k-test", "--from", "in/g.parquet", "--out", ".", "--any-count").exit_code == 0
        images = sorted(path.name for path in (here / "images").iterdir())
        assert images == [f"geometry3k-test-{i}.png" for i in range(count)]
    assert {path.name for path in here.iterdir()} == {"in", "images", "problems.jsonl", "card.json", "card.md"}


def test_list_shows_sources_and_what_is_here(here):
    lines(here / "data" / "aime-2025" / "test.jsonl", [ROW])
    assert rlvr("prepare", "operators-validation-smoke").exit_code == 0
    done = rlvr("list")
    assert done.exit_code == 0, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(DATA) <= set(rows)
    assert "math-ai/aime25" in rows["aime-2025"] and rows["aime-2025"].endswith("brought (1 file)")
    assert "pinned" in rows["aime-2025"] and " main " in rows["math-verse"]
    made_here = rows["operators-validation-smoke"]
    assert made_here.endswith("prepared (8)") and "made here" in made_here
    for name in ("math-held-out", "math-rest", "math-dapo", "math-numina"):
        assert "do not redistribute" in rows[name] and "made here" not in rows[name] and "lens" in rows[name]
    assert "1000, 218 left out" in rows["taco-test"]
    assert "fade" in rows["livecodebench-v6-fade"] and "454" in rows["livecodebench-v6-fade"]


def as_published(spec: Published, folder: Path) -> Path:
    """A file of one row, with the fields and in the format in which the set is published."""
    row = {published.fields_of(spec)[ours]: value for ours, value in GOOD[spec.adapter].items()}
    if spec.archive:
        row[published.fields_of(spec)["subset"]] = spec.subset
        with ZipFile(folder / spec.archive, "w") as archive:
            archive.writestr("images/a.png", PNG)
    name = "small-" + Path(spec.files[0].replace("*", "0")).name  # a file of the set's own name has its checksum
    if name.endswith(".parquet"):
        return parquet(folder / name, [row])
    if name.endswith(".csv"):
        (folder / name).write_text(pd.DataFrame([row]).to_csv(index=False))
        return folder / name
    path = lines(folder / name, [row])
    return path if name.endswith(".jsonl") else path.rename(path.with_suffix(".json"))


@pytest.mark.parametrize("name", sorted(name for name, spec in SETS.items() if spec.pictures == "own"))
def test_each_set_is_prepared_from_a_small_file_in_its_published_format(here, name):
    originals = {"taco-train": "question", "apps-train": "question", "apps-test": "question"}
    originals |= {"code-contests-train": "description", "code-contests-valid": "description"}
    for original, field in originals.items():
        if name == "open-code-reasoning-2":
            lines(here / "data" / original / "x.jsonl", [{field: QUESTION}])
    path = as_published(SETS[name], here)
    refused = rlvr("prepare", name, "--from", path.name)
    done = rlvr("prepare", name, "--from", path.name, "--any-count")
    assert done.exit_code == 0 and done.stdout.startswith(f"{name}: 1 problems from 1 rows, 0 left out"), done.stderr
    (problem,) = read_records(here / "data" / name / "problems.jsonl", Problem)
    assert problem.prompt.startswith(QUESTION) and len(problem.images) == len(list((here / "data").rglob("*.png")))
    made = read_json(here / "data" / name / "card.json")
    assert made["problems"] == 1 and made["licence"] == SETS[name].about.licence
    if SETS[name].problems is None:
        assert refused.exit_code == 0
    else:
        assert refused.exit_code == 2 and f"1 problems, and {SETS[name].problems} are published" in refused.stderr


@pytest.mark.parametrize("content", ["[]", "{}", "not JSON", '{"name": "x", "spec": {}}', "[" * 100_000])
def test_a_damaged_card_is_said(here, content):
    lines(here / "data" / "aime-2025" / "problems.jsonl", [ROW])
    (here / "data" / "aime-2025" / "card.json").write_text(content)
    done = rlvr("list")
    assert done.exit_code == 0 and "a damaged card" in done.stdout
    lines(here / "a.jsonl", [ROW])
    done = rlvr("prepare", "aime-2024", "--from", "a.jsonl", "--any-count")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and "aime-2025/card.json: not a card" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("aime-2052",), "unknown data set 'aime-2052'; did you mean 'aime-2025'?"),
        (("aime-2025",), "aime-2025: no file in data/aime-2025/ and the hub cannot be reached (OSError); bring "),
        (("aime-2025", "--from", "none.jsonl"), "aime-2025: none.jsonl: no such file"),
        (("operators-easy", "--from", "x.jsonl"), "operators-easy is made by this project"),
        (("operators-easy", "--any-count"), "operators-easy is made by this project"),
        (("math-rest", "--from", "x.jsonl"), "math-rest is mixed of other sets"),
        (("aime-2025", "--config-folder", "nowhere"), "nowhere/datasets.yaml: no such file"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(here, offline, arguments, message):
    done = rlvr("prepare", *arguments)
    assert done.exit_code == 2 and done.stdout == "" and message in done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("rlvr data prepare: ")
    assert not (here / "data").exists()


def test_without_a_network_the_command_says_so_as_its_own_process(here):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(here / "hf")}
    command = [str(Path(sys.executable).with_name("rlvr")), "data", "prepare", "gpqa-diamond"]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "bring Idavidrein/gpqa/gpqa_diamond.csv" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "data/gpqa-diamond/gpqa_diamond.csv" in done.stderr


def test_the_stage_takes_brought_files_then_what_was_prepared_and_writes_the_same(here, offline):
    spec = SETS["aime-2025"]
    path = lines(here / "elsewhere.jsonl", [{"problem": f"p{i}", "answer": "007"} for i in range(30)])
    assert rlvr("prepare", "aime-2025", "--from", str(path)).exit_code == 0
    prepare.main(spec_file(spec), here / "results" / "a")
    expected = (here / "data" / "aime-2025" / "problems.jsonl").read_bytes()
    assert (here / "results" / "a" / "problems.jsonl").read_bytes() == expected
    assert read_json(here / "results" / "a" / "card.json")["problems"] == 30
    # A changed entry is another set, and a damaged file none.
    changed = spec.model_copy(update={"fields": {"gold": "other"}})
    with pytest.raises(SystemExit, match="bring math-ai/aime25"):
        prepare.main(spec_file(changed), here / "results" / "b")
    (here / "data" / "aime-2025" / "problems.jsonl").write_text("{}\n")
    with pytest.raises(SystemExit, match="bring math-ai/aime25"):
        prepare.main(spec_file(spec), here / "results" / "c")
    lines(here / "data" / "aime-2025" / "test.jsonl", [{"problem": f"q{i}", "answer": "8"} for i in range(30)])
    prepare.main(spec_file(spec), here / "results" / "d")
    assert golds(read_records(here / "results" / "d" / "problems.jsonl", Problem))[0] == ("q0", "8")


def test_what_is_said_about_a_set_reaches_its_card_by_the_file_not_by_the_parameter(here):
    spec = small("aime-2025")
    lines(here / "data" / "aime-2025" / "test.jsonl", [ROW])
    said = spec_file(spec.model_dump(mode="json", exclude={"about"}))
    assert "Apache" not in said.read_text()
    prepare.main(said, here / "a")
    edited_text = (ROOT / "config" / "datasets.yaml").read_text().replace("licence: Apache-2.0", "licence: another")
    (here / "config").mkdir()
    (here / "config" / "datasets.yaml").write_text(edited_text)
    prepare.main(said, here / "b")
    cards = [read_json(here / name / "card.json") for name in "ab"]
    assert [made["licence"] for made in cards] == ["Apache-2.0", "another"]
    assert cards[0]["identity"] == cards[1]["identity"] == data_id(spec)


def test_the_embedded_task_is_prepared_as_before(tmp_path):
    spec = DATA["operators-validation-smoke"]
    run_module("rlvr.data.prepare", "--spec", str(spec_file(spec)), "--out", str(tmp_path))
    made = read_json(tmp_path / "card.json")
    # The same bytes as before published sets had formats of their own.
    assert made["sha256"] == "7d0b9fa275c5bed8c8b473d4953d81880e926d45449c3daa2bb0b71225f9b428"
    assert made["problems"] == 8 and "Problems: 8\n" in (tmp_path / "card.md").read_text()


def test_a_share_of_the_problems_is_of_the_unseen_family(tmp_path):
    common = {"name": "mixed", "task": "operator_chain", "verifier": "operator_chain", "part": "train", "seed": 3}
    data = Synthetic(**common, levels=[2, 3], problems=40, unseen="operand", unseen_share=0.25)
    run_module("rlvr.data.prepare", "--spec", str(spec_file(data)), "--out", str(tmp_path))
    texts = [problem.prompt for problem in read_records(tmp_path / "problems.jsonl", Problem)]
    unseen = [any(digit > 6 for stretch in parse(text)[1] for digit in stretch.digits) for text in texts]
    assert len(set(texts)) == 40 and sum(unseen) == 10
    assert unseen != sorted(unseen, reverse=True), "they are among the others, not before them"
    with pytest.raises(ValidationError, match="unseen_share: needs a family"):
        Synthetic(**common, levels=[2], problems=4, unseen_share=0.5)


def test_golds_are_put_to_their_own_verifier_and_counted_on_the_card(here):
    """As mathematics, or as text alone; a gold that says nothing makes no problem."""
    answers = ["5", r"\frac{1}{2}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"1+2+\cdots+n", "see solution", "5"]
    rows = [{"problem": f"{LONG} {i}", "answer": answer} for i, answer in enumerate(answers)]
    done = rlvr("prepare", "math-500", "--from", str(lines(here / "x.jsonl", rows)), "--any-count")
    assert done.exit_code == 0, done.stderr
    made = read_json(here / "data" / "math-500" / "card.json")
    assert made["golds"] == {"verifier": "math", "different": 4, "asked": 4, "correct": 3, "text": 1}
    assert made["left_out"] == {"answer not found": 1}
    said = (here / "data" / "math-500" / "card.md").read_text()
    assert "- Golds put to the verifier `math`, each against itself: 4 of 4; correct 3, text 1" in said.splitlines()


def test_a_card_names_the_seed_and_the_dates(tmp_path):
    for name, row, fact in (
        ("gpqa-diamond", gpqa_row("q"), "SHA-256 of seed 20240101"),
        ("livecodebench-v6-fade", livecodebench_row("a", "[]"), "Dates: 2024-08-01 to 2025-05-31"),
    ):
        found = sources.SourceFiles((lines(tmp_path / "x.jsonl", [row]),), {"x.jsonl": "0"}, None)
        tally = published.write(SETS[name], found.paths, tmp_path / name, any_count=True)
        card.write(tmp_path / name, card.of_published(SETS[name], found, tally))
        assert fact in (tmp_path / name / "card.md").read_text()
