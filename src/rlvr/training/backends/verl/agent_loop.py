"""verl's agent loop for finished prompts: one turn, and the same tokens as in process."""

from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.utils.profiler import simple_timer

NAME = "verbatim"
GREEDY = "rlvr_greedy"  # key of a row: sample it at temperature 0


class Verbatim(AgentLoopBase):
    def __init__(self, *arguments: Any, hf_model_type: str | None = None, **named: Any):
        super().__init__(*arguments, hf_model_type=None, **named)  # else it adds the chat markup of a model family

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        (message,) = row["raw_prompt"]
        prompt = self.tokenizer(message["content"], add_special_tokens=False)["input_ids"]
        if row.get(GREEDY):
            sampling_params = {**sampling_params, "temperature": 0.0}
        timing: dict[str, Any] = {}
        with simple_timer("generate_sequences", timing):
            output = await self.server_manager.generate(
                request_id=uuid4().hex, prompt_ids=prompt, sampling_params=sampling_params
            )
        timing["num_preempted"] = -1 if output.num_preempted is None else output.num_preempted
        longest = self.rollout_config.response_length
        response = list(output.token_ids)[:longest]
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=response,
            response_mask=[1] * len(response),
            response_logprobs=list(output.log_probs)[:longest] if output.log_probs else None,
            num_turns=2,
            metrics=timing,
            extra_fields={**output.extra_fields, "turn_scores": [], "tool_rewards": []},
        )
