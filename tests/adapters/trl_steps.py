"""Real steps of TRL's trainer with a weight of this package; prints, as JSON, its weights beside those expected.

Runs in TRL's own environment: trl_steps.py POLICY SCRATCH ESTIMATOR SETTINGS [one-update | two-updates].
"""

import json
import sys
from typing import ClassVar

import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast
from trl import GRPOConfig

import rlvr
from rlvr.adapters.trl import GRPOTrainer
from rlvr.estimators import Estimator, inputs_of_step

policy, scratch, name, settings, updates = sys.argv[1:]
torch.set_num_threads(1)
PROMPTS, G, STEPS = 4, 4, 2
tokenizer = PreTrainedTokenizerFast.from_pretrained(policy, padding_side="left")
data = Dataset.from_list([{"prompt": f"<bos> {a} {b} = {a + b}"} for a in range(1, 5) for b in range(1, 5)])


def reward(completions, **_):
    """1 for every second kind of response, so that groups differ."""
    return [float(sum(map(ord, text)) % 2) for text in completions]


class Watched(GRPOTrainer):
    """Computes what its estimator should give from TRL's rewards and a forward pass of its own."""

    seen: ClassVar[list] = []
    wanted_state: ClassVar[dict] = {}

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        mask = output["completion_mask"].float()
        rewards_PG = self._rewards_per_function.sum(1).view(-1, G)

        def logps(model):
            ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
            attention = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
            places = (attention.cumsum(1) - 1).clamp(min=0)
            with torch.no_grad():
                logits = model(input_ids=ids, attention_mask=attention, position_ids=places).logits[:, :-1]
            found = logits.log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
            return (found[:, -mask.size(1) :] * mask).view(*rewards_PG.shape, -1)

        step = inputs_of_step(logps(self.model), logps(self.ref_model), mask.sum(1).view(rewards_PG.shape).long())
        wanted_PG, self.wanted_state = Estimator(name, json.loads(settings)).step(rewards_PG, step, self.wanted_state)
        row = {"weights": output["advantages"].tolist(), "wanted": wanted_PG.flatten().tolist()}
        self.seen.append({**row, "rewards": rewards_PG.flatten().tolist(), "state": self.estimator_state})
        return output


minibatches = {"one-update": 1, "two-updates": 2}[updates]
configuration = GRPOConfig(
    output_dir=scratch,
    use_cpu=True,
    bf16=False,
    per_device_train_batch_size=PROMPTS * G // minibatches,
    steps_per_generation=minibatches,
    num_generations=G,
    max_completion_length=10,
    max_steps=STEPS * minibatches,
    learning_rate=1e-3,
    beta=1e-3,
    gradient_checkpointing=False,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
)
trainer = Watched(
    policy,
    reward_funcs=reward,
    args=configuration,
    train_dataset=data,
    processing_class=tokenizer,
    estimator=name,
    estimator_settings=json.loads(settings),
)
before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
trainer.train()
moved = max(float((a - b).detach().abs().max()) for a, b in zip(before, trainer.model.parameters(), strict=True))
result = {"steps": trainer.seen, "moved": moved, "logged": list(trainer._logs["advantages"])}
print("RESULT " + json.dumps({**result, "package": rlvr.__file__}))
