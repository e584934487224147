"""A rollout engine for verl over transformers' generate: a server, its replica, the adapter that brings weights."""

import ray
import torch
from transformers import AutoModelForCausalLM
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput


class Server:
    def __init__(self, model_path, config, replica):
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

    async def load(self, weights):
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
        options = {"name": f"transformers_on_cpu_{self.replica_rank}", "num_cpus": 1, "max_concurrency": 64}
        server = ray.remote(Server).options(**options).remote(self.model_config.path, self.config, self.replica_rank)
        self.servers, self._server_handle = [server], server
        self._server_address = f"transformers-on-cpu-{self.replica_rank}"


class Adapter(BaseRollout):
    def __init__(self, config, model_config, device_mesh, replica_rank=-1):
        super().__init__(config, model_config, device_mesh)

    async def resume(self, tags):
        pass

    async def release(self):
        pass

    async def update_weights(self, weights, global_steps=None, **_):
        server = ray.get_actor(f"transformers_on_cpu_{torch.distributed.get_rank()}")  # a server per rank
        whole = {name: w.full_tensor() if hasattr(w, "full_tensor") else w for name, w in weights}
        await server.load.remote({name: w.detach().cpu().float().clone() for name, w in whole.items()})
        await server.set_global_steps.remote(global_steps)
