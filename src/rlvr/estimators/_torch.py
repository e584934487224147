"""torch at its first use: who reads the settings of estimators, such as planning, imports none."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.nn import functional as F
else:

    class _AtFirstUse:
        def __init__(self, module: str):
            self._module = module

        def __getattr__(self, name: str) -> Any:
            value = self.__dict__[name] = getattr(importlib.import_module(self._module), name)
            return value

    torch, F, Tensor = _AtFirstUse("torch"), _AtFirstUse("torch.nn.functional"), None  # annotations stay text

__all__ = ["F", "Tensor", "torch"]
