"""verl's agent loop for finished prompts: one turn, and the same tokens as in process."""

from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.utils.profiler import simple_timer

from rlvr.training.backends.verl.dataset import pictures_of

NAME = "verbatim"
GREEDY = "rlvr_greedy"  # key of a row: sample it at temperature 0


class Verbatim(AgentLoopBase):
    """One generation for each prompt, whose places of pictures are transformers' marks, one for each place."""

    def __init__(self, *arguments: Any, hf_model_type: str | None = None, **named: Any):
        super().__init__(*arguments, hf_model_type=None, **named)  # else it adds the chat markup of a model family

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        (message,) = row["raw_prompt"]
        pictures, prompt = pictures_of([message]), self._prompt(message)
        if row.get(GREEDY):
            sampling_params = {**sampling_params, "temperature": 0.0}
        timing: dict[str, Any] = {}
        with simple_timer("generate_sequences", timing):
            output = await self.server_manager.generate(
                request_id=uuid4().hex,
                prompt_ids=prompt,
                sampling_params=sampling_params,
                **({"image_data": pictures} if pictures else {}),
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
            **({"multi_modal_data": {"images": pictures}} if pictures else {}),
            metrics=timing,
            extra_fields={**output.extra_fields, "turn_scores": [], "tool_rewards": []},
        )

    def _prompt(self, message: dict[str, Any]) -> list[int]:
        if isinstance(message["content"], str):
            return self.tokenizer(message["content"], add_special_tokens=False)["input_ids"]
        text = self.processor.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
        encoded = self.processor(text=[text], images=pictures_of([message]), add_special_tokens=False)
        return list(encoded["input_ids"][0])
