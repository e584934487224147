"""Where a set's files are found, and what they must be."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.published_sets import ROW, SETS, lines, livecodebench_row, loaded, parquet

from rlvr.data import sources
from rlvr.data.rows import DataError
from rlvr.data.sources import DataUnavailable


def test_a_missing_set_says_what_to_bring(tmp_path, offline):
    revision = SETS["aime-2025"].revision
    expected = rf"cannot be reached \(OSError\); bring math-ai/aime25/test.jsonl \(revision {revision}\) as .*aime-2025"
    with pytest.raises(DataUnavailable, match=expected):
        sources.find(SETS["aime-2025"], tmp_path)
    with pytest.raises(DataUnavailable, match=r"as .*/math-train/\*/train-00000-of-00001.parquet"):
        sources.find(SETS["math-train"], tmp_path)


def test_brought_files_are_found_by_name_else_the_only_one(tmp_path, offline):
    spec, home = SETS["aime-2025"], tmp_path / "aime-2025"
    for ours in sources.OURS:
        lines(home / ours, [ROW])  # what preparing wrote there is no published file
    assert sources.brought(spec, home) == []
    other = lines(home / "copy.jsonl", [ROW])
    assert sources.find(spec, tmp_path).paths == (other,)
    lines(home / "third.jsonl", [ROW])
    with pytest.raises(DataUnavailable, match=r"which of copy.jsonl, third.jsonl is the set\? bring"):
        sources.brought(spec, home)
    named = lines(home / "test.jsonl", [ROW])
    found = sources.find(spec, tmp_path)
    assert found.paths == (named,) and found.commit is None
    assert found.sums == {"aime-2025/test.jsonl": hashlib.sha256(named.read_bytes()).hexdigest()}


def test_several_files_are_read_in_order_and_none_may_lack(tmp_path, offline):
    home = tmp_path / "math-train"
    for subject in ("geometry", "algebra"):
        parquet(home / subject / "train-00000-of-00001.parquet", [{"problem": subject, "solution": "\\boxed{1}"}])
    found = sources.find(SETS["math-train"], tmp_path)
    assert [path.parent.name for path in found.paths] == ["algebra", "geometry"] and len(found.sums) == 2
    lines(tmp_path / "livecodebench-v5" / "test.jsonl", [ROW])
    with pytest.raises(DataUnavailable, match=r"test2.jsonl is missing beside the other files; bring "):
        sources.find(SETS["livecodebench-v5"], tmp_path)


def test_a_row_that_is_left_out_of_one_of_several_files_is_named(tmp_path):
    rows = {"algebra": ["\\boxed{1}", "none"], "geometry": ["none", "\\boxed{1}"]}
    paths = [
        parquet(
            tmp_path / name / "train.parquet", [{"problem": f"{name} {i}", "solution": s} for i, s in enumerate(made)]
        )
        for name, made in rows.items()
    ]
    _, tally = loaded("math-train", *paths)
    assert tally.reasons() == (
        "4 rows; 2 left out, solution boxes nothing: rows algebra/train.parquet:2, geometry/train.parquet:1"
    )


def test_a_checksum_that_differs_is_an_error(tmp_path):
    path = lines(tmp_path / "aime-2025" / "test.jsonl", [ROW])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    spec = SETS["aime-2025"].model_copy(update={"sha256": {"test.jsonl": digest}})
    assert sources.find(spec, tmp_path).paths == (path,)
    spec = SETS["aime-2025"].model_copy(update={"sha256": {"test.jsonl": "0" * 64}})
    with pytest.raises(DataError, match=f"aime-2025/test.jsonl has the SHA-256 {digest}, and must have 0000"):
        sources.find(spec, tmp_path)


class Hub:
    """A hub that knows one commit, and a cache that may have it."""

    def __init__(self, folder: Path, monkeypatch):
        import huggingface_hub

        self.commit, self.folder, self.reachable, self.cached = "0123456789" * 4, folder, True, True
        self.asked: dict = {}
        monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda *_, **options: self.info(**options))
        monkeypatch.setattr(huggingface_hub, "snapshot_download", self.snapshot)

    def info(self, **options):
        self.asked.update(options)
        if not self.reachable:
            raise ConnectionError("no network")
        return SimpleNamespace(sha=self.commit)

    def snapshot(self, repo, *, revision, local_files_only=False, **options):
        self.asked.update(options, repo=repo, local=local_files_only, commit=revision)
        if local_files_only and not self.cached:
            raise FileNotFoundError("not in the cache")
        parquet(self.folder / self.commit / "testmini.parquet", [{"x": 1}])
        return str(self.folder / self.commit)


def test_the_hubs_commit_is_recorded(tmp_path, monkeypatch):
    hub = Hub(tmp_path, monkeypatch)
    found = sources.find(SETS["math-verse"], tmp_path / "data")
    assert found.commit == hub.commit and [path.name for path in found.paths] == ["testmini.parquet"]
    assert (hub.asked["repo"], hub.asked["repo_type"]) == ("AI4Math/MathVerse", "dataset")
    assert (hub.asked["revision"], hub.asked["commit"]) == ("main", hub.commit)
    with pytest.raises(DataUnavailable, match=r"the hub gave no test\.jsonl of HuggingFaceH4/MATH-500; bring "):
        sources.find(SETS["math-500"], tmp_path / "data")


def test_without_a_network_what_was_downloaded_before_serves(tmp_path, monkeypatch):
    hub = Hub(tmp_path, monkeypatch)
    hub.reachable = False
    assert sources.find(SETS["math-verse"], tmp_path / "data").commit == hub.commit and hub.asked["local"]
    hub.cached = False
    with pytest.raises(
        DataUnavailable, match=r"the hub cannot be reached \(ConnectionError\); bring AI4Math/MathVerse"
    ):
        sources.find(SETS["math-verse"], tmp_path / "data")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"question": "x", "answer": "1"}\n', r"a.jsonl: no field \['problem'\]; the file has \['answer'"),
        ("a.jsonl", '{"problem": "x", "answer": "1"}\n{"problem"\n', r"a.jsonl, line 2: not valid JSON"),
        ("a.jsonl", "[1, 2]\n", "rows must be JSON objects"),
        ("a.jsonl", "", "no rows"),
        ("a.json", '[{"problem": ', "a.json: "),
        ("a.parquet", "PAR1 not really", "a.parquet: "),
        ("a.txt", "x", r"expected a file that ends in .jsonl"),
    ],
)
def test_an_unfit_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        loaded("aime-2025", tmp_path / name)


def test_a_row_of_another_form_is_named(tmp_path):
    path = lines(tmp_path / "t.jsonl", [livecodebench_row("a", "[]", public_test_cases="[{}]")])
    with pytest.raises(DataError, match=r"t.jsonl, row 1: not as livecodebench is published \(KeyError: 'testtype'\)"):
        loaded("livecodebench-v6", path)
    spec = SETS["aime-2025"].model_copy(update={"fields": {"golden": "answer"}})
    with pytest.raises(DataError, match="the adapter integers has no 'golden'"):
        loaded(spec, path)
