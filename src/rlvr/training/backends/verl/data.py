"""Problems and demonstrations in verl's formats."""

import shutil
from pathlib import Path

from rlvr.files import publish
from rlvr.policies.pictures import SPOT, in_place
from rlvr.policies.store import Location, encoder, load_tokenizer, sees
from rlvr.records import Demonstration, Problem
from rlvr.training.inputs import continued

# Prompts are wrapped with the policy's own template before they reach verl. verl counts their tokens through the
# tokenizer's chat template, so that template, like the agent loop, must not change them. verl splits a content at its
# pictures into parts.
VERBATIM = (
    "{%- set content = messages[0]['content'] -%}{%- if content is string -%}{{ content }}{%- else -%}"
    "{%- for part in content -%}{%- if part['type'] == 'image' -%}" + SPOT + "{%- else -%}{{ part['text'] }}"
    "{%- endif -%}{%- endfor -%}{%- endif -%}"
)
PICTURE = "<image>"  # verl's mark of a picture in a content
OF_PROCESSOR = ("config.json", "preprocessor_config.json", "video_preprocessor_config.json", "processor_config.json")


def write_problems(path: Path, problems: list[Problem], template: str, name: str) -> None:
    """Write a parquet file for verl's RLHFDataset. The gold is text for this package's verifiers.

    Where problems have pictures, each row has the list `images` (verl's `data.image_key`) of their files' contents.
    Raises SystemExit for a prompt with more marks than pictures, which verl takes for pictures.
    """
    import pandas as pd

    seeing = any(problem.images for problem in problems)
    rows = [
        {
            "data_source": name,
            "prompt": [{"role": "user", "content": _content(problem, template)}],
            "ability": "",
            "reward_model": {"style": "rule", "ground_truth": problem.gold},
            "extra_info": {"index": index, "id": problem.id, "level": problem.level},
            **({"images": [{"bytes": Path(image).read_bytes()} for image in problem.images]} if seeing else {}),
        }
        for index, problem in enumerate(problems)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)


def _content(problem: Problem, template: str) -> str:
    if not problem.images:
        return template.replace("{problem}", problem.prompt)
    content = template.replace("{problem}", in_place(problem.prompt, len(problem.images), PICTURE))
    if content.count(PICTURE) != len(problem.images):
        raise SystemExit(
            f"{problem.id}: {content.count(PICTURE)} marks {PICTURE} and {len(problem.images)} pictures; verl needs as "
            "many marks as pictures"
        )
    return content


def too_long(problems: list[Problem], start: Location, max_prompt_tokens: int) -> int:
    """The number of problems that verl leaves out (`data.filter_overlong_prompts`); each place of a picture counts."""
    encoded = encoder(start).encode([p.prompt for p in problems], [p.images for p in problems])
    return sum(len(row) > max_prompt_tokens for row in encoded)


def write_demonstrations(path: Path, demonstrations: list[Demonstration], template: str) -> None:
    """Write a parquet file for `rlvr.training.backends.verl.sft_data`: wrapped prompts, and responses."""
    import pandas as pd

    rows = [
        {"prompt": template.replace("{problem}", d.prompt), "response": continued(template, d.response)}
        for d in demonstrations
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)


def write_tokenizer(folder: Path, location: str) -> None:
    """Write the policy's tokenizer into a folder of its own.

    Beside a model's configuration, transformers may load another tokenizer than the saved one
    (`rlvr.policies.store.load_tokenizer`). A policy that sees pictures needs the configuration, and its processor's.
    """
    tokenizer = load_tokenizer(location)
    tokenizer.chat_template = VERBATIM
    tokenizer.save_pretrained(folder)
    if sees(location):
        for name in OF_PROCESSOR:
            if (Path(location) / name).is_file():
                shutil.copyfile(Path(location) / name, folder / name)


def write_agent_loop(path: Path) -> None:
    """Write verl's list of agent loops, with ours (`rlvr.training.backends.verl.agent_loop`)."""
    publish(path, "- {name: verbatim, _target_: rlvr.training.backends.verl.agent_loop.Verbatim}\n")
