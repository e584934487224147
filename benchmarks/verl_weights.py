"""CPU milliseconds for the weights of a batch, and verl's GRPO functions by ours, in turn. One thread. Prints JSON.

Runs in the benchmark environment, where verl is, and finds our estimators by path: they need torch alone.
"""

import argparse
import json
import sys
import time
from types import SimpleNamespace

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, help="src/ of the project")
parser.add_argument("--prompts", type=int, required=True)
parser.add_argument("--rollouts", type=int, required=True)
parser.add_argument("--repeats", type=int, required=True)
parser.add_argument("--rounds", type=int, required=True, help="of ours and verl's in turn")
parser.add_argument("--without-verl", action="store_true", help="ours alone, in an environment without verl")
arguments = parser.parse_args()

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)
sys.path.insert(0, arguments.source)
from rlvr import estimators  # noqa: E402
from rlvr.estimators import Estimator, inputs_of_step  # noqa: E402

generator = torch.Generator().manual_seed(0)
shape = (arguments.prompts, arguments.rollouts)
rates = torch.rand(arguments.prompts, 1, generator=generator)
rewards = (torch.rand(shape, generator=generator) < rates).float()
lengths = torch.randint(10, 50, shape, generator=generator)
mask = torch.arange(50) < lengths[..., None]
old = -0.3 * mask
given = inputs_of_step(old, (old + 0.01 * torch.randn(mask.shape, generator=generator)) * mask, lengths)


def median_ms(function, repeats: int) -> float:
    function()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        seconds.append(time.process_time() - began)
    return 1000 * sorted(seconds)[len(seconds) // 2]


def step(estimator: Estimator):
    return lambda: estimator.step(rewards, given, {})


ours = {name: median_ms(step(Estimator(name)), arguments.repeats) for name in estimators.names()}
if arguments.without_verl:
    print("RESULT " + json.dumps({"ours": ours, "ratios": {}}))
    sys.exit()

from verl.trainer.ppo import core_algos  # noqa: E402

flat, uids = rewards.flatten()[:, None], np.repeat(np.arange(arguments.prompts), arguments.rollouts).astype(str)
mask = torch.ones_like(flat)  # one token a response: the scalar part, without the spread over tokens


def verl(function):
    return lambda: function(token_level_rewards=flat, response_mask=mask, index=uids, config=SimpleNamespace())


functions = ("compute_grpo_outcome_advantage", "compute_grpo_vectorized_outcome_advantage")
ratios = {
    name: sorted(
        median_ms(verl(getattr(core_algos, name)), 1) / median_ms(step(Estimator("grpo")), arguments.repeats)
        for _ in range(arguments.rounds)
    )[arguments.rounds // 2]
    for name in functions
}
unbiased = Estimator("grpo", {"std": "unbiased"}).advantages(rewards, {}, {})
verl_weights = verl(core_algos.compute_grpo_outcome_advantage)()[0].view(shape)
gap = float((unbiased - verl_weights).abs().max())
print("RESULT " + json.dumps({"ours": ours, "ratios": ratios, "largest_difference_grpo_unbiased": gap}))
