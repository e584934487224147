"""A rollout engine for verl over transformers' generate: a server and its replica.

Weights come as they come to vLLM: verl's adapter sends them, and the class that vLLM's workers are given receives them.
"""

import asyncio
import os

import ray
import torch
from transformers import AutoModelForCausalLM
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from verl_on_cpu.without_vllm import importing

with importing():
    from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightReceiver
    from verl.workers.rollout.vllm_rollout.vllm_rollout import ServerAdapter as ServerAdapter

    from rlvr.training.backends.verl.vllm_worker import Receiver


class Server(Receiver):
    def __new__(cls, *_):
        return object.__new__(cls)  # verl's own changes vLLM

    local_rank, model_runner = 0, None  # as of vLLM's worker

    def __init__(self, model_path, config, replica):
        os.environ |= {"VERL_REPLICA_RANK": str(replica), "VERL_RAY_JOB_ID": ray.get_runtime_context().get_job_id()}
        torch.set_num_threads(1)
        torch.manual_seed(config.seed + replica)
        self.model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32).eval()
        self.longest, self.step = config.response_length, None

    async def generate(self, request_id, prompt_ids, sampling_params, **_):
        prompt = torch.tensor([list(prompt_ids)])
        done = self.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=self.longest,
            do_sample=sampling_params["temperature"] > 0,
            temperature=sampling_params["temperature"] or 1.0,
            top_p=1.0,
            top_k=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        tokens = done.sequences[0, prompt.shape[1] :]
        logprobs = torch.cat(done.logits).float().log_softmax(-1).gather(1, tokens[:, None]).squeeze(1)
        wanted = logprobs.tolist() if sampling_params.get("logprobs") else None
        steps = {"global_steps": self.step, "min_global_steps": self.step, "max_global_steps": self.step}
        return TokenOutput(token_ids=tokens.tolist(), log_probs=wanted, stop_reason="completed", extra_fields=steps)

    async def collective_rpc(self, method, timeout=None, args=(), kwargs=None):
        await asyncio.to_thread(getattr(self, method), *args, **kwargs)

    def update_weights_from_ipc(self, use_shm, **_):
        weights, receiver = {}, BucketedWeightReceiver(self._get_zmq_handle(), torch.device("cpu"), use_shm)
        receiver.receive_weights(lambda bucket, _: weights.update({name: w.float().clone() for name, w in bucket}))
        self.load(weights)

    def load(self, weights):
        found = self.model.load_state_dict(weights, strict=False)
        assert not found.unexpected_keys and set(found.missing_keys) <= {"lm_head.weight"}, found

    async def set_global_steps(self, step):
        self.step = step

    async def wake_up(self, tags=None):
        pass

    async def sleep(self):
        pass

    async def abort_all_requests(self, reject_request=False):
        return {}

    async def resume_generation(self):
        pass

    async def clear_kv_cache(self):
        pass

    async def release_kv_cache(self):
        pass

    async def resume_kv_cache(self):
        pass


class Replica(RolloutReplica):
    async def launch_servers(self):
        options = {"name": f"transformers_on_cpu_server_{self.replica_rank}_0", "num_cpus": 1, "max_concurrency": 64}
        server = ray.remote(Server).options(**options).remote(self.model_config.path, self.config, self.replica_rank)
        self.servers, self._server_handle = [server], server
        self._server_address = f"transformers-on-cpu-{self.replica_rank}"
