"""Problems and demonstrations as verl reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlvr.files import publish
from rlvr.policies.store import Location, load_tokenizer
from rlvr.records import Demonstration, Problem

# Prompts are wrapped before they reach verl, with the policy's own template. verl counts their tokens through the
# tokenizer's chat template, which therefore passes them on as they are; the agent loop takes them as they are.
VERBATIM = "{{ messages[0]['content'] }}"


def write_problems(path: Path, problems: list[Problem], template: str, name: str) -> None:
    """A parquet file for verl's RLHFDataset. The gold is text for this package's verifiers."""
    import pandas as pd

    rows = [
        {
            "data_source": name,
            "prompt": [{"role": "user", "content": template.replace("{problem}", problem.prompt)}],
            "ability": "",
            "reward_model": {"style": "rule", "ground_truth": problem.gold},
            "extra_info": {"index": index, "id": problem.id, "level": problem.level},
        }
        for index, problem in enumerate(problems)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)


def too_long(problems: list[Problem], start: Location, max_prompt_tokens: int) -> int:
    """How many problems verl leaves out (`data.filter_overlong_prompts`)."""
    tokenizer = load_tokenizer(start.location, **start.options)
    prompts = [start.template.replace("{problem}", problem.prompt) for problem in problems]
    return sum(len(row) > max_prompt_tokens for row in tokenizer(prompts, add_special_tokens=False)["input_ids"])


def write_demonstrations(path: Path, demonstrations: list[Demonstration], template: str) -> None:
    """A parquet file for `rlvr.training.backends.verl.sft_data`: prompts as the policy sees them, and responses."""
    import pandas as pd

    rows = [{"prompt": template.replace("{problem}", d.prompt), "response": d.response} for d in demonstrations]
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)


def write_tokenizer(folder: Path, location: str, **options: Any) -> None:
    """The policy's tokenizer in a folder of its own.

    Beside a model's configuration, transformers may build another tokenizer than the one that was saved
    (`rlvr.policies.store.load_tokenizer`).
    """
    tokenizer = load_tokenizer(location, **options)
    tokenizer.chat_template = VERBATIM
    tokenizer.save_pretrained(folder)


def write_agent_loop(path: Path) -> None:
    """verl's list of agent loops, with ours (`rlvr.training.backends.verl.agent_loop`)."""
    publish(path, "- {name: verbatim, _target_: rlvr.training.backends.verl.agent_loop.Verbatim}\n")
