"""Problems and demonstrations in verl's formats."""

from pathlib import Path
from typing import Any

from rlvr.files import publish
from rlvr.policies.store import Location, load_tokenizer
from rlvr.records import Demonstration, Problem
from rlvr.training.inputs import continued

# Prompts are wrapped with the policy's own template before they reach verl. verl counts their tokens through the
# tokenizer's chat template, so that template, like the agent loop, must not change them.
VERBATIM = "{{ messages[0]['content'] }}"


def write_problems(path: Path, problems: list[Problem], template: str, name: str) -> None:
    """Write a parquet file for verl's RLHFDataset. The gold is text for this package's verifiers."""
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
    """The number of problems that verl leaves out (`data.filter_overlong_prompts`)."""
    tokenizer = load_tokenizer(start.location, **start.options)
    prompts = [start.template.replace("{problem}", problem.prompt) for problem in problems]
    return sum(len(row) > max_prompt_tokens for row in tokenizer(prompts, add_special_tokens=False)["input_ids"])


def write_demonstrations(path: Path, demonstrations: list[Demonstration], template: str) -> None:
    """Write a parquet file for `rlvr.training.backends.verl.sft_data`: wrapped prompts, and responses."""
    import pandas as pd

    rows = [
        {"prompt": template.replace("{problem}", d.prompt), "response": continued(template, d.response)}
        for d in demonstrations
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)


def write_tokenizer(folder: Path, location: str, **options: Any) -> None:
    """Write the policy's tokenizer into a folder of its own.

    Beside a model's configuration, transformers may load another tokenizer than the saved one
    (`rlvr.policies.store.load_tokenizer`).
    """
    tokenizer = load_tokenizer(location, **options)
    tokenizer.chat_template = VERBATIM
    tokenizer.save_pretrained(folder)


def write_agent_loop(path: Path) -> None:
    """Write verl's list of agent loops, with ours (`rlvr.training.backends.verl.agent_loop`)."""
    publish(path, "- {name: verbatim, _target_: rlvr.training.backends.verl.agent_loop.Verbatim}\n")
