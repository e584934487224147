"""Runs Python of another environment with this package: `python -m rlvr.run_in_env WHERE COMMAND ARGUMENT...`.

WHERE is the file and key that name the command, for the error message. PYTHONPATH gives it this package; a container
that hides the environment or the project's folder needs the package installed.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

import rlvr

VLLM = {
    "VLLM_USE_FLASHINFER_SAMPLER": "0",  # compiled at vLLM's start, which needs nvcc; not used for samples with a seed
    "VLLM_RPC_BASE_PATH": "/tmp",  # of sockets, whose path has at most 107 bytes; else TMPDIR, which may be longer
}


def prepare_vllm() -> None:
    """Set what vLLM reads from the environment, unless the user has; before its import."""
    for variable, value in VLLM.items():
        os.environ.setdefault(variable, value)


def attention() -> dict[str, str]:
    """vLLM's argument for its attention on a GPU: FlashAttention where there is no nvcc.

    On Blackwell vLLM prefers FlashInfer's, which is compiled at its first use (vLLM 0.24, `platforms/cuda.py`).
    Elsewhere FlashAttention is vLLM's own first choice.
    """
    return {} if nvcc() else {"attention_backend": "FLASH_ATTN"}


def nvcc() -> str | None:
    """The path of CUDA's compiler, where FlashInfer looks for it; None if there is none."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return shutil.which("nvcc") or shutil.which(os.path.join(home, "bin", "nvcc"))


def main(where: str, command: str, *arguments: str) -> None:
    program, *first = shlex.split(command)
    path = shutil.which(program)
    if path is None:
        sys.exit(f"{where}: no such program: {program}; name the Python of that environment there (docs/cluster.md)")
    _prepend("PYTHONPATH", str(Path(rlvr.__file__).parents[1]))
    _prepend("PATH", str(Path(path).parent))  # its own tools come before those of the workflow
    os.execv(path, [path, *first, *arguments])


def _prepend(variable: str, folder: str) -> None:
    os.environ[variable] = os.pathsep.join(filter(None, [folder, os.environ.get(variable)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
