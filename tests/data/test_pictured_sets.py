"""Published sets with pictures, from small files in their own form to the responses of a policy that sees them."""

import json
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from conftest import ROOT
from PIL import Image
from support.published_sets import DATA, JPEG, loaded, parquet, picture, small

from rlvr.config.schema.settings import Evaluation
from rlvr.data import prepare
from rlvr.data.rows import DataError
from rlvr.data.sources import DataUnavailable, find
from rlvr.planning.papers import read_sources
from rlvr.policies.sources.scratch import scratch_policy
from rlvr.records import Problem, read_records, with_paths
from rlvr.sampling.engines.in_process import InProcess
from rlvr.verifiers import load

MRI, CT = "MR (Mag-netic Resonance Imaging)", "CT(Computed Tomography)"


def png(width, height):
    file = BytesIO()
    Image.new("RGB", (width, height), (0, 90, 0)).save(file, "PNG")
    return file.getvalue()


def medical_row(name, subset=MRI, answer="Meniscus", **more):
    row = {"image": [f"images/{name}.png"], "question": f"What is shown in {name}?", "dataset": "OmniMedVQA"}
    return {**row, "options": ["Ligament", "Meniscus"], "answer": answer, "subset": subset, **more}


def medical_file(folder, rows, pictures):
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for name, content in pictures.items():
            archive.writestr(f"images/{name}.png", content)
    path = folder / "medical_multimodel_evaluation_data.json"
    path.write_text(json.dumps(rows))
    return path


def test_medical_questions_by_modality_with_pictures_of_the_archive(tmp_path):
    rows = [
        medical_row("knee1"),
        medical_row("chest1", subset="X-Ray"),
        medical_row("knee2", answer="Bone"),  # none of the options
        medical_row("lost"),
        medical_row("text"),
        medical_row("knee3", answer="Ligament", image=["images/knee3.png", "images/knee1.png"]),
        medical_row("none", image=[]),
    ]
    pictures = {"knee1": png(9, 9), "knee2": png(9, 9), "knee3": JPEG, "chest1": png(9, 9), "text": b"no picture"}
    path = medical_file(tmp_path, rows, pictures)
    problems, tally = loaded("omnimed-mri", path)
    assert tally.left_out == {"another subset": 1, "the answer is none of the options": 1, "no picture": 3}
    assert [p.images for p in problems] == [
        ("images/omnimed-mri-0.png",),
        ("images/omnimed-mri-1-1.jpg", "images/omnimed-mri-1-2.png"),
    ]
    assert problems[0].prompt == "What is shown in knee1?\n(A) Ligament\n(B) Meniscus"
    assert problems[0].level == "OmniMedVQA"
    judge = load("choice")
    for response, status in {"\\boxed{B}": "correct", "\\boxed{Meniscus}": "correct", "\\boxed{A}": "wrong"}.items():
        assert judge(response, problems[0].gold)[0] == status
    (of_xray,), _ = loaded("omnimed-xray", path)
    assert of_xray.prompt.startswith("What is shown in chest1?")


def test_an_archive_that_is_missing_or_damaged_is_named(tmp_path):
    path = medical_file(tmp_path, [medical_row("a")], {"a": png(9, 9)})
    found = find(DATA["omnimed-mri"], files=[path])
    assert {name.split("/")[-1] for name in found.sums} == {path.name, "images.zip"}
    (tmp_path / "images.zip").write_bytes(b"no zip")
    with pytest.raises(DataError, match=r"images.zip: must be the zip file with the set's pictures"):
        loaded("omnimed-mri", path)
    (tmp_path / "images.zip").unlink()
    with pytest.raises(DataUnavailable, match=r"images.zip: no such file; bring FreedomIntelligence/.*/images.zip"):
        find(DATA["omnimed-mri"], files=[path])


def test_a_damaged_picture_leaves_its_problem_out_and_a_failing_disk_ends_the_stage(tmp_path, monkeypatch):
    path = medical_file(tmp_path, [medical_row("a"), medical_row("b")], {"a": png(9, 9), "b": png(9, 9)})
    stored = (tmp_path / "images.zip").read_bytes()
    spoiled = bytearray(stored)
    spoiled[stored.index(png(9, 9)) + 9] ^= 255  # in the first picture: its checksum is wrong now
    (tmp_path / "images.zip").write_bytes(spoiled)
    problems, tally = loaded("omnimed-mri", path)
    assert [p.prompt[:21] for p in problems] == ["What is shown in b?\n("] and tally.left_out == {"no picture": 1}
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: (_ for _ in ()).throw(OSError("Input/output error")))
    with pytest.raises(OSError, match="Input/output error"):
        loaded("omnimed-mri", path)


def test_medical_sets_share_no_pair_and_bring_their_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"mri{i}" for i in range(12)]
    medical_file(
        tmp_path / "data" / "omnimed-mri", [medical_row(name) for name in names], {n: png(9, 9) for n in names}
    )
    taken = {}
    for name, (skip, count) in {"medical-train": (0, 6), "medical-mri": (6, 4), "medical-validation": (10, 2)}.items():
        (share,) = DATA[name].shares
        share = share.model_copy(update={"skip": skip, "problems": count})
        content = prepare.make(DATA[name].model_copy(update={"shares": [share], "problems": count}), tmp_path / name)
        assert content["problems"] == count
        problems = with_paths(path := tmp_path / name / "problems.jsonl", read_records(path, Problem))
        assert all(Path(problem.images[0]).read_bytes() == png(9, 9) for problem in problems)
        taken[name] = {problem.prompt for problem in problems}
    assert sum(map(len, taken.values())) == len(set().union(*taken.values())) == 12


@pytest.fixture(scope="module")
def engine():
    policy = scratch_policy(read_sources(ROOT, "smoke", ["agrae"]).models["qwen2.5-vl-tiny"])
    settings = {"temperature": 1.0, "top_p": 1.0, "samples": 2, "max_response_tokens": 4, "max_total_tokens": None}
    return InProcess(policy, Evaluation(**settings, seed=1, engine="in_process", precision="float32"))


def geometry(folder):
    rows = [
        {"images": [picture(png(56, 56))], "problem": "<image>Find x.", "answer": "5"},
        {"images": [picture(png(112, 56)), picture(png(28, 28))], "problem": "<image> and <image>", "answer": "7"},
    ]
    return parquet(folder / "g.parquet", rows), [4, 8 + 1]


def vision(folder):
    row = {"options": ["1", "2"], "answer": "B", "level": 2, "decoded_image": picture(png(84, 56))}
    return parquet(folder / "v.parquet", [{**row, "question": "Which of <image1> or <image1>?"}]), [6]


def verse(folder):
    row = {"problem_index": "1", "question": "", "answer": "A", "sample_index": "1"}
    versions = [{**row, "problem_version": v, "image": picture(png(56, s))} for v, s in (("Lite", 56), ("Only", 84))]
    return parquet(folder / "m.parquet", versions), [4, 6]


def medical(folder):
    return medical_file(folder, [medical_row("a")], {"a": png(56, 28)}), [2]


@pytest.mark.parametrize(
    ("name", "written"),
    [("geometry3k-test", geometry), ("math-vision", vision), ("math-verse", verse), ("omnimed-mri", medical)],
)
def test_a_policy_sees_the_pictures_of_a_published_set(engine, name, written, tmp_path):
    path, places = written(tmp_path / "files")
    prepare.make(small(name), tmp_path / name, [path], any_count=True)
    problems = read_records(tmp_path / name / "problems.jsonl", Problem)
    sampled = engine.draw(with_paths(tmp_path / name / "problems.jsonl", problems), 0, 2)
    pad = engine.policy.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    assert [sample.prompt.count(pad) for sample in sampled[::2]] == places
    judge = load(small(name).verifier)
    assert {judge(s.completion.text, p.gold)[0] for s, p in zip(sampled[::2], problems, strict=True)} <= {
        "wrong",
        "unparsable",
        "correct",
    }
