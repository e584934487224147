"""The published sets of config/datasets.yaml, and small files in their formats."""

import base64
import json
import pickle
import tempfile
import zlib
from pathlib import Path

import pandas as pd
from conftest import ROOT
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config.load import read_data
from rlvr.config.schema.models_and_data import Published
from rlvr.data import published
from rlvr.records import Problem, read_records

DATA = read_data(ROOT / "config", ROOT)
SETS = {name: data for name, data in DATA.items() if isinstance(data, Published)}
PNG, JPEG = b"\x89PNG one", b"\xff\xd8\xff two"


def lines(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)
    return path


def loaded(name: str | Published, *paths: Path):
    """What is written of some files, and the tally."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        tally = published.write(SETS[name] if isinstance(name, str) else name, paths, out, any_count=True)
        return read_records(out / "problems.jsonl", Problem), tally


def small(name: str) -> Published:
    """A set of which a file of a few rows is as good as the whole."""
    return SETS[name].model_copy(update={"slack": 1.0})


def golds(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.prompt, problem.gold) for problem in problems]


def dapo_row(text: str, gold: str) -> dict:
    wrapped = f"Solve the following math problem step by step. (...)\n\n{text}\n\nRemember to put your answer (...)"
    return {
        "data_source": "math_dapo",
        "prompt": [{"role": "user", "content": wrapped}],
        "ability": "MATH",
        "reward_model": {"ground_truth": gold, "style": "rule"},
        "extra_info": {"index": "x"},
    }


def gpqa_row(question: str) -> dict:
    return {
        "Question": question,
        "Correct Answer": "right",
        "Incorrect Answer 1": "wrong one",
        "Incorrect Answer 2": "wrong two",
        "Incorrect Answer 3": "wrong, three",
        "High-level domain": "Physics",
        "Explanation": "not read",
    }


def packed(content: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(content))).decode()


def livecodebench_row(name: str, private: str, date: str = "2024-09-01T00:00:00", **more) -> dict:
    public = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
    return {
        "question_title": name,
        "question_content": f"{name}: add.",
        "platform": "atcoder",
        "question_id": name,
        "contest_date": date,
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": json.dumps(public),
        "private_test_cases": private,
        "metadata": "{}",
    } | more


def picture(data: bytes, path: str = "../../evil.png") -> dict:
    return {"bytes": data, "path": path}


ROW = {"problem": "p", "answer": "1"}


QUESTION = "What is it?"
TESTS = json.dumps({"inputs": ["1"], "outputs": ["2"]})
MCQ = {"right": "a", "wrong1": "b", "wrong2": "c", "wrong3": "d", "level": "Physics"}
PAIRS = {"input": ["1"], "output": ["2"]}
# A good row for each adapter, by our names.
GOOD = {
    "boxed": {"prompt": QUESTION, "gold": "\\boxed{7}", "level": "Level 5"},
    "code_contests": {
        **{"prompt": QUESTION, "public": PAIRS, "private": PAIRS, "generated": PAIRS, "memory": 256_000_000},
        **{"seconds": {"seconds": 2, "nanos": 0}, "input_file": "", "output_file": ""},
    },
    "dapo_raw": {"prompt": [{"role": "user", "content": QUESTION}], "gold": {"ground_truth": "7"}},
    "geometry3k": {"prompt": QUESTION, "gold": "7", "pictures": [{"bytes": PNG, "path": "x"}]},
    "gpqa": {"prompt": QUESTION, **MCQ},
    "huatuo_vision": {
        **{"prompt": QUESTION, "options": ["a", "b"], "gold": "b", "pictures": ["images/a.png"]},
        **{"subset": "MR (Mag-netic Resonance Imaging)", "level": "OmniMedVQA"},
    },
    "integers": {"prompt": QUESTION, "gold": "7", "solution": "\\boxed{7}"},
    "livecodebench": {
        **{"prompt": QUESTION, "starter": "", "date": "2024-09-01T00:00:00", "private": "[]", "metadata": "{}"},
        **{"public": '[{"input": "1", "output": "2", "testtype": "stdin"}]', "level": "easy"},
    },
    "math_verse": {"prompt": QUESTION, "gold": "A", "pictures": PNG, "cluster": "1", "level": "Text Lite"},
    "math_vision": {"prompt": QUESTION, "gold": "A", "options": ["1", "2"], "pictures": PNG, "level": 2},
    "numina_math": {
        **{"prompt": QUESTION, "gold": "7", "kind": "MCQ", "problem_valid": "Yes", "solution_valid": "Yes"},
    },
    "open_code_reasoning": {
        **{"prompt": QUESTION, "dataset": "taco", "split": "train", "index": "0", "response": "r"},
        **{"judgement": "right", "level": "EASY"},
    },
    "open_math_reasoning": {
        "prompt": QUESTION,
        "gold": "7",
        "kind": "has_answer_extracted",
        "response": "r",
        "subset": "DeepSeek-R1",
    },
    "taco": {
        "prompt": QUESTION,
        "tests": TESTS,
        "starter": "",
        "level": "EASY",
        "seconds": "2.0 seconds",
        "memory": "256 MB",
    },
    "words": {"prompt": QUESTION, "gold": "7", "level": 5},
}


LONG = "A train leaves the station at noon with forty passengers and arrives at the next one in " + " ".join(
    f"stop {i} then" for i in range(20)
)


def rlvr(*arguments: str):
    return CliRunner().invoke(app, ["data", *arguments])
