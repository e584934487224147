"""Seconds a step of TRL's GRPOTrainer on the laptop scale's model, problems and batch; one thread. Prints JSON.

Runs in TRL's own environment and is handed everything by files: a saved policy, problems, a reward by the verifier.
"""

import argparse
import json
import sys
import time
from itertools import pairwise
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, help="src/ of the project, for the verifier")
parser.add_argument("--policy", required=True)
parser.add_argument("--problems", required=True)
parser.add_argument(
    "--settings", required=True, help="JSON: prompts, minibatch, samples, max_tokens, lr, beta, steps, bf16, verifier"
)
parser.add_argument("--scratch", required=True)
arguments = parser.parse_args()

import torch  # noqa: E402

torch.set_num_threads(1)
from datasets import Dataset  # noqa: E402
from transformers import PreTrainedTokenizerFast, TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

sys.path.insert(0, arguments.source)
from rlvr.verifiers import load  # noqa: E402

settings = json.loads(arguments.settings)
judge = load(settings["verifier"])
problems = [json.loads(line) for line in Path(arguments.problems).read_text().splitlines()]
tokenizer = PreTrainedTokenizerFast.from_pretrained(arguments.policy, padding_side="left")


def reward(completions, gold, **_):
    return [float(judge(text, g)[0] == "correct") for text, g in zip(completions, gold, strict=True)]


class Clock(TrainerCallback):
    """Notes the end of each optimizer step: a step's time is from one end to the next, all of it."""

    def __init__(self):
        self.ends = []

    def on_step_end(self, *_, **__):
        self.ends.append(time.process_time())


minibatches = settings["prompts"] // settings["minibatch"]
configuration = GRPOConfig(
    output_dir=arguments.scratch,
    use_cpu=True,
    bf16=settings["bf16"],
    per_device_train_batch_size=settings["minibatch"] * settings["samples"],
    steps_per_generation=minibatches,
    num_generations=settings["samples"],
    max_completion_length=settings["max_tokens"],
    max_steps=settings["steps"] * minibatches,
    learning_rate=settings["lr"],
    lr_scheduler_type="constant",
    beta=settings["beta"],
    loss_type="grpo",
    gradient_checkpointing=False,
    logging_steps=10_000,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    dataloader_num_workers=0,
)
data = Dataset.from_list([{"prompt": f"<bos> {p['prompt']}", "gold": p["gold"]} for p in problems])
clock = Clock()
trainer = GRPOTrainer(
    model=arguments.policy,
    args=configuration,
    reward_funcs=reward,
    train_dataset=data,
    processing_class=tokenizer,
    callbacks=[clock],
)
trainer.train()
ends = clock.ends[minibatches - 1 :: minibatches]  # of rollout batches
print("RESULT " + json.dumps([later - earlier for earlier, later in pairwise(ends)]))
