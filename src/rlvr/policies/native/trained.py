"""The native engine behind torch: a model whose log-probabilities autograd differentiates, and its optimizer.

The weights are one flat tensor, so that clipping and AdamW are a few operations. Losses and estimators stay torch's:
the engine gives log pi, autograd the loss's derivative by it, and the engine turns that into a gradient.

Dimensions: P prompts, N rows (each a response to one of the prompts), G rollouts per prompt, L prompt tokens,
T response tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rlvr.policies.native.engine import Engine
from rlvr.policies.native.saved import SavedModel, named, read_policy
from rlvr.policies.sampler import Samples
from rlvr.policies.store import Policy


class NativeModel:
    """A model in the engine, with the part of a transformers model's interface that training uses.

    It takes the array of `saved` over: training changes it.
    """

    device = torch.device("cpu")

    def __init__(self, saved: SavedModel):
        self.shape, self.config = saved.model, saved.config
        self.engine = Engine(saved.model)
        self.flat = torch.nn.Parameter(torch.from_numpy(saved.flat))
        self._loaded: int | None = None  # the version of the weights in the engine
        self._passes = 0

    # ---- weights ----

    def twin(self) -> NativeModel:
        """Another engine on the same weights, for a thread of its own. Its gradient is its own."""
        other = NativeModel(SavedModel(self.shape, self.config, self.flat.detach().numpy()))
        other.flat = torch.nn.Parameter(self.flat.detach())  # with the same version counter
        return other

    def parameters(self) -> list[Tensor]:
        return [self.flat]

    def requires_grad_(self, requires_grad: bool = True) -> NativeModel:
        self.flat.requires_grad_(requires_grad)
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """Views of the weights by their names in transformers."""
        return named(self.shape, self.flat.detach())

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, tensor in self.state_dict().items():
                tensor.copy_(state[name])

    def save_pretrained(self, folder: Path) -> None:
        SavedModel(self.shape, self.config, self.flat.detach().numpy()).write(folder)

    def _engine(self) -> Engine:
        """The engine with the present weights."""
        if self._loaded != self.flat._version:
            self.engine.load(self.flat.detach().numpy())
            self._loaded = self.flat._version
        return self.engine

    # ---- what Decoder offers ----

    def logprobs(
        self,
        prompts_PL: Tensor,
        lengths_P: Tensor,
        prompt_N: Tensor,
        responses_NT: Tensor,
        response_lengths_N: Tensor,
    ) -> Tensor:
        """log pi (N, T) of each response token, temperature 1, zeros on padding; gradients flow if autograd is on.

        Only the latest result can be differentiated, once.
        """
        return self._differentiable((prompts_PL, lengths_P, prompt_N, responses_NT, response_lengths_N), values=False)

    def values(self, *rows: Tensor) -> Tensor:
        """The value (N, T) before each response token, of the arguments of `logprobs`, if there is a value head."""
        return self._differentiable(rows, values=True)

    def _differentiable(self, rows: tuple[Tensor, ...], *, values: bool) -> Tensor:
        if torch.is_grad_enabled() and self.flat.requires_grad:
            return _Pass.apply(self.flat, self, rows, values)  # type: ignore[return-value]
        return self._forward(rows, keep=False, values=values)

    def with_value_head(self) -> NativeModel:
        """A copy with a linear head for values, which are 0 at first."""
        model = replace(self.shape, value_head=True)
        flat = np.concatenate([self.flat.detach().numpy(), np.zeros(model.hidden + 1, np.float32)])
        return NativeModel(SavedModel(model, self.config, flat))

    def _forward(self, rows: tuple[Tensor, ...], *, keep: bool, values: bool) -> Tensor:
        self._passes += 1
        found = self._engine().logprobs(*(tensor.numpy() for tensor in rows), keep=keep, values=values)
        return torch.from_numpy(found[1] if values else found[0])

    def _gradient(self, number: int, dlogp: Tensor, dvalues: Tensor | None) -> Tensor:
        """The gradient of the weights, from derivatives by the results of the pass with this number."""
        if number != self._passes:
            raise RuntimeError("the engine has made another pass since these log-probabilities")
        gradient = torch.zeros_like(self.flat)
        self.engine.backward(dlogp.numpy(), gradient.numpy(), None if dvalues is None else dvalues.numpy())
        return gradient

    def sample(
        self,
        prompts_PL: Tensor,
        prompt_lengths_P: Tensor,
        noise_PGT: Tensor,
        *,
        eos_token: int,
        pad_token: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
    ) -> Samples:
        """As `rlvr.policies.sampler.sample`. Raises NonFinite where a distribution is not."""
        ends = {"eos_token": eos_token, "pad_token": pad_token}
        arrays = (tensor.numpy() for tensor in (prompts_PL, prompt_lengths_P, noise_PGT))
        drawn = self._engine().sample(*arrays, **ends, temperature=temperature, top_p=top_p)
        return Samples(**{name: torch.from_numpy(array) for name, array in vars(drawn).items()})


class _Pass(torch.autograd.Function):
    """Log-probabilities or values, as `NativeModel._forward` gives them."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, model: NativeModel, rows: tuple[Tensor, ...], values: bool) -> Tensor:
        found = model._forward(rows, keep=True, values=values)
        ctx.model, ctx.number, ctx.values = model, model._passes, values
        return found

    @staticmethod
    def backward(ctx: Any, derivatives: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        own = derivatives.contiguous()
        of_both = (torch.zeros_like(own), own) if ctx.values else (own, None)
        return ctx.model._gradient(ctx.number, *of_both), None, None, None


class FlatAdamW:
    """torch's fused AdamW on one flat tensor, with the part of `torch.optim.AdamW` that training uses.

    The optimizer's class would first import torch's compiler: 1.5 seconds and 150 MB of a short run.
    """

    def __init__(self, flat: Tensor, *, lr: float, betas: tuple[float, float], weight_decay: float):
        self.flat, self.betas, self.weight_decay = flat, betas, weight_decay
        self.param_groups: list[dict[str, Any]] = [{"lr": lr}]
        self.moments = {name: torch.zeros_like(flat, requires_grad=False) for name in ("exp_avg", "exp_avg_sq")}
        self.steps = torch.zeros(())
        self._hooks: list[Callable[..., None]] = []

    def register_step_pre_hook(self, hook: Callable[..., None]) -> None:
        self._hooks.append(hook)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.flat.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for hook in self._hooks:
            hook(self, (), {})
        gradient = self.flat.grad
        if gradient is None:
            return
        self.steps += 1
        torch._fused_adamw_(  # pyright: ignore[reportPrivateImportUsage]
            *([self.flat], [gradient], [self.moments["exp_avg"]], [self.moments["exp_avg_sq"]], [], [self.steps]),
            **{"lr": self.param_groups[0]["lr"], "beta1": self.betas[0], "beta2": self.betas[1], "eps": 1e-8},
            **{"weight_decay": self.weight_decay, "amsgrad": False, "maximize": False},
        )
        torch.autograd.graph.increment_version(self.flat)  # as other operations in place do

    def state_dict(self) -> dict[str, Any]:
        return {**self.moments, "steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, tensor in self.moments.items():
            tensor.copy_(state[name])
        self.steps.copy_(state["steps"])


def load(manifest: Path) -> Policy:
    """The policy that a manifest names. Raises RecordError like `locate`, Unsupported, and NoEngine."""
    saved, tokenizer, template = read_policy(manifest)
    return Policy(NativeModel(saved), tokenizer, template)
