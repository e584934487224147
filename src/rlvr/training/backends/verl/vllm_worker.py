"""verl's extension of vLLM's workers, which receives weights by a socket in the run's own folder."""

from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

from rlvr.training.backends.verl.own_ray import in_own_folder


class Receiver(vLLMColocateWorkerExtension):
    """vLLM adds it to the bases of its worker (`worker_extension_cls`); `ResettingWorker` sends."""

    def _get_zmq_handle(self) -> str:
        return in_own_folder(super()._get_zmq_handle())
