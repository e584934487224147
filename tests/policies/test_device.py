"""The device that a stage takes: the one asked for, or an error."""

import pytest
import torch

from rlvr.policies.store import device


def test_a_gpu_that_was_asked_for_is_not_replaced_by_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("RLVR_DEVICE", "gpu")
    with pytest.raises(SystemExit, match=r"execution.device: gpu, but torch finds no GPU here .*nvidia-smi"):
        device()


def test_the_cpu_is_taken_where_it_is_asked_for_although_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("RLVR_DEVICE", "cpu")
    assert device() == torch.device("cpu")
    monkeypatch.delenv("RLVR_DEVICE")
    assert device() == torch.device("cuda")
