"""Demonstrations for verl's SFT trainer, with the same tokens as in process."""

from typing import Any

import pandas as pd
import torch
from torch.utils.data import Dataset


class Demonstrations(Dataset):
    """Prompt, response and end-of-sequence token; the loss is on the response and its end."""

    def __init__(self, parquet_files: Any, tokenizer: Any, config: Any, **_: Any):
        rows = pd.read_parquet(parquet_files)
        prompts = tokenizer(list(rows["prompt"]), add_special_tokens=False)["input_ids"]
        responses = tokenizer(list(rows["response"]), add_special_tokens=False)["input_ids"]
        self.rows = [(p, [*r, tokenizer.eos_token_id]) for p, r in zip(prompts, responses, strict=True)]
        longest = max(len(p) + len(r) for p, r in self.rows)
        if longest > config.max_length:
            raise ValueError(f"a demonstration has {longest} tokens, more than data.max_length = {config.max_length}")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        prompt, response = self.rows[index]
        return {
            "input_ids": torch.tensor(prompt + response),
            "position_ids": torch.arange(len(prompt) + len(response)),
            "loss_mask": torch.tensor([0] * len(prompt) + [1] * len(response)),
        }
