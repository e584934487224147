"""The engine under AddressSanitizer and UndefinedBehaviorSanitizer: whole passes, and each edge of its sizes."""

import os
import subprocess
import sys

import pytest

from rlvr.policies.native import library

# The processor level without a flag beyond AVX2, so that every machine of the tests compiles and runs it.
FLAGS = ["-std=gnu++17", "-O1", "-g", "-fno-omit-frame-pointer", "-fPIC", "-shared", "-march=x86-64-v3"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", f'-DSOURCE="{library.source_digest()}"']
WORK = """
import ctypes, itertools, sys
import numpy as np
from rlvr.policies.native import library
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model

compiled = library.prepared(ctypes.CDLL(sys.argv[1]))
random = np.random.default_rng(1)
sizes = {"hidden": (16, 20), "heads": (2,), "kv_heads": (1, 2), "head_dim": (2, 16), "ffn": (16, 33), "layers": (2,)}
done = 0
for values in itertools.product(*sizes.values(), (5, 16, 70), (False, True)):
    *shape, vocab, flag = values
    kinds = {"biases": flag, "norms": not flag, "tied": flag, "epsilon": 1e-6, "theta": 1e4, "value_head": flag}
    engine = Engine(Model(**dict(zip(sizes, shape)), vocab=vocab, **kinds), compiled)
    engine.load(0.3 * random.standard_normal(engine.size).astype(np.float32))
    for P, L, G, T in ((1, 1, 1, 1), (3, 5, 4, 7), (2, 17, 33, 16)):
        prompts, lengths = random.integers(0, vocab, (P, L)), random.integers(1, L + 1, P)
        for temperature, top_p in ((1.0, 1.0), (0.7, 0.6), (0.0, 1.0)):
            noise = random.random((P, G, T))
            noise.flat[0], noise.flat[-1] = 0.0, np.nextafter(1.0, 0.0)
            settings = {"eos_token": 2, "pad_token": 0, "temperature": temperature, "top_p": top_p}
            engine.sample(prompts, lengths, noise, **settings)
        rows = random.integers(0, P, P * G)
        responses, ends = random.integers(0, min(vocab, 3), (P * G, T)), random.integers(0, T + 1, P * G)
        for keep in (False, True):
            logp, values = engine.logprobs(prompts, lengths, rows, responses, ends, keep=keep, values=flag)
        engine.backward(logp, np.zeros(engine.size, np.float32), values)
        done += 1
print("passes", done)
"""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    if "x86" not in os.uname().machine:
        pytest.skip("the flags are of x86-64")
    path = tmp_path_factory.mktemp("sanitized") / "engine.so"
    subprocess.run(["g++", *FLAGS, *SANITIZERS, str(library.FOLDER / "engine.cpp"), "-o", str(path)], check=True)
    return path


def run(code: str, path) -> subprocess.CompletedProcess:
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run([sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_no_pass_reads_or_writes_out_of_bounds_or_does_what_is_undefined(sanitized):
    done = run(WORK, sanitized)
    assert done.returncode == 0 and "passes 288" in done.stdout, done.stderr[-3000:]


@pytest.mark.slow
def test_the_sanitizer_sees_what_is_out_of_bounds(sanitized):
    """A token past the vocabulary, put past the border: so that the test above can fail."""
    code = WORK.replace(
        "engine.sample(prompts,", "engine._checked_prompts = lambda p, l: l; engine.sample(prompts + 10**6,"
    )
    done = run(code, sanitized)
    assert done.returncode != 0 and "AddressSanitizer" in done.stderr
