"""Problems with pictures for verl and vLLM: their inputs, and what a GPU keeps for them."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
import torch
from conftest import ROOT
from PIL import Image

from rlvr.cost import hardware, memory
from rlvr.files import publish_json
from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources
from rlvr.policies import store
from rlvr.policies.pictures import SPOT
from rlvr.policies.sources.scratch import scratch_policy
from rlvr.records import Problem
from rlvr.sampling.engines import vllm
from rlvr.training.backends.verl import data
from rlvr.training.backends.verl.overrides import Places, overrides, settings

PLACES = Places.of(Path("state"), "model", nodes=1, gpus_per_node=8)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A saved tiny policy that sees pictures."""
    folder = tmp_path_factory.mktemp("seeing")
    policy = scratch_policy(read_sources(ROOT, "smoke", ["agrae"]).models["qwen2.5-vl-tiny"])
    publish_json(folder / "manifest.json", store.saved_beside(folder / "manifest.json", policy))
    return store.locate(folder / "manifest.json")


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    folder, sizes = tmp_path_factory.mktemp("pictures"), [(56, 56), (112, 56)]
    paths = [str(folder / f"{i}.png") for i in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        Image.new("RGB", size, (0, 90, 0)).save(path)
    return [
        Problem("one", "<image> area ?", "1", "m=1", (paths[0],)),
        Problem("two", "area <image2> ? <image1>", "2", "m=2", (paths[1], paths[0])),
        Problem("none", "area ?", "3", "m=1"),
    ]


@pytest.fixture(scope="module")
def runs():
    """Runs of Table 3 at paper scale: of geometry, and of medical images."""
    plan = make_plan(ROOT, "paper", ["agrae"])
    tables = plan.papers["agrae"].tables
    found = [next(p for p in tables[name].policies() if p in plan.runs) for name in ("table3", "table3_medical")]
    return plan, [plan.runs[policy] for policy in found], plan.executions[found[0]]


def test_the_parquet_has_marks_and_contents_of_pictures(problems, tmp_path):
    data.write_problems(tmp_path / "p.parquet", problems, "<bos> {problem}", "set")
    rows = pd.read_parquet(tmp_path / "p.parquet").to_dict("records")
    assert [row["prompt"][0]["content"] for row in rows] == [
        "<bos> <image> area ?",
        "<bos> area <image> ? <image>",
        "<bos> area ?",
    ]
    sizes = [[Image.open(BytesIO(image["bytes"])).size for image in row["images"]] for row in rows]
    assert sizes == [[(56, 56)], [(112, 56), (56, 56)], []]
    data.write_problems(tmp_path / "t.parquet", problems[2:], "{problem}", "set")
    assert "images" not in pd.read_parquet(tmp_path / "t.parquet").columns
    more = replace(problems[0], prompt="<image> and <image> ?")
    with pytest.raises(SystemExit, match="one: 2 marks <image> and 1 pictures"):
        data.write_problems(tmp_path / "m.parquet", [more], "{problem}", "set")


def test_the_template_and_the_tokens_are_those_of_in_process(place, problems, tmp_path):
    data.write_tokenizer(tmp_path / "tokenizer", place.location)
    assert {"config.json", "preprocessor_config.json", "tokenizer.json"} <= {
        path.name for path in (tmp_path / "tokenizer").iterdir()
    }
    tokenizer = store.load_tokenizer(str(tmp_path / "tokenizer"))
    parts = [{"type": "text", "text": "<bos> area "}, {"type": "image"}, {"type": "text", "text": " ? "}]
    parts.append({"type": "image"})
    text = tokenizer.apply_chat_template([{"role": "user", "content": parts}], tokenize=False)
    assert text == f"<bos> area {SPOT} ? {SPOT}"
    assert tokenizer.apply_chat_template([{"role": "user", "content": "<bos> a {b}"}], tokenize=False) == "<bos> a {b}"
    lengths = [
        len(row) for row in store.encoder(place).encode([p.prompt for p in problems], [p.images for p in problems])
    ]
    assert lengths == [1 + 6 + 2, 1 + 2 + 10 + 6, 1 + 2]
    for limit, left_out in ((19, 0), (18, 1), (8, 2), (2, 3)):
        assert data.too_long(problems, place, limit) == left_out


def test_vllm_gets_one_token_and_a_picture_and_records_each_place(place, problems):
    policy = store.encoder(place)
    encoded, inputs = vllm.prompts(policy, problems)
    pad = policy.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    assert [tokens.count(pad) for tokens in encoded] == [4, 12, 0]
    assert [one["prompt_token_ids"].count(pad) for one in inputs] == [1, 2, 0]
    sizes = [[picture.size for picture in one.get("multi_modal_data", {}).get("image", [])] for one in inputs]
    assert sizes == [[(56, 56)], [(112, 56), (56, 56)], []]
    for tokens, one in zip(encoded, inputs, strict=True):
        once = [t for i, t in enumerate(tokens) if t != pad or tokens[i - 1] != pad]
        assert once == one["prompt_token_ids"]
    assert not vllm.options("folder", "float32", 128, 1, 0.5, pictured=True)["skip_tokenizer_init"]
    (alone,), (text,) = vllm.prompts(policy, problems[2:])
    assert text == {"prompt_token_ids": alone}


def test_picture_runs_compose_for_verl(runs):
    _, specs, execution = runs
    geometry, medical = (settings(spec, replace(PLACES, pictures=True), execution) for spec in specs)
    assert geometry["data.image_key"] == "images" and geometry["data.custom_cls.name"] == "Problems"
    assert geometry["data.train_batch_size"] == 512 and medical["data.train_batch_size"] == 32
    assert (geometry["trainer.total_training_steps"], medical["trainer.total_training_steps"]) == (80, 180)
    assert geometry["actor_rollout_ref.rollout.n"] == medical["actor_rollout_ref.rollout.n"] == 5
    assert geometry["+rlvr.format_share"] == 0.1
    text = settings(specs[0], PLACES, execution)
    assert set(geometry) - set(text) == {
        *("data.image_key", "data.return_multi_modal_inputs", "data.custom_cls.path", "data.custom_cls.name")
    }
    assert "data.image_key='images'" in overrides(specs[0], replace(PLACES, pictures=True), execution)
    assert all(spec.rl.backend == "verl" for spec in specs)


def test_the_memory_plan_has_the_vision_tower(runs):
    _, (spec, _), execution = runs
    specs = hardware.read(ROOT / "config")
    shape = specs.shapes[spec.base.model.repo]
    assert shape.vision is not None and shape.parameters - shape.text_parameters == 668_684_288
    assert shape.parameters == pytest.approx(3.75e9, rel=0.01)
    assert shape.multiplied < shape.text_parameters + 1
    found, refusal = memory.fitted(spec, execution, specs, "h100", 8)
    assert found.fits and not refusal
    blind = specs.model_copy(
        update={"shapes": {**specs.shapes, spec.base.model.repo: shape.model_copy(update={"vision": None})}}
    )
    without, _ = memory.fitted(spec, execution, blind, "h100", 8)
    more = {phase: sum(parts.values()) - sum(without.phases[phase].values()) for phase, parts in found.phases.items()}
    tokens, share = max(execution.tokens_per_gpu, 4096), 2048 / 4096
    assert more["rollouts"] == pytest.approx(3 * 4 * 668_684_288 / 8)
    assert more["update"] == pytest.approx(4 * 4 * 668_684_288 / 8 + 2 * 4 * tokens * share * 32 * 1280)


@pytest.fixture
def rows(place, problems, tmp_path):
    """verl's data set of the problems, and the tokenizer that it is given."""
    from omegaconf import OmegaConf

    from rlvr.training.backends.verl.dataset import Problems

    data.write_problems(tmp_path / "p.parquet", problems, place.template, "set")
    data.write_tokenizer(tmp_path / "tokenizer", place.location)
    tokenizer = store.load_tokenizer(str(tmp_path / "tokenizer"))
    config = {"cache_dir": str(tmp_path), "filter_overlong_prompts": False, "max_prompt_length": 64}
    return Problems(str(tmp_path / "p.parquet"), tokenizer, OmegaConf.create(config), processor=object()), tokenizer


@pytest.mark.verl
def test_verls_data_set_gives_the_pictures(rows):
    from rlvr.training.backends.verl.dataset import Problems, pictures_of

    messages = [rows[0][i]["raw_prompt"] for i in range(3)]
    assert [[p.size for p in pictures_of(m)] for m in messages] == [[(56, 56)], [(112, 56), (56, 56)], []]
    assert Problems._process_multi_modal_info(messages[2], 14, None) == (None, None, None)
    assert torch.equal(rows[0][0]["dummy_tensor"], torch.tensor([0], dtype=torch.uint8))


@pytest.mark.verl
def test_verls_prompts_are_the_policys(rows, place, problems):
    pytest.importorskip("torchvision", reason="transformers of the CPU lock asks for it; the cluster's lock has it")
    made, tokenizer = rows
    policy = store.encoder(place)
    for i, problem in enumerate(problems):
        text = tokenizer.apply_chat_template(made[i]["raw_prompt"], tokenize=False)
        (encoded,), (given,) = vllm.prompts(policy, [problem])
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == given["prompt_token_ids"]
        assert len(encoded) >= len(given["prompt_token_ids"])


@pytest.mark.verl
def test_verls_own_configuration_takes_a_picture_run(runs):
    from hydra import compose, initialize_config_module
    from verl.utils.dataset.rl_dataset import get_dataset_class

    from rlvr.training.backends.verl.dataset import Problems

    _, specs, execution = runs
    with initialize_config_module("verl.trainer.config", version_base=None):
        for spec in specs:
            config = compose("ppo_trainer", overrides=overrides(spec, replace(PLACES, pictures=True), execution))
            assert config.data.image_key == "images" and get_dataset_class(config.data) is Problems
            assert config.actor_rollout_ref.rollout.n == 5 and config.rlvr.format_share == 0.1
