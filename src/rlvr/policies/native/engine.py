"""The native engine through ctypes: log-probabilities, gradients and samples as numpy arrays, without torch.

`engine.cpp` explains how it computes. Everything that crosses the border is checked here: C++ checks nothing.

Dimensions: P prompts, N rows (each a response to one of the prompts), G rollouts per prompt, L prompt tokens,
T response tokens.
"""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from dataclasses import dataclass

import numpy as np

from rlvr.policies.errors import NonFinite
from rlvr.policies.native.library import EngineShape
from rlvr.policies.native.library import library as compiled
from rlvr.policies.native.model import Model, Unsupported


@dataclass
class Drawn:
    """Sampled responses as in `rlvr.policies.sampler.Samples`, as numpy arrays."""

    tokens_PGT: np.ndarray
    logprobs_PGT: np.ndarray
    entropy_PGT: np.ndarray
    lengths_PG: np.ndarray
    finished_PG: np.ndarray


class Engine:
    """A model in the engine. `load` its weights first, and again when they have changed."""

    def __init__(self, model: Model, library: ctypes.CDLL | None = None):
        if model.heads % model.kv_heads or model.head_dim % 2:
            raise Unsupported(f"{model.heads} heads over {model.kv_heads}, of {model.head_dim} dimensions")
        self.model, self._library = model, library or compiled()
        names = [field[0] for field in EngineShape._fields_]
        self._engine = c_void_p(self._library.engine_new(EngineShape(**{name: getattr(model, name) for name in names})))
        runs, padded = model.runs()
        self._runs, self.size = np.ascontiguousarray(runs, np.int64), int(runs[:, 1].sum())
        if self._library.engine_size(self._engine) != padded:
            raise RuntimeError(f"the engine has {self._library.engine_size(self._engine)} weights, not {padded}")
        self.positions = 0
        self._grown: tuple[int, int] | None = None  # the shape of the responses in the trie

    def __del__(self):
        if hasattr(self, "_engine"):
            self._library.engine_free(self._engine)

    def load(self, flat: np.ndarray) -> None:
        """Take the weights from a flat float32 array in the order of `Model.weights`."""
        _expect("weights", flat, np.float32, (self.size,))
        self._library.engine_load(self._engine, len(self._runs), _pointer(self._runs), _pointer(flat))

    def logprobs(
        self,
        prompts_PL: np.ndarray,
        lengths_P: np.ndarray,
        prompt_N: np.ndarray,
        responses_NT: np.ndarray,
        response_lengths_N: np.ndarray,
        *,
        keep: bool = False,
        values: bool = False,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """log pi (N, T) of each response token, temperature 1, zeros on padding; and values before each, if asked.

        `keep` what `backward` needs. Raises ValueError for a length or a token id out of range.
        """
        (P, L), (N, T) = prompts_PL.shape, responses_NT.shape
        lengths = self._checked_prompts(prompts_PL, lengths_P)
        prompt_N, responses = _integers("prompt_N", prompt_N, (N,)), _integers("responses", responses_NT, (N, T))
        response_lengths = _integers("response lengths", response_lengths_N, (N,))
        _within("prompt_N", prompt_N, P)
        _within("response lengths", response_lengths, T + 1)
        _within("response tokens", np.where(np.arange(T) < response_lengths[:, None], responses, 0), self.model.vocab)
        if values and not self.model.value_head:
            raise ValueError("values: the model has no value head")
        self._reach(L + T)
        prompts = _integers("prompts", prompts_PL, (P, L))
        arrays = (prompts, lengths, prompt_N, responses, response_lengths)
        self.nodes = self._library.engine_grow(self._engine, L, N, T, *map(_pointer, arrays))
        logp, value = np.empty((N, T), np.float32), np.empty((N, T), np.float32) if values else None
        self._library.engine_forward(self._engine, keep, _pointer(logp), _pointer(value))
        self._grown = (N, T) if keep else None
        return logp, value

    def backward(self, dlogp_NT: np.ndarray, gradient: np.ndarray, dvalues_NT: np.ndarray | None = None) -> None:
        """Backpropagate: from the loss's derivatives by the last `logprobs(keep=True)`, add to the flat gradient."""
        if self._grown is None:
            raise ValueError("backward needs a forward pass with keep=True")
        _expect("derivatives", dlogp_NT, np.float32, self._grown)
        _expect("gradient", gradient, np.float32, (self.size,))
        if dvalues_NT is not None:
            _expect("derivatives of values", dvalues_NT, np.float32, self._grown)
        derivatives = (_pointer(dlogp_NT), _pointer(dvalues_NT))
        self._library.engine_backward(
            self._engine, *derivatives, len(self._runs), _pointer(self._runs), _pointer(gradient)
        )

    def sample(
        self,
        prompts_PL: np.ndarray,
        lengths_P: np.ndarray,
        noise_PGT: np.ndarray,
        *,
        eos_token: int,
        pad_token: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
    ) -> Drawn:
        """G sampled responses of at most T tokens to each of P prompts (padded on the right), as `sampler.sample`.

        Raises NonFinite where a distribution is not.
        """
        (P, L), (_, G, T) = prompts_PL.shape, noise_PGT.shape
        _expect("noise", noise_PGT, np.float64, (P, G, T))
        if G < 1 or T < 1:
            raise ValueError(f"{G} rollouts of {T} tokens: both must be at least 1")
        if not (noise_PGT >= 0).all() or not (noise_PGT < 1).all():
            raise ValueError("noise must be in [0, 1)")
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], not {top_p}")
        if not 0 <= temperature < float("inf"):
            raise ValueError(f"temperature must be 0 or positive, not {temperature}")
        lengths, prompts = self._checked_prompts(prompts_PL, lengths_P), _integers("prompts", prompts_PL, (P, L))
        self._reach(L + T)
        tokens = np.full((P, G, T), pad_token, np.int64)
        logp, entropy = np.zeros((P, G, T), np.float32), np.zeros((P, G, T), np.float32)
        ends, finished = np.zeros((P, G), np.int64), np.zeros((P, G), np.uint8)
        self._grown = None
        finite = self._library.engine_sample(
            *(self._engine, P, G, T, L, _pointer(prompts), _pointer(lengths), _pointer(noise_PGT)),
            *(eos_token, temperature, top_p, *map(_pointer, (tokens, logp, entropy, ends, finished))),
        )
        if not finite:
            raise NonFinite.distribution()
        used = int(ends.max(initial=0))
        return Drawn(tokens[..., :used], logp[..., :used], entropy[..., :used], ends, finished.astype(bool))

    def _checked_prompts(self, prompts_PL: np.ndarray, lengths_P: np.ndarray) -> np.ndarray:
        """The prompts' lengths, where they and the tokens are in range."""
        P, L = prompts_PL.shape
        lengths = _integers("prompt lengths", lengths_P, (P,))
        _within("prompt lengths", lengths - 1, L)
        _within("prompt tokens", np.where(np.arange(L) < lengths[:, None], prompts_PL, 0), self.model.vocab)
        return lengths

    def _reach(self, positions: int) -> None:
        if positions > self.positions:
            self.positions = 2 * positions
            cosine, sine = self.model.rotations(self.positions)
            self._library.engine_positions(self._engine, self.positions, _pointer(cosine), _pointer(sine))


def _pointer(array: np.ndarray | None) -> c_void_p | None:
    return None if array is None else array.ctypes.data_as(c_void_p)


def _expect(name: str, array: np.ndarray, dtype: type, shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(f"{name}: {array.dtype} {array.shape}, not contiguous {np.dtype(dtype)} {shape}")


def _integers(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape or array.dtype != np.int64:
        raise ValueError(f"{name}: {array.dtype} {array.shape}, not int64 {shape}")
    return np.ascontiguousarray(array)


def _within(name: str, array: np.ndarray, limit: int) -> None:
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < limit):
        raise ValueError(f"{name}: {int(array.min())} to {int(array.max())}, not within 0 to {limit - 1}")
