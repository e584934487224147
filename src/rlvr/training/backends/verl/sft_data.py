"""Demonstrations for verl's SFT trainer, with the same tokens as in process."""

from typing import Any

import pandas as pd
import torch
from torch.utils.data import Dataset


class Demonstrations(Dataset):
    """Prompt, response and end-of-sequence token; the loss is on the response and its end.

    Without demonstrations of more than `max_length` tokens (`left_out` counts them). Raises ValueError if none is left.
    """

    def __init__(self, parquet_files: Any, tokenizer: Any, config: Any, **_: Any):
        rows = pd.read_parquet(parquet_files)
        prompts = tokenizer(list(rows["prompt"]), add_special_tokens=False)["input_ids"]
        responses = tokenizer(list(rows["response"]), add_special_tokens=False)["input_ids"]
        every = [(p, [*r, tokenizer.eos_token_id]) for p, r in zip(prompts, responses, strict=True)]
        self.rows = [(p, r) for p, r in every if len(p) + len(r) <= config.max_length]
        self.left_out = len(every) - len(self.rows)
        if self.left_out:
            print(f"{self.left_out} of {len(every)} demonstrations have more than {config.max_length} tokens: left out")
        if not self.rows:
            raise ValueError(f"no demonstration has at most data.max_length = {config.max_length} tokens")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        prompt, response = self.rows[index]
        return {
            "input_ids": torch.tensor(prompt + response),
            "position_ids": torch.arange(len(prompt) + len(response)),
            "loss_mask": torch.tensor([0] * len(prompt) + [1] * len(response)),
        }
