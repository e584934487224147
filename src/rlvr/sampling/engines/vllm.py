"""vLLM as an offline batch: tensor parallel, prefix caching, one seed per sample.

Each sample is a request with its own seed (vLLM's default seed made "independent" evaluations equal). Log-probabilities
are the policy's at temperature 1, as in process. `envs/` says how to install vLLM; only this module imports it.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from rlvr.child_processes import leave_no_orphans
from rlvr.config.registries import EngineKind
from rlvr.config.schema.settings import Evaluation
from rlvr.policies.store import Policy, encoder, locate
from rlvr.records import Completion, Problem
from rlvr.run_in_env import attention, prepare_vllm
from rlvr.sampling.engines import EngineError, Sampled, limits_of

# vLLM's model runners and where a sample's random numbers come from: by the other one, a seed has another sample.
RUNNERS = {False: "runner V1 (torch.Generator)", True: "runner V2 (Philox by Triton)"}
SPARE_PROMPT_TOKENS = 4096  # tokens for a prompt, beside the response, if the model's context is longer


def sample_seed(seed: int, problem: Problem, sample: int) -> int:
    """63 bits, a function of the evaluation's seed, the problem and the sample's index."""
    return int(hashlib.sha256(f"{seed}:{problem.id}:{sample}".encode()).hexdigest()[:16], 16) >> 1


def parameters(sampling: Evaluation, eos: int) -> dict[str, Any]:
    """Every parameter of vLLM's SamplingParams that shapes a sample, but the seed and a limit by the prompt."""
    return {
        "n": 1,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": 0,  # none
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "min_tokens": 0,
        "max_tokens": sampling.max_response_tokens,
        "stop": [],
        "stop_token_ids": [eos],
        "ignore_eos": False,
        "bad_words": [],
        "logit_bias": None,
        "allowed_token_ids": None,
        "logprobs": 0,  # of the sampled token
        "detokenize": False,  # one tokenizer decodes for all engines
    }


def options(
    location: str,
    dtype: str,
    longest: int,
    tensor_parallel: int,
    memory: float,
    *,
    pictured: bool = False,
) -> dict:
    """Arguments of vLLM's LLM. `pictured`: its processor of prompts with pictures needs the model's tokenizer."""
    import torch

    on_gpu = torch.cuda.is_available()
    return {
        "model": location,
        "dtype": dtype,
        "skip_tokenizer_init": not pictured,
        "generation_config": "vllm",  # not the model's: it would override sampling parameters
        "logprobs_mode": "raw_logprobs",  # of the policy, before temperature and top-p
        "tensor_parallel_size": tensor_parallel,
        "enable_prefix_caching": True,
        "gpu_memory_utilization": memory,
        "max_model_len": longest,
        "enforce_eager": not on_gpu,  # compiling for a CPU takes longer than a small model's samples
        "seed": 0,
        **(attention() if on_gpu else {}),
    }


def prompts(policy: Policy, problems: list[Problem]) -> tuple[list[list[int]], list[dict[str, Any]]]:
    """The tokens of each prompt, one for each place of a picture, and vLLM's input, one token for each picture."""
    texts, images = [problem.prompt for problem in problems], [problem.images for problem in problems]
    encoded = policy.encode(texts, images)
    if policy.pictures is None or not any(images):
        return encoded, [{"prompt_token_ids": tokens} for tokens in encoded]
    import torch

    from rlvr.policies.pictures import in_place

    pictures = policy.pictures
    inputs = []
    for text, paths in zip(texts, images, strict=True):
        (tokens,) = policy.encode([in_place(text, len(paths))])
        seen = {"multi_modal_data": {"image": [opened(path) for path in paths]}} if paths else {}
        inputs.append({"prompt_token_ids": tokens, **seen})
    return [pictures.as_words(torch.tensor(tokens)).tolist() for tokens in encoded], inputs


def opened(path: str) -> Any:
    from PIL import Image

    with Image.open(path) as picture:
        return picture.convert("RGB")


class Vllm:
    name = "vllm"

    def __init__(self, engine: Any, policy: Policy, sampling: Evaluation, version: str, longest: int):
        self.engine, self.policy, self.tokenizer = engine, policy, policy.tokenizer
        self.sampling, self.version, self.longest = sampling, version, longest

    def draw(self, problems: list[Problem], first: int, last: int) -> list[Sampled]:
        from vllm import SamplingParams

        fixed = parameters(self.sampling, self.tokenizer.eos_token_id)
        encoded, inputs = prompts(self.policy, problems)
        limits = limits_of(self.sampling, problems, encoded)
        for problem, tokens, limit in zip(problems, encoded, limits, strict=True):
            if len(tokens) + limit > self.longest:
                raise EngineError(
                    f"{problem.id}: a prompt of {len(tokens)} tokens and a response of up to "
                    f"{limit} exceed the model's context of {self.longest}, so vLLM would cut the response: "
                    "lower evaluation.max_response_tokens, or set evaluation.max_total_tokens"
                )
        requests = [(p, sample) for p in range(len(problems)) for sample in range(first, last)]
        outputs = self.engine.generate(
            [inputs[p] for p, _ in requests],
            [
                SamplingParams(
                    **{**fixed, "max_tokens": limits[p]}, seed=sample_seed(self.sampling.seed, problems[p], s)
                )
                for p, s in requests
            ],
            use_tqdm=False,
        )
        rows = [list(output.outputs[0].token_ids) for output in outputs]
        decoded = self.tokenizer.batch_decode(rows, skip_special_tokens=True)
        sampled = []
        for (p, sample), output, tokens, text in zip(requests, outputs, rows, decoded, strict=True):
            response = output.outputs[0]
            logprobs = [float(at[token].logprob) for at, token in zip(response.logprobs, tokens, strict=True)]
            end = "stop" if response.finish_reason == "stop" else "length"
            completion = Completion(
                problems[p].id, sample, text, len(tokens), end, round(sum(logprobs), 4), self.name, self.version
            )
            sampled.append(Sampled(completion, encoded[p], tokens, logprobs))
        return sampled


def version() -> str:
    try:
        import vllm
    except ImportError as error:
        raise EngineError(
            f"the engine vllm is not installed in this environment ({error}); "
            "install it (docs/evaluation.md), name a Python that has it in config/cluster.yaml (environments.vllm), "
            "or evaluate with engine: in_process"
        ) from error
    chosen = os.environ.get("VLLM_USE_V2_MODEL_RUNNER")  # each runner has a generator of its own
    return f"vllm {vllm.__version__}" + (f", VLLM_USE_V2_MODEL_RUNNER={chosen}" if chosen else "")


def runner(engine: Any) -> str:
    """The model runner of an LLM: vLLM chooses it by the model's architecture, or by VLLM_USE_V2_MODEL_RUNNER."""
    return RUNNERS[bool(engine.llm_engine.vllm_config.use_v2_model_runner)]


def load(manifest: Path, sampling: Evaluation, *, tensor_parallel: int = 1, gpu_memory: float = 0.75) -> Vllm:
    from rlvr.training.deterministic import one_thread

    one_thread()
    prepare_vllm()
    installed = version()
    from vllm import LLM

    place = locate(manifest)
    policy = encoder(place)
    longest = min(positions(place.location), SPARE_PROMPT_TOKENS + sampling.max_response_tokens)
    pictured = policy.pictures is not None
    arguments = options(place.location, sampling.precision, longest, tensor_parallel, gpu_memory, pictured=pictured)
    leave_no_orphans()  # the engine's processes notice this one's death late or never
    engine = LLM(**arguments)
    return Vllm(engine, policy, sampling, f"{installed}, {runner(engine)}", longest)


def positions(location: str) -> int:
    """The longest sequence that a model supports."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(location)
    return int(config.get_text_config().max_position_embeddings)


# Parts of at most 8192 completions, since a part ends with its longest one.
ENGINE = EngineKind(load=load, origin=version, rows=(1024, 8192), environment="vllm", sees=True)
