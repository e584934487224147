"""What stages tell vLLM about the machine that they run on."""

import pytest
from conftest import program

from rlvr.run_in_env import attention, nvcc


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without nvcc."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    return tmp_path


def test_without_nvcc_no_kernel_is_left_that_it_would_compile(machine):
    assert nvcc() is None and attention() == {"attention_backend": "FLASH_ATTN"}


@pytest.mark.parametrize("folder", [".", "cuda/bin"])
def test_with_nvcc_vllm_chooses_by_itself(machine, folder):
    (machine / folder).mkdir(parents=True, exist_ok=True)
    found = program(machine / folder, "nvcc", "")
    assert nvcc() == str(found) and attention() == {}
