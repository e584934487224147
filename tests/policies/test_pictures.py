"""A vision-language policy: what it computes, against transformers; pictures as tokens; saved and loaded."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageTextToText

from rlvr.files import publish_json
from rlvr.planning.papers import read_sources
from rlvr.policies import store
from rlvr.policies.decoder import Decoder
from rlvr.policies.noise import noise_of
from rlvr.policies.pictures import SPOT, in_place
from rlvr.policies.sampler import sample
from rlvr.policies.sources.scratch import scratch_policy
from rlvr.policies.transformers_pass import TransformersPass
from rlvr.records import PicturesUnread
from rlvr.training.batches import pad_prompts
from rlvr.training.forward import critic_of


@pytest.fixture
def seeing():
    """A random Qwen2.5-VL."""
    return scratch_policy(read_sources(ROOT, "smoke", ["ace"]).models["qwen2.5-vl-tiny"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pictures of different shapes."""
    folder, generator = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    paths = []
    for i, size in enumerate([(56, 56, 3), (28, 84, 3), (84, 56, 3)]):
        paths.append(str(folder / f"{i}.png"))
        Image.fromarray(generator.integers(256, size=size, dtype=np.uint8)).save(paths[-1])
    return paths


@pytest.fixture
def prompts(seeing, files):
    """Three prompts, with no picture, one and two; padded on the right."""
    questions = ["3 + 4 ?", "<image> area ? A 3", "angle <image> 4 <image> ? B 5"]
    encoded = seeing.encode(questions, [(), (files[0],), (files[1], files[2])])
    return pad_prompts(encoded, seeing.pad, "cpu")


def of_transformers(policy, prompts_PL, lengths_P, prompt_N, responses_NT):
    """log pi (N, T) by the model's own forward pass, row by row, with pixel values and placeholders."""
    pictures, rows = policy.pictures, []
    for n, p in enumerate(prompt_N.tolist()):
        tokens = torch.cat([prompts_PL[p, : lengths_P[p]], responses_NT[n]])
        words = pictures.as_words(tokens)[None]
        used = [i for i, places in enumerate(pictures.tokens.values()) if set(places) & set(tokens.tolist())]
        given = {}
        if used:
            given["pixel_values"] = torch.cat([pictures.patches(i) for i in used])
            given["image_grid_thw"] = torch.stack([pictures.grids[i] for i in used])
            given["mm_token_type_ids"] = (words == pictures.place).int()
        logp = policy.model(input_ids=words, **given).logits.log_softmax(-1)[0, lengths_P[p] - 1 : -1]
        rows.append(logp.gather(1, responses_NT[n][:, None])[:, 0])
    return torch.stack(rows)


@pytest.mark.parametrize("kind", [Decoder, TransformersPass])
def test_log_probabilities_and_gradients_are_those_of_transformers(seeing, prompts, kind):
    prompts_PL, lengths_P = prompts
    prompt_N = torch.tensor([0, 1, 2, 1, 2])
    responses_NT = torch.randint(8, 100, (5, 6), generator=torch.Generator().manual_seed(0))
    weights_NT = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    found = []
    for compute in (lambda *rows: of_transformers(seeing, *rows), lambda *rows: kind(seeing.model).logprobs(*rows)):
        seeing.model.zero_grad()
        logprobs_NT = compute(prompts_PL, lengths_P, prompt_N, responses_NT)
        (logprobs_NT * weights_NT).sum().backward()
        found.append((logprobs_NT.detach(), {n: p.grad.clone() for n, p in seeing.model.named_parameters()}))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-4, atol=1e-5)
    for name, gradient in found[0][1].items():
        torch.testing.assert_close(gradient, found[1][1][name], rtol=1e-3, atol=2e-4, msg=name)
    assert found[0][1]["model.visual.patch_embed.proj.weight"].abs().max() > 1e-3


def test_the_sampler_sees_what_the_trainer_sees(seeing, prompts):
    prompts_PL, lengths_P = prompts
    noise = torch.from_numpy(noise_of([(0, 0, i) for i in range(3)], 0, 4, 8))
    drawn = sample(
        Decoder(seeing.model, frozen=True), prompts_PL, lengths_P, noise, eos_token=seeing.eos, pad_token=seeing.pad
    )
    rows = prompts_PL, lengths_P, torch.arange(3).repeat_interleave(4), drawn.tokens_PGT.flatten(0, 1)
    with torch.no_grad():
        again = Decoder(seeing.model).logprobs(*rows, drawn.lengths_PG.flatten()).view_as(drawn.logprobs_PGT)
    torch.testing.assert_close(again * drawn.mask_PGT(), drawn.logprobs_PGT, rtol=1e-4, atol=1e-5)


def test_a_pass_computes_each_picture_once(seeing, prompts, monkeypatch):
    seen, tower = [], seeing.model.get_image_features

    def counted(patches, grids):
        seen.append(len(grids))
        return tower(patches, grids)

    monkeypatch.setattr(seeing.model, "get_image_features", counted)
    prompts_PL, lengths_P = prompts
    prompt_N, responses_NT = torch.arange(3).repeat_interleave(5), torch.arange(30).view(15, 2) + 8
    for kind in (Decoder, TransformersPass):
        kind(seeing.model).logprobs(prompts_PL, lengths_P, prompt_N, responses_NT)
    noise = torch.from_numpy(noise_of([(0, 0, i) for i in range(3)], 0, 5, 6))
    sample(Decoder(seeing.model, frozen=True), prompts_PL, lengths_P, noise, eos_token=seeing.eos, pad_token=seeing.pad)
    assert seen == [3, 3, 3]


def test_another_picture_is_another_prompt(seeing, files):
    one, other = seeing.encode(["<image> area ?"] * 2, [(files[0],), (files[2],)])
    assert len(other) - len(one) == 2  # 2 x 3 places against 2 x 2
    again, twice = seeing.encode(["<image> area ?", "area ? <image> <image>"], [(files[0],), (files[0], files[0])])
    assert again == one and sum(token in seeing.pictures.see(Path(files[0])) for token in twice) == 8


def test_a_saved_policy_is_one_that_transformers_loads(seeing, prompts, tmp_path):
    entries = store.saved_beside(tmp_path / "manifest.json", seeing)
    publish_json(tmp_path / "manifest.json", entries)
    wanted = {"config.json", "model.safetensors", "preprocessor_config.json", "tokenizer.json"}
    assert wanted <= set(entries["files"])
    theirs = AutoModelForImageTextToText.from_pretrained(tmp_path / "policy")
    assert type(theirs) is type(seeing.model)
    processor = AutoImageProcessor.from_pretrained(tmp_path / "policy", backend="pil")
    ours = store.load(tmp_path / "manifest.json")
    assert ours.pictures is not None
    paths = [(str(path),) for path in seeing.pictures.paths]
    assert ours.encode(["area ?"] * 3, paths) == seeing.encode(["area ?"] * 3, paths)
    for number, path in enumerate(seeing.pictures.paths):
        with Image.open(path) as picture:
            assert torch.equal(processor([picture], return_tensors="pt")["pixel_values"], ours.pictures.patches(number))
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(tensor, ours.model.state_dict()[name])


def test_patches_beyond_the_memory_limit_are_computed_anew(seeing, files, monkeypatch):
    monkeypatch.setattr("rlvr.policies.pictures.KEPT", 0)
    seeing.encode(["?"], [(files[0],)])
    kept = scratch_policy(read_sources(ROOT, "smoke", ["ace"]).models["qwen2.5-vl-tiny"])
    assert not seeing.pictures._patches
    monkeypatch.undo()
    kept.encode(["?"], [(files[0],)])
    assert kept.pictures is not None
    assert kept.pictures._patches and torch.equal(seeing.pictures.patches(0), kept.pictures.patches(0))


def test_copies_share_pictures(seeing, prompts):
    reference = copy.deepcopy(seeing)
    assert reference.pictures is seeing.pictures and critic_of(seeing.model).pictures is seeing.pictures


@pytest.mark.parametrize(
    ("question", "pictures", "marked"),
    [
        ("Find x.", 0, "Find x."),
        ("<image>Find x.", 1, f"{SPOT}Find x."),
        ("Find x.", 2, f"{SPOT}{SPOT}Find x."),
        ("<image1> and <image2>?", 2, f"{SPOT} and {SPOT}?"),
        ("<image1> as <image1>?", 1, f"{SPOT} as <image1>?"),
        ("<image>, <image>", 1, f"{SPOT}, <image>"),
    ],
)
def test_places_of_pictures_in_a_question(question, pictures, marked):
    assert in_place(question, pictures) == marked


def test_a_policy_of_texts_refuses_pictures(policy, files):
    with pytest.raises(PicturesUnread, match=r"1 problems have pictures .*0.png is the first"):
        policy.encode(["1 2 = 3", "1 2 = 3"], [(), (files[0],)])
